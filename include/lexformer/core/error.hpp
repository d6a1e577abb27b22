// SPDX-License-Identifier: MIT
// The exception type for all errors, and the format of its messages:
//   where: what is wrong, expected and found, what to do
#pragma once

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "lexformer: -ffast-math and -ffinite-math-only remove the checks for NaN and Inf; compile without it"
#endif

namespace lexformer {

/// The kind of error. The value is the exit code of the program lexformer.
enum class ErrorKind : int { failure = 1, usage = 2, file = 3, numeric = 4 };

namespace detail {
/// Length in bytes of the UTF-8 character that text starts with. 0 if it is invalid, or could change the terminal or the line: control
/// characters, line and paragraph separators, marks that reverse the text direction.
inline std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first < 0x7F ? 1 : 0;
  const std::size_t size = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 && first < 0xE0 ? 2 : 0;
  unsigned character = first & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
    character = (character << 6) | (byte(i) & 0x3Fu);
  }
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (character < least[size] || character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) return 0;
  const bool changes = character < 0xA0 || (character >= 0x2028 && character <= 0x202E) || (character >= 0x2066 && character <= 0x2069);
  return changes ? 0 : size;
}
}  // namespace detail

/// Returns `text` on one line: escapes everything but printable UTF-8 as in C, and omits the middle if it is longer than `limit` bytes.
inline std::string one_line(std::string_view text, std::size_t limit = 1000) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    // Skip the middle before escaping: text from a file may have gigabytes.
    if (text.size() > limit && i >= limit * 3 / 4 && text.size() - i > limit / 4) {
      out += " ... ";
      i = text.size() - limit / 4;
      while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u) ++i;
      continue;
    }
    const std::size_t bytes = detail::printable_bytes(text.substr(i, 4));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (bytes != 0)
      out += text.substr(i, bytes);
    else if (byte == '\n' || byte == '\t' || byte == '\r')
      out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : "\\r";
    else
      out += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    i += bytes == 0 ? 1 : bytes;
  }
  return out;
}

/// The exception type of lexformer. The message is passed through one_line(), since it may contain text from files.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(one_line(message)), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

namespace detail {
/// Writes numbers as in C whatever the global locale is, and throws if memory runs out.
struct PlainStream : std::ostringstream {
  PlainStream() {
    imbue(std::locale::classic());
    exceptions(std::ios::badbit);
  }
};
}  // namespace detail

/// Concatenates its arguments with operator<< (g++ 12 and clang 14 have no std::format). Throws if memory runs out, rather than
/// returning a truncated string: the string may be a file name. Numbers do not depend on the global locale.
template <class... Parts>
std::string cat(const Parts&... parts) {
  detail::PlainStream out;
  (out << ... << parts);
  return out.str();
}

/// Quotes untrusted text for a message: '...', at most 80 bytes. Bytes that are not printable UTF-8 are replaced by '?'.
inline std::string in_quotes(std::string_view text) {
  std::string out = "'";
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = detail::printable_bytes(text.substr(at, 4)), used = bytes == 0 ? 1 : bytes;
    if (at + used > 80) break;
    out += bytes == 0 ? "?" : text.substr(at, bytes);
    at += used;
  }
  return out + (at < text.size() ? "...'" : "'");
}

/// Concatenates a list of strings with a separator: "a, b, c".
template <class Texts>
std::string join(const Texts& texts, std::string_view between = ", ") {
  std::string out;
  bool first = true;
  for (const auto& text : texts) {
    if (!std::exchange(first, false)) out += between;
    out += text;
  }
  return out;
}

/// Throws Error{failure} with the message "where: parts...".
template <class... Parts>
[[noreturn]] void fail(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::failure, cat(where, ": ", parts...));
}

/// Throws Error{usage}: a wrong option or argument (exit code 2).
template <class... Parts>
[[noreturn]] void fail_usage(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::usage, cat(where, ": ", parts...));
}

/// Throws Error{file}: a file cannot be read or has wrong contents (exit code 3). `where` names the file.
template <class... Parts>
[[noreturn]] void fail_file(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::file, cat(where, ": ", parts...));
}

/// Throws Error{numeric}: a value is not finite (exit code 4).
template <class... Parts>
[[noreturn]] void fail_numeric(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::numeric, cat(where, ": ", parts...));
}

}  // namespace lexformer
