// SPDX-License-Identifier: MIT
// Dependency trees in CoNLL-U files (https://universaldependencies.org/format.html).
//
// Texts: `# newdoc` begins a text, which may have several sentences. Without it, each sentence is a text. The characters of a text come
// from a comment `# document = ...`; without it, its `# text = ...` lines joined by a space; without these, its forms joined by a
// space, except after SpaceAfter=No. The forms occur in the text in order.
// Read: FORM, LEMMA, HEAD, DEPREL, and FORM of multiword tokens (1-2). Skipped: empty nodes (1.1). LEMMA _ stands for the form.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/knowledge/dependency.hpp"

namespace lexformer {

/// Reads all texts of a file and adds them to `table`. The words of a multiword token, as 3-4 du of de and le, have the characters of the
/// whole, unless they are its parts as it is written (don't of do and n't). Empty nodes (5.1) are left out. `where` begins error messages,
/// followed by the line. Errors: a line without 10 columns; an index or a head that is not a number, or out of order; no root or two in a
/// sentence; a cycle; a form that the text does not contain after the forms before it; different trees for the same text.
void parse_conllu(std::istream& in, const std::string& where, DependencyTable& table);

/// Reads files. Errors: as parse_conllu; a file cannot be opened; the files have no text.
std::shared_ptr<const DependencyTable> read_conllu(const std::vector<std::string>& paths);

/// Writes a text with its trees so that parse_conllu reads the same again. Errors: the text has a line break.
void write_conllu(std::ostream& out, const DependencyTrees& trees);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "lexformer/io/file.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// Characters of a text from begin to end.
inline std::string_view characters_of(std::string_view text, std::pair<std::uint32_t, std::uint32_t> places) {
  std::size_t begin = 0;
  for (std::uint32_t i = 0; i < places.first; ++i) begin += decode_utf8(text, begin).bytes;
  std::size_t end = begin;
  for (std::uint32_t i = places.first; i < places.second; ++i) end += decode_utf8(text, end).bytes;
  return text.substr(begin, end - begin);
}

/// Collects the sentences of a text, and finds its words in it.
class ConlluReader {
 public:
  ConlluReader(std::string where, DependencyTable& table) : where_(std::move(where)), table_(table) {}

  void line(std::string_view line) {
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // byte order mark
    if (const std::size_t invalid = find_invalid_utf8(line); invalid != line.npos)
      fail_file(here(number_), "byte ", invalid + 1, " is not UTF-8");
    if (line.find_first_not_of(" \t") == line.npos)
      end_sentence();
    else if (line.starts_with('#'))
      comment(line.substr(1));
    else
      word(line);
  }
  void end() {
    end_sentence();
    end_text();
  }

 private:
  std::string here(std::size_t line) const { return cat(where_, ": line ", line); }

  void comment(std::string_view text) {
    const std::size_t equals = std::min(text.find('='), text.size());
    std::string_view key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    key.remove_prefix(std::min(key.find_first_not_of(" \t"), key.size()));
    key = key.substr(0, key.find_last_not_of(" \t") + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);  // the rest is exact: texts are looked up by it
    if (key == "newdoc" || key.starts_with("newdoc ")) {
      end_sentence();
      end_text();
      document_.reset();  // of a text without words
      sentence_text_.reset();
      in_document_ = true;
    } else if (key == "document") {
      document_ = value;
    } else if (key == "text") {
      sentence_text_ = value;
    }
  }

  void word(std::string_view line) {
    std::vector<std::string_view> columns;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      columns.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (columns.size() != 10) fail_file(here(number_), "expected 10 columns separated by tabs, found ", columns.size());
    if (columns[0].find('.') != columns[0].npos) return;
    const bool space_after = columns[9].find("SpaceAfter=No") == columns[9].npos;
    if (const std::size_t dash = columns[0].find('-'); dash != columns[0].npos) {
      token_begin_ = number(columns[0].substr(0, dash), "the index (column 1)");
      token_end_ = number(columns[0].substr(dash + 1), "the index (column 1)");
      if (token_begin_ != words_.size() + 1 || token_end_ <= token_begin_)
        fail_file(here(number_), "the multiword token is ", columns[0], ", expected ", words_.size() + 1, " and the index of a later word");
      if (columns[1].empty()) fail_file(here(number_), "the form (column 2) is empty");
      token_ = columns[1];
      joined_ += token_ + (space_after ? " " : "");
      return;
    }
    if (number(columns[0], "the index (column 1)") != words_.size() + 1)
      fail_file(here(number_), "the index of the word is ", columns[0], ", expected ", words_.size() + 1);
    if (columns[1].empty()) fail_file(here(number_), "the form (column 2) is empty");
    if (words_.empty()) first_line_ = number_;
    const std::string form(columns[1]);
    words_.push_back({form, columns[2] == "_" || columns[2].empty() ? form : std::string(columns[2]), std::string(columns[7])});
    lines_.push_back(number_);
    heads_.push_back(number(columns[6], "the head (column 7)"));
    written_.push_back(form);
    if (words_.size() > token_end_) joined_ += form + (space_after ? " " : "");
    if (words_.size() == token_end_) end_token();
  }
  /// The words of a multiword token are complete. If the text does not have them one by one, it has the token in the place of the first.
  void end_token() {
    const auto first = written_.end() - static_cast<std::ptrdiff_t>(token_end_ - token_begin_ + 1);
    std::string parts;
    for (auto part = first; part != written_.end(); ++part) parts += *part;
    if (parts == token_) return;
    std::fill(first, written_.end(), "");
    *first = token_;
  }
  std::size_t number(std::string_view text, const char* what) const {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail_file(here(number_), what, " is ", in_quotes(std::string(text)), ", expected a number");
    return value;
  }

  void end_sentence() {
    if (token_end_ > words_.size()) fail_file(here(number_), "the sentence ends within the multiword token ", in_quotes(token_));
    if (words_.empty()) return;
    token_end_ = 0;
    trees_.add_sentence(std::exchange(words_, {}), std::exchange(heads_, {}), here(first_line_));
    if (!text_.empty()) text_ += ' ';
    if (joined_.ends_with(' ')) joined_.pop_back();
    text_ += sentence_text_ ? *sentence_text_ : joined_;
    sentence_text_.reset();
    joined_.clear();
    if (!in_document_) end_text();
  }
  void end_text() {
    if (trees_.words.empty()) return;
    trees_.text = document_ ? *document_ : text_;
    place_words();
    table_.add(std::exchange(trees_, {}), here(lines_.front()));
    lines_.clear();
    written_.clear();
    text_.clear();
    document_.reset();
  }
  /// Finds the characters of each word in the text.
  void place_words() {
    std::size_t byte = 0;
    std::uint32_t character = 0;
    const auto move_to = [&](std::size_t to) {
      for (; byte < to; ++byte) character += (static_cast<unsigned char>(trees_.text[byte]) & 0xC0) != 0x80 ? 1u : 0u;
      return character;
    };
    for (std::size_t i = 0; i < trees_.words.size(); ++i) {
      if (written_[i].empty()) {
        trees_.words[i].characters = trees_.words[i - 1].characters;
        continue;
      }
      const std::size_t found = trees_.text.find(written_[i], byte);
      if (found == std::string::npos)
        fail_file(here(lines_[i]), "the word ", in_quotes(written_[i]), " is not in the rest of the text ", in_quotes(trees_.text));
      const std::uint32_t begin = move_to(found);
      trees_.words[i].characters = {begin, move_to(found + written_[i].size())};
    }
  }

  std::string where_;
  DependencyTable& table_;
  std::size_t number_ = 0;
  bool in_document_ = false;
  // of the sentence
  std::vector<DependencyWord> words_;
  std::vector<std::size_t> heads_;
  std::size_t first_line_ = 0;
  std::optional<std::string> sentence_text_;
  std::string joined_, token_;                   // token_: the last multiword token
  std::size_t token_begin_ = 0, token_end_ = 0;  // the indices of its words
  // of the text
  DependencyTrees trees_;
  std::vector<std::size_t> lines_;    // of its words
  std::vector<std::string> written_;  // what the text has of each word; "": the word has the characters of the one before
  std::optional<std::string> document_;
  std::string text_;
};

}  // namespace detail

LEXFORMER_INLINE void parse_conllu(std::istream& in, const std::string& where, DependencyTable& table) {
  detail::ConlluReader reader(where, table);
  for (std::string line; std::getline(in, line);) reader.line(line);
  if (in.bad()) fail_file(where, "cannot be read");
  reader.end();
}

LEXFORMER_INLINE std::shared_ptr<const DependencyTable> read_conllu(const std::vector<std::string>& paths) {
  auto table = std::make_shared<DependencyTable>();
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    if (!in) fail_file(path, "cannot be opened: ", detail::system_message(errno));
    parse_conllu(in, path, *table);
  }
  if (table->size() == 0) fail_file(paths.empty() ? "CoNLL-U" : paths[0], "contains no dependency tree");
  return table;
}

LEXFORMER_INLINE void write_conllu(std::ostream& out, const DependencyTrees& trees) {
  if (trees.text.find_first_of("\r\n") != std::string::npos)
    fail("write_conllu", "the text ", in_quotes(trees.text), " has a line break; replace it by a space");
  out << "# newdoc\n# document = " << trees.text << '\n';
  for (std::size_t s = 0; s < trees.sentences.size(); ++s) {
    const std::size_t first = trees.sentences[s], last = s + 1 < trees.sentences.size() ? trees.sentences[s + 1] : trees.words.size();
    for (std::size_t i = first; i < last; ++i) {
      const DependencyWord& w = trees.words[i];
      std::size_t end = i;  // the last word with these characters: more than one are of a multiword token
      while (end + 1 < last && trees.words[end + 1].characters == w.characters) ++end;
      if (end > i && (i == first || trees.words[i - 1].characters != w.characters))
        out << cat(i - first + 1, '-', end - first + 1, '\t', detail::characters_of(trees.text, w.characters),
                   "\t_\t_\t_\t_\t_\t_\t_\t_\n");
      const std::size_t head = w.head < 0 ? 0 : static_cast<std::size_t>(w.head) - first + 1;
      out << cat(i - first + 1, '\t', w.form, '\t', w.lemma, "\t_\t_\t_\t", head, '\t', w.relation, "\t_\t_\n");
    }
    out << '\n';
  }
}

}  // namespace lexformer
#endif
