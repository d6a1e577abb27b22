// SPDX-License-Identifier: MIT
// safetensors: 8 bytes N (little-endian), N bytes of JSON, then the bytes of the tensors without gaps.
//   {"__metadata__": {text: text, ...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
// Format: https://github.com/huggingface/safetensors. For the reader's checks and the writer's order see docs/format.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/half.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// The element types that can be read. F64, F32, F16, BF16, I64 and I8 can be converted to tensors.
enum class Dtype { f64, i64, u64, f32, i32, u32, f16, bf16, i16, u16, i8, u8, boolean };

struct DtypeInfo {
  Dtype dtype;
  const char* name;
  std::size_t width;  // bytes of an element
};
inline constexpr DtypeInfo dtype_table[] = {
    {Dtype::f64, "F64", 8}, {Dtype::i64, "I64", 8}, {Dtype::u64, "U64", 8},      {Dtype::f32, "F32", 4}, {Dtype::i32, "I32", 4},
    {Dtype::u32, "U32", 4}, {Dtype::f16, "F16", 2}, {Dtype::bf16, "BF16", 2},    {Dtype::i16, "I16", 2}, {Dtype::u16, "U16", 2},
    {Dtype::i8, "I8", 1},   {Dtype::u8, "U8", 1},   {Dtype::boolean, "BOOL", 1},
};
inline const DtypeInfo& dtype_info(Dtype dtype) { return dtype_table[static_cast<std::size_t>(dtype)]; }

template <class T>
inline constexpr Dtype dtype_of = std::is_same_v<T, double>         ? Dtype::f64
                                  : std::is_same_v<T, std::int64_t> ? Dtype::i64
                                  : std::is_same_v<T, bfloat16>     ? Dtype::bf16
                                  : std::is_same_v<T, std::int8_t>  ? Dtype::i8
                                                                    : Dtype::f32;

struct TensorReadOptions {
  bool allow_non_finite = false;
};

/// The contents of a safetensors file in memory: named tensors and texts. Copies share the bytes of the tensors.
class TensorFile {
 public:
  /// The texts in the file's `__metadata__`. write() sets `format` and `lexformer.crc32` itself.
  std::map<std::string, std::string> metadata;

  /// Reads and checks a file. Each error names the file and has kind `file`.
  static TensorFile read(const std::string& path, TensorReadOptions options = {});
  /// Throws unless `start` (at least 9 bytes) can be the beginning of a safetensors file.
  static void check_start(std::string_view start, const std::string& where);
  /// Reads the bytes of such a file for parse(). Errors: as read_file(); check_start(); a large file holds more bytes than its header says,
  /// as a sparse file of zeros does.
  static std::string read_bytes(const std::string& path);
  /// Parses bytes in memory with the same checks as read().
  static TensorFile parse(std::string bytes, const std::string& where, TensorReadOptions options = {});

  std::size_t size() const { return entries_.size(); }
  bool contains(const std::string& name) const;
  /// The names in alphabetical order.
  std::vector<std::string> names() const;
  Dtype dtype(const std::string& name) const { return find(name).dtype; }
  const Shape& shape(const std::string& name) const { return find(name).shape; }
  std::string_view bytes(const std::string& name) const { return find(name).bytes; }

  /// Returns the tensor as T: float or double from F64, F32, F16 and BF16; std::int64_t from I64; std::int8_t from I8.
  template <class T>
  Tensor<T> get(const std::string& name) const;
  /// Writes the elements, row-major and converted as by get(). Errors: as get(); values.size() is not the number of elements. After an
  /// error some may have been written.
  template <class T>
  void copy_to(const std::string& name, std::span<T> values) const;

  /// Adds or replaces a tensor, stored as `dtype`. Elements that need no conversion are not copied.
  template <class T>
  void set(const std::string& name, const Tensor<T>& value, Dtype dtype = dtype_of<T>);
  void erase(const std::string& name);
  /// Renames a tensor. Errors: `from` does not exist, or `to` exists.
  void rename(const std::string& from, const std::string& to);
  /// Exchanges the rows and columns of a matrix. Errors: the tensor has not two dimensions.
  void transpose(const std::string& name);
  /// Divides the rows of a tensor among new ones, as many for each. Errors: they do not divide evenly; a name exists.
  void split(const std::string& name, const std::vector<std::string>& parts);
  /// Row i becomes the old row order[i]. Errors: there are not as many rows.
  void permute_rows(const std::string& name, const std::vector<std::size_t>& order);
  /// Adds the tensors of another file (a shard). Errors: a name is in both.
  void merge(const TensorFile& other);

  /// Writes atomically. The bytes depend only on the content: tensors are sorted by descending element size, then by name; metadata by key;
  /// the header is padded with spaces so that the tensors begin at a multiple of 64 bytes; the metadata has a CRC-32 of each tensor.
  void write(const std::string& path) const;
  /// The bytes of such a file. `where` names them in messages.
  std::string to_bytes(const std::string& where) const;

 private:
  struct Entry {
    Dtype dtype = Dtype::f32;
    Shape shape;
    std::string_view bytes;
    std::shared_ptr<const void> owner;  // of the bytes
  };
  using Entries = std::map<std::string, Entry>;

  const Entry& find(const std::string& name) const;
  std::vector<const Entries::value_type*> ordered() const;
  static constexpr std::size_t max_header = 64u << 20, max_name = 512;  // bytes

  std::string header(const std::string& where) const;
  static Entry parse_entry(const std::string& name, const Json& value, std::string_view data, const std::string& where);
  void check_tiling(std::string_view data) const;
  void check_values(bool allow_non_finite) const;

  Entries entries_;
  std::string where_ = "TensorFile";  // the file, for messages
};

namespace detail {

/// Calls body(i, value) for each element of a floating-point tensor, as float or double.
template <class Body>
void for_each_element(Dtype dtype, std::string_view bytes, Body&& body) {
  const auto run = [&](auto sample, auto convert) {
    for (std::size_t i = 0; i < bytes.size() / sizeof sample; ++i) {
      std::memcpy(&sample, bytes.data() + i * sizeof sample, sizeof sample);  // the bytes may be unaligned
      body(i, convert(sample));
    }
  };
  const auto same = [](auto x) { return x; };
  if (dtype == Dtype::f64) run(double{}, same);
  if (dtype == Dtype::f32) run(float{}, same);
  if (dtype == Dtype::f16) run(std::uint16_t{}, from_float16);
  if (dtype == Dtype::bf16) run(bfloat16{}, [](bfloat16 x) { return float{x}; });
}

inline bool is_float(Dtype d) { return d == Dtype::f64 || d == Dtype::f32 || d == Dtype::f16 || d == Dtype::bf16; }

}  // namespace detail

template <class T>
Tensor<T> TensorFile::get(const std::string& name) const {
  Tensor<T> out(shape(name));
  copy_to(name, out.mutable_span());
  return out;
}

template <class T>
void TensorFile::copy_to(const std::string& name, std::span<T> values) const {
  const Entry& entry = find(name);
  if (values.size() != entry.shape.size())
    fail_file(where_, "tensor ", in_quotes(name), " has shape ", entry.shape, ", expected ", values.size(), " elements");
  if (entry.dtype == dtype_of<T>) {
    // set() shares the elements of a tensor, so they may be these.
    if (!entry.bytes.empty()) std::memmove(values.data(), entry.bytes.data(), entry.bytes.size());
    return;
  }
  if constexpr (std::is_floating_point_v<accumulate_t<T>>) {
    if (detail::is_float(entry.dtype)) {
      detail::for_each_element(entry.dtype, entry.bytes, [&](std::size_t i, auto x) {
        values[i] = static_cast<T>(x);
        if (std::isfinite(x) && !std::isfinite(static_cast<accumulate_t<T>>(values[i])))
          fail_file(where_, "tensor ", in_quotes(name), " holds ", x, ", too large here");
      });
      return;
    }
  }
  fail_file(where_, "tensor ", in_quotes(name), " is of ", dtype_info(entry.dtype).name, ", expected ", dtype_info(dtype_of<T>).name);
}

template <class T>
void TensorFile::set(const std::string& name, const Tensor<T>& value, Dtype dtype) {
  static_assert(dtype_of<T> != Dtype::f32 || std::is_same_v<T, float>);
  const std::string here = "TensorFile::set: tensor " + in_quotes(name);
  if (!value.defined()) fail(here, "is undefined");
  if (name.size() > max_name || name == "__metadata__") fail(here, "not a possible name: at most ", max_name, " bytes, not __metadata__");
  Entry entry{dtype, value.shape(), {}, nullptr};
  if (dtype == dtype_of<T>) {
    const auto owner = std::make_shared<const Tensor<T>>(value);
    entry.bytes = {reinterpret_cast<const char*>(owner->data()), owner->size() * sizeof(T)};
    entry.owner = owner;
  } else {
    if (!detail::is_float(dtype_of<T>) || !detail::is_float(dtype)) fail(here, "cannot be stored as ", dtype_info(dtype).name);
    const auto owner = std::make_shared<std::string>(value.size() * dtype_info(dtype).width, '\0');
    const auto store = [&](auto convert) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        const auto x = convert(value.data()[i]);
        std::memcpy(owner->data() + i * sizeof x, &x, sizeof x);
      }
    };
    if (dtype == Dtype::f64) store([](T x) { return static_cast<double>(x); });
    if (dtype == Dtype::f32) store([](T x) { return static_cast<float>(x); });
    if (dtype == Dtype::f16) store([](T x) { return to_float16(static_cast<float>(x)); });
    if (dtype == Dtype::bf16) store([](T x) { return static_cast<bfloat16>(static_cast<float>(x)); });
    entry.bytes = *owner;
    entry.owner = owner;
    detail::for_each_element(dtype, entry.bytes, [&](std::size_t i, auto x) {
      if (const auto from = static_cast<accumulate_t<T>>(value.data()[i]); std::isfinite(from) && !std::isfinite(x))
        fail_numeric(here, from, " is too large for ", dtype_info(dtype).name);
    });
  }
  entries_.insert_or_assign(name, std::move(entry));
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <filesystem>
#include <fstream>
#include <system_error>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE TensorFile TensorFile::read(const std::string& path, TensorReadOptions options) {
  return parse(read_bytes(path), path, options);
}

LEXFORMER_INLINE bool TensorFile::contains(const std::string& name) const { return entries_.count(name) != 0; }

LEXFORMER_INLINE void TensorFile::erase(const std::string& name) { entries_.erase(name); }

LEXFORMER_INLINE void TensorFile::rename(const std::string& from, const std::string& to) {
  find(from);
  if (contains(to)) fail_file(where_, "two tensors would get the name ", in_quotes(to));
  auto node = entries_.extract(from);
  node.key() = to;
  entries_.insert(std::move(node));
}

LEXFORMER_INLINE void TensorFile::transpose(const std::string& name) {
  const Entry& old = find(name);
  if (old.shape.rank() != 2) fail_file(where_, "tensor ", in_quotes(name), " has the shape ", old.shape, ", expected a matrix");
  const std::size_t rows = old.shape[0], columns = old.shape[1], width = dtype_info(old.dtype).width;
  const auto turned = std::make_shared<std::string>(old.bytes.size(), '\0');
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      std::memcpy(turned->data() + (j * rows + i) * width, old.bytes.data() + (i * columns + j) * width, width);
  entries_[name] = {old.dtype, Shape{columns, rows}, *turned, turned};
}
LEXFORMER_INLINE void TensorFile::split(const std::string& name, const std::vector<std::string>& parts) {
  const Entry whole = find(name);
  const std::size_t rows = whole.shape.rank() == 0 ? 0 : whole.shape[0], count = rows / parts.size();
  if (count == 0 || rows % parts.size() != 0)
    fail_file(where_, "tensor ", in_quotes(name), " has the shape ", whole.shape, ", expected rows of ", parts.size(), " tensors");
  std::vector<std::size_t> sizes(whole.shape.begin(), whole.shape.end());
  sizes[0] = count;
  entries_.erase(name);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t bytes = whole.bytes.size() / parts.size();
    if (!entries_
             .emplace(parts[i], Entry{whole.dtype, Shape(sizes.begin(), sizes.end()), whole.bytes.substr(i * bytes, bytes), whole.owner})
             .second)
      fail_file(where_, "two tensors would be called ", in_quotes(parts[i]));
  }
}

LEXFORMER_INLINE void TensorFile::permute_rows(const std::string& name, const std::vector<std::size_t>& order) {
  const Entry& old = find(name);
  if (old.shape.rank() == 0 || old.shape[0] != order.size())
    fail_file(where_, "tensor ", in_quotes(name), " has the shape ", old.shape, ", expected ", order.size(), " rows");
  const std::size_t width = order.empty() ? 0 : old.bytes.size() / order.size();
  const auto moved = std::make_shared<std::string>();
  moved->reserve(old.bytes.size());
  for (const std::size_t row : order) moved->append(old.bytes.substr(row * width, width));
  entries_[name] = {old.dtype, old.shape, *moved, moved};
}

LEXFORMER_INLINE void TensorFile::merge(const TensorFile& other) {
  for (const auto& [name, entry] : other.entries_)
    if (!entries_.emplace(name, entry).second) fail_file(other.where_, "the tensor ", in_quotes(name), " is in two files");
}

LEXFORMER_INLINE std::vector<std::string> TensorFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

LEXFORMER_INLINE void TensorFile::write(const std::string& path) const {
  const std::string head = header(path);
  std::vector<std::string_view> parts{head};
  for (const auto* item : ordered()) parts.push_back(item->second.bytes);
  write_file_atomic(path, parts);
}

LEXFORMER_INLINE std::string TensorFile::to_bytes(const std::string& where) const {
  std::string all = header(where);
  std::size_t size = all.size();
  for (const auto& [name, entry] : entries_) size += entry.bytes.size();
  all.reserve(size);
  for (const auto* item : ordered()) all += item->second.bytes;
  return all;
}

LEXFORMER_INLINE const TensorFile::Entry& TensorFile::find(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) fail_file(where_, "there is no tensor ", in_quotes(name));
  return it->second;
}

LEXFORMER_INLINE std::vector<const TensorFile::Entries::value_type*> TensorFile::ordered() const {
  std::vector<const Entries::value_type*> order;
  for (const auto& item : entries_) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return dtype_info(a->second.dtype).width > dtype_info(b->second.dtype).width; });
  return order;
}

LEXFORMER_INLINE void TensorFile::check_start(std::string_view start, const std::string& where) {
  check_placeholder(start, where);
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), 8);
  const auto is_text = [](char c) {
    return c == '\t' || c == '\n' || c == '\r' || (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0xF5);
  };
  if (length > max_header && std::all_of(start.begin(), start.begin() + 8, is_text))
    fail_file(where, "is a text, perhaps a table, and no model; expected a .lxf or .safetensors file");
  if (length > max_header)
    fail_file(where, "header length ", length, " is more than ", max_header, "; the file is damaged or is not a safetensors file");
  if (start[8] != '{') fail_file(where, "the header does not begin with '{'; this is not a safetensors file");
}

LEXFORMER_INLINE std::string TensorFile::read_bytes(const std::string& path) {
  constexpr std::uint64_t large = 1u << 20;  // a smaller file is read at once
  std::error_code none;
  const std::uint64_t size = std::filesystem::is_regular_file(path, none) ? std::filesystem::file_size(path, none) : 0;
  if (!none && size > large) {
    std::ifstream in(path, std::ios::binary);
    std::uint64_t length = 0, end = 0;
    in.read(reinterpret_cast<char*>(&length), 8);
    std::string text(in && length <= std::min<std::uint64_t>(max_header, size - 8) ? length : 0, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in && text.starts_with('{')) {
      const Json header = parse_json(text, path + ": header", {.depth = 3, .bytes = max_header});
      for (const auto& [name, value] : header.items()) {
        const auto offsets = value.is_object() ? value.find("data_offsets") : value.end();
        if (value.is_object() && offsets != value.end() && offsets->is_array() && offsets->size() == 2 &&
            offsets->back().is_number_unsigned())
          end = std::max(end, offsets->back().get<std::uint64_t>());
      }
      if (end < size - 8 - length) fail_file(path, size - 8 - length - end, " bytes follow the last tensor; the file is damaged");
    }
  }
  return read_file(path, max_file_bytes, check_start);
}

LEXFORMER_INLINE TensorFile TensorFile::parse(std::string content, const std::string& where, TensorReadOptions options) {
  const auto owner = std::make_shared<const std::string>(std::move(content));
  const std::string_view bytes = *owner;
  if (bytes.size() < 10) fail_file(where, "has ", bytes.size(), " bytes, too few for a safetensors file; is it cut off?");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  check_start(bytes, where);
  if (length > bytes.size() - 8)
    fail_file(where, "header length ", length, " is more than the ", bytes.size() - 8, " bytes that follow; the file is cut off");
  const std::string_view text = bytes.substr(8, length), data = bytes.substr(8 + length);

  TensorFile file;
  file.where_ = where;
  const Json header = parse_json(text, where + ": header", {.depth = 3, .bytes = max_header});
  for (const auto& [name, value] : header.items()) {
    if (name.size() > max_name) fail_file(where, "the tensor name ", in_quotes(name), " has more than ", max_name, " bytes");
    if (name != "__metadata__") {
      Entry entry = parse_entry(name, value, data, where);
      entry.owner = owner;
      file.entries_.emplace(name, std::move(entry));
      continue;
    }
    if (!value.is_object()) fail_file(where, "__metadata__ is no JSON object");
    for (const auto& [key, word] : value.items()) {
      if (!word.is_string()) fail_file(where, "__metadata__: ", in_quotes(key), " is ", word.type_name(), ", expected a text");
      file.metadata.emplace(key, word.get<std::string>());
    }
  }
  file.check_tiling(data);
  file.check_values(options.allow_non_finite);
  return file;
}

LEXFORMER_INLINE TensorFile::Entry TensorFile::parse_entry(const std::string& name, const Json& value, std::string_view data,
                                                           const std::string& where) {
  const std::string here = where + ": tensor " + in_quotes(name);
  if (!value.is_object() || value.size() != 3) fail_file(here, "expected an object of dtype, shape and data_offsets");
  Entry entry;
  const std::string dtype = get_string(value, "dtype", here);
  const auto* info = std::find_if(std::begin(dtype_table), std::end(dtype_table), [&](const auto& row) { return dtype == row.name; });
  if (info == std::end(dtype_table)) fail_file(here, "unknown dtype ", in_quotes(dtype));
  entry.dtype = info->dtype;

  const auto numbers = [&](const char* key) {
    const auto it = value.find(key);
    if (it == value.end() || !it->is_array()) fail_file(here, key, " is missing or no array");
    std::vector<std::size_t> out;
    for (const Json& number : *it) {
      if (!number.is_number_unsigned()) fail_file(here, key, " holds ", detail::shown(number), ", expected a whole number");
      out.push_back(number.get<std::size_t>());
    }
    return out;
  };
  const auto dims = numbers("shape"), offsets = numbers("data_offsets");
  if (dims.size() > Shape::max_rank) fail_file(here, "rank ", dims.size(), " is more than ", Shape::max_rank);
  // Zeros are left out of the product, so that a shape like (2^40, 2^40, 0) is refused in any order of its sizes.
  std::size_t needed = info->width;
  for (const std::size_t d : dims)
    if (__builtin_mul_overflow(needed, std::max(d, std::size_t{1}), &needed)) fail_file(here, "the sizes of its shape overflow");
  if (std::count(dims.begin(), dims.end(), 0u) != 0) needed = 0;
  entry.shape = Shape(dims.begin(), dims.end());
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size())
    fail_file(here, "its data_offsets are no range within the ", data.size(), " bytes of data; is the file cut off?");
  if (offsets[1] - offsets[0] != needed)
    fail_file(here, "shape ", entry.shape, " of ", dtype, " needs ", needed, " bytes, its data_offsets give ", offsets[1] - offsets[0]);
  entry.bytes = data.substr(offsets[0], needed);
  return entry;
}

/// Checks that the tensors' byte ranges, sorted, cover the data without gaps or overlaps.
LEXFORMER_INLINE void TensorFile::check_tiling(std::string_view data) const {
  std::vector<const Entries::value_type*> order;
  for (const auto& item : entries_) order.push_back(&item);
  const auto end = [](const auto* item) { return item->second.bytes.data() + item->second.bytes.size(); };
  std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    return std::make_pair(a->second.bytes.data(), end(a)) < std::make_pair(b->second.bytes.data(), end(b));
  });
  const char* position = data.data();
  for (const auto* item : order) {
    const char* begin = item->second.bytes.data();
    if (begin != position)
      fail_file(where_, "tensor ", in_quotes(item->first), begin < position ? " overlaps the one before it" : " follows a hole",
                ", at byte ", begin - data.data(), " of the data, expected ", position - data.data());
    position = end(item);
  }
  if (position != data.data() + data.size())
    fail_file(where_, data.data() + data.size() - position, " bytes follow the last tensor; the file is damaged");
}

/// Checks the CRC-32 values in the file, and that weights are finite unless non-finite values are allowed.
LEXFORMER_INLINE void TensorFile::check_values(bool allow_non_finite) const {
  if (const auto it = metadata.find("lexformer.crc32"); it != metadata.end()) {
    const std::string here = where_ + ": lexformer.crc32";
    const Json sums = parse_json(it->second, here, {.depth = 1});
    if (sums.size() != entries_.size()) fail_file(here, "has ", sums.size(), " entries for ", entries_.size(), " tensors");
    for (const auto& [name, entry] : entries_)
      if (get_size(sums, name, 0, 0xFFFFFFFFu, here) != crc32(entry.bytes))
        fail_file(where_, "tensor ", in_quotes(name), ": its checksum does not fit; the file is damaged");
  }
  if (allow_non_finite) return;
  std::size_t values = 0, tensors = 0;
  std::string first;
  for (const auto& [name, entry] : entries_) {
    std::size_t bad = 0;
    detail::for_each_element(entry.dtype, entry.bytes, [&](std::size_t, auto x) { bad += static_cast<std::size_t>(!std::isfinite(x)); });
    if (bad != 0 && tensors++ == 0) first = name;
    values += bad;
  }
  if (values != 0)
    fail_file(where_, values, " values are NaN or infinite, in ", tensors, " of ", size(), " tensors, first in ", in_quotes(first));
}

LEXFORMER_INLINE std::string TensorFile::header(const std::string& where) const {
  Json sums = Json::object();
  for (const auto& [name, entry] : entries_) sums[name] = crc32(entry.bytes);
  auto texts = metadata;
  texts["format"] = "pt";  // required by transformers
  texts["lexformer.crc32"] = dump_json(sums, where);
  std::string text = "{\"__metadata__\":" + dump_json(texts, where);
  std::size_t begin = 0;
  for (const auto* item : ordered()) {
    const auto& [name, entry] = *item;
    const std::vector<std::size_t> dims(entry.shape.begin(), entry.shape.end());
    text += cat(",", dump_json(name, where), ":{\"dtype\":\"", dtype_info(entry.dtype).name, "\",\"shape\":", dump_json(dims, where),
                ",\"data_offsets\":[", begin, ",", begin + entry.bytes.size(), "]}");
    begin += entry.bytes.size();
  }
  text += "}";
  if (text.size() > max_header - 64) fail(where, "the names and metadata fill ", text.size(), " bytes, more than the reader takes");
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  const std::uint64_t length = text.size();
  std::string head(8, '\0');
  std::memcpy(head.data(), &length, 8);
  return head + text;
}

}  // namespace lexformer
#endif
