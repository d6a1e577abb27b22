// SPDX-License-Identifier: MIT
// How strongly each column counts in the search for candidates, chosen from the records without labels: a long column whose texts do not
// recur in the other table, such as a description that each shop writes anew, must not drown a title.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/record_texts.hpp"
#include "lexformer/tables/text_vectors.hpp"

namespace lexformer {

/// The values of a column, as texts for the search. Without a right table, `right` is empty.
struct SearchColumn {
  std::string name;
  std::vector<std::string> left, right;
};

/// The compared columns, one by one; joined by spaces they are search_texts().
std::vector<SearchColumn> search_columns(const RecordPairs& records);
/// The texts of search_texts(): the columns of each record that are not empty, joined by spaces.
std::vector<std::string> join_columns(std::span<const SearchColumn> columns, bool right);

/// The columns with their weights, or none: a text is a whole, as if no columns were given. None if all would have the weight 1.
///
/// Only texts are weighed: columns whose values, where there are any, have 8 n-grams or more in the mean (n) and are different in half of
/// the records or more. Other columns count by their length, as in a whole text. With fewer than two texts there is nothing to weigh.
/// 1,000 records of the smaller table look for their most similar record among 20,000 of the other one (within one table: among the
/// others), evenly spaced, by one column alone: b is the mean of its cosine, 0 without any, and l the mean of its lead over the second one.
/// The text with the largest b * l * min(n, 50) is the measure: its values recur, and single out a partner. Its weight is 1, the one
/// of another text min(1, b / b of the measure)^2, 0.05 or more. The measure also limits the length of the others (TextVectors).
/// The columns must outlive what is returned.
TextColumns weigh_columns(std::span<const SearchColumn> columns, bool one_table, std::size_t ngram = 3);

/// The weights in words; empty if there are none.
std::string describe_weights(std::span<const SearchColumn> columns, const TextColumns& weighed);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <iomanip>

#include "lexformer/core/error.hpp"
#include "lexformer/tables/blocking.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<SearchColumn> search_columns(const RecordPairs& records) {
  std::vector<SearchColumn> columns;
  for (const RecordColumn& column : records.options().columns) {
    RecordTextOptions plain;
    plain.columns = {column};
    plain.normalize_numbers = records.options().normalize_numbers;
    columns.push_back({column.left, record_texts(records.left(), plain, false), {}});
    if (!records.one_table()) columns.back().right = record_texts(records.right(), plain, true);
  }
  return columns;
}

LEXFORMER_INLINE std::vector<std::string> join_columns(std::span<const SearchColumn> columns, bool right) {
  std::vector<std::string> texts;
  for (const SearchColumn& column : columns) {
    const auto& values = right ? column.right : column.left;
    texts.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) texts[i] += cat(texts[i].empty() || values[i].empty() ? "" : " ", values[i]);
  }
  return texts;
}

namespace detail {

/// What record k of `most` is, evenly spaced.
struct EvenSample {
  std::size_t records, most;
  std::size_t size() const { return std::min(records, most); }
  std::size_t operator[](std::size_t k) const { return k * records / size(); }
  std::vector<std::string> of(std::span<const std::string> texts) const {
    std::vector<std::string> out;
    for (std::size_t k = 0; k < size(); ++k) out.push_back(texts[(*this)[k]]);
    return out;
  }
};

/// How well a column alone finds partners.
struct ColumnStrength {
  double best = 0, lead = 0;  // means over records
};
LEXFORMER_INLINE ColumnStrength column_strength(const SearchColumn& column, bool one_table, std::size_t ngram) {
  const bool turn = !one_table && column.right.size() < column.left.size();
  const auto& from = turn ? column.right : column.left;
  const auto& to = turn || one_table ? column.left : column.right;
  const EvenSample asked{from.size(), 1000}, partners{to.size(), 20000};
  const auto asked_texts = asked.of(from), partner_texts = partners.of(to);
  const auto found = CandidateSearch(asked_texts, partner_texts, {.n = ngram, .top = one_table ? 3u : 2u}).find();
  ColumnStrength strength;
  for (std::size_t begin = 0, end = 0; begin < found.size(); begin = end) {
    float best = 0, second = 0;  // of one record; the largest scores come first
    for (; end < found.size() && found[end].left == found[begin].left; ++end) {
      if (one_table && asked[found[end].left] == partners[found[end].right]) continue;
      second = best > 0 ? std::max(second, found[end].score) : second;
      best = std::max(best, found[end].score);
    }
    strength.best += static_cast<double>(best);
    strength.lead += static_cast<double>(best - second);
  }
  const auto n = static_cast<double>(std::max<std::size_t>(asked.size(), 1));
  return {strength.best / n, strength.lead / n};
}

/// The mean number of n-grams of the values of a text, over 1,000 records of each table; 0 for a column that is not weighed.
inline double text_ngrams(const SearchColumn& column, std::size_t ngram) {
  std::size_t ngrams = 0, present = 0, distinct = 0;
  for (const auto* texts : {&column.left, &column.right}) {
    auto sample = EvenSample{texts->size(), 1000}.of(*texts);
    std::erase(sample, "");
    for (const std::string& text : sample) ngrams += TextFeatures{ngram}.of(text).size();
    present += sample.size();
    std::sort(sample.begin(), sample.end());
    distinct += static_cast<std::size_t>(std::unique(sample.begin(), sample.end()) - sample.begin());
  }
  const bool text = present > 0 && ngrams >= 8 * present && 2 * distinct >= present;
  return text ? static_cast<double>(ngrams) / static_cast<double>(present) : 0;
}

}  // namespace detail

LEXFORMER_INLINE TextColumns weigh_columns(std::span<const SearchColumn> columns, bool one_table, std::size_t ngram) {
  std::vector<std::size_t> texts;
  std::vector<double> lengths;
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (const double length = detail::text_ngrams(columns[c], ngram); length > 0) {
      texts.push_back(c);
      lengths.push_back(std::min(length, 50.0));
    }
  if (texts.size() < 2) return {};
  std::vector<detail::ColumnStrength> strengths;
  std::size_t best = 0;
  const auto merit = [&](std::size_t i) { return strengths[i].best * strengths[i].lead * lengths[i]; };
  for (std::size_t i = 0; i < texts.size(); ++i) {
    strengths.push_back(detail::column_strength(columns[texts[i]], one_table, ngram));
    if (merit(i) > merit(best)) best = i;
  }
  if (!(strengths[best].best > 0)) return {};
  TextColumns weighed;
  weighed.measure = texts[best];
  for (const SearchColumn& column : columns) weighed.columns.push_back({column.left, column.right});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const double recurs = std::min(1.0, strengths[i].best / strengths[best].best);
    weighed.columns[texts[i]].weight = std::max(0.05, recurs * recurs);
  }
  const bool alike =
      std::all_of(weighed.columns.begin(), weighed.columns.end(), [](const TextColumn& column) { return column.weight == 1; });
  return alike ? TextColumns{} : weighed;
}

LEXFORMER_INLINE std::string describe_weights(std::span<const SearchColumn> columns, const TextColumns& weighed) {
  if (weighed.columns.empty()) return "";
  std::string weights;
  for (std::size_t c = 0; c < columns.size(); ++c)
    weights += cat(c > 0 ? ", " : "", columns[c].name, " ", std::fixed, std::setprecision(2), weighed.columns[c].weight);
  return cat("weights of the columns, by the data: ", weights);
}

}  // namespace lexformer
#endif
