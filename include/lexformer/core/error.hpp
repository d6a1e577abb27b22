// SPDX-License-Identifier: MIT
// One exception type for everything a user can get wrong, and one shape of message:
//   where: what failed, expected and found, what to do
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "lexformer: -ffast-math and -ffinite-math-only remove the checks for NaN and Inf; compile without it"
#endif

namespace lexformer {

/// What kind of failure it was. The value is the exit code that the programs in examples/ return.
enum class ErrorKind : int { failure = 1, usage = 2, file = 3, numeric = 4 };

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

/// Joins its arguments into a string with operator<< (std::format is missing on g++ 12 and clang 14). The text is whole or, for want of
/// memory, std::bad_alloc is thrown: it may name a file.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);
  (out << ... << parts);
  return out.str();
}

/// Foreign text for use in a message: in quotes, on one line, ASCII, at most 80 bytes of it.
inline std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 80)) out += c >= 0x20 && c < 0x7F ? c : '?';
  return out + (text.size() > 80 ? "...'" : "'");
}

/// Throws Error{failure} with the message "where: parts...".
template <class... Parts>
[[noreturn]] void fail(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::failure, cat(where, ": ", parts...));
}

/// A wrong option or argument (exit code 2).
template <class... Parts>
[[noreturn]] void fail_usage(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::usage, cat(where, ": ", parts...));
}

/// A file that cannot be read, or is not what it should be (exit code 3). `where` names the file.
template <class... Parts>
[[noreturn]] void fail_file(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::file, cat(where, ": ", parts...));
}

/// A value that is not finite where it must be (exit code 4).
template <class... Parts>
[[noreturn]] void fail_numeric(const std::string& where, const Parts&... parts) {
  throw Error(ErrorKind::numeric, cat(where, ": ", parts...));
}

}  // namespace lexformer
