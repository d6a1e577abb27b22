// SPDX-License-Identifier: MIT
// Blocking: of all pairs of two lists of texts, those that are worth a closer look. The candidates of a text are the texts with the largest
// cosines of their vectors (tables/text_vectors.hpp); the search is exact.
//
// An inverted index of some texts of the right list at a time, small enough for the cache, is read by every text of the left list, which
// adds up its scalar products with all of them. So each pair is computed once for both of its sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/tables/blocking_keys.hpp"
#include "lexformer/tables/text_vectors.hpp"

namespace lexformer {

/// ngrams: character n-grams; tokens: words and model numbers; all: the candidates of both; none: all pairs.
enum class Blocking { ngrams, tokens, all, none };
template <>
inline constexpr Named<Blocking> names_of<Blocking>[] = {
    {"ngrams", Blocking::ngrams}, {"tokens", Blocking::tokens}, {"all", Blocking::all}, {"none", Blocking::none}};

struct BlockingOptions {
  Blocking blocking = Blocking::ngrams;
  std::size_t n = 3;     // characters of an n-gram
  std::size_t top = 10;  // candidates of each text, from either list
  /// The columns of the texts; empty: a text is a whole. Only read by the constructor of CandidateSearch.
  TextColumns columns{};
  /// What the vectors of each kind are weighted by; empty: the texts themselves.
  std::vector<TextFrame> frames{};
  /// Of the texts: a pair whose keys do not agree is left out of everything, as if it did not exist. Document frequencies count all texts.
  BlockingKeys keys{};
  /// Called now and then, by one thread at a time, with the part of the work that is done.
  std::function<void(double done)> progress{};
};

/// Two texts by their places in their lists. score: the cosine, which is 1 just for equal vectors, as of equal texts; of `all` the larger
/// one, of `none` 0.
struct Candidate {
  std::uint32_t left, right;
  float score;
  bool operator==(const Candidate&) const = default;
};

/// Why a pair is a candidate or not, by one kind of vectors.
struct CandidateReason {
  struct Shared {
    std::string feature;
    double part;  // of the cosine
  };
  std::string kind;  // "tokens", "3-grams", "embeddings"
  double score = 0;
  /// The place of the right text among the candidates of the left one, from 1, and the reverse; 0: the cosine is 0, or keys do not agree.
  std::size_t left_rank = 0, right_rank = 0;
  std::vector<Shared> shared{};  // the largest parts first
};

class CandidateSearch {
 public:
  /// Between two lists. The texts must outlive the search.
  CandidateSearch(std::span<const std::string> left, std::span<const std::string> right, BlockingOptions options);
  /// Within one list: pairs of different texts, each once, the earlier text on the left.
  CandidateSearch(std::span<const std::string> texts, BlockingOptions options);

  /// The pairs (i, j) with a cosine above 0 in which j is one of the `top` best of i or i one of the `top` best of j; of equal cosines the
  /// earlier text is the better one. Sorted by i, then by descending score, then by j. The same for any number of threads.
  /// Memory: the vectors, and threads * texts * top candidates. Errors: `none` has more than 2^28 pairs.
  /// With keys, blocks of texts with equal keys are compared: time falls with the size of the groups that agree, down to 256 texts.
  std::vector<Candidate> find() const;

  /// What find() makes of the pairs of all its lists: each once, with the score of the kind of vectors that finds it most similar, sorted.
  /// Their scores are cosines by the vectors, if these are of one kind.
  std::vector<Candidate> scored(std::vector<Candidate> pairs) const;

  /// One reason for each kind of features. Errors: `none`; places outside the lists, or, within one list, the same text twice.
  std::vector<CandidateReason> explain(std::size_t left, std::size_t right) const;

  /// The score that find() gives a pair.
  float score(std::size_t left, std::size_t right) const;

  /// The number of all pairs.
  double pairs() const;

  /// The vectors of each kind. The right texts follow the left ones; within one list there are no others.
  const std::vector<TextVectors>& vectors() const { return vectors_; }
  std::size_t right_row(std::size_t right) const { return one_list_ ? right : left_.size() + right; }
  std::size_t lefts() const { return left_.size(); }
  std::size_t rights() const { return right_.size(); }
  bool one_list() const { return one_list_; }
  std::size_t top() const { return options_.top; }
  const BlockingKeys& keys() const { return options_.keys; }

 private:
  CandidateSearch(std::span<const std::string> left, std::span<const std::string> right, bool one_list, BlockingOptions options);
  std::vector<Candidate> all_pairs() const;
  std::vector<Candidate> find(const TextVectors& vectors, double first, double share) const;

  std::span<const std::string> left_, right_;
  bool one_list_;
  BlockingOptions options_;
  std::vector<TextFeatures> kinds_;
  std::vector<TextVectors> vectors_;
};

/// The candidates of both searches, sorted as by CandidateSearch::find(); a pair of both has the larger score.
std::vector<Candidate> merge_candidates(std::span<const Candidate> a, std::span<const Candidate> b);

/// What is left of the matches, and of the pairs: recall = matches among the candidates / matches, reduction = 1 - candidates / pairs.
struct BlockingQuality {
  std::size_t matches = 0, found = 0, candidates = 0;
  double pairs = 0;
  double recall() const { return matches == 0 ? 1 : static_cast<double>(found) / static_cast<double>(matches); }
  double reduction() const { return pairs == 0 ? 0 : 1 - static_cast<double>(candidates) / pairs; }
};

namespace detail {

/// A number for a pair of places. Within one table the order of the two does not matter.
inline std::uint64_t pair_number(std::size_t left, std::size_t right, bool one_table) {
  if (one_table && left > right) std::swap(left, right);
  return static_cast<std::uint64_t>(left) << 32 | right;
}

/// Sorts candidates by pair and removes repetitions.
void unique_pairs(std::vector<Candidate>& candidates);

/// Sorts candidates by left text, then by descending score, then by right text.
void sort_candidates(std::vector<Candidate>& candidates);

/// Sets the score of a pair and its ranks, from the cosines of all pairs of which one side is the same.
template <class Cosine>
void set_ranks(CandidateReason& reason, std::size_t left, std::size_t right, std::size_t lefts, std::size_t rights, bool one_list,
               const Cosine& cosine) {
  const float score = cosine(left, right);
  reason.score = static_cast<double>(score);
  if (!(score > 0)) return;
  reason.left_rank = reason.right_rank = 1;
  for (std::size_t j = 0; j < rights; ++j) {
    const float other = cosine(left, j);
    reason.left_rank += j != right && !(one_list && j == left) && (other > score || (other == score && j < right)) ? 1 : 0;
  }
  for (std::size_t i = 0; i < lefts; ++i) {
    const float other = cosine(i, right);
    reason.right_rank += i != left && !(one_list && i == right) && (other > score || (other == score && i < left)) ? 1 : 0;
  }
}

}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/tables/best_partners.hpp"
#include "lexformer/tables/text_index.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

LEXFORMER_INLINE void unique_pairs(std::vector<Candidate>& candidates) {
  const auto pair = [](const Candidate& c) { return std::pair(c.left, c.right); };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) { return pair(a) < pair(b); });
  candidates.erase(std::unique(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) { return pair(a) == pair(b); }),
                   candidates.end());
}

LEXFORMER_INLINE void sort_candidates(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.left != b.left ? a.left < b.left : a.score != b.score ? a.score > b.score : a.right < b.right;
  });
}

}  // namespace detail

LEXFORMER_INLINE CandidateSearch::CandidateSearch(std::span<const std::string> left, std::span<const std::string> right,
                                                  BlockingOptions options)
    : CandidateSearch(left, right, false, std::move(options)) {}
LEXFORMER_INLINE CandidateSearch::CandidateSearch(std::span<const std::string> texts, BlockingOptions options)
    : CandidateSearch(texts, texts, true, std::move(options)) {}

LEXFORMER_INLINE CandidateSearch::CandidateSearch(std::span<const std::string> left, std::span<const std::string> right, bool one_list,
                                                  BlockingOptions options)
    : left_(left), right_(right), one_list_(one_list), options_(std::move(options)) {
  const bool both = options_.blocking == Blocking::all;
  if (options_.top == 0) fail_usage("CandidateSearch", "a text has 1 candidate or more, not 0");
  if (options_.n == 0) fail_usage("CandidateSearch", "an n-gram has 1 character or more, not 0");
  options_.top = std::min(options_.top, std::max({left.size(), right.size(), std::size_t{1}}));  // no text has more partners
  if (both || options_.blocking == Blocking::ngrams) kinds_.push_back({options_.n});
  if (both || options_.blocking == Blocking::tokens) kinds_.push_back({0});
  if (options_.columns.columns.empty()) options_.columns.columns = {{left_, one_list_ ? std::span<const std::string>() : right_}};
  if (!options_.frames.empty() && options_.frames.size() != kinds_.size())
    fail("CandidateSearch", "there are ", options_.frames.size(), " frames for ", kinds_.size(), " kinds of vectors");
  for (const KeyValues& key : options_.keys.keys)
    if (key.size() != left.size() + (one_list ? 0 : right.size())) fail_usage("CandidateSearch", "a key has one value for each text");
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    vectors_.emplace_back(options_.columns, kinds_[k], options_.frames.empty() ? nullptr : &options_.frames[k]);
  options_.columns = {};
  options_.frames = {};
}

LEXFORMER_INLINE std::vector<Candidate> merge_candidates(std::span<const Candidate> a, std::span<const Candidate> b) {
  std::vector<Candidate> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  const auto key = [](const Candidate& c) { return std::tuple(c.left, c.right, -c.score); };  // the larger score first
  std::sort(all.begin(), all.end(), [&](const Candidate& x, const Candidate& y) { return key(x) < key(y); });
  const auto same = [](const Candidate& x, const Candidate& y) { return x.left == y.left && x.right == y.right; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  detail::sort_candidates(all);
  return all;
}

LEXFORMER_INLINE double CandidateSearch::pairs() const {
  const auto n = static_cast<double>(left_.size());
  return one_list_ ? n * (n - 1) / 2 : n * static_cast<double>(right_.size());
}

LEXFORMER_INLINE float CandidateSearch::score(std::size_t left, std::size_t right) const {
  float best = 0;
  for (const TextVectors& v : vectors_) {
    const std::size_t row = right_row(right);
    best = std::max(best, v.exact_cosine(v.cosine(left, row), left, row));
  }
  return best;
}

LEXFORMER_INLINE std::vector<Candidate> CandidateSearch::all_pairs() const {
  constexpr std::size_t most = std::size_t{1} << 28;
  const BlockingKeys& keys = options_.keys;
  if (keys.keys.empty() && pairs() > static_cast<double>(most))
    fail_usage("blocking none", "there are ", pairs(), " pairs, more than 2^28; use ngrams");
  std::vector<std::uint32_t> rows(right_.size()), found;
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(right_row(0)));
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) { return keys.compare(a, b) < 0; });
  detail::AgreeingTexts agreeing(keys, rows);
  std::vector<Candidate> all;
  for (std::uint32_t i = 0; i < left_.size(); ++i) {
    agreeing.find({&i, 1}, found);
    const std::size_t before = all.size();
    for (const std::uint32_t at : found)
      if (const auto j = static_cast<std::uint32_t>(rows[at] - right_row(0)); (!one_list_ || i < j) && keys.agree(i, rows[at]))
        all.push_back({i, j, 0});
    if (all.size() > most) fail_usage("blocking none", "more than 2^28 pairs agree in their keys; use ngrams");
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(before), all.end(), [](const auto& a, const auto& b) { return a.right < b.right; });
  }
  return all;
}

LEXFORMER_INLINE std::vector<Candidate> CandidateSearch::find() const {
  if (options_.blocking == Blocking::none) return all_pairs();
  std::vector<Candidate> all;
  for (std::size_t k = 0; k < vectors_.size(); ++k) {
    const double share = 1 / static_cast<double>(vectors_.size());
    const auto found = find(vectors_[k], static_cast<double>(k) * share, share);
    all.insert(all.end(), found.begin(), found.end());
  }
  return scored(std::move(all));
}

LEXFORMER_INLINE std::vector<Candidate> CandidateSearch::scored(std::vector<Candidate> all) const {
  detail::unique_pairs(all);
  for (Candidate& c : all)  // of one kind of vectors, c.score is the cosine already
    c.score = vectors_.size() == 1 ? std::max(0.0f, vectors_[0].exact_cosine(c.score, c.left, right_row(c.right))) : score(c.left, c.right);
  detail::sort_candidates(all);
  return all;
}

LEXFORMER_INLINE std::vector<Candidate> CandidateSearch::find(const TextVectors& vectors, double first, double share) const {
  const BlockingKeys& keys = options_.keys;
  const detail::EqualTexts left(vectors, left_.size(), 0, keys);
  const std::optional<detail::EqualTexts> other =
      one_list_ ? std::nullopt : std::make_optional<detail::EqualTexts>(vectors, right_.size(), left_.size(), keys);
  const detail::EqualTexts& right = one_list_ ? left : *other;
  // Of one list a group can be its own partner, and one of its texts has one partner less there.
  const std::size_t most_partners = options_.top + (one_list_ && right.size() < left_.size() ? 1 : 0);
  std::vector<Candidate> all;
  // Adds the pairs of the texts of a group with their best partners.
  const auto put = [&](std::span<const std::uint32_t> texts, std::span<const detail::BestPartners::Entry> partners,
                       const detail::EqualTexts& of_partners, bool texts_are_left) {
    const auto best = detail::best_texts(partners, of_partners, options_.top + (one_list_ ? 1 : 0));
    for (const std::uint32_t text : texts) {
      std::size_t count = 0;
      for (const auto& [score, partner] : best) {
        if ((one_list_ && partner == text) || count++ == options_.top) continue;
        const bool turned = one_list_ ? partner < text : !texts_are_left;
        all.push_back(turned ? Candidate{partner, text, score} : Candidate{text, partner, score});
      }
    }
  };
  const auto best = detail::compare_groups(
      vectors, keys, left, right, one_list_, most_partners, options_.top,
      [&](std::size_t j, std::span<const detail::BestPartners::Entry> partners) { put(right.of(j), partners, left, false); },
      [&](double done) {
        if (options_.progress) options_.progress(first + share * done);
      });
  for (std::size_t i = 0; best && i < left.size(); ++i) put(left.of(i), best->of(i), right, true);
  detail::unique_pairs(all);
  return all;
}

LEXFORMER_INLINE std::vector<CandidateReason> CandidateSearch::explain(std::size_t left, std::size_t right) const {
  if (kinds_.empty()) fail_usage("blocking none", "every pair is a candidate; there is nothing to explain");
  if (left >= left_.size() || right >= right_.size()) fail_usage("CandidateSearch", "there is no such text");
  if (one_list_ && left == right) fail_usage("CandidateSearch", "a text is no candidate of itself");
  std::vector<CandidateReason> reasons;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const TextVectors& v = vectors_[k];
    const std::size_t row = right_row(right);
    CandidateReason reason{kinds_[k].n == 0 ? "tokens" : cat(kinds_[k].n, "-grams")};
    detail::set_ranks(reason, left, right, left_.size(), right_.size(), one_list_, [&](std::size_t i, std::size_t j) {
      return options_.keys.agree(i, right_row(j)) ? v.cosine(i, right_row(j)) : 0;  // find() ranks by the same cosines
    });
    reason.score = static_cast<double>(v.exact_cosine(v.cosine(left, row), left, row));
    std::unordered_map<std::uint64_t, std::string, SeededHash> names;
    for (const auto& feature : kinds_[k].of(left_[left])) names.emplace(TextFeatures::key(feature), to_utf8(feature));
    for (const auto& a : v[left])
      for (const auto& b : v[row])
        if (a.feature == b.feature)
          reason.shared.push_back({names.at(v.key(a.feature)), static_cast<double>(a.weight) * static_cast<double>(b.weight)});
    std::stable_sort(reason.shared.begin(), reason.shared.end(), [](const auto& a, const auto& b) { return a.part > b.part; });
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

}  // namespace lexformer
#endif
