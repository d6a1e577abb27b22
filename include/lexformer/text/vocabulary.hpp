// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// A token of a text and the characters of the original text that it stands for (code points, end excluded).
struct Token {
  std::int32_t id;
  std::uint32_t begin, end;
  bool operator==(const Token&) const = default;
};

/// The tokens of a model; a token's id is its index. Lookup by text uses an open-addressing hash table whose hash key is drawn anew in
/// each process, so that no file can contain tokens chosen to collide.
class Vocabulary {
 public:
  /// The maximum number of tokens in a file; multilingual models have up to half as many.
  static constexpr std::size_t max_size = std::size_t{1} << 20;

  Vocabulary() : Vocabulary(std::vector<std::string>{}) {}

  /// tokens[id] is the token of an id. Lookup by text returns the last of equal tokens and never an empty one (a gap in the ids).
  explicit Vocabulary(std::vector<std::string> tokens);

  /// Parses BERT's vocab.txt: a line's number, from 0, is the id; trailing whitespace is removed (so CRLF files work).
  /// Errors: more than max_size lines.
  static Vocabulary from_vocab_txt(std::string_view content);

  static Vocabulary load_vocab_txt(const std::string& path);
  /// Errors (file): the content of a vocab.txt is not UTF-8.
  static void check_utf8(std::string_view content, const std::string& path);

  /// Number of ids, i.e. rows of the model's embedding; duplicates are counted.
  std::size_t size() const { return tokens_.size(); }
  const std::vector<std::string>& tokens() const { return tokens_; }

  const std::string& token(std::int32_t id) const;

  std::optional<std::int32_t> id(std::string_view token) const;

  /// The id of the token head + tail, or -1, given the hash of the concatenation; for longest-match loops. Hashes are computed byte by
  /// byte: h <- (h xor byte) * key.
  std::int32_t find(std::uint64_t hash, std::string_view head, std::string_view tail) const {
    return slots_.empty() ? -1 : slots_[slot_of(hash, head, tail)].id;  // empty: moved from
  }
  static constexpr std::uint64_t hash_start = 0xCBF29CE484222325u;
  static std::uint64_t hash_append(std::uint64_t hash, std::string_view bytes);
  /// Length of the longest token in bytes.
  std::size_t longest() const { return longest_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;
  };

  /// Odd, so that multiplication is invertible. Affects only the position of tokens in the table. Derived from time and address of the
  /// first call, which the author of a file cannot know.
  static std::uint64_t hash_key();

  static std::string_view trim_end(std::string_view line);

  /// The slot of head + tail, or the empty slot for it. The table is at most half full, so there is one.
  std::size_t slot_of(std::uint64_t hash, std::string_view head, std::string_view tail) const;

  std::vector<std::string> tokens_;
  std::vector<Slot> slots_;
  std::size_t longest_ = 0;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  if (tokens_.size() > std::size_t{std::numeric_limits<std::int32_t>::max()})
    fail("Vocabulary", tokens_.size(), " tokens do not fit into 32-bit ids");
  std::size_t slots = 16;
  while (slots < 2 * tokens_.size()) slots *= 2;
  slots_.assign(slots, Slot{});
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].empty()) continue;
    longest_ = std::max(longest_, tokens_[i].size());
    const std::uint64_t hash = hash_append(hash_start, tokens_[i]);
    slots_[slot_of(hash, tokens_[i], {})] = {static_cast<std::uint32_t>(hash), static_cast<std::int32_t>(i)};
  }
}

LEXFORMER_INLINE void Vocabulary::check_utf8(std::string_view content, const std::string& path) {
  if (const std::size_t byte = find_invalid_utf8(content); byte != std::string::npos)
    fail_file(cat(path, ": line ", 1 + std::count(content.data(), content.data() + byte, '\n')), "the token is not UTF-8");
}

LEXFORMER_INLINE Vocabulary Vocabulary::from_vocab_txt(std::string_view content) {
  if (static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n')) > max_size)
    fail("Vocabulary", "more than ", max_size, " lines; expected a vocab.txt with one token per line");
  std::vector<std::string> tokens;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    tokens.emplace_back(trim_end(content.substr(0, end)));
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return Vocabulary(std::move(tokens));
}

LEXFORMER_INLINE Vocabulary Vocabulary::load_vocab_txt(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_file(path, "cannot open the vocabulary");
  std::string content;  // by read(), which sets badbit if the buffer throws, e.g. for a folder
  for (std::vector<char> block(1 << 16); file.read(block.data(), 1 << 16) || file.gcount() > 0;)
    content.append(block.data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad()) fail_file(path, "cannot read the vocabulary");
  if (content.empty()) fail_file(path, "the vocabulary is empty; expected one token per line");
  check_utf8(content, path);
  return from_vocab_txt(content);
}

LEXFORMER_INLINE const std::string& Vocabulary::token(std::int32_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= tokens_.size())
    fail("Vocabulary", "id ", id, " is out of range; the vocabulary has ", tokens_.size(), " tokens");
  return tokens_[static_cast<std::size_t>(id)];
}

LEXFORMER_INLINE std::optional<std::int32_t> Vocabulary::id(std::string_view token) const {
  const std::int32_t found = find(hash_append(hash_start, token), token, {});
  return found < 0 ? std::nullopt : std::optional(found);
}

LEXFORMER_INLINE std::uint64_t Vocabulary::hash_append(std::uint64_t hash, std::string_view bytes) {
  const std::uint64_t key = hash_key();
  for (char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * key;
  return hash;
}

LEXFORMER_INLINE std::uint64_t Vocabulary::hash_key() {
  static const std::uint64_t key = [] {
    const auto time = static_cast<std::uint64_t>(std::chrono::high_resolution_clock::now().time_since_epoch().count());
    const auto place = reinterpret_cast<std::uintptr_t>(&time);
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto words =
        Philox::generate({low(time), low(time >> 32), low(place), low(std::uint64_t{place} >> 32)}, {0x6C65786Fu, 0x726D6572u});
    return (std::uint64_t{words[0]} << 32) | words[1] | 1u;
  }();
  return key;
}

LEXFORMER_INLINE std::string_view Vocabulary::trim_end(std::string_view line) {
  while (!line.empty()) {
    std::size_t start = line.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(line[start]) & 0xC0) == 0x80) --start;
    const Decoded last = decode_utf8(line, start);
    if (start + last.bytes != line.size() || !is_whitespace(last.character)) break;
    line.remove_suffix(last.bytes);
  }
  return line;
}

LEXFORMER_INLINE std::size_t Vocabulary::slot_of(std::uint64_t hash, std::string_view head, std::string_view tail) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash ^ (hash >> 32)) & mask;
  for (;; slot = (slot + 1) & mask) {
    const Slot& s = slots_[slot];
    if (s.id < 0) return slot;
    if (s.hash != static_cast<std::uint32_t>(hash)) continue;
    const std::string& token = tokens_[static_cast<std::size_t>(s.id)];
    if (token.size() == head.size() + tail.size() && token.compare(0, head.size(), head) == 0 &&
        token.compare(head.size(), tail.size(), tail) == 0)
      return slot;
  }
}

}  // namespace lexformer
#endif
