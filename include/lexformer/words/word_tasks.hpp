// SPDX-License-Identifier: MIT
// Data for the evaluation of word vectors: word similarity, word categories, misspellings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/data/row_reader.hpp"
#include "lexformer/noise/misspellings.hpp"

namespace lexformer {

/// Two words in lower case and how similar people find them.
struct ScoredWordPair {
  std::string left, right;
  double score = 0;
};

/// Parses lines `word word score`, separated by tabs, or in a file without tabs in its first line by commas, semicolons or spaces; more
/// columns may follow. If the first column of the first line is a number and the third is not, each line begins with an index:
/// `index word word score`. A first line that names its columns, as word1 or Word 1, is left out; then the score is the first number after
/// the words (SimLex-999). If all words end in a part of speech, as -n in MEN, it is taken off. `where` begins error messages. Errors (kind
/// file): a line has too few columns, an empty word, bytes that are not UTF-8 or a score that is no finite number; there are no lines.
std::vector<ScoredWordPair> parse_word_pairs(std::string_view text, const std::string& where);

/// Reads a file in this form. Errors: as parse_word_pairs; the file cannot be read.
std::vector<ScoredWordPair> read_word_pairs(const std::string& path);

/// A word in lower case and its category.
struct CategorizedWord {
  std::string word, category;
};

/// Reads a table (.csv, .tsv, .jsonl; see PairReader) with a header that has the columns `category` and `word`. Rows without a word are
/// left out. Errors: as read_pairs; no row has a word.
std::vector<CategorizedWord> read_categorized_words(const std::string& path, Delimiter delimiter = Delimiter::automatic);

/// A misspelling and the correct word, both in lower case.
struct Misspelling {
  std::string misspelling, correct;
};

/// Parses lines `misspelling correct`, separated by a tab; a count may follow. Or, if the first line begins with `$`, the form of
/// Birkbeck's corpora: a line `$correct`, then its misspellings, one per line, each with a count after a space or without; `_` is a space,
/// and the misspellings of `$?` are left out: their word is not known. `where` begins error messages. Errors (kind file): a line has other
/// columns than these, an empty word, or bytes that are not UTF-8; there are no misspellings.
std::vector<Misspelling> parse_misspellings(std::string_view text, const std::string& where);

/// Reads a file in this form. Errors: as parse_misspellings; the file cannot be read.
std::vector<Misspelling> read_misspellings(const std::string& path);

/// Reads a file in this form for the typo mode misspellings; the table's `source` is the path and the file's CRC-32. Errors: as
/// read_misspellings; no misspelling is one that the mode can use (MisspellingTable::add).
MisspellingTable read_misspelling_table(const std::string& path);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "lexformer/data/lines.hpp"
#include "lexformer/data/table.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/words/vectors.hpp"

namespace lexformer {

namespace detail {
/// The columns of a line; between: a separator, or a space for any number of spaces.
inline std::vector<std::string_view> split_at(std::string_view line, char between) {
  if (between == ' ') return split_fields(line);
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0, end = 0; end != line.npos; begin = end + 1) {
    end = line.find(between, begin);
    columns.push_back(line.substr(begin, end - begin));
  }
  return columns;
}

/// Takes the part of speech off words as cat-n, if all have one.
inline void take_off_tags(std::vector<ScoredWordPair>& pairs) {
  const auto tagged = [](const std::string& word) {
    return word.size() > 2 && word[word.size() - 2] == '-' && std::string_view("navjr").find(word.back()) != std::string_view::npos;
  };
  if (!std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return tagged(pair.left) && tagged(pair.right); })) return;
  for (auto& pair : pairs)
    for (std::string* word : {&pair.left, &pair.right}) word->resize(word->size() - 2);
}

inline bool parse_score(std::string_view text, double& score) {
  const auto got = std::from_chars(text.data(), text.data() + text.size(), score);
  return got.ec == std::errc() && got.ptr == text.data() + text.size() && std::isfinite(score);
}
}  // namespace detail

LEXFORMER_INLINE std::vector<ScoredWordPair> parse_word_pairs(std::string_view text, const std::string& where) {
  std::vector<ScoredWordPair> pairs;
  std::size_t first = 0, score_column = 0, number = 0;  // the column of the first word; 0: the score is not found yet
  char between = 0;
  bool names = false;
  for (const std::string_view line : detail::split_lines(text)) {
    const std::string here = cat(where, ": line ", ++number);
    if (const std::size_t invalid = find_invalid_utf8(line); invalid != line.npos) fail_file(here, "byte ", invalid + 1, " is not UTF-8");
    if (line.find_first_not_of(" \t") == line.npos) continue;
    const bool start = between == 0;
    if (start) {
      const auto several = [&](char c) { return std::count(line.begin(), line.end(), c) > 1; };
      between = line.find('\t') != line.npos ? '\t' : several(',') ? ',' : several(';') ? ';' : ' ';
    }
    const auto columns = detail::split_at(line, between);
    double score = 0;
    if (start) {
      const std::string name = lower_case(columns[0]);
      names = columns.size() > 2 && (name == "word1" || name == "word 1" || name == "# word 1") && !detail::parse_score(columns[2], score);
      if (names) continue;
      if (columns.size() > 3 && detail::parse_score(columns[0], score) && !detail::parse_score(columns[2], score)) first = 1;
    }
    if (score_column == 0) {
      score_column = first + 2;
      while (names && score_column + 1 < columns.size() && !detail::parse_score(columns[score_column], score)) ++score_column;
    }
    if (columns.size() <= score_column)
      fail_file(here, "expected ", first == 1 ? "an index, " : "", "two words and a score, separated by tabs; found ", columns.size(),
                columns.size() == 1 ? " column" : " columns");
    if (columns[first].empty() || columns[first + 1].empty()) fail_file(here, "a word is empty");
    if (!detail::parse_score(columns[score_column], score))
      fail_file(here, "the score ", in_quotes(columns[score_column]), " is no finite number");
    pairs.push_back({lower_case(columns[first]), lower_case(columns[first + 1]), score});
  }
  if (pairs.empty()) fail_file(where, "has no pairs of words", empty_pipe(where));
  detail::take_off_tags(pairs);
  return pairs;
}

LEXFORMER_INLINE std::vector<ScoredWordPair> read_word_pairs(const std::string& path) { return parse_word_pairs(read_file(path), path); }

LEXFORMER_INLINE std::vector<CategorizedWord> read_categorized_words(const std::string& path, Delimiter delimiter) {
  std::vector<CategorizedWord> words;
  for (const PairRow& row : read_pairs(path, {.columns = {"category", "word"}, .labels = false, .delimiter = delimiter}).rows)
    if (!row.right.empty()) words.push_back({lower_case(row.right), row.left});
  if (words.empty()) fail_file(path, "no row has a word");
  return words;
}

LEXFORMER_INLINE std::vector<Misspelling> parse_misspellings(std::string_view text, const std::string& where) {
  if (text.starts_with(detail::byte_order_mark)) text.remove_prefix(detail::byte_order_mark.size());
  const bool blocks = text.starts_with('$');
  std::vector<Misspelling> list;
  std::string correct;
  double count = 0;
  std::size_t number = 0;
  for (const std::string_view line : detail::split_lines(text)) {
    const std::string here = cat(where, ": line ", ++number);
    if (const std::size_t invalid = find_invalid_utf8(line); invalid != line.npos) fail_file(here, "byte ", invalid + 1, " is not UTF-8");
    if (!blocks) {
      const auto columns = detail::split_at(line, '\t');
      if (columns.size() < 2 || columns.size() > 3 || (columns.size() == 3 && !detail::parse_score(columns[2], count)))
        fail_file(here, "expected a misspelling, the correct word and perhaps a count, separated by tabs; found ", columns.size(),
                  columns.size() == 1 ? " column" : " columns", columns.size() == 3 ? cat(", the third is ", in_quotes(columns[2])) : "");
      if (columns[0].empty() || columns[1].empty()) fail_file(here, "a word is empty");
      list.push_back({lower_case(columns[0]), lower_case(columns[1])});
      continue;
    }
    const bool head = line.starts_with('$');
    const auto fields = detail::split_fields(head ? line.substr(1) : line);
    if (fields.empty()) fail_file(here, head ? "a word is empty" : "expected `$` and a word, or a misspelling; found an empty line");
    if (fields.size() > (head ? 1u : 2u) || (fields.size() == 2 && !detail::parse_score(fields[1], count)))
      fail_file(here, "expected ", head ? "`$` and a word" : "a misspelling and a count", ", found ", in_quotes(line));
    std::string word = lower_case(fields[0]);
    std::replace(word.begin(), word.end(), '_', ' ');
    if (head) {
      correct = std::move(word);
    } else if (correct != "?") {
      list.push_back({std::move(word), correct});
    }
  }
  if (list.empty()) fail_file(where, "has no misspellings");
  return list;
}

LEXFORMER_INLINE std::vector<Misspelling> read_misspellings(const std::string& path) { return parse_misspellings(read_file(path), path); }

LEXFORMER_INLINE MisspellingTable read_misspelling_table(const std::string& path) {
  const std::string bytes = read_file(path);
  MisspellingTable table{cat(path, ", crc32 ", crc32(bytes))};
  for (const auto& m : parse_misspellings(bytes, path)) table.add(m.correct, m.misspelling);
  if (table.of_word.empty()) fail_file(path, "has no misspelling of a single word");
  return table;
}

}  // namespace lexformer
#endif
