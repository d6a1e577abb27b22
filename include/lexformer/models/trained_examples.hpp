// SPDX-License-Identifier: MIT
// Which examples a model was trained on: a hash of each is in the metadata of its file (docs/format.md), so that figures on these examples
// can be told from figures on new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/examples.hpp"

namespace lexformer {

/// Beyond this number no hashes are kept: a file would grow by more than a megabyte.
inline constexpr std::size_t most_trained_examples = 131072;

/// Adds the hashes of these examples to the ones that the metadata has. With too many of them, it has an empty list from then on.
void keep_trained_examples(std::span<const PairExample> examples, std::map<std::string, std::string>& metadata);

/// For each example, whether it is among those that a model with this metadata was trained on. Of 131,072 hashes of 32 bits, one of 32,768
/// other examples has one. where: the file of the model. Errors (file): the metadata holds something else than hashes.
std::vector<std::uint8_t> are_trained(std::span<const PairExample> examples, const std::map<std::string, std::string>& metadata,
                                      const std::string& where);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <unordered_set>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/models/head_names.hpp"

namespace lexformer {

namespace detail {

/// Eight hexadecimal digits.
inline std::string example_hash(const PairExample& e) {
  const std::uint32_t hash = fnv1a(cat(e.left, '\0', e.right));
  std::string text(8, '0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[hash >> (4 * i) & 15];
  return text;
}

/// The hashes in the metadata.
inline std::vector<std::string> trained_hashes(const std::map<std::string, std::string>& metadata, const std::string& where) {
  const auto found = metadata.find(std::string(trained_key));
  if (found == metadata.end()) return {};
  const std::string& text = found->second;
  if (text.size() % 8 != 0 || text.find_first_not_of("0123456789abcdef") != text.npos)
    fail_file(where, trained_key, " is not a list of hashes of 8 hexadecimal digits");
  std::vector<std::string> hashes;
  for (std::size_t i = 0; i < text.size(); i += 8) hashes.push_back(text.substr(i, 8));
  return hashes;
}

}  // namespace detail

LEXFORMER_INLINE void keep_trained_examples(std::span<const PairExample> examples, std::map<std::string, std::string>& metadata) {
  const std::string key(detail::trained_key);
  if (const auto kept = metadata.find(key); kept != metadata.end() && kept->second.empty()) return;
  auto hashes = detail::trained_hashes(metadata, "metadata");
  for (const auto& e : examples) hashes.push_back(detail::example_hash(e));
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  if (!hashes.empty()) metadata[key] = hashes.size() <= most_trained_examples ? join(hashes, "") : "";
}

LEXFORMER_INLINE std::vector<std::uint8_t> are_trained(std::span<const PairExample> examples,
                                                       const std::map<std::string, std::string>& metadata, const std::string& where) {
  const auto list = detail::trained_hashes(metadata, where);
  const std::unordered_set<std::string, SeededHash> hashes(list.begin(), list.end());
  std::vector<std::uint8_t> out;
  for (const auto& e : examples) out.push_back(hashes.contains(detail::example_hash(e)) ? 1 : 0);
  return out;
}

}  // namespace lexformer
#endif
