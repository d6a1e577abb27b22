// SPDX-License-Identifier: MIT
// Matches the records of two tables, or finds duplicates within one: candidates, scores of a model or of their similarity, decisions.
//
//   const auto matches = lexformer::match_records({lexformer::read_records("a.csv"), lexformer::read_records("b.csv"), {}}, nullptr);
//
// 1. RecordSearch finds the candidates: the most similar records of each record.
// 2. Evidence: how similar the two records are, and how far they stand out among the candidates of both.
// 3. Decisions, chosen on labelled pairs if there are any: a threshold, a calibration, the score that combines model and evidence, and a
//    cascade, which decides the clear pairs without the model.
// 4. The pairs of one left record at a time are scored in batches of their own. So the score of a pair does not depend on threads, on
//    shards, or on where a run was interrupted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/models/scorer.hpp"
#include "lexformer/tables/column_weights.hpp"
#include "lexformer/tables/decisions.hpp"
#include "lexformer/tables/labelled_pairs.hpp"
#include "lexformer/tables/match_state.hpp"
#include "lexformer/tables/record_search.hpp"
#include "lexformer/tables/record_texts.hpp"

namespace lexformer {

/// The left records whose hash is number - 1 modulo count. It depends on the id alone, so the shards of any tables are disjoint.
struct Shard {
  std::size_t number = 1, count = 1;

  /// Parses "2/4". Errors (usage): it is not I/N with I from 1 to N.
  static Shard parse(const std::string& text);
  bool has(const std::string& id) const;
};

struct MatchOptions {
  CandidateOptions candidates{};
  DecisionOptions decision{};
  Shard shard{};
  std::size_t top = 0;          // of each left record at most so many pairs, the likeliest; 0: all candidates
  std::size_t batch = 32;       // pairs for which the model is called at once
  std::string model = "model";  // its name in messages
  /// What an earlier run of the same options has left: only new and changed records are matched, and the rest stays. Weights of the search
  /// and decisions are the earlier ones. The result is the same as if all records were matched with them. It must outlive the stream.
  const MatchUpdate* update = nullptr;
  bool keep_state = false;  // for MatchStream::state()
};

/// All may be empty. An exception that one throws ends the call.
struct MatchHooks {
  Note note{};                                      // what is worth telling
  std::function<void(double done)> searching{};     // the part of the search for candidates that is done
  std::function<void(std::size_t rows)> matched{};  // match_records(): so many left records are done
};

/// A pair of records by their places in their tables.
struct Match : PairDecision {
  std::size_t left = 0, right = 0;
};

/// Refuses options that do not fit the model (null: none) before tables are read. labelled: there are labelled pairs; one_table: there is
/// no right table. Errors (usage): states of a shard or with embeddings; the model reads single texts, or has more than two classes; a
/// threshold is missing, since the scores are not probabilities; or it is not from 0 to 1, though they are.
void check_match(const MatchOptions& options, const Scorer* model, bool labelled, bool one_table);

/// Finds the candidates and chooses the decisions; then gives the pairs of each left record that has candidates.
class MatchStream {
 public:
  /// model: null decides by the similarity. valid: labelled pairs, or null. Records and model must outlive the stream.
  /// Errors (usage): as check_match(). Errors (file): as ValidationPairs and choose_decisions().
  MatchStream(const RecordPairs& records, const Scorer* model, const LabelledPairs* valid, const MatchOptions& options,
              const MatchHooks& hooks = {});

  /// Left records that have candidates, in the order of their table.
  std::size_t rows() const { return begins_.size() - 1; }
  /// Candidates of the rows before this one; pairs_before(rows()): of all rows.
  std::size_t pairs_before(std::size_t row) const { return begins_.at(row); }
  /// The pairs of a row, the likeliest first. May be called for any row, in any order; for different rows at the same time. Errors
  /// (numeric): a score is not finite.
  std::vector<Match> row(std::size_t i) const;

  const Decisions& decisions() const { return decisions_; }
  /// Checksums of tables and candidates, and the decisions: what determines the rows beside the model and `top`.
  Json identity() const;
  /// For the next run, with MatchOptions::keep_state. A model's score is known if its row was asked for, or by the earlier run.
  MatchState state() const;

 private:
  void find(const MatchHooks& hooks, bool shares_matter);
  void decide(const LabelledPairs* valid, const Note& note);
  std::vector<double> scores(const std::vector<std::size_t>& numbers, std::size_t first) const;

  const RecordPairs& records_;
  const Scorer* model_;
  MatchOptions options_;
  Evidence evidence_;
  Decisions decisions_;
  SearchFrame frame_;
  std::vector<std::uint8_t> sides_;           // of the candidates, with keep_state
  mutable std::vector<double> model_scores_;  // of the candidates, NaN where unknown; with keep_state or update
  std::vector<std::size_t> begins_{0};        // the first candidate of each row, and the number of all
};

/// The pairs of all rows. matches_only: without the pairs that do not match.
std::vector<Match> match_records(const RecordPairs& records, const Scorer* model = nullptr, const LabelledPairs* valid = nullptr,
                                 const MatchOptions& options = {}, const MatchHooks& hooks = {}, bool matches_only = true);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE Shard Shard::parse(const std::string& text) {
  const auto number = [&](std::size_t begin, std::size_t end) {
    std::size_t value = 0;
    const char *const first = text.data() + begin, *const last = text.data() + end;
    const auto got = std::from_chars(first, last, value);
    return got.ec == std::errc() && got.ptr == last ? value : 0;
  };
  const std::size_t slash = std::min(text.find('/'), text.size());
  const Shard s{number(0, slash), slash == text.size() ? 0 : number(slash + 1, text.size())};
  if (s.number == 0 || s.number > s.count) fail_usage("shard", in_quotes(text), " is not I/N with I from 1 to N, e.g. 2/4");
  return s;
}

LEXFORMER_INLINE bool Shard::has(const std::string& id) const { return fnv1a(id) % count == number - 1; }

namespace detail {

/// Whether the model's score is combined with the evidence.
inline bool combines(const MatchOptions& options, const Scorer* model, bool labelled) {
  return model != nullptr && labelled && !options.decision.model_alone && options.candidates.source != CandidateSource::none;
}
/// Whether the model gives probabilities.
inline bool gives_odds(const Scorer& model) { return model.task().labels == 2 || model.task().activation == ScoreActivation::sigmoid; }

}  // namespace detail

LEXFORMER_INLINE void check_match(const MatchOptions& options, const Scorer* model, bool labelled, bool one_table) {
  const DecisionOptions& d = options.decision;
  if ((options.update != nullptr || options.keep_state) && options.shard.count > 1)
    fail_usage("shard", "a state for later runs needs all records");
  if ((options.update != nullptr || options.keep_state) && options.candidates.embed)
    fail_usage("embed", "a state for later runs has no embeddings; candidates must come from ngrams and tokens");
  const bool chosen = d.threshold || d.min_precision || d.min_recall || d.usual || (labelled && !d.model_alone);
  if (model == nullptr && one_table && !d.threshold && !labelled)
    fail_usage("threshold", "must be given, or validation pairs: without a model the scores within one table are cosines");
  if (!labelled && (d.min_precision || d.min_recall))
    fail_usage(d.min_precision ? "min_precision" : "min_recall", "needs validation pairs");
  if (model != nullptr) {
    const Task& task = model->task();
    if (task.texts != 2) fail_usage("model", options.model, " reads single texts, not pairs");
    if (task.labels > 2)
      fail_usage("model", options.model, " has ", task.labels, " classes; match needs a model of two, or one that gives numbers");
    if (task.labels == 1 && !chosen)
      fail_usage("threshold",
                 "must be given, or validation pairs without `model_alone`: the model has no threshold, since it gives numbers");
  }
  const bool probabilities = model == nullptr || detail::combines(options, model, labelled) || detail::gives_odds(*model);
  if (probabilities && d.threshold && !(*d.threshold >= 0 && *d.threshold <= 1))
    fail_usage("threshold", "is ", *d.threshold, ", but the scores are from 0 to 1");
}

namespace detail {

/// Tells of tables that share records: an identical record hides other partners.
inline void tell_shared(const std::vector<std::string>& left, const std::vector<std::string>& right, const Note& note) {
  const std::unordered_set<std::string_view, SeededHash> known(left.begin(), left.end());
  const auto shared = std::count_if(right.begin(), right.end(), [&](const auto& text) { return !text.empty() && known.contains(text); });
  if (4 * static_cast<std::size_t>(shared) >= std::max<std::size_t>(right.size(), 40))
    tell(note, cat(shared, " of ", right.size(), " right records have an identical left record; if the tables share records, ",
                   "label some candidates: without labels no other partner of these is found"));
}

LEXFORMER_INLINE std::uint32_t checksum(const RecordTable& table, const std::vector<std::string>& texts) {
  std::uint32_t sum = 0;
  for (const auto& text : texts) sum = crc32("\n", crc32(text, sum));
  for (const auto& record : table.records) sum = crc32("\n", crc32(record.id, sum));
  return sum;
}

}  // namespace detail

LEXFORMER_INLINE MatchStream::MatchStream(const RecordPairs& records, const Scorer* model, const LabelledPairs* valid,
                                          const MatchOptions& options, const MatchHooks& hooks)
    : records_(records), model_(model), options_(options), evidence_({}, records.one_table()) {
  check_match(options, model, valid != nullptr, records.one_table());
  if (valid != nullptr) valid->require_both_labels();
  find(hooks, model == nullptr && valid == nullptr && options.update == nullptr);
  if (options.update != nullptr)
    decisions_ = options.update->state.decisions;
  else
    decide(valid, hooks.note);
  evidence_.keep_if([&](const Candidate& c) { return options.shard.has(records.left().records[c.left].id); });
  const auto& candidates = evidence_.candidates;
  for (std::size_t i = 1; i <= candidates.size(); ++i)
    if (i == candidates.size() || candidates[i].left != candidates[i - 1].left) begins_.push_back(i);
  const bool keeps = options.keep_state || options.update != nullptr;
  if (model == nullptr || !keeps) return;
  model_scores_.assign(candidates.size(), std::numeric_limits<double>::quiet_NaN());
  if (options.update == nullptr || options.update->state.scores.empty()) return;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const Candidate& c : candidates) places.emplace_back(c.left, c.right);
  const auto known = options.update->numbers(places);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (known[i]) model_scores_[i] = options.update->state.scores[*known[i]];
}

/// Finds the candidates of all records. shares_matter: the similarity alone decides.
LEXFORMER_INLINE void MatchStream::find(const MatchHooks& hooks, bool shares_matter) {
  const auto counted = [](auto count, const char* one, const char* many) {
    return cat(std::fixed, std::setprecision(0), count, " ", count == 1 ? one : many);
  };
  const auto tell = [&](const std::string& text) { detail::tell(hooks.note, text); };
  const bool one = records_.one_table();
  const MatchUpdate* const update = options_.update;
  const std::size_t left = records_.left().records.size();
  tell(one ? counted(left, "record", "records") : cat(left, " x ", records_.right().records.size(), " records"));
  if (update != nullptr) tell(update->text());
  const auto texts = search_texts(records_);
  if (shares_matter && !one) detail::tell_shared(texts.first, texts.second, hooks.note);
  CandidateOptions candidates = options_.candidates;
  std::vector<SearchColumn> columns;
  if (update != nullptr) frame_ = update->state.frame;
  if (candidates.weighs_columns() && (update == nullptr || !frame_.weights.empty())) {
    columns = search_columns(records_);
    candidates.columns = update != nullptr ? weighed_columns(columns, frame_) : weigh_columns(columns, one, candidates.ngram);
    if (!candidates.columns.columns.empty()) tell(describe_weights(columns, candidates.columns));
  }
  for (const auto& column : candidates.columns.columns)
    if (update == nullptr) frame_.weights.push_back(column.weight);
  frame_.measure = candidates.columns.measure;
  candidates.frames = frame_.kinds;
  candidates.keys = record_keys(records_, candidates.key_columns);
  for (const auto& text : candidates.keys.notes) tell(text);
  const RecordSearch search(texts.first, texts.second, one, std::move(candidates), hooks.searching);
  const CandidateSearch* const by_texts = search.texts();
  auto found =
      update != nullptr && by_texts != nullptr
          ? search.with_agreeing(update_candidates(*by_texts, update->pairs, update->left.kinds, update->right.kinds, hooks.searching))
          : search.find();
  tell(cat(counted(found.size(), "candidate", "candidates"), " of ", counted(search.pairs(), "pair", "pairs")));
  if (options_.keep_state && by_texts != nullptr) {
    sides_ = candidate_sides(*by_texts, found);
    for (const TextVectors& vectors : by_texts->vectors())
      if (update == nullptr) frame_.kinds.push_back(vectors.frame());
  }
  evidence_ = Evidence(std::move(found), one);
}

/// Chooses the decisions. valid: labelled pairs, or null.
LEXFORMER_INLINE void MatchStream::decide(const LabelledPairs* valid, const Note& note) {
  const DecisionOptions& decision = options_.decision;
  std::optional<ValidationPairs> validation;
  if (valid != nullptr) {
    validation.emplace(*valid, evidence_);
    if (model_ != nullptr)
      validation->scores = scores(validation->numbers, 1);
    else
      for (const std::size_t i : validation->numbers) validation->scores.push_back(evidence_.similarity(i));
  }
  const bool combine = detail::combines(options_, model_, valid != nullptr);
  const bool odds = model_ != nullptr && detail::gives_odds(*model_);
  const double usual = model_ != nullptr ? model_->threshold.value_or(0.5) : 0.5;
  const ValidationPairs* const labelled = validation ? &*validation : nullptr;
  const auto curve =
      model_ == nullptr && options_.candidates.source != CandidateSource::none ? fit_similarity_curve(evidence_) : std::nullopt;
  decisions_ = curve && (labelled == nullptr || valid->sampled() > 0) ? decide_by_curve(decision, *curve, labelled, evidence_, note)
                                                                      : choose_decisions(decision, usual, labelled, combine, odds, note);
  if (validation && model_ != nullptr && decision.cascade && !decision.model_alone)
    decisions_.cascade = choose_cascade(*validation, evidence_, decisions_, note);
}

LEXFORMER_INLINE std::vector<double> MatchStream::scores(const std::vector<std::size_t>& numbers, std::size_t first) const {
  if (numbers.empty()) return {};
  std::vector<PairExample> examples;
  for (const std::size_t i : numbers) {
    const auto& candidate = evidence_.candidates[i];
    examples.push_back({records_.left_texts()[candidate.left], records_.right_texts()[candidate.right]});
  }
  const auto y = model_->logits(examples, options_.batch);
  require_finite(y, options_.model, "pair", first);
  return model_->scores_of(y);
}

LEXFORMER_INLINE std::vector<Match> MatchStream::row(std::size_t i) const {
  const std::size_t begin = pairs_before(i), end = pairs_before(i + 1);
  std::vector<Match> matches(end - begin);
  const auto decide = [&](std::size_t k, const PairDecision& decision) { static_cast<PairDecision&>(matches[k - begin]) = decision; };
  std::vector<std::size_t> asked;  // of the model
  for (std::size_t k = begin; k < end; ++k) {
    matches[k - begin].left = evidence_.candidates[k].left;
    matches[k - begin].right = evidence_.candidates[k].right;
    if (model_ == nullptr)
      decide(k, decisions_.of(evidence_.similarity(k), evidence_.of(k)));
    else if (const auto clear = decisions_.without_model(evidence_.of(k)))
      decide(k, *clear);
    else if (!model_scores_.empty() && !std::isnan(model_scores_[k]))
      decide(k, decisions_.of(model_scores_[k], evidence_.of(k)));
    else
      asked.push_back(k);
  }
  const auto found = scores(asked, begin + 1);
  for (std::size_t k = 0; k < asked.size(); ++k) {
    decide(asked[k], decisions_.of(found[k], evidence_.of(asked[k])));
    if (!model_scores_.empty()) model_scores_[asked[k]] = found[k];
  }
  std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    const auto likely = [](const Match& m) { return std::pair(m.probability.value_or(m.score), m.score); };
    return likely(a) > likely(b);
  });
  if (options_.top > 0 && matches.size() > options_.top) matches.resize(options_.top);
  return matches;
}

LEXFORMER_INLINE Json MatchStream::identity() const {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < evidence_.size(); ++i) {
    const auto& c = evidence_.candidates[i];
    sum = crc32(cat(c.left, " ", c.right, " ", c.score, " ", evidence_.leads[i], "\n"), sum);
  }
  return {{"left", detail::checksum(records_.left(), records_.left_texts())},
          {"right", detail::checksum(records_.right(), records_.right_texts())},
          {"candidates", sum},
          {"decisions", to_json(decisions_)}};
}

LEXFORMER_INLINE MatchState MatchStream::state() const {
  if (!options_.keep_state) fail("MatchStream", "keeps no state");
  MatchState state;
  state.frame = frame_;
  state.decisions = decisions_;
  const KeyOptions& keys = options_.candidates.key_columns;
  state.left = record_hashes(records_.left(), records_.options(), keys, false);
  if (!records_.one_table()) state.right = record_hashes(records_.right(), records_.options(), keys, true);
  for (std::size_t i = 0; i < evidence_.size(); ++i)
    state.pairs.push_back({evidence_.candidates[i].left, evidence_.candidates[i].right, sides_.empty() ? std::uint8_t{0} : sides_[i]});
  state.scores = model_scores_;
  state.since = options_.update != nullptr ? options_.update->state.since + options_.update->records() : 0;
  return state;
}

LEXFORMER_INLINE std::vector<Match> match_records(const RecordPairs& records, const Scorer* model, const LabelledPairs* valid,
                                                  const MatchOptions& options, const MatchHooks& hooks, bool matches_only) {
  const MatchStream stream(records, model, valid, options, hooks);
  std::vector<Match> all;
  for (std::size_t i = 0; i < stream.rows(); ++i) {
    for (const Match& match : stream.row(i))
      if (match.match || !matches_only) all.push_back(match);
    if (hooks.matched) hooks.matched(i + 1);
  }
  return all;
}

}  // namespace lexformer
#endif
