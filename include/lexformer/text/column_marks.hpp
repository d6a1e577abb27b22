// SPDX-License-Identifier: MIT
// The columns of a record's text in the form `COL name VAL value COL name VAL value` (tables/record_texts.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// `COL name VAL`, the words before the value of a column.
struct ColumnMark {
  std::size_t begin, end;                      // bytes of the text, end excluded
  std::size_t first_character, end_character;  // the same in characters (code points)
  std::string name;                            // its words, separated by single spaces
};

/// "COL name VAL".
inline std::string column_mark(std::string_view name) { return std::string("COL ").append(name) + " VAL"; }

/// The marks of a text, in order. A text without COL as its first word has none. A mark is the word COL, one word or more that are
/// neither COL nor VAL, and the word VAL; case matters. The form has no escape: a value that holds such words holds a mark.
std::vector<ColumnMark> column_marks(std::string_view text);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<ColumnMark> column_marks(std::string_view text) {
  std::vector<ColumnMark> marks;
  ColumnMark mark{};
  enum { first_word, in_value, in_name } state = first_word;
  std::size_t begin = 0, begin_character = 0, character = 0;  // of the current word, and of the current character
  const auto end_word = [&](std::size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    if (word.empty()) return true;
    if (word == "COL") {
      mark = {begin, 0, begin_character, 0, {}};
      state = in_name;
    } else if (state == first_word) {
      return false;
    } else if (state == in_name && word == "VAL") {
      mark.end = end;
      mark.end_character = character;
      if (!mark.name.empty()) marks.push_back(mark);
      state = in_value;
    } else if (state == in_name) {
      mark.name.append(mark.name.empty() ? "" : " ").append(word);
    }
    return true;
  };
  for (std::size_t i = 0; i < text.size(); ++character) {
    const Decoded next = decode_utf8(text, i);
    if (is_whitespace(next.character)) {
      if (!end_word(i)) return marks;
      begin = i + next.bytes;
      begin_character = character + 1;
    }
    i += next.bytes;
  }
  end_word(text.size());
  return marks;
}

}  // namespace lexformer
#endif
