// SPDX-License-Identifier: MIT
// What LEA's attention reads: for each pair of tokens a code, for each code a similarity (level).
// Almagro et al. 2023, section 3.2: s_ij = similarity of the words of tokens i and j if they stand in different texts, else 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/wordpiece.hpp"

namespace lexformer {

struct LexicalOptions {
  Similarity similarity = Similarity::jaccard;
  unsigned levels = 0;  // 0: exact values; n >= 2: the nearest of n equally spaced levels 0 ... 1, of two equally near ones the lower
  bool self_attention = false;  // also between words of the same text
};

/// The similarities of one example: s(i, j) = level[code[i * size + j]]. level[0] = 0 and levels ascend; code is symmetric.
struct LexicalMatrix {
  std::size_t size = 0;
  std::vector<std::uint16_t> code;
  std::vector<double> level{0.0};
};

/// The similarities of a batch: one table of levels for all; the codes of the examples one after the other, example b at
/// code[begin[b]] ... code[begin[b + 1] - 1], an n x n block in row-major order.
struct LexicalBatch {
  std::vector<std::uint16_t> code;
  std::vector<std::size_t> begin{0};
  std::vector<double> level{0.0};
};

namespace detail {
inline constexpr std::size_t max_lexical_levels = 65536;  // codes have 16 bits

inline std::uint16_t lexical_code(const std::vector<double>& level, double value) {
  return static_cast<std::uint16_t>(std::lower_bound(level.begin(), level.end(), value) - level.begin());
}

/// Sorted, without repetition.
inline void sort_levels(std::vector<double>& level) {
  std::sort(level.begin(), level.end());
  level.erase(std::unique(level.begin(), level.end()), level.end());
  if (level.size() > max_lexical_levels)
    fail("lexical levels", level.size(), " distinct similarities do not fit into 16-bit codes; set LexicalOptions.levels, e.g. to 50");
}
}  // namespace detail

/// Similarities of all token pairs of one tokenized pair of texts. A word's text is its pieces joined (WordPieceTokenizer::word_text), so
/// it is normalised like the model's input; two unknown words are equal. All pieces of a word share its similarities. s = 0 where a token
/// has no word ([CLS], [SEP]) and, unless self_attention, within one text. Similarities above 1 (smith_waterman_raw) stay as they are when
/// exact and count as 1 when levels are set.
inline LexicalMatrix lexical_matrix(const WordPieceTokenizer& tokenizer, const Encoding& encoding, const LexicalOptions& options) {
  if (options.levels == 1 || options.levels > detail::max_lexical_levels)
    fail_usage("lexical levels", options.levels, " levels; expected 0 (exact) or 2 ... ", detail::max_lexical_levels);

  struct Word {
    std::size_t first, last;  // pieces first ... last - 1
    std::size_t text;         // place in texts
  };
  std::vector<Word> words;
  std::vector<std::u32string> texts;  // distinct; few enough for a linear search
  for (std::size_t i = 0; i < encoding.size();) {
    const std::size_t first = i++;
    if (encoding.word_ids[first] < 0) continue;
    while (i < encoding.size() && encoding.word_ids[i] == encoding.word_ids[first] && encoding.type_ids[i] == encoding.type_ids[first]) ++i;
    std::u32string text = to_utf32(tokenizer.word_text(encoding, first, i));
    const auto known = std::find(texts.begin(), texts.end(), text);
    words.push_back({first, i, static_cast<std::size_t>(known - texts.begin())});
    if (known == texts.end()) texts.push_back(std::move(text));
  }

  // One value per pair of distinct words that meet; -1 = they do not. Raw values are whole or exactly repeatable, so equal ones share a
  // level.
  std::vector<double> values(texts.size() * texts.size(), -1.0);
  const unsigned steps = options.levels == 0 ? 0 : options.levels - 1;
  const auto meet = [&](const Word& a, const Word& b) {
    return options.self_attention || encoding.type_ids[a.first] != encoding.type_ids[b.first];
  };
  LexicalMatrix out;
  for (unsigned k = 1; k <= steps; ++k) out.level.push_back(static_cast<double>(k) / steps);
  for (const Word& a : words)
    for (const Word& b : words) {
      double& value = values[a.text * texts.size() + b.text];
      if (value >= 0.0 || !meet(a, b)) continue;
      double s = similarity(options.similarity, texts[a.text], texts[b.text]);
      // Halfway goes down. The 1e-9 makes it so where the compiler joins product and difference into one rounding, too.
      if (steps > 0)
        s = out.level[static_cast<std::size_t>(std::ceil(std::min(s, 1.0) * steps - 0.5 - 1e-9))];
      else
        out.level.push_back(s);
      value = values[b.text * texts.size() + a.text] = s;
    }
  detail::sort_levels(out.level);

  out.size = encoding.size();
  out.code.assign(out.size * out.size, 0);
  for (const Word& a : words)
    for (const Word& b : words) {
      if (!meet(a, b)) continue;
      const std::uint16_t code = detail::lexical_code(out.level, values[a.text * texts.size() + b.text]);
      for (std::size_t i = a.first; i < a.last; ++i)
        std::fill_n(out.code.begin() + static_cast<std::ptrdiff_t>(i * out.size + b.first), b.last - b.first, code);
    }
  return out;
}

/// One table of levels for several examples: the distinct levels of all of them in ascending order, so it depends on the examples alone.
/// With LexicalOptions.levels = n it is always the n levels k / (n - 1), code k = level k.
inline LexicalBatch merge(std::span<const LexicalMatrix> matrices) {
  LexicalBatch out;
  std::size_t cells = 0;
  for (const LexicalMatrix& matrix : matrices) {
    if (matrix.code.size() != matrix.size * matrix.size)
      fail("lexical merge", matrix.code.size(), " codes for ", matrix.size, " tokens; expected ", matrix.size * matrix.size);
    out.level.insert(out.level.end(), matrix.level.begin(), matrix.level.end());
    out.begin.push_back(cells += matrix.code.size());
  }
  detail::sort_levels(out.level);
  out.code.reserve(cells);
  std::vector<std::uint16_t> renamed;
  for (const LexicalMatrix& matrix : matrices) {
    renamed.clear();
    for (double level : matrix.level) renamed.push_back(detail::lexical_code(out.level, level));
    for (std::uint16_t code : matrix.code) {
      if (code >= renamed.size()) fail("lexical merge", "code ", code, ", but the example has ", renamed.size(), " levels");
      out.code.push_back(renamed[code]);
    }
  }
  return out;
}

}  // namespace lexformer
