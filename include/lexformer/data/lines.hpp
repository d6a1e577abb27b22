// SPDX-License-Identifier: MIT
// Lines and fields of a text, and of a file that may be larger than memory.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/file.hpp"

namespace lexformer {

namespace detail {
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
}

/// Reads a file line by line, from the start or from the offset of any line. Lines end with LF or CR LF; the last one may lack its end.
/// A byte order mark is not part of the first line.
class LineReader {
 public:
  /// Lines longer than `limit` bytes are truncated to `limit`. Errors: the file is missing or is not a regular file.
  explicit LineReader(std::string path, std::uint64_t offset = 0, std::size_t limit = 1u << 16);

  /// Reads the next line without its end; returns false after the last one. Errors: the file cannot be read; the line contains a zero byte,
  /// as in UTF-16 or binary files.
  bool next(std::string& line);

  /// The offset in bytes of the line that next() returns next.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }

 private:
  bool fill();

  std::string path_;
  std::uint64_t offset_;
  std::size_t limit_;
  std::vector<char> buffer_;
  std::ifstream file_;
  std::size_t begin_ = 0, end_ = 0;  // the unread part of buffer_
};

/// Reads the lines of a stream without their ends, LF or CR LF, and the first one without a byte order mark.
class StreamLines {
 public:
  /// The stream must outlive the reader.
  explicit StreamLines(std::istream& in) : in_(in) {}
  /// Returns false after the last line.
  bool next(std::string& line);
  /// The number of the last line, from 1.
  std::size_t number() const { return number_; }

 private:
  std::istream& in_;
  std::size_t number_ = 0;
};

namespace detail {
/// The lines of a text, without line breaks and without a byte order mark. A last line without characters is none.
std::vector<std::string_view> split_lines(std::string_view text);
/// The fields of a line, separated by spaces and tabs.
std::vector<std::string_view> split_fields(std::string_view line);
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE LineReader::LineReader(std::string path, std::uint64_t offset, std::size_t limit)
    : path_(std::move(path)), offset_(offset), limit_(limit), buffer_(1u << 16) {
  std::error_code error;
  if (std::filesystem::exists(path_, error) && !std::filesystem::is_regular_file(path_, error))
    fail_file(path_, "is no regular file; the text is read several times");
  file_.open(path_, std::ios::binary);
  if (!file_) fail_file(path_, "cannot be opened: ", detail::system_message(errno));
  file_.seekg(static_cast<std::streamoff>(offset));
}

LEXFORMER_INLINE bool LineReader::next(std::string& line) {
  line.clear();
  const bool first_line = offset_ == 0;
  bool any = false, ended = false;
  while (!ended && (begin_ < end_ || fill())) {
    any = true;
    const char* const first = buffer_.data() + begin_;
    const auto* const feed = static_cast<const char*>(std::memchr(first, '\n', end_ - begin_));
    ended = feed != nullptr;
    const std::size_t bytes = ended ? static_cast<std::size_t>(feed - first) : end_ - begin_;
    line.append(first, std::min(bytes, limit_ - line.size()));
    const std::size_t taken = bytes + (ended ? 1 : 0);
    begin_ += taken;
    offset_ += taken;
  }
  if (line.ends_with('\r')) line.pop_back();
  if (first_line && line.starts_with(detail::byte_order_mark)) line.erase(0, detail::byte_order_mark.size());
  if (line.find('\0') != line.npos) fail_file(path_, "the line before byte ", offset_, " holds a zero byte; expected text in UTF-8");
  return any;
}

LEXFORMER_INLINE bool StreamLines::next(std::string& line) {
  if (!std::getline(in_, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  if (number_++ == 0 && line.starts_with(detail::byte_order_mark)) line.erase(0, detail::byte_order_mark.size());
  return true;
}

LEXFORMER_INLINE bool LineReader::fill() {
  file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (file_.bad()) fail_file(path_, "cannot be read");
  begin_ = 0;
  end_ = static_cast<std::size_t>(file_.gcount());
  return end_ > 0;
}

namespace detail {

LEXFORMER_INLINE std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

LEXFORMER_INLINE std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; (begin = line.find_first_not_of(" \t", begin)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return fields;
}

}  // namespace detail

}  // namespace lexformer
#endif
