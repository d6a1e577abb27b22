// SPDX-License-Identifier: MIT
// NumPy's .npy format, version 1.0: C order, little-endian, float32 or float64.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/io/file.hpp"

namespace lexformer {

/// Writes a float or double tensor atomically.
template <class T>
void save_npy(const std::string& path, const Tensor<T>& tensor) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if (!tensor.defined()) fail("save_npy", path, ": the tensor is undefined");
  std::string head =
      cat("\x93NUMPY", '\x01', '\0', "..", "{'descr': '<f", sizeof(T), "', 'fortran_order': False, 'shape': ", tensor.shape(), ", }");
  head.resize((head.size() + 64) / 64 * 64 - 1, ' ');  // the data begin at a multiple of 64 bytes
  head += '\n';
  head[8] = static_cast<char>((head.size() - 10) & 0xFF);
  head[9] = static_cast<char>((head.size() - 10) >> 8);
  const std::string_view parts[] = {head, {reinterpret_cast<const char*>(tensor.data()), tensor.size() * sizeof(T)}};
  write_file_atomic(path, parts);
}

/// Reads float32 or float64 as T. Errors: another version, type or order; the size does not match the shape.
template <class T>
Tensor<T> load_npy(const std::string& path) {
  const std::string bytes = read_file(path);
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 10) fail_file(path, "is no .npy file");
  if (bytes[6] != 1 || bytes[7] != 0) fail_file(path, "is a .npy file of version ", +bytes[6], ".", +bytes[7], ", expected 1.0");
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(bytes[i])}; };
  const std::size_t begin = 10 + byte(8) + 256 * byte(9);
  if (begin > bytes.size()) fail_file(path, "the header is cut off");

  // {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } with any spacing, so spaces are removed first.
  std::string text;
  for (const char c : std::string_view(bytes).substr(10, begin - 10))
    if (c != ' ' && c != '\n') text += c;
  const auto value = [&](const std::string& key, const char* end) {
    const auto at = text.find("'" + key + "':");
    if (at == text.npos) fail_file(path, "the header has no ", key);
    const auto first = at + key.size() + 3, last = text.find(end, first);
    if (last == text.npos) fail_file(path, "the header is damaged at ", key);
    return text.substr(first, last - first);
  };
  const std::string descr = value("descr", ","), order = value("fortran_order", ","), dims = value("shape", ")");
  if (descr != "'<f4'" && descr != "'<f8'") fail_file(path, "holds ", one_line(descr, 80), ", expected '<f4' or '<f8'");
  if (order != "False") fail_file(path, "is not in C order");
  const std::size_t width = descr == "'<f4'" ? 4 : 8;
  std::vector<std::size_t> shape;
  std::size_t needed = width;
  const char *p = dims.data(), *end = p + dims.size();
  if (p == end || *p++ != '(') fail_file(path, "the header is damaged at shape");
  while (p != end) {
    std::size_t d = 0;
    const auto got = std::from_chars(p, end, d);
    if (got.ec != std::errc() || shape.size() == Shape::max_rank || __builtin_mul_overflow(needed, std::max(d, std::size_t{1}), &needed) ||
        (got.ptr != end && *got.ptr != ','))
      fail_file(path, "the shape ", in_quotes(dims + ")"), " is not possible");
    shape.push_back(d);
    p = got.ptr == end ? end : got.ptr + 1;
  }
  if (std::count(shape.begin(), shape.end(), 0u) != 0) needed = 0;
  if (bytes.size() - begin != needed) fail_file(path, "has ", bytes.size() - begin, " bytes of data, the shape needs ", needed);

  Tensor<T> out(Shape(shape.begin(), shape.end()));
  T* values = out.mutable_data();
  const auto copy = [&](auto x) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::memcpy(&x, bytes.data() + begin + i * sizeof x, sizeof x);
      values[i] = static_cast<T>(x);
    }
  };
  if (width == 4) {
    copy(0.0f);
  } else {
    copy(0.0);
  }
  return out;
}

}  // namespace lexformer
