// SPDX-License-Identifier: MIT
// The values of Arrow arrays as texts, by type
// (https://arrow.apache.org/docs/format/CDataInterface.html#data-type-description-format-strings).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/arrow_abi.hpp"

namespace lexformer::detail {

using ArrowReader = std::function<std::string(const ArrowArray& array, std::size_t i)>;

/// What is wrong with a value; read_arrow() adds row and column.
struct ArrowFault {
  std::string what;
};

/// The function that reads the value at place i (the array's offset included), which is not null, of a type. Empty for a type that is not
/// read. Throws ArrowFault. Texts: read_arrow() describes them.
ArrowReader arrow_reader(std::string_view format);

/// Whether the bit of place i is set.
bool arrow_bit(const void* bits, std::size_t i);

}  // namespace lexformer::detail

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "lexformer/core/error.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE bool arrow_bit(const void* bits, std::size_t i) {
  return (static_cast<const unsigned char*>(bits)[i / 8] >> (i % 8) & 1) != 0;
}

template <class N>
N arrow_value(const ArrowArray& array, std::size_t i) {
  N n;
  std::memcpy(&n, static_cast<const char*>(array.buffers[1]) + i * sizeof(N), sizeof(N));
  return n;
}

template <class N>
std::string arrow_number(const ArrowArray& array, std::size_t i) {
  const N n = arrow_value<N>(array, i);
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

/// Text between two offsets.
template <class Offset>
std::string arrow_text(const ArrowArray& array, std::size_t i) {
  Offset ends[2];
  std::memcpy(ends, static_cast<const char*>(array.buffers[1]) + i * sizeof(Offset), sizeof(ends));
  if (ends[0] < 0 || ends[1] < ends[0])
    throw ArrowFault{cat("has the offsets ", ends[0], " and ", ends[1], "; expected offsets that ascend from 0 or more")};
  if (ends[0] == ends[1]) return {};
  if (array.buffers[2] == nullptr) throw ArrowFault{"has no buffer of text"};
  return {static_cast<const char*>(array.buffers[2]) + ends[0], static_cast<std::size_t>(ends[1] - ends[0])};
}

/// Text of a string view: its length, then either up to 12 bytes, or 4 bytes of a prefix, the number of a buffer, and the place in it.
LEXFORMER_INLINE std::string arrow_view(const ArrowArray& array, std::size_t i) {
  const char* view = static_cast<const char*>(array.buffers[1]) + 16 * i;
  std::int32_t size = 0, buffer = 0, place = 0;
  std::memcpy(&size, view, 4);
  if (size < 0) throw ArrowFault{cat("is a view of length ", size, ", expected 0 or more")};
  if (size <= 12) return {view + 4, static_cast<std::size_t>(size)};
  std::memcpy(&buffer, view + 8, 4);
  std::memcpy(&place, view + 12, 4);
  if (buffer < 0 || place < 0 || buffer >= array.n_buffers - 2 || array.buffers[2 + buffer] == nullptr)
    throw ArrowFault{cat("is a view of place ", place, " in buffer ", buffer, " of ", array.n_buffers - 2)};
  return {static_cast<const char*>(array.buffers[2 + buffer]) + place, static_cast<std::size_t>(size)};
}

/// n in decimal with at least `width` digits.
LEXFORMER_INLINE std::string arrow_padded(std::int64_t n, std::size_t width) {
  std::string digits = std::to_string(n < 0 ? -n : n);
  digits.insert(0, width - std::min(width, digits.size()), '0');
  return (n < 0 ? "-" : "") + digits;
}

/// A count of parts of a unit as whole units and parts: -1 of 1000 parts is unit -1 and part 999.
struct ArrowParts {
  std::int64_t whole, parts;
  ArrowParts(std::int64_t count, std::int64_t per_unit) : whole(count / per_unit), parts(count % per_unit) {
    if (parts < 0) {
      --whole;
      parts += per_unit;
    }
  }
};

/// 2024-02-29, of a number of days since 1970.
LEXFORMER_INLINE std::string arrow_date(std::int64_t days) {
  const ArrowParts cycle(days, 146097);  // of 400 years
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(cycle.parts))};
  return arrow_padded(static_cast<int>(date.year()) + 400 * cycle.whole, 4) + "-" + arrow_padded(static_cast<unsigned>(date.month()), 2) +
         "-" + arrow_padded(static_cast<unsigned>(date.day()), 2);
}

/// ".25", of parts of a second; "" of none.
LEXFORMER_INLINE std::string arrow_fraction(std::int64_t parts, std::int64_t per_second) {
  if (parts == 0) return "";
  std::string digits = std::to_string(per_second + parts);
  digits.erase(digits.find_last_not_of('0') + 1);
  return "." + digits.substr(1);
}

/// 13:05:59.25
LEXFORMER_INLINE std::string arrow_time(std::int64_t count, std::int64_t per_second) {
  const ArrowParts second(count, per_second), minute(second.whole, 60), hour(minute.whole, 60);
  return arrow_padded(hour.whole, 2) + ":" + arrow_padded(hour.parts, 2) + ":" + arrow_padded(minute.parts, 2) +
         arrow_fraction(second.parts, per_second);
}

/// 2024-02-29T13:05:59.25
LEXFORMER_INLINE std::string arrow_timestamp(std::int64_t count, std::int64_t per_second) {
  const ArrowParts second(count, per_second), day(second.whole, 86400);
  return arrow_date(day.whole) + "T" + arrow_time(day.parts, 1) + arrow_fraction(second.parts, per_second);
}

/// PT90.5S
LEXFORMER_INLINE std::string arrow_duration(std::int64_t count, std::int64_t per_second) {
  const std::int64_t seconds = count / per_second, parts = count % per_second;
  return std::string(count < 0 ? "-" : "") + "PT" + arrow_padded(seconds < 0 ? -seconds : seconds, 1) +
         arrow_fraction(parts < 0 ? -parts : parts, per_second) + "S";
}

/// A number in `bytes` bytes, the lowest first, in two's complement, times 10^-scale.
LEXFORMER_INLINE std::string arrow_decimal(const ArrowArray& array, std::size_t i, std::size_t bytes, int scale) {
  const auto* from = static_cast<const unsigned char*>(array.buffers[1]) + bytes * i;
  std::array<std::uint32_t, 8> words{};
  std::memcpy(words.data(), from, bytes);
  const std::size_t count = bytes / 4;
  const bool negative = (from[bytes - 1] & 0x80u) != 0;
  std::uint64_t carry = 1;
  for (std::size_t w = 0; negative && w < count; ++w) {
    carry += static_cast<std::uint32_t>(~words[w]);
    words[w] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  std::string digits;  // the last one first
  while (std::any_of(words.begin(), words.end(), [](std::uint32_t word) { return word != 0; })) {
    std::uint64_t rest = 0;
    for (std::size_t w = count; w-- > 0;) {
      rest = rest << 32 | words[w];
      words[w] = static_cast<std::uint32_t>(rest / 10);
      rest %= 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  if (digits.empty()) digits = "0";
  if (scale < 0 && digits != "0") digits.insert(0, static_cast<std::size_t>(-scale), '0');
  const auto places = static_cast<std::size_t>(std::max(scale, 0));
  if (digits.size() <= places) digits.append(places + 1 - digits.size(), '0');
  if (places > 0) digits.insert(places, 1, '.');
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

/// The parts of a second of a unit: s, m, u, n.
LEXFORMER_INLINE std::optional<std::int64_t> arrow_unit(char unit) {
  constexpr std::string_view units = "smun";
  constexpr std::int64_t parts[] = {1, 1000, 1000000, 1000000000};
  const auto found = units.find(unit);
  return found == units.npos ? std::nullopt : std::optional(parts[found]);
}

/// tdD, tdm: dates; tts, ttm, ttu, ttn: times of day; tsu:Europe/Berlin and the like: timestamps; tDs and the like: durations.
LEXFORMER_INLINE ArrowReader arrow_time_reader(std::string_view format) {
  if (format == "tdD") return [](const ArrowArray& a, std::size_t i) { return arrow_date(arrow_value<std::int32_t>(a, i)); };
  if (format == "tdm")
    return [](const ArrowArray& a, std::size_t i) { return arrow_date(ArrowParts(arrow_value<std::int64_t>(a, i), 86400000).whole); };
  const auto unit = format.size() < 3 ? std::nullopt : arrow_unit(format[2]);
  if (!unit) return {};
  const std::int64_t per_second = *unit;
  if (format == "tts" || format == "ttm")
    return [per_second](const ArrowArray& a, std::size_t i) { return arrow_time(arrow_value<std::int32_t>(a, i), per_second); };
  if (format == "ttu" || format == "ttn")
    return [per_second](const ArrowArray& a, std::size_t i) { return arrow_time(arrow_value<std::int64_t>(a, i), per_second); };
  if (format.starts_with("tD") && format.size() == 3)
    return [per_second](const ArrowArray& a, std::size_t i) { return arrow_duration(arrow_value<std::int64_t>(a, i), per_second); };
  if (format.starts_with("ts") && format.size() > 3 && format[3] == ':') {
    const char* const zone = format.size() > 4 ? "Z" : "";
    return [per_second, zone](const ArrowArray& a, std::size_t i) {
      return arrow_timestamp(arrow_value<std::int64_t>(a, i), per_second) + zone;
    };
  }
  return {};
}

/// d:precision,scale for 128 bits, or d:precision,scale,bits.
LEXFORMER_INLINE ArrowReader arrow_decimal_reader(std::string_view format) {
  int numbers[3] = {0, 0, 128};
  std::size_t count = 0;
  for (const char *at = format.data() + 1, *const end = format.data() + format.size(); at != end && count < 3; ++count) {
    const auto [rest, error] = std::from_chars(at + 1, end, numbers[count]);
    if (error != std::errc{} || (rest != end && *rest != ',')) return {};
    at = rest;
  }
  const int scale = numbers[1], bits = numbers[2];
  if (count < 2 || std::abs(scale) > 100 || (bits != 32 && bits != 64 && bits != 128 && bits != 256)) return {};
  return
      [scale, bytes = static_cast<std::size_t>(bits) / 8](const ArrowArray& a, std::size_t i) { return arrow_decimal(a, i, bytes, scale); };
}

LEXFORMER_INLINE ArrowReader arrow_reader(std::string_view format) {
  if (format == "vu") return arrow_view;
  if (format.starts_with("t")) return arrow_time_reader(format);
  if (format.starts_with("d:")) return arrow_decimal_reader(format);
  if (format.size() != 1) return {};
  switch (format[0]) {
    case 'n':
      return [](const ArrowArray&, std::size_t) { return std::string(); };
    case 'b':
      return [](const ArrowArray& a, std::size_t i) { return std::string(arrow_bit(a.buffers[1], i) ? "true" : "false"); };
    case 'c':
      return arrow_number<std::int8_t>;
    case 'C':
      return arrow_number<std::uint8_t>;
    case 's':
      return arrow_number<std::int16_t>;
    case 'S':
      return arrow_number<std::uint16_t>;
    case 'i':
      return arrow_number<std::int32_t>;
    case 'I':
      return arrow_number<std::uint32_t>;
    case 'l':
      return arrow_number<std::int64_t>;
    case 'L':
      return arrow_number<std::uint64_t>;
    case 'f':
      return arrow_number<float>;
    case 'g':
      return arrow_number<double>;
    case 'u':
      return arrow_text<std::int32_t>;
    case 'U':
      return arrow_text<std::int64_t>;
    default:
      return {};
  }
}

}  // namespace lexformer::detail
#endif
