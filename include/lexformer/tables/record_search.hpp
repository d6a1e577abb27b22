// SPDX-License-Identifier: MIT
// The search for candidates among records, by n-grams, tokens, vectors of an encoder, or all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/tables/blocking.hpp"
#include "lexformer/tables/record_keys.hpp"
#include "lexformer/tables/record_texts.hpp"

namespace lexformer {

/// The kinds of Blocking, and embeddings: vectors of an encoder. all: ngrams and tokens, and embeddings if there is an encoder.
enum class CandidateSource { ngrams, tokens, embeddings, all, none };
template <>
inline constexpr Named<CandidateSource> names_of<CandidateSource>[] = {{"ngrams", CandidateSource::ngrams},
                                                                       {"tokens", CandidateSource::tokens},
                                                                       {"embeddings", CandidateSource::embeddings},
                                                                       {"all", CandidateSource::all},
                                                                       {"none", CandidateSource::none}};

struct CandidateOptions {
  CandidateSource source = CandidateSource::ngrams;
  std::size_t top = 10;   // candidates of each record, from either table
  std::size_t ngram = 3;  // characters of an n-gram
  /// Columns are weighed by the data (weigh_columns()); false: all count alike.
  bool weigh_columns = true;
  /// Of RecordSearch: the columns of the texts for ngrams and tokens; empty: a text is a whole.
  TextColumns columns{};
  /// Of RecordSearch: what the vectors of each kind for ngrams and tokens are weighted by; empty: the texts themselves.
  std::vector<TextFrame> frames{};
  /// Columns by which records must or may agree. RecordSearch reads what record_keys() makes of them.
  KeyOptions key_columns{};
  RecordKeys keys{};
  bool weighs_columns() const { return weigh_columns && source != CandidateSource::none && source != CandidateSource::embeddings; }

  /// Vectors of texts (texts, size), for embeddings. Called with 1024 texts or fewer at a time.
  std::function<Tensor<float>(std::span<const std::string> texts)> embed{};
  /// vector_candidates(), if not the exact one; not with keys that must agree. right: null for one table.
  std::function<std::vector<Candidate>(const Tensor<float>& left, const Tensor<float>* right, std::size_t top,
                                       const std::function<void(double done)>& progress)>
      nearest{};
};

/// The texts that candidates are found by: the values alone, without budgets of words, which are for the limited length of a model.
/// Without a right table, the second list is empty.
std::pair<std::vector<std::string>, std::vector<std::string>> search_texts(const RecordPairs& records);

class RecordSearch {
 public:
  /// Searches the texts of two tables, or of one: then `right` is not read. The texts must outlive the search. `progress` is called now and
  /// then with the part of the work that is done, by this constructor and by find(); what it throws ends the search.
  /// Errors (usage): embeddings without an encoder; `nearest` with keys that must agree; as CandidateSearch.
  RecordSearch(std::span<const std::string> left, std::span<const std::string> right, bool one_table, CandidateOptions options,
               std::function<void(double done)> progress = {});

  /// The candidates, sorted as by CandidateSearch::find(). A pair of several sources has the largest of its scores. A pair of `also` that
  /// no source finds has the score of its texts, or, of embeddings alone, of its vectors.
  std::vector<Candidate> find() const { return with_agreeing(find_by_content()); }
  /// What find() makes of the pairs of all sources: the pairs of `also` beside them.
  std::vector<Candidate> with_agreeing(std::vector<Candidate> found) const;
  /// One reason for each kind of vectors.
  std::vector<CandidateReason> explain(std::size_t left, std::size_t right) const;
  /// The number of all pairs.
  double pairs() const;
  /// The search by ngrams and tokens, or null.
  const CandidateSearch* texts() const { return texts_ ? &*texts_ : nullptr; }
  bool has_embeddings() const { return left_vectors_.has_value(); }

 private:
  std::vector<Candidate> find_by_content() const;
  std::function<void(double)> part(double begin, double share) const;
  Tensor<float> embed(std::span<const std::string> texts, const std::function<void(double done)>& progress) const;
  const Tensor<float>* right_vectors() const { return one_table_ ? nullptr : &*right_vectors_; }

  std::span<const std::string> left_, right_;
  bool one_table_;
  CandidateOptions options_;
  std::function<void(double done)> progress_;
  std::optional<CandidateSearch> texts_;
  std::optional<Tensor<float>> left_vectors_, right_vectors_;
};

/// How many of the matches are candidates. A pair that is given twice counts once. pairs: the number of all pairs.
BlockingQuality blocking_quality(std::span<const std::pair<std::size_t, std::size_t>> matches, std::span<const Candidate> candidates,
                                 bool one_table, double pairs);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/tables/vector_candidates.hpp"

namespace lexformer {

LEXFORMER_INLINE std::pair<std::vector<std::string>, std::vector<std::string>> search_texts(const RecordPairs& records) {
  RecordTextOptions plain;
  plain.columns = records.options().columns;
  plain.normalize_numbers = records.options().normalize_numbers;
  return {record_texts(records.left(), plain, false),
          records.one_table() ? std::vector<std::string>() : record_texts(records.right(), plain, true)};
}

LEXFORMER_INLINE RecordSearch::RecordSearch(std::span<const std::string> left, std::span<const std::string> right, bool one_table,
                                            CandidateOptions options, std::function<void(double done)> progress)
    : left_(left), right_(one_table ? left : right), one_table_(one_table), options_(std::move(options)), progress_(std::move(progress)) {
  const bool embeddings = options_.source == CandidateSource::embeddings;
  if (embeddings && !options_.embed) fail_usage("blocking", "embeddings needs an encoder");
  if (options_.nearest && !options_.keys.same.keys.empty())
    fail_usage("same", "the approximate search cannot keep to keys; use the exact one");
  if (!embeddings) {
    const BlockingOptions blocking{*find_name<Blocking>(name_of(options_.source)),
                                   options_.ngram,
                                   options_.top,
                                   std::exchange(options_.columns, {}),
                                   std::exchange(options_.frames, {}),
                                   options_.keys.same,
                                   progress_};
    if (one_table)
      texts_.emplace(left, blocking);
    else
      texts_.emplace(left, right, blocking);
  }
  if (!embeddings && !(options_.source == CandidateSource::all && options_.embed)) return;
  const double share = 0.9 * static_cast<double>(left_.size()) / static_cast<double>(left_.size() + (one_table ? 0 : right_.size()));
  left_vectors_ = embed(left_, part(0, share));
  if (!one_table) right_vectors_ = embed(right_, part(share, 0.9 - share));
}

LEXFORMER_INLINE Tensor<float> RecordSearch::embed(std::span<const std::string> texts,
                                                   const std::function<void(double done)>& progress) const {
  constexpr std::size_t chunk = 1024;
  Tensor<float> all;
  for (std::size_t i = 0; i < texts.size(); i += chunk) {
    const auto part = options_.embed(texts.subspan(i, std::min(chunk, texts.size() - i)));
    if (i == 0) all = Tensor<float>({texts.size(), part.dim(1)});
    std::copy_n(part.data(), part.size(), all.mutable_data() + i * part.dim(1));
    if (progress) progress(static_cast<double>(std::min(i + chunk, texts.size())) / static_cast<double>(texts.size()));
  }
  return all;
}

LEXFORMER_INLINE std::function<void(double)> RecordSearch::part(double begin, double share) const {
  if (!progress_) return {};
  return [begin, share, progress = progress_](double done) { progress(begin + share * done); };
}

LEXFORMER_INLINE std::vector<Candidate> RecordSearch::with_agreeing(std::vector<Candidate> found) const {
  const auto& also = options_.keys.also;
  if (also.empty()) return found;
  if (!texts_) return merge_candidates(found, score_vectors(*left_vectors_, right_vectors(), also));
  std::vector<Candidate> agreeing;
  for (const auto& [left, right] : also) agreeing.push_back({left, right, texts_->score(left, right)});
  return merge_candidates(found, agreeing);
}

LEXFORMER_INLINE std::vector<Candidate> RecordSearch::find_by_content() const {
  std::vector<Candidate> found;
  if (texts_) found = texts_->find();
  if (!left_vectors_) return found;
  const auto progress = part(0.9, 0.1);
  const auto near = options_.nearest ? options_.nearest(*left_vectors_, right_vectors(), options_.top, progress)
                    : one_table_     ? vector_candidates(*left_vectors_, options_.top, progress, options_.keys.same)
                                     : vector_candidates(*left_vectors_, *right_vectors_, options_.top, progress, options_.keys.same);
  return texts_ ? merge_candidates(found, near) : near;
}

LEXFORMER_INLINE std::vector<CandidateReason> RecordSearch::explain(std::size_t left, std::size_t right) const {
  std::vector<CandidateReason> reasons;
  if (texts_) reasons = texts_->explain(left, right);
  if (left_vectors_) reasons.push_back(explain_vectors(*left_vectors_, right_vectors(), left, right, "embeddings", options_.keys.same));
  return reasons;
}

LEXFORMER_INLINE double RecordSearch::pairs() const {
  const auto n = static_cast<double>(left_.size());
  return one_table_ ? n * (n - 1) / 2 : n * static_cast<double>(right_.size());
}

LEXFORMER_INLINE BlockingQuality blocking_quality(std::span<const std::pair<std::size_t, std::size_t>> matches,
                                                  std::span<const Candidate> candidates, bool one_table, double pairs) {
  const auto key = [&](std::size_t left, std::size_t right) { return detail::pair_number(left, right, one_table); };
  std::unordered_set<std::uint64_t, SeededHash> found, distinct;
  for (const auto& c : candidates) found.insert(key(c.left, c.right));
  for (const auto& [left, right] : matches) distinct.insert(key(left, right));
  BlockingQuality quality;
  quality.matches = distinct.size();
  quality.found = static_cast<std::size_t>(std::count_if(distinct.begin(), distinct.end(), [&](auto m) { return found.contains(m); }));
  quality.candidates = candidates.size();
  quality.pairs = pairs;
  return quality;
}

}  // namespace lexformer
#endif
