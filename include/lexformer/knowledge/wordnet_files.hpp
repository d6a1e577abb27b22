// SPDX-License-Identifier: MIT
// Reads the database files of Princeton WordNet 3.0, in the format of the manual pages wndb(5WN) and morphy(7WN).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"

namespace lexformer {

enum class PartOfSpeech : std::uint8_t { noun, verb, adjective, adverb };

/// The contents of the files: synsets with lemmas, hypernyms and antonyms, the index of words, the exception lists. Not the glosses, and
/// no other relations. Synsets have the ids 0, 1, ... in the order of data.noun, data.verb, data.adj, data.adv.
class WordNetFiles {
 public:
  using Id = std::uint32_t;
  struct Range {
    std::uint32_t first = 0, count = 0;
  };
  struct Synset {
    PartOfSpeech part = PartOfSpeech::noun;
    char type = 'n';  // n, v, a, s (satellite adjective) or r (adverb)
    std::uint32_t offset = 0, line = 0;
    Range lemmas{}, hypernyms{};
  };

  /// Reads index.X, data.X and X.exc for X = noun, verb, adj, adv.
  /// Errors: the folder or a file is missing (kind usage); a line is broken or refers to a synset that is not there (kind file).
  explicit WordNetFiles(const std::filesystem::path& folder);
  WordNetFiles(const WordNetFiles&) = delete;  // its views point into its own strings
  WordNetFiles& operator=(const WordNetFiles&) = delete;

  const std::vector<Synset>& synsets() const { return synsets_; }
  std::span<const std::string_view> lemmas(Id synset) const;
  std::span<const Id> hypernyms(Id synset) const;

  /// The antonyms of lemma number `lemma` (from 0) of a synset, in the order of the file.
  std::vector<std::string_view> antonyms(Id synset, std::size_t lemma) const;

  /// The synsets of a lemma in lower case, the most frequent sense first; empty if the index does not have it.
  std::span<const Id> senses(std::string_view lemma, PartOfSpeech part) const;

  /// The base forms of an entry of the exception list; empty if the list does not have the form.
  std::vector<std::string_view> exceptions(std::string_view form, PartOfSpeech part) const;

  /// File and line of a synset, for messages.
  std::string where(Id synset) const;

  /// The CRC-32 of all files, to tell versions apart.
  std::uint32_t checksum() const { return checksum_; }

 private:
  static constexpr std::size_t parts = 4;
  struct Line;
  struct Pointer {
    Id synset;
    std::uint32_t source, target;  // numbers of the lemmas, from 1; 0: the whole synsets
    PartOfSpeech part;
    std::uint32_t offset;
  };

  void add_synset(Line& line, PartOfSpeech part, std::size_t at);
  void add_senses(Line& line, PartOfSpeech part);
  void resolve();
  /// `from` makes file and line of the reference, for a message.
  template <class From>
  Id find(PartOfSpeech part, std::uint32_t offset, From&& from) const;

  std::filesystem::path folder_;
  std::uint32_t checksum_ = 0;
  std::array<std::string, parts> data_text_, index_text_, exception_text_;  // the views below point into them
  std::vector<Synset> synsets_;
  std::vector<std::string_view> lemmas_;
  std::vector<Id> hypernyms_, senses_;
  std::array<std::unordered_map<std::string_view, Range, SeededHash>, parts> index_;  // lemma -> part of senses_
  std::array<std::unordered_map<std::string_view, std::vector<std::string_view>, SeededHash>, parts> exceptions_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>, SeededHash> antonyms_;  // positions in lemmas_
  std::vector<Pointer> hypernym_pointers_, antonym_pointers_;                           // until all synsets are read
};

namespace detail {
template <class T>
std::span<const T> part_of(const std::vector<T>& all, WordNetFiles::Range range) {
  return std::span(all).subspan(range.first, range.count);
}
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <system_error>

#include "lexformer/io/file.hpp"

namespace lexformer {

namespace detail {
struct WordNetPart {
  std::string_view file, types;
};
inline constexpr std::array<WordNetPart, 4> wordnet_parts{{{"noun", "n"}, {"verb", "v"}, {"adj", "as"}, {"adv", "r"}}};
inline const WordNetPart& wordnet_part(PartOfSpeech part) { return wordnet_parts[static_cast<std::size_t>(part)]; }

LEXFORMER_INLINE std::string read_wordnet_file(const std::filesystem::path& path) {
  if (!path_exists(path))
    fail_usage(path.string(),
               "is missing; give the folder of WordNet 3.0: Debian's package wordnet-base installs it in /usr/share/wordnet");
  return read_file(path.string());
}
}  // namespace detail

/// The fields of a line, which are separated by blanks.
struct WordNetFiles::Line {
  const std::string& path;
  std::size_t number;
  std::string_view rest;

  template <class... Parts>
  [[noreturn]] void stop(const Parts&... message) const {
    fail_file(where(), message...);
  }
  std::string where() const { return cat(path, ": line ", number); }
  bool more() const { return rest.find_first_not_of(' ') != std::string_view::npos; }
  std::string_view text() {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::string_view field = rest.substr(0, rest.find(' '));
    if (field.empty()) stop("ends too early");
    rest.remove_prefix(field.size());
    return field;
  }
  std::uint32_t integer(std::string_view field, int base) const {
    std::uint32_t value = 0;
    const auto got = std::from_chars(field.data(), field.data() + field.size(), value, base);
    if (got.ec != std::errc() || got.ptr != field.data() + field.size())
      stop("expected a ", base == 16 ? "hexadecimal " : "", "number, found ", in_quotes(field));
    return value;
  }
  std::uint32_t integer(int base = 10) { return integer(text(), base); }

  /// Calls each(line, offset) for all lines of a file but the licence, whose lines start with a blank.
  template <class Each>
  static void all(const std::string& path, std::string_view text, Each&& each) {
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view content = text.substr(at, text.find('\n', at) - at);
      Line line{path, ++number, content};
      if (!content.starts_with(' ')) each(line, at);
      at += content.size() + 1;
    }
  }
};

template <class From>
WordNetFiles::Id WordNetFiles::find(PartOfSpeech part, std::uint32_t offset, From&& from) const {
  // The synsets are in ascending order of parts and offsets.
  const auto found = std::lower_bound(synsets_.begin(), synsets_.end(), std::pair(part, offset),
                                      [](const Synset& synset, const auto& key) { return std::pair(synset.part, synset.offset) < key; });
  if (found == synsets_.end() || found->part != part || found->offset != offset)
    fail_file(from(), "there is no synset at byte ", offset, " of data.", detail::wordnet_part(part).file);
  return static_cast<Id>(found - synsets_.begin());
}

LEXFORMER_INLINE WordNetFiles::WordNetFiles(const std::filesystem::path& folder) : folder_(folder) {
  for (std::size_t i = 0; i < parts; ++i) {
    const auto part = static_cast<PartOfSpeech>(i);
    const auto path = folder / cat("data.", detail::wordnet_parts[i].file);
    data_text_[i] = detail::read_wordnet_file(path);
    Line::all(path.string(), data_text_[i], [&](Line& line, std::size_t at) { add_synset(line, part, at); });
  }
  for (std::size_t i = 0; i < parts; ++i) {
    const auto part = static_cast<PartOfSpeech>(i);
    const auto index = folder / cat("index.", detail::wordnet_parts[i].file),
               exceptions = folder / cat(detail::wordnet_parts[i].file, ".exc");
    index_text_[i] = detail::read_wordnet_file(index);
    Line::all(index.string(), index_text_[i], [&](Line& line, std::size_t) { add_senses(line, part); });
    exception_text_[i] = detail::read_wordnet_file(exceptions);
    Line::all(exceptions.string(), exception_text_[i], [&](Line& line, std::size_t) {
      const std::string_view form = line.text();
      std::vector<std::string_view> bases{line.text()};
      while (line.more()) bases.push_back(line.text());
      exceptions_[i].insert_or_assign(form, std::move(bases));
    });
  }
  resolve();
  for (const auto* texts : {&data_text_, &index_text_, &exception_text_})
    for (const std::string& text : *texts) checksum_ = crc32(text, checksum_);
}

/// offset, lexicographer file, type, number of lemmas, {lemma, lex_id}, number of pointers, {symbol, offset, type, lemmas}, ... | gloss
LEXFORMER_INLINE void WordNetFiles::add_synset(Line& line, PartOfSpeech part, std::size_t at) {
  const std::size_t bar = line.rest.find('|');
  if (bar == std::string_view::npos) line.stop("has no | before the gloss");
  line.rest = line.rest.substr(0, bar);
  if (const std::uint32_t offset = line.integer(); offset != at)
    line.stop("starts at byte ", at, " of the file, but says ", offset, "; was the file edited?");
  line.text();
  const std::string_view type = line.text();
  if (type.size() != 1 || detail::wordnet_part(part).types.find(type) == std::string_view::npos)
    line.stop(in_quotes(type), " is not a type of synset of this file");
  const auto id = static_cast<Id>(synsets_.size());
  const Range lemmas{static_cast<std::uint32_t>(lemmas_.size()), line.integer(16)};
  if (lemmas.count == 0) line.stop("has no lemma");
  for (std::uint32_t i = 0; i < lemmas.count; ++i) {
    const std::string_view lemma = line.text();
    const std::size_t marker = lemma.ends_with(')') ? lemma.rfind('(') : std::string_view::npos;  // of adjectives: (p), (a), (ip)
    lemmas_.push_back(lemma.substr(0, marker));
    line.text();
  }
  for (std::uint32_t pointers = line.integer(); pointers > 0; --pointers) {
    const std::string_view symbol = line.text();
    const std::uint32_t offset = line.integer();
    const std::string_view target = line.text(), numbers = line.text();
    const auto found = std::find_if(detail::wordnet_parts.begin(), detail::wordnet_parts.end(), [&](const detail::WordNetPart& p) {
      return target.size() == 1 && p.types.find(target) != std::string_view::npos;
    });
    if (found == detail::wordnet_parts.end()) line.stop(in_quotes(target), " is not a part of speech");
    if (numbers.size() != 4) line.stop("expected four hexadecimal digits, found ", in_quotes(numbers));
    const Pointer pointer{id, line.integer(numbers.substr(0, 2), 16), line.integer(numbers.substr(2), 16),
                          static_cast<PartOfSpeech>(found - detail::wordnet_parts.begin()), offset};
    if ((symbol == "@" || symbol == "@i") && pointer.source == 0) hypernym_pointers_.push_back(pointer);
    if (symbol == "!" && pointer.source != 0) antonym_pointers_.push_back(pointer);
  }
  synsets_.push_back({part, type[0], static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(line.number), lemmas, {}});
}

/// lemma, part of speech, number of synsets, number of symbols, {symbol}, number of senses, number of tagged senses, {offset}
LEXFORMER_INLINE void WordNetFiles::add_senses(Line& line, PartOfSpeech part) {
  const std::string_view lemma = line.text(), type = line.text();
  if (type != detail::wordnet_part(part).types.substr(0, 1)) line.stop(in_quotes(type), " is not the part of speech of this file");
  Range range{static_cast<std::uint32_t>(senses_.size()), line.integer()};
  for (std::uint32_t symbols = line.integer(); symbols > 0; --symbols) line.text();
  if (const std::uint32_t count = line.integer(); count != range.count) line.stop("has ", range.count, " synsets, but ", count, " senses");
  line.integer();
  for (std::uint32_t i = 0; i < range.count; ++i) senses_.push_back(find(part, line.integer(), [&] { return line.where(); }));
  index_[static_cast<std::size_t>(part)].insert_or_assign(lemma, range);
}

LEXFORMER_INLINE void WordNetFiles::resolve() {
  const auto target = [&](const Pointer& pointer) { return find(pointer.part, pointer.offset, [&] { return where(pointer.synset); }); };
  for (const Pointer& pointer : hypernym_pointers_) {  // in ascending order of synsets
    Range& range = synsets_[pointer.synset].hypernyms;
    if (range.count++ == 0) range.first = static_cast<std::uint32_t>(hypernyms_.size());
    hypernyms_.push_back(target(pointer));
  }
  for (const Pointer& pointer : antonym_pointers_) {
    const Range from = synsets_[pointer.synset].lemmas, to = synsets_[target(pointer)].lemmas;
    if (pointer.source > from.count || pointer.target > to.count || pointer.target == 0)
      fail_file(where(pointer.synset), "an antonym goes from lemma ", pointer.source, " of ", from.count, " to lemma ", pointer.target,
                " of ", to.count);
    antonyms_[from.first + pointer.source - 1].push_back(to.first + pointer.target - 1);
  }
  hypernym_pointers_ = antonym_pointers_ = {};
}

LEXFORMER_INLINE std::span<const std::string_view> WordNetFiles::lemmas(Id synset) const {
  return detail::part_of(lemmas_, synsets_[synset].lemmas);
}
LEXFORMER_INLINE std::span<const WordNetFiles::Id> WordNetFiles::hypernyms(Id synset) const {
  return detail::part_of(hypernyms_, synsets_[synset].hypernyms);
}

LEXFORMER_INLINE std::vector<std::string_view> WordNetFiles::antonyms(Id synset, std::size_t lemma) const {
  std::vector<std::string_view> out;
  if (const auto found = antonyms_.find(synsets_[synset].lemmas.first + static_cast<std::uint32_t>(lemma)); found != antonyms_.end())
    for (const std::uint32_t antonym : found->second) out.push_back(lemmas_[antonym]);
  return out;
}

LEXFORMER_INLINE std::span<const WordNetFiles::Id> WordNetFiles::senses(std::string_view lemma, PartOfSpeech part) const {
  const auto& index = index_[static_cast<std::size_t>(part)];
  const auto found = index.find(lemma);
  return found == index.end() ? std::span<const Id>() : detail::part_of(senses_, found->second);
}

LEXFORMER_INLINE std::vector<std::string_view> WordNetFiles::exceptions(std::string_view form, PartOfSpeech part) const {
  const auto& exceptions = exceptions_[static_cast<std::size_t>(part)];
  const auto found = exceptions.find(form);
  return found == exceptions.end() ? std::vector<std::string_view>() : found->second;
}

LEXFORMER_INLINE std::string WordNetFiles::where(Id synset) const {
  const Synset& s = synsets_[synset];
  return cat((folder_ / cat("data.", detail::wordnet_part(s.part).file)).string(), ": line ", s.line);
}

}  // namespace lexformer
#endif
