// SPDX-License-Identifier: MIT
// Noise: other formats of numbers and units.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// A unit with its names, and its signs as they follow a number, with the space between, if any: "GB", " GB".
struct UnitNames {
  std::string_view singular, plural;
  std::vector<std::string_view> signs;
};

/// Units of product descriptions and measures. Signs of one letter, and `in`, which is also a word, only follow a number without a space.
/// The list is our own.
const std::vector<UnitNames>& unit_names();
/// The texts that name a unit after a number: its names and signs, each with the space or hyphen before it. one: of the number 1.
std::vector<std::string> unit_formats(const UnitNames& unit, bool one);

/// Rewrites numbers, with the unit after them if there is one, each with probability `share`, in another format, drawn evenly from all:
///   1000 = 1,000    separators of thousands, from 1000; not of 1900 to 2099 alone, which are years
///   5.5 = 5.50      a zero after one decimal; zeros at the end dropped
///   16 GB = 16GB = 16 gigabytes = 16-gigabyte, 5.5" = 5.5 inches = 5.5in
/// The number may follow ( [ { $ < ~ + or a quote, and punctuation may follow it. Numbers that start with 0, such as 0123, longer than nine
/// digits, or with letters that are no unit, as 1080p, stay: they are codes. The rest of the text stays as it is.
std::string unit_noise(std::string_view text, double share, RandomStream& random);

namespace detail {

/// All formats of a number of digits, perhaps with separators of thousands and decimals; its own is among them. `alone`: no unit follows.
std::vector<std::string> number_formats(std::string_view number, bool alone);

/// The number of bytes of the number that the text starts with; 0: none.
std::size_t number_bytes(std::string_view text);

}  // namespace detail
}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

namespace lexformer {

LEXFORMER_INLINE const std::vector<UnitNames>& unit_names() {
  static const std::vector<UnitNames> units = {
      {"kilobyte", "kilobytes", {"KB", " KB"}},
      {"megabyte", "megabytes", {"MB", " MB"}},
      {"gigabyte", "gigabytes", {"GB", " GB"}},
      {"terabyte", "terabytes", {"TB", " TB"}},
      {"megapixel", "megapixels", {"MP", " MP"}},
      {"hertz", "hertz", {"Hz", " Hz"}},
      {"kilohertz", "kilohertz", {"kHz", " kHz"}},
      {"megahertz", "megahertz", {"MHz", " MHz"}},
      {"gigahertz", "gigahertz", {"GHz", " GHz"}},
      {"inch", "inches", {"\"", "in", "in.", " in."}},
      {"foot", "feet", {"ft", " ft", "ft.", " ft."}},
      {"yard", "yards", {"yd", " yd"}},
      {"mile", "miles", {"mi", " mi"}},
      {"millimeter", "millimeters", {"mm", " mm"}},
      {"centimeter", "centimeters", {"cm", " cm"}},
      {"meter", "meters", {"m"}},
      {"kilometer", "kilometers", {"km", " km"}},
      {"gram", "grams", {"g"}},
      {"kilogram", "kilograms", {"kg", " kg"}},
      {"ounce", "ounces", {"oz", " oz", "oz.", " oz."}},
      {"pound", "pounds", {"lb", " lb", "lbs", " lbs", "lbs."}},
      {"milliliter", "milliliters", {"ml", " ml"}},
      {"liter", "liters", {"L"}},
      {"quart", "quarts", {"qt", " qt"}},
      {"gallon", "gallons", {"gal", " gal"}},
      {"volt", "volts", {"V"}},
      {"watt", "watts", {"W"}},
      {"kilowatt", "kilowatts", {"kW", " kW"}},
      {"amp", "amps", {"A"}},
      {"decibel", "decibels", {"dB", " dB"}},
      {"second", "seconds", {"sec", " sec"}},
      {"minute", "minutes", {"min", " min", " min."}},
      {"hour", "hours", {"hr", " hr", "hrs", " hrs"}},
      {"month", "months", {"mo", " mo."}},
      {"year", "years", {"yr", " yr", "yrs", " yrs"}},
      {"piece", "pieces", {"pc", " pc", "pcs", " pcs"}},
      {"pack", "packs", {"pk", " pk"}},
      {"percent", "percent", {"%", " %"}},
      {"degree", "degrees", {"\u00B0", " deg"}},
  };
  return units;
}

namespace detail {

LEXFORMER_INLINE bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

LEXFORMER_INLINE std::size_t number_bytes(std::string_view text) {
  const auto digits = [&](std::size_t from) {
    std::size_t n = 0;
    while (from + n < text.size() && is_ascii_digit(text[from + n])) ++n;
    return n;
  };
  std::size_t bytes = digits(0);
  if (bytes >= 1 && bytes <= 3)
    while (bytes < text.size() && text[bytes] == ',' && digits(bytes + 1) == 3) bytes += 4;
  if (bytes > 0 && bytes < text.size() && text[bytes] == '.') {
    const std::size_t decimals = digits(bytes + 1);
    bytes += decimals > 0 ? decimals + 1 : 0;
  }
  return bytes;
}

LEXFORMER_INLINE std::vector<std::string> number_formats(std::string_view number, bool alone) {
  const std::size_t point = std::min(number.find('.'), number.size());
  std::string whole;
  for (const char c : number.substr(0, point))
    if (c != ',') whole += c;
  const std::string decimals(number.substr(std::min(point + 1, number.size())));
  const std::string own(number);
  if ((whole.size() > 1 && whole[0] == '0') || whole.size() > 9) return {own};
  const bool year = alone && whole.size() == 4 && own == whole && (whole.starts_with("19") || whole.starts_with("20"));
  std::vector<std::string> wholes{whole}, ends{decimals.empty() ? "" : "." + decimals};
  if (whole.size() > 3 && !year) {
    std::string separated = whole;
    for (std::size_t i = whole.size() - 3; i < whole.size() && i > 0; i -= std::min<std::size_t>(i, 3)) separated.insert(i, ",");
    wholes.push_back(separated);
  }
  if (decimals.size() == 1) ends.push_back("." + decimals + "0");
  if (decimals.ends_with('0')) {
    const std::size_t last = decimals.find_last_not_of('0');
    ends.push_back(last == std::string::npos ? "" : "." + decimals.substr(0, last + 1));
  }
  std::vector<std::string> all;
  for (const auto& w : wholes)
    for (const auto& end : ends)
      if (std::find(all.begin(), all.end(), w + end) == all.end()) all.push_back(w + end);
  return all;
}

/// The length of the word that starts the text, up to whitespace, if all of it is punctuation; else npos.
LEXFORMER_INLINE std::size_t only_punctuation(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    if (is_whitespace(next.character)) return i;
    if (!is_punctuation(next.character)) return text.npos;
    i += next.bytes;
  }
  return text.size();
}

}  // namespace detail

LEXFORMER_INLINE std::vector<std::string> unit_formats(const UnitNames& unit, bool one) {
  std::vector<std::string> all{cat(" ", one ? unit.singular : unit.plural), cat("-", unit.singular)};
  for (const auto sign : unit.signs) all.emplace_back(sign);
  return all;
}

LEXFORMER_INLINE std::string unit_noise(std::string_view text, double share, RandomStream& random) {
  struct Format {
    std::string text;
    const UnitNames* unit;
  };
  static const std::vector<Format> known = [] {  // the longest first, in small letters
    std::vector<Format> all;
    for (const auto& unit : unit_names())
      for (const bool one : {true, false})
        for (const auto& format : unit_formats(unit, one)) all.push_back({lower_case(format), &unit});
    std::stable_sort(all.begin(), all.end(), [](const Format& a, const Format& b) { return a.text.size() > b.text.size(); });
    return all;
  }();
  std::string out;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded here = decode_utf8(text, i);
    if (is_whitespace(here.character)) {
      i += here.bytes;
      continue;
    }
    std::size_t begin = i;  // of the number
    while (begin < text.size() && std::string_view("([{$<~+\"'").find(text[begin]) != std::string_view::npos) ++begin;
    const bool quoted = text.substr(i, begin - i).find('"') != std::string_view::npos;
    const std::size_t bytes = detail::number_bytes(text.substr(begin));
    const std::string_view number = text.substr(begin, bytes), rest = text.substr(begin + bytes);
    const Format* format = nullptr;
    if (bytes > 0) {
      const std::string lower = lower_case(rest.substr(0, 16));  // no format is longer
      for (const auto& f : known)
        if (format == nullptr && lower.starts_with(f.text) && !(quoted && f.text == "\"") &&
            detail::only_punctuation(rest.substr(f.text.size())) != rest.npos)
          format = &f;
    }
    std::vector<std::string> others;
    const std::string_view own = text.substr(begin, bytes + (format != nullptr ? format->text.size() : 0));
    if (format != nullptr) {
      for (const auto& n : detail::number_formats(number, false))
        for (const auto& u : unit_formats(*format->unit, n == "1")) others.push_back(n + u);
    } else if (bytes > 0 && detail::only_punctuation(rest) != rest.npos) {
      others = detail::number_formats(number, true);
    }
    std::erase_if(others, [&](const std::string& other) { return lower_case(other) == lower_case(own); });
    if (!others.empty() && random.uniform() < share) {
      out.append(text, done, begin - done);
      out += others[static_cast<std::size_t>(random.below(others.size()))];
      done = begin + own.size();
    }
    i = std::max(i, others.empty() ? i : begin + own.size());
    while (i < text.size()) {  // to the end of the word
      const Decoded next = decode_utf8(text, i);
      if (is_whitespace(next.character)) break;
      i += next.bytes;
    }
  }
  return out.append(text, done);
}

}  // namespace lexformer
#endif
