// SPDX-License-Identifier: MIT
// Tables of records from other libraries of the same process: pyarrow, DuckDB, Polars, and with them Parquet files and databases.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/arrow_abi.hpp"
#include "lexformer/tables/records.hpp"

namespace lexformer {

/// Reads a table from a stream of record batches, which is released, also after an error. `name` names the table in messages, `id` the
/// column of the ids; without it, the ids are the numbers of the rows from 0. columns: those to read, in this order; empty means all. Other
/// columns are skipped, whatever their type.
/// Values become texts: numbers in decimal, the shortest that gives the same number; decimals with all their digits; booleans as true and
/// false; null as an empty text; dates and times by ISO 8601: 2024-02-29, 13:05:59.25, 2024-02-29T13:05:59, or with Z for the time in UTC
/// if the type has a time zone; durations in seconds, PT90.5S. Types: text (u, U, vu), booleans, integers, float and double, decimals,
/// dates, times, timestamps, durations, null, and dictionaries of them.
/// Errors: a column of another type (cast it to text); a column that does not exist; what RecordReader refuses, with the number of the
/// row; an error of the producer; arrays that contradict their length, their offsets or their dictionary.
RecordTable read_arrow(ArrowArrayStream& stream, const std::string& name, const std::optional<std::string>& id = "id",
                       std::span<const std::string> columns = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/tables/arrow_values.hpp"
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

/// Reads the values of one column.
class ArrowColumnReader {
 public:
  ArrowColumnReader(const ArrowSchema& schema, const std::string& where)
      : read_(arrow_reader(schema.format)), buffers_(buffers_of(schema.format)) {
    const bool indices = schema.dictionary != nullptr;
    const std::string_view format = schema.format;
    if (indices && (format.size() != 1 || std::string_view("cCsSiIlL").find(format[0]) == std::string_view::npos))
      fail_file(where, "has dictionary indices of the Arrow type ", in_quotes(format), ", expected integers");
    if (indices) of_dictionary_ = std::make_unique<ArrowColumnReader>(*schema.dictionary, where);
    if (!read_)
      fail_file(where, "has the Arrow type ", in_quotes(schema.format),
                ", which is not read; cast the column to text, or name the columns to read");
  }

  /// Throws ArrowFault.
  std::string value(const ArrowArray& array, std::uint64_t row) const {
    if (array.length < 0 || array.offset < 0 || row >= static_cast<std::uint64_t>(array.length))
      throw ArrowFault{cat("is behind its array, which has length ", array.length, " and offset ", array.offset)};
    if (array.n_buffers < buffers_ || (buffers_ > 0 && (array.buffers == nullptr || array.buffers[1] == nullptr)))
      throw ArrowFault{cat("has an array of ", array.n_buffers, " buffers, expected ", buffers_, " with values")};
    const std::size_t i = static_cast<std::size_t>(row) + static_cast<std::size_t>(array.offset);
    const bool nulls = array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr;
    if (nulls && !arrow_bit(array.buffers[0], i)) return {};
    std::string text = read_(array, i);
    if (!of_dictionary_) return text;
    if (array.dictionary == nullptr) throw ArrowFault{"has no dictionary"};
    std::uint64_t index = 0;
    const auto* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, index).ptr != end || array.dictionary->length < 0 ||
        index >= static_cast<std::uint64_t>(array.dictionary->length))
      throw ArrowFault{cat("has the index ", text, " in a dictionary of ", array.dictionary->length, " values")};
    return of_dictionary_->value(*array.dictionary, index);
  }

 private:
  /// The least number of buffers of an array of a type that is read.
  static std::int64_t buffers_of(std::string_view format) { return format == "n" ? 0 : format == "u" || format == "U" ? 3 : 2; }

  ArrowReader read_;
  std::int64_t buffers_;
  std::unique_ptr<ArrowColumnReader> of_dictionary_;
};

/// A column of the stream that is read.
struct ArrowInput {
  std::string name;
  std::size_t place;
  ArrowColumnReader reader;

  /// The text at a row of a batch; `line`: its row in the table, from 1.
  std::string value(const ArrowArray& batch, std::int64_t row, const std::string& table, std::size_t line) const {
    const auto refuse = [&](std::string_view what) { fail_file(table, "row ", line, ", column ", in_quotes(name), " ", what); };
    std::string text;
    try {
      text = reader.value(*batch.children[place], static_cast<std::uint64_t>(row) + static_cast<std::uint64_t>(batch.offset));
    } catch (const ArrowFault& fault) {
      refuse(fault.what);
    }
    if (find_invalid_utf8(text) != text.npos) refuse("is not UTF-8");
    if (text.find('\0') != text.npos) refuse("has a NUL byte");
    return text;
  }
};

/// Finds columns by name.
class ArrowInputs {
 public:
  ArrowInputs(const ArrowSchema& schema, std::string table) : schema_(schema), table_(std::move(table)) {
    for (std::int64_t c = 0; c < schema.n_children; ++c) {
      const char* name = schema.children[c]->name;
      names_.emplace_back(name != nullptr && *name != '\0' ? name : cat(c + 1));
      if (find_invalid_utf8(names_.back()) != std::string::npos) fail_file(table_, "the name of column ", c + 1, " is not UTF-8");
    }
  }
  const std::vector<std::string>& names() const { return names_; }

  /// Errors: there is no such column, or there are two; its type is not read. `what` it is, for the message.
  ArrowInput find(const std::string& name, const char* what) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end())
      fail_file(table_, "there is no column ", in_quotes(name), what, " among ", in_quotes(join(names_)), did_you_mean(name, names_));
    if (std::find(found + 1, names_.end(), name) != names_.end()) fail_file(table_, "two columns are called ", in_quotes(name));
    const auto place = static_cast<std::size_t>(found - names_.begin());
    return {name, place, ArrowColumnReader(*schema_.children[place], cat(table_, ": column ", in_quotes(name)))};
  }

 private:
  const ArrowSchema& schema_;
  std::string table_;
  std::vector<std::string> names_;
};

/// Appends the records of a batch. id: null for row numbers.
LEXFORMER_INLINE void add_arrow_batch(const ArrowArray& batch, const ArrowInput* id, const std::vector<ArrowInput>& columns,
                                      RecordTable& table) {
  const std::string& name = table.path;
  if (batch.length < 0 || batch.offset < 0)
    fail_file(name, "row ", table.records.size() + 1, ": a batch has length ", batch.length, " and offset ", batch.offset);
  const auto check_place = [&](const ArrowInput& column) {
    if (static_cast<std::int64_t>(column.place) >= batch.n_children || batch.children[column.place] == nullptr)
      fail_file(name, "row ", table.records.size() + 1, ": a batch of ", batch.n_children, " columns has no column ",
                in_quotes(column.name));
  };
  if (id != nullptr) check_place(*id);
  for (const ArrowInput& column : columns) check_place(column);
  for (std::int64_t row = 0; row < batch.length; ++row) {
    const std::size_t line = table.records.size() + 1;
    Record record;
    record.line = line;
    record.id = id == nullptr ? std::to_string(line - 1) : id->value(batch, row, name, line);
    for (const ArrowInput& column : columns) record.values.push_back(column.value(batch, row, name, line));
    if (record.id.empty()) fail_file(name, "row ", line, ": the id (column ", in_quotes(table.id), ") is empty");
    if (const auto [first, added] = table.places.emplace(record.id, line - 1); !added)
      fail_file(name, "row ", line, ": the id ", in_quotes(record.id), " is also in row ", first->second + 1, "; ids must differ");
    table.records.push_back(std::move(record));
  }
}

}  // namespace detail

LEXFORMER_INLINE RecordTable read_arrow(ArrowArrayStream& stream, const std::string& name, const std::optional<std::string>& id,
                                        std::span<const std::string> columns) {
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
  table.id = id.value_or("");
  const detail::ArrowInputs all(schema, name);
  std::vector<detail::ArrowInput> of_id, inputs;
  if (id) of_id.push_back(all.find(*id, " (the ids)"));
  for (const std::string& column : columns.empty() ? std::span(all.names()) : columns) {
    if (columns.empty() && id && column == *id) continue;
    inputs.push_back(all.find(column, ""));
    table.columns.push_back(column);
  }
  if (table.columns.empty()) fail_file(name, "the records have ids and nothing else");
  for (;;) {
    detail::ArrowOwner<ArrowArray> batch;
    check(in.get_next(&in, &batch), "record batch");
    if (batch.release == nullptr) break;
    detail::add_arrow_batch(batch, id ? of_id.data() : nullptr, inputs, table);
  }
  if (table.records.empty()) fail_file(name, "the table has no records");
  return table;
}

}  // namespace lexformer
#endif
