// SPDX-License-Identifier: MIT
// Tables of records from other libraries of the same process: pyarrow, DuckDB, Polars, and with them Parquet files and databases.
#pragma once

#include <cstddef>
#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/arrow_abi.hpp"
#include "lexformer/tables/records.hpp"

namespace lexformer {

/// Reads a table from a stream of record batches, which is released, also after an error. `name` names the table in messages, `id` the
/// column of the ids. Values become texts: numbers in decimal, the shortest that gives the same number; booleans as true and false; null as
/// an empty text. Types: text (u, U, vu), booleans, integers, float and double, null, and dictionaries of them.
/// Errors: another type (cast the column to text); what RecordReader refuses, with the number of the row; an error of the producer.
RecordTable read_arrow(ArrowArrayStream& stream, const std::string& name, const std::string& id = "id");

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/text/nearest_name.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// Calls the release function of an Arrow struct on destruction.
template <class S>
struct ArrowOwner : S {
  ArrowOwner() : S{} {}
  ArrowOwner(const ArrowOwner&) = delete;
  ArrowOwner& operator=(const ArrowOwner&) = delete;
  ~ArrowOwner() {
    if (this->release != nullptr) this->release(this);
  }
};

template <class N>
std::string arrow_number(const void* values, std::size_t i) {
  N n;
  std::memcpy(&n, static_cast<const char*>(values) + i * sizeof(N), sizeof(N));
  char digits[32];
  if constexpr (std::is_floating_point_v<N>) {
    // to_chars alone gives 1e+05, being shorter than 100000. The bounds are Python's.
    const N size = std::abs(n);
    const bool fixed = size == 0 || (size >= N(1e-4) && size < N(1e16));
    const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
    return {digits, std::to_chars(digits, digits + sizeof(digits), n, format).ptr};
  } else {
    return {digits, std::to_chars(digits, digits + sizeof(digits), n).ptr};
  }
}

inline bool arrow_bit(const void* bits, std::size_t i) { return (static_cast<const unsigned char*>(bits)[i / 8] >> (i % 8) & 1) != 0; }

/// Text between two offsets.
template <class Offset>
std::string arrow_text(const ArrowArray& array, std::size_t i) {
  Offset ends[2];
  std::memcpy(ends, static_cast<const char*>(array.buffers[1]) + i * sizeof(Offset), sizeof(ends));
  return {static_cast<const char*>(array.buffers[2]) + ends[0], static_cast<std::size_t>(ends[1] - ends[0])};
}

/// Text of a string view: its length, then either up to 12 bytes, or 4 bytes of a prefix, the number of a buffer, and the place in it.
inline std::string arrow_view(const ArrowArray& array, std::size_t i) {
  const char* view = static_cast<const char*>(array.buffers[1]) + 16 * i;
  std::int32_t size = 0, buffer = 0, place = 0;
  std::memcpy(&size, view, 4);
  if (size <= 12) return {view + 4, static_cast<std::size_t>(size)};
  std::memcpy(&buffer, view + 8, 4);
  std::memcpy(&place, view + 12, 4);
  return {static_cast<const char*>(array.buffers[2 + buffer]) + place, static_cast<std::size_t>(size)};
}

using ArrowReader = std::string (*)(const ArrowArray&, std::size_t);

/// The function that reads a value of a type, without its nulls; nullptr for a type that is not read.
inline ArrowReader arrow_reader(std::string_view format) {
  if (format == "vu") return arrow_view;
  if (format.size() != 1) return nullptr;
  switch (format[0]) {
    case 'n':
      return [](const ArrowArray&, std::size_t) { return std::string(); };
    case 'b':
      return [](const ArrowArray& a, std::size_t i) { return std::string(arrow_bit(a.buffers[1], i) ? "true" : "false"); };
    case 'c':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::int8_t>(a.buffers[1], i); };
    case 'C':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::uint8_t>(a.buffers[1], i); };
    case 's':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::int16_t>(a.buffers[1], i); };
    case 'S':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::uint16_t>(a.buffers[1], i); };
    case 'i':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::int32_t>(a.buffers[1], i); };
    case 'I':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::uint32_t>(a.buffers[1], i); };
    case 'l':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::int64_t>(a.buffers[1], i); };
    case 'L':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<std::uint64_t>(a.buffers[1], i); };
    case 'f':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<float>(a.buffers[1], i); };
    case 'g':
      return [](const ArrowArray& a, std::size_t i) { return arrow_number<double>(a.buffers[1], i); };
    case 'u':
      return arrow_text<std::int32_t>;
    case 'U':
      return arrow_text<std::int64_t>;
    default:
      return nullptr;
  }
}

/// Reads the values of one column.
class ArrowColumnReader {
 public:
  ArrowColumnReader(const ArrowSchema& schema, const std::string& where) : read_(arrow_reader(schema.format)) {
    const bool indices = schema.dictionary != nullptr;
    if (indices) of_dictionary_ = std::make_unique<ArrowColumnReader>(*schema.dictionary, where);
    if (read_ == nullptr)
      fail_file(where, "has the Arrow type ", in_quotes(schema.format), ", which is not read; cast the column to text, or leave it out");
  }

  std::string value(const ArrowArray& array, std::size_t row) const {
    const std::size_t i = row + static_cast<std::size_t>(array.offset);
    const bool nulls = array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr;
    if (nulls && !arrow_bit(array.buffers[0], i)) return {};
    std::string text = read_(array, i);
    return of_dictionary_ ? of_dictionary_->value(*array.dictionary, std::stoul(text)) : text;
  }

 private:
  ArrowReader read_;
  std::unique_ptr<ArrowColumnReader> of_dictionary_;
};

}  // namespace detail

LEXFORMER_INLINE RecordTable read_arrow(ArrowArrayStream& stream, const std::string& name, const std::string& id) {
  if (stream.release == nullptr) fail_usage(name, "the Arrow stream is already released");
  detail::ArrowOwner<ArrowArrayStream> in;
  static_cast<ArrowArrayStream&>(in) = std::exchange(stream, ArrowArrayStream{});
  const auto check = [&](int error, const char* what) {
    if (error == 0) return;
    const char* message = in.get_last_error(&in);
    fail_file(name, "the Arrow stream gives no ", what, ": ", message != nullptr ? message : std::strerror(error));
  };
  detail::ArrowOwner<ArrowSchema> schema;
  check(in.get_schema(&in, &schema), "schema");
  if (std::string_view(schema.format) != "+s")
    fail_file(name, "the Arrow stream has the type ", in_quotes(schema.format), ", expected record batches (+s)");
  RecordTable table{name, {}, {}};
  table.id = id;
  std::vector<std::string> names;
  std::vector<detail::ArrowColumnReader> readers;
  for (std::int64_t c = 0; c < schema.n_children; ++c) {
    const ArrowSchema& column = *schema.children[c];
    names.emplace_back(column.name != nullptr && *column.name != '\0' ? column.name : cat(c + 1));
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1)
      fail_file(name, "two columns are called ", in_quotes(names.back()));
    readers.emplace_back(column, cat(name, ": column ", in_quotes(names.back())));
  }
  const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), id) - names.begin());
  if (place == names.size())
    fail_file(name, "there is no column ", in_quotes(id), " (the ids) among ", in_quotes(join(names)), did_you_mean(id, names));
  for (std::size_t c = 0; c < names.size(); ++c)
    if (c != place) table.columns.push_back(names[c]);
  if (table.columns.empty()) fail_file(name, "the records have ids and nothing else");
  for (;;) {
    detail::ArrowOwner<ArrowArray> batch;
    check(in.get_next(&in, &batch), "record batch");
    if (batch.release == nullptr) break;
    for (std::int64_t row = 0; row < batch.length; ++row) {
      const std::size_t line = table.records.size() + 1;
      Record record;
      record.line = line;
      for (std::size_t c = 0; c < names.size(); ++c) {
        std::string value = readers[c].value(*batch.children[c], static_cast<std::size_t>(row + batch.offset));
        if (find_invalid_utf8(value) != value.npos) fail_file(name, "row ", line, ", column ", in_quotes(names[c]), " is not UTF-8");
        (c == place ? record.id : record.values.emplace_back()) = std::move(value);
      }
      if (record.id.empty()) fail_file(name, "row ", line, ": the id (column ", in_quotes(id), ") is empty");
      if (const auto [first, added] = table.places.emplace(record.id, line - 1); !added)
        fail_file(name, "row ", line, ": the id ", in_quotes(record.id), " is also in row ", first->second + 1, "; ids must differ");
      table.records.push_back(std::move(record));
    }
  }
  if (table.records.empty()) fail_file(name, "the table has no records");
  return table;
}

}  // namespace lexformer
#endif
