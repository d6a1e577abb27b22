// SPDX-License-Identifier: MIT
// Sentences whose words have tags, as for named entities: one word a line, tags in the form BIO.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"

namespace lexformer {

struct TaggedSentence {
  std::vector<std::string> words, tags{};  // tags: one for each word; empty if the text has none
};

struct TaggedTextOptions {
  bool tags = true;           // the last column of a line is the tag of its word; false: only the first column is read
  std::size_t max_words = 0;  // longer sentences are cut; 0: no limit
};

struct TaggedText {
  std::vector<TaggedSentence> sentences;
  std::size_t words = 0;                         // that were kept
  std::size_t cut_sentences = 0, cut_words = 0;  // sentences over max_words, and the words that they lost
};

/// Why a tag is not BIO, or empty if it is: O, B-TYPE (the first word of an entity) or I-TYPE (a word inside), with any text
/// without white space as TYPE.
std::string tag_fault(std::string_view tag);

/// Parses lines of columns in the form of CoNLL's tasks: the first column is the word, the last one its tag; columns are separated by tabs,
/// or in a line without tabs by spaces. An empty line, or one of white space, ends a sentence. Lines that begin with -DOCSTART-, after any
/// spaces, also do, and are left out. At the start of a sentence, a line `# key = value` is a comment, unless its last column is a tag.
/// Tags in the forms IOBES and BILOU become BIO: S- and U- are B-, E- and L- are I-. `where` begins error messages. Errors (kind file): a
/// line has too few columns, an empty column, bytes that are not UTF-8 or a tag that is not BIO; there are no sentences.
TaggedText parse_tagged_text(std::string_view text, const std::string& where, const TaggedTextOptions& options = {});

/// Reads a file in this form. Errors: as parse_tagged_text; the file cannot be read.
TaggedText read_tagged_text(const std::string& path, const TaggedTextOptions& options = {});

/// The labels for these sentences: O, then B-TYPE and I-TYPE of each type that occurs, in the order of the bytes of the types.
std::vector<std::string> tag_labels(std::span<const TaggedSentence> sentences);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <set>

#include "lexformer/data/lines.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// A tag of IOBES or BILOU as BIO; others are returned unchanged.
inline std::string bio_tag(std::string_view tag) {
  const auto begins = [&](std::string_view a, std::string_view b) { return tag.starts_with(a) || tag.starts_with(b); };
  if (begins("S-", "U-")) return cat("B-", tag.substr(2));
  if (begins("E-", "L-")) return cat("I-", tag.substr(2));
  return std::string(tag);
}

/// The columns of a line, which is not blank. Errors (file): there are too few, or the first or last one is empty.
inline std::vector<std::string_view> tagged_columns(std::string_view line, bool tags, const std::string& where) {
  std::vector<std::string_view> columns;
  if (line.find('\t') == line.npos) {
    columns = split_fields(line);
  } else {
    for (std::size_t begin = 0, end = 0; end != line.npos; begin = end + 1) {
      end = line.find('\t', begin);
      columns.push_back(line.substr(begin, end - begin));
    }
  }
  if (columns.size() < (tags ? 2u : 1u))
    fail_file(where, "expected a word and its tag, separated by a tab or by spaces; found ", in_quotes(line));
  if (columns.front().empty()) fail_file(where, "the word is empty");
  if (tags && columns.back().empty()) fail_file(where, "the tag of ", in_quotes(columns.front()), " is empty");
  return columns;
}

}  // namespace detail

LEXFORMER_INLINE std::string tag_fault(std::string_view tag) {
  const bool one_word = tag.find_first_of(" \t\r\n\v\f") == tag.npos;
  if (tag == "O" || (tag.size() > 2 && one_word && (tag.starts_with("B-") || tag.starts_with("I-")))) return {};
  return cat("the tag ", in_quotes(tag), " is not BIO; expected O, B-TYPE or I-TYPE");
}

LEXFORMER_INLINE TaggedText parse_tagged_text(std::string_view text, const std::string& where, const TaggedTextOptions& options) {
  TaggedText out;
  TaggedSentence sentence;
  std::size_t cut = 0, number = 0;
  const auto end_sentence = [&] {
    if (!sentence.words.empty()) {
      out.words += sentence.words.size();
      out.cut_words += cut;
      out.cut_sentences += cut > 0 ? 1u : 0u;
      out.sentences.push_back(std::move(sentence));
    }
    sentence = {};
    cut = 0;
  };
  for (const std::string_view line : detail::split_lines(text)) {
    const std::string here = cat(where, ": line ", ++number);
    if (const std::size_t invalid = find_invalid_utf8(line); invalid != line.npos) fail_file(here, "byte ", invalid + 1, " is not UTF-8");
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == line.npos || line.substr(begin).starts_with("-DOCSTART-")) {
      end_sentence();
      continue;
    }
    const bool comment = sentence.words.empty() && line.starts_with("# ") && line.find('=') != line.npos;
    if (comment && !tag_fault(detail::bio_tag(line.substr(line.find_last_of(" \t") + 1))).empty()) continue;
    const auto columns = detail::tagged_columns(line, options.tags, here);
    const std::string tag = detail::bio_tag(columns.back());
    if (options.tags)
      if (const std::string fault = tag_fault(tag); !fault.empty()) fail_file(here, fault);
    if (options.max_words > 0 && sentence.words.size() == options.max_words) {
      ++cut;
      continue;
    }
    sentence.words.emplace_back(columns.front());
    if (options.tags) sentence.tags.push_back(tag);
  }
  end_sentence();
  if (out.sentences.empty()) fail_file(where, "has no sentences; expected one word a line", options.tags ? " with its tag" : "");
  return out;
}

LEXFORMER_INLINE TaggedText read_tagged_text(const std::string& path, const TaggedTextOptions& options) {
  return parse_tagged_text(read_file(path), path, options);
}

LEXFORMER_INLINE std::vector<std::string> tag_labels(std::span<const TaggedSentence> sentences) {
  std::set<std::string> types;
  for (const TaggedSentence& sentence : sentences)
    for (const std::string& tag : sentence.tags)
      if (tag.size() > 2) types.insert(tag.substr(2));
  std::vector<std::string> labels{"O"};
  for (const std::string& type : types)
    for (const char* begin : {"B-", "I-"}) labels.push_back(begin + type);
  return labels;
}

}  // namespace lexformer
#endif
