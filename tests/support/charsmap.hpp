// SPDX-License-Identifier: MIT
// Charsmaps for tests, in the format of PrecompiledMap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace charsmap {

/// The bytes of a table of these units and replacements.
inline std::string bytes(const std::vector<std::uint32_t>& units, std::string_view replacements) {
  std::string out;
  const auto put = [&](std::uint32_t number) {
    for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xFF);
  };
  put(static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) put(unit);
  return out.append(replacements);
}

/// A unit with this label at `place`, whose successors are in the block that begins at `node`.
inline std::uint32_t unit(std::uint32_t place, std::uint32_t label, std::uint32_t node, bool ends_key) {
  return label | (ends_key ? 0x100u : 0u) | (place ^ node) << 10;
}

/// The table that replaces each key by a text. Each place in the tree of keys has a block of 256 units.
inline std::string of_rules(const std::vector<std::pair<std::string, std::string>>& rules) {
  std::map<std::string, std::uint32_t> nodes{{"", 256}};  // the beginnings of keys
  for (const auto& [key, text] : rules)
    for (std::size_t n = 1; n <= key.size(); ++n) nodes.try_emplace(key.substr(0, n), static_cast<std::uint32_t>(256 * (nodes.size() + 1)));
  std::vector<std::uint32_t> units(256 * (nodes.size() + 1));
  units[0] = unit(0, 0, 256, false);
  std::string replacements;
  for (const auto& [start, node] : nodes) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&, &text = start](const auto& entry) { return entry.first == text; });
    if (rule != rules.end()) {
      units[node] = static_cast<std::uint32_t>(replacements.size()) | 1u << 31;
      replacements += rule->second + '\0';
    }
    if (start.empty()) continue;
    const auto label = static_cast<std::uint32_t>(static_cast<unsigned char>(start.back()));
    const std::uint32_t place = nodes.at(start.substr(0, start.size() - 1)) ^ label;
    units[place] = unit(place, label, node, rule != rules.end());
  }
  return bytes(units, replacements);
}

/// The table that replaces every character by Y. Its blocks are shared: one for all last bytes.
inline std::string of_everything() {
  constexpr std::uint32_t root = 256, last = 512, middle = 768, first = 1024, value = 1280;
  std::vector<std::uint32_t> units(1536);
  units[0] = unit(0, 0, root, false);
  units[value] = 1u << 31;
  const auto fill = [&](std::uint32_t block, std::uint32_t low, std::uint32_t high, std::uint32_t node) {
    for (std::uint32_t byte = low; byte <= high; ++byte) units[block ^ byte] = unit(block ^ byte, byte, node, node == value);
  };
  fill(root, 0x01, 0x7F, value);
  fill(root, 0xC2, 0xDF, last);
  fill(root, 0xE0, 0xEF, middle);
  fill(root, 0xF0, 0xF4, first);
  fill(last, 0x80, 0xBF, value);
  fill(middle, 0x80, 0xBF, last);
  fill(first, 0x80, 0xBF, middle);
  return bytes(units, {"Y\0", 2});
}

}  // namespace charsmap
