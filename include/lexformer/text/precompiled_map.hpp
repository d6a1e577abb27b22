// SPDX-License-Identifier: MIT
// The table of replacements in SentencePiece's models (precompiled_charsmap), as in PyPI tokenizers (Precompiled).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/text/graphemes.hpp"
#include "lexformer/text/normalized_text.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Replaces characters and short grapheme clusters by texts.
///
/// The table, all numbers little-endian: the number of bytes of a double array (u32); the array's units (u32 each); the replacements in
/// UTF-8, each ended by a zero byte. A unit has a label (bits 0 to 7; bit 31 marks a value), whether a key ends with it (bit 8), and an
/// offset to its successors (bits 10 to 30, times 256 if bit 9 is set). The successor of `node` by the byte b is the unit node ^ b if its
/// label is b; from the unit at `place`, node = place ^ offset; the value of a key is the unit at its node: where its replacement begins.
class PrecompiledMap {
 public:
  /// Errors, with `where` in front: the bytes are no such table, or a unit points out of it. No lookup can then leave the table.
  explicit PrecompiledMap(std::string bytes, const std::string& where = "PrecompiledMap");

  /// The bytes that the table was made of.
  const std::string& bytes() const { return bytes_; }

  /// The replacement of the shortest key that `text` (UTF-8) begins with.
  std::optional<std::string_view> find(std::string_view text) const;

  /// A grapheme cluster of less than six bytes that begins with a key is replaced as a whole, even by a shorter key. In all others each
  /// character that is a key is replaced.
  void apply(NormalizedText& text) const;

 private:
  static constexpr std::uint32_t value_mark = 1u << 31;
  static std::uint32_t label(std::uint32_t unit) { return unit & (value_mark | 0xFFu); }
  static std::size_t offset(std::uint32_t unit) { return static_cast<std::size_t>(unit >> 10) << ((unit & 0x200u) >> 6); }
  static bool ends_key(std::uint32_t unit) { return (unit & 0x100u) != 0; }
  void check(const std::string& where) const;
  std::string_view replacements() const { return std::string_view(bytes_).substr(replacements_); }

  std::string bytes_;
  std::vector<std::uint32_t> units_;
  std::size_t replacements_ = 0;   // where they begin in bytes_
  std::array<bool, 128> plain_{};  // ASCII characters that are never replaced but within a cluster
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE PrecompiledMap::PrecompiledMap(std::string bytes, const std::string& where) : bytes_(std::move(bytes)) {
  const auto number = [&](std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[at + i])); };
    return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
  };
  const std::size_t trie = bytes_.size() < 4 ? 0 : number(0);
  if (trie == 0 || trie % 4 != 0 || trie > bytes_.size() - 4)
    fail_file(where, "a charsmap of ", bytes_.size(), " bytes with a trie of ", trie,
              " bytes; expected a multiple of 4 within the charsmap");
  replacements_ = 4 + trie;
  if (const std::size_t at = find_invalid_utf8(replacements()); at != std::string_view::npos)
    fail_file(where, "the replacements of the charsmap are not UTF-8 at byte ", replacements_ + at);
  // Zero units have no label: with whole blocks of 256, the successors of a node within the array are within the array.
  units_.resize((trie / 4 + 255) / 256 * 256);
  for (std::size_t i = 0; i < trie / 4; ++i) units_[i] = number(4 + 4 * i);
  check(where);
  for (char32_t c = 0x20; c < 0x7F; ++c) {
    const char byte = static_cast<char>(c);
    plain_[c] = !find({&byte, 1});
  }
}

LEXFORMER_INLINE void PrecompiledMap::check(const std::string& where) const {
  for (std::size_t place = 0; place < units_.size(); ++place) {
    const std::uint32_t unit = units_[place];
    if (place != 0 && ((unit & value_mark) != 0 || label(unit) == 0)) continue;  // no key leads to it
    const std::size_t node = place ^ offset(unit);
    if (node >= units_.size()) fail_file(where, "unit ", place, " of the charsmap points to unit ", node, " of ", units_.size());
    if (!ends_key(unit)) continue;
    const std::size_t begin = units_[node] & ~value_mark;
    if (begin > replacements().size() || (begin < replacements().size() && (replacements()[begin] & '\xC0') == '\x80'))
      fail_file(where, "unit ", place, " of the charsmap has the replacement at byte ", begin, " of ", replacements().size(),
                ": expected the first byte of a character");
  }
}

LEXFORMER_INLINE std::optional<std::string_view> PrecompiledMap::find(std::string_view text) const {
  std::size_t node = offset(units_[0]);
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const std::size_t place = node ^ byte;
    if (byte == 0 || label(units_[place]) != byte) return std::nullopt;
    node = place ^ offset(units_[place]);
    if (!ends_key(units_[place])) continue;
    const std::string_view found = replacements().substr(units_[node] & ~value_mark);
    return found.substr(0, found.find('\0'));
  }
  return std::nullopt;
}

LEXFORMER_INLINE void PrecompiledMap::apply(NormalizedText& text) const {
  const auto stays = [&](const NormalizedChar& c) { return c.character < plain_.size() && plain_[c.character]; };
  const auto other = std::find_if_not(text.begin(), text.end(), stays);
  if (other == text.end()) return;
  // The character before may be in the same cluster, and the one before that takes the place of what is removed.
  const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(other - text.begin() - 2, 0));

  std::vector<ChangedChar> changes;
  changes.reserve(text.size() - from);
  bool changed = false;
  const auto replace = [&](std::size_t count, std::string_view by) {
    changed = true;
    const std::size_t begin = changes.size();
    for (std::size_t i = 0; i < by.size();) {
      const Decoded next = decode_utf8(by, i);
      i += next.bytes;
      changes.push_back({next.character, changes.size() - begin < count ? 0 : 1});
    }
    const std::size_t put = changes.size() - begin;
    if (put < count && !changes.empty()) changes.back().change -= static_cast<std::int32_t>(count - put);
  };
  GraphemeBreaks breaks;
  breaks.begins(text[from].character);
  std::string cluster;
  for (std::size_t begin = from, end; begin < text.size(); begin = end) {
    for (end = begin + 1; end < text.size() && !breaks.begins(text[end].character);) ++end;
    cluster.clear();
    for (std::size_t i = begin; i < end && cluster.size() < 6; ++i) append_utf8(cluster, text[i].character);
    if (const auto by = cluster.size() < 6 ? find(cluster) : std::nullopt) {
      replace(end - begin, *by);
      continue;
    }
    if (end - begin == 1) {
      changes.push_back({text[begin].character, 0});
      continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      cluster.clear();
      append_utf8(cluster, text[i].character);
      if (const auto by = find(cluster))
        replace(1, *by);
      else
        changes.push_back({text[i].character, 0});
    }
  }
  if (changed) apply_changes(text, from, changes);
}

}  // namespace lexformer
#endif
