// SPDX-License-Identifier: MIT
// Texts as sparse vectors of weighted features, whose scalar products are cosines: character n-grams within words, which survive typos,
// or tokens, among them model numbers however they are punctuated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// What a text is split into, in lower case and without accents. A word is what stands between whitespace.
struct TextFeatures {
  /// 1 or more: the n-grams of each word, with a space at both ends and without its punctuation; a shorter word is one n-gram.
  ///   n = 3, `WH-1000`: ` wh`, `wh1`, `h10`, `100`, `000`, `00 `
  /// 0: tokens: the runs of letters and digits of each word, and, if there are several, all of them joined: `wh`, `1000`, `wh1000`.
  std::size_t n = 3;

  /// The features in the order of the text, with repetitions.
  std::vector<std::u32string> of(std::string_view text) const;
  /// A number for a feature: different for different n-grams of up to three characters, else a hash of 64 bits.
  static std::uint64_t key(std::u32string_view feature);
};

/// A column of all records of two lists, or of one, and its weight. It may be empty in a record. The texts are read by constructors alone.
struct TextColumn {
  std::span<const std::string> left, right;
  double weight = 1;
};

/// Texts in columns. Empty: texts without columns.
struct TextColumns {
  std::vector<TextColumn> columns{};
  std::size_t measure = 0;  // the place of the column by whose length the others are limited
};

namespace detail {
/// How often a feature occurs in a column of a text. key: of TextFeatures, later its number.
struct FeatureCount {
  std::uint64_t key;
  std::uint32_t count, column;
};
}  // namespace detail

/// What vectors were weighted by. Vectors of other texts by the same frame can be compared with them, to the bit.
struct TextFrame {
  std::vector<std::uint64_t> keys{};    // of the features, from the rarest to the most frequent; of equal ones by ascending key
  std::vector<std::uint32_t> counts{};  // df of each
  std::size_t texts = 0;                // N
  double limit = 0;                     // L, of texts in columns
};

/// Vectors of texts. The component of a feature that occurs tf times in the text, and in df of N texts, is
///   (1 + ln tf) (1 + ln((1 + N) / (1 + df))) / norm,
/// so that every vector has length 1, except for texts without features. (Manning, Raghavan, Schütze 2008, sections 6.2 to 6.4; the
/// inverse document frequency is scikit-learn's smooth one.) Features are numbered from the rarest to the most frequent.
/// A text in columns has the sum of its columns' vectors, each without its norm n and times
///   weight * min(1, L / n),  L: the mean norm of the measure's column where it has features; the measure's own is not limited,
/// and then divided by the norm of the sum. So a long column counts no more than the measure does.
class TextVectors {
 public:
  struct Component {
    std::uint32_t feature;
    float weight;
    bool operator==(const Component&) const = default;
  };

  /// The document frequencies count all texts of both lists. Does not depend on the number of threads.
  TextVectors(std::span<const std::string> left, std::span<const std::string> right, TextFeatures features)
      : TextVectors(TextColumns{{{left, right}}}, features) {}
  /// frame: gives N, df (0 for a feature that it lacks) and L; null: the texts do.
  TextVectors(const TextColumns& columns, TextFeatures features, const TextFrame* frame = nullptr);

  /// Of vectors that were made without one.
  TextFrame frame() const { return {keys_, counts_, starts_.size() - 1, limit_}; }
  std::size_t features() const { return keys_.size(); }
  /// The components of a text, by ascending feature. Texts of the right list follow the texts of the left.
  std::span<const Component> operator[](std::size_t text) const {
    return std::span(components_).subspan(starts_[text], starts_[text + 1] - starts_[text]);
  }
  std::uint64_t key(std::size_t feature) const { return keys_[feature]; }

  /// The cosine of two texts. Rounding may make it differ a little from 1 for equal vectors, or exceed 1.
  float cosine(std::size_t a, std::size_t b) const;
  /// The same cosine, `rounded`, as a score: exactly 1 for equal vectors, less than 1 for others.
  float exact_cosine(float rounded, std::size_t a, std::size_t b) const;

 private:
  void put_components(const TextColumns& all, std::vector<std::vector<detail::FeatureCount>> counts, std::span<const double> inverse);

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> counts_;  // df
  double limit_ = 0;
  std::vector<std::size_t> starts_;
  std::vector<Component> components_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// Calls put(feature) for each feature of a text.
template <class Put>
void each_feature(std::string_view text, std::size_t n, Put&& put) {
  std::u32string word;              // the letters and digits of the current word
  std::vector<std::size_t> pieces;  // where its runs begin
  bool in_piece = false;
  const auto end_word = [&] {
    in_piece = false;
    if (!word.empty() && n > 0) {
      word.insert(word.begin(), U' ');
      word += U' ';
      for (std::size_t i = 0; i == 0 || (n <= word.size() && i <= word.size() - n); ++i) put(std::u32string_view(word).substr(i, n));
    } else if (!word.empty()) {
      for (std::size_t p = 0; p < pieces.size(); ++p)
        put(std::u32string_view(word).substr(pieces[p], (p + 1 < pieces.size() ? pieces[p + 1] : word.size()) - pieces[p]));
      if (pieces.size() > 1) put(std::u32string_view(word));
    }
    word.clear();
    pieces.clear();
  };
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    i += next.bytes;
    if (is_whitespace(next.character)) {
      end_word();
    } else {
      decompose(to_lower(next.character), [&](char32_t c) {
        if (is_nonspacing_mark(c)) return;
        const bool letter = is_word_character(c) && c != U'_';
        if (letter && !in_piece) pieces.push_back(word.size());
        if (letter) word += c;
        in_piece = letter;
      });
    }
  }
  end_word();
}

}  // namespace detail

LEXFORMER_INLINE std::vector<std::u32string> TextFeatures::of(std::string_view text) const {
  std::vector<std::u32string> all;
  detail::each_feature(text, n, [&](std::u32string_view feature) { all.emplace_back(feature); });
  return all;
}

LEXFORMER_INLINE std::uint64_t TextFeatures::key(std::u32string_view feature) {
  std::uint64_t packed = 0;
  if (feature.size() <= 3) {  // 21 bits for each character, and none is 0
    for (const char32_t c : feature) packed = packed << 21 | c;
    return packed;
  }
  packed = 0xcbf29ce484222325u;  // FNV-1a, then the mixing of MurmurHash3; the highest bit differs from a packed feature's
  for (const char32_t c : feature) packed = (packed ^ c) * 0x100000001b3u;
  packed = (packed ^ packed >> 33) * 0xff51afd7ed558ccdu;
  packed = (packed ^ packed >> 33) * 0xc4ceb9fe1a85ec53u;
  return (packed ^ packed >> 33) | std::uint64_t{1} << 63;
}

namespace detail {
/// Keys that differ in their last letter stay near each other in memory.
struct FeatureSeededHash {
  std::size_t operator()(std::uint64_t key) const noexcept { return SeededHash()(key >> 6) + (key & 63); }
};
}  // namespace detail

namespace detail {

/// The features of a text, by ascending key.
inline std::vector<FeatureCount> count_features(const TextColumns& all, std::size_t text, std::size_t n, std::vector<std::uint64_t>& keys) {
  std::vector<FeatureCount> counts;
  for (std::uint32_t c = 0; c < all.columns.size(); ++c) {
    const auto& [left, right, weight] = all.columns[c];
    keys.clear();
    each_feature(text < left.size() ? left[text] : right[text - left.size()], n,
                 [&](std::u32string_view feature) { keys.push_back(TextFeatures::key(feature)); });
    std::sort(keys.begin(), keys.end());
    const std::size_t begin = counts.size();
    std::size_t distinct = keys.empty() ? 0 : 1;
    for (std::size_t i = 1; i < keys.size(); ++i) distinct += keys[i] != keys[i - 1] ? 1u : 0u;
    counts.reserve(begin + distinct);  // all texts together are the largest block of memory of a search
    for (const std::uint64_t key : keys) {
      if (counts.size() == begin || counts.back().key != key) counts.push_back({key, 0, c});
      ++counts.back().count;
    }
  }
  if (all.columns.size() > 1)
    std::sort(counts.begin(), counts.end(),
              [](const auto& a, const auto& b) { return std::pair(a.key, a.column) < std::pair(b.key, b.column); });
  return counts;
}

/// Of a feature whose key is its number by now, before texts get the length 1.
inline double feature_weight(const FeatureCount& c, std::span<const double> inverse) {
  return (1 + std::log(static_cast<double>(c.count))) * inverse[c.key];
}
inline double column_norm(std::span<const FeatureCount> text, std::size_t column, std::span<const double> inverse) {
  double squares = 0;
  for (const FeatureCount& c : text)
    if (c.column == column) squares += feature_weight(c, inverse) * feature_weight(c, inverse);
  return std::sqrt(squares);
}
/// The mean over the texts where it is above 0.
inline double mean_norm(std::span<const std::vector<FeatureCount>> texts, std::size_t column, std::span<const double> inverse) {
  double sum = 0, present = 0;
  for (const auto& text : texts) {
    const double norm = column_norm(text, column, inverse);
    sum += norm;
    present += norm > 0 ? 1 : 0;
  }
  return present > 0 ? sum / present : 0;
}

}  // namespace detail

LEXFORMER_INLINE TextVectors::TextVectors(const TextColumns& all, TextFeatures features, const TextFrame* frame) {
  const auto& columns = all.columns;
  const std::size_t texts = columns.at(0).left.size() + columns[0].right.size();
  if (texts > std::numeric_limits<std::uint32_t>::max()) fail("TextVectors", texts, " texts are too many");
  std::vector<std::vector<detail::FeatureCount>> counts(texts);
  parallel_for(texts, 256, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint64_t> keys;
    for (std::size_t t = begin; t < end; ++t) counts[t] = detail::count_features(all, t, features.n, keys);
  });

  std::unordered_map<std::uint64_t, std::uint32_t, detail::FeatureSeededHash> frequency;
  starts_.assign(1, 0);
  for (const auto& text : counts) {
    std::size_t distinct = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (i == 0 || text[i].key != text[i - 1].key) {
        ++frequency[text[i].key];
        ++distinct;
      }
    starts_.push_back(starts_.back() + distinct);
  }
  if (frame != nullptr) {
    for (auto& [key, count] : frequency) count = 0;
    for (std::size_t f = 0; f < frame->keys.size(); ++f)
      if (const auto known = frequency.find(frame->keys[f]); known != frequency.end()) known->second = frame->counts[f];
  }
  const auto all_texts = static_cast<double>(frame != nullptr ? frame->texts : texts);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> order;  // how many texts have a feature, and its key
  for (const auto& [key, count] : frequency) order.emplace_back(count, key);
  std::sort(order.begin(), order.end());
  std::vector<double> inverse;
  for (const auto& [count, key] : order) {
    inverse.push_back(1 + std::log((1 + all_texts) / (1 + static_cast<double>(count))));
    frequency.find(key)->second = static_cast<std::uint32_t>(keys_.size());  // from now on the number of the feature
    keys_.push_back(key);
    counts_.push_back(count);
  }
  parallel_for(texts, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t)
      for (detail::FeatureCount& c : counts[t]) c.key = frequency.find(c.key)->second;
  });
  if (columns.size() > 1) limit_ = frame != nullptr ? frame->limit : detail::mean_norm(counts, all.measure, inverse);
  put_components(all, std::move(counts), inverse);
}

LEXFORMER_INLINE void TextVectors::put_components(const TextColumns& all, std::vector<std::vector<detail::FeatureCount>> counts,
                                                  std::span<const double> inverse) {
  const auto& columns = all.columns;
  components_.resize(starts_.back());
  parallel_for(counts.size(), 256, [&](std::size_t begin, std::size_t end) {
    std::vector<std::pair<std::size_t, double>> row;
    std::vector<double> factors(columns.size(), 1.0);
    for (std::size_t t = begin; t < end; ++t) {
      row.clear();
      for (std::size_t c = 0; columns.size() > 1 && c < columns.size(); ++c) {
        const double norm = c == all.measure ? 0 : detail::column_norm(counts[t], c, inverse);
        factors[c] = columns[c].weight * (limit_ > 0 && norm > limit_ ? limit_ / norm : 1);
      }
      for (const auto& c : counts[t]) {
        const double weight = factors[c.column] * detail::feature_weight(c, inverse);
        if (row.empty() || row.back().first != c.key) row.emplace_back(c.key, 0.0);
        row.back().second += weight;
      }
      std::sort(row.begin(), row.end());
      double squares = 0;
      for (const auto& [f, weight] : row) squares += weight * weight;
      for (std::size_t i = 0; i < row.size(); ++i)
        components_[starts_[t] + i] = {static_cast<std::uint32_t>(row[i].first), static_cast<float>(row[i].second / std::sqrt(squares))};
      std::vector<detail::FeatureCount>().swap(counts[t]);
    }
  });
}

LEXFORMER_INLINE float TextVectors::cosine(std::size_t a, std::size_t b) const {
  const auto x = (*this)[a], y = (*this)[b];
  float sum = 0;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].feature == y[j].feature) {
      sum += x[i].weight * y[j].weight;
      ++i;
      ++j;
    } else if (x[i].feature < y[j].feature) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

LEXFORMER_INLINE float TextVectors::exact_cosine(float rounded, std::size_t a, std::size_t b) const {
  const auto x = (*this)[a], y = (*this)[b];
  if (!x.empty() && std::equal(x.begin(), x.end(), y.begin(), y.end())) return 1;
  return std::min(rounded, std::nextafter(1.0f, 0.0f));
}

}  // namespace lexformer
#endif
