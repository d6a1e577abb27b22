// SPDX-License-Identifier: MIT
// What the search for candidates says of a pair: how similar the two records are, and how far they stand out among their candidates. It is
// the score of `match` without a model; with one, it decides the clear pairs (cascade).
#pragma once

#include <lexformer/text/candidate_leads.hpp>
#include <lexformer/train/cascade.hpp>

#include "match_decisions.hpp"

namespace program {

/// Candidates and their evidence, which depends on all candidates of both records, so it is taken before they are divided into shards.
struct Evidence {
  std::vector<lx::Candidate> candidates;
  std::vector<float> leads;
  bool one_table;

  Evidence(std::vector<lx::Candidate> all, bool one)
      : candidates(std::move(all)), leads(lx::candidate_leads(candidates, one)), one_table(one) {}

  lx::CheapEvidence of(std::size_t i) const { return {static_cast<double>(candidates[i].score), static_cast<double>(leads[i])}; }
  /// The score without a model. Two tables: s / (s + o) with the cosine s and the largest cosine o of the other candidates of either
  /// record, so 1/2 or more if neither has a more similar one. One table: s, since a record may have several duplicates.
  double similarity(std::size_t i) const {
    const auto e = of(i);
    return one_table || e.score <= 0 ? e.score : e.score / (e.score + (e.score - e.lead));
  }
  /// The numbers of the candidates among the pairs of `valid`; nothing for the other pairs.
  std::vector<std::optional<std::size_t>> find(const ValidationPairs& valid) const {
    const auto key = [&](std::size_t left, std::size_t right) {
      if (one_table && left > right) std::swap(left, right);
      return static_cast<std::uint64_t>(left) << 32 | right;
    };
    std::unordered_map<std::uint64_t, std::size_t> numbers;
    for (std::size_t i = 0; i < candidates.size(); ++i) numbers.emplace(key(candidates[i].left, candidates[i].right), i);
    std::vector<std::optional<std::size_t>> out;
    for (const auto& [left, right] : valid.places) {
      const auto number = numbers.find(key(left, right));
      out.push_back(number == numbers.end() ? std::nullopt : std::optional(number->second));
    }
    return out;
  }
  template <class Keep>
  void keep_if(Keep&& keep) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (keep(candidates[i])) {
        candidates[kept] = candidates[i];
        leads[kept++] = leads[i];
      }
    candidates.resize(kept);
    leads.resize(kept);
  }
};

/// Keeps the validation pairs that are candidates, with their similarities as scores; no other pair can be found. Errors (file): all that
/// are left have one label.
inline void keep_candidates(ValidationPairs& valid, const Evidence& evidence) {
  const auto numbers = evidence.find(valid);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i]) {
      if (valid.labels[i] == 1) ++valid.lost;
      continue;
    }
    valid.places[kept] = valid.places[i];
    valid.labels[kept++] = valid.labels[i];
    valid.scores.push_back(evidence.similarity(*numbers[i]));
  }
  valid.places.resize(kept);
  valid.labels.resize(kept);
  valid.examples.clear();
  if (valid.matches() == 0 || valid.matches() == kept)
    lx::fail_file(valid.name, "the ", kept, " pairs that are candidates have the same label; validation needs matches and other pairs");
}

/// The cascade that keeps the decisions on the validation pairs that are candidates, or none if it would decide nothing. Notes what it
/// does.
template <class Note>
std::optional<lx::Cascade> find_cascade(const ValidationPairs& valid, const Evidence& evidence, double threshold, Note&& note) {
  const auto places = evidence.find(valid);
  std::vector<lx::CheapEvidence> pairs;
  std::vector<std::uint8_t> found;
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < valid.places.size(); ++i)
    if (places[i]) {
      pairs.push_back(evidence.of(*places[i]));
      found.push_back(valid.scores[i] >= threshold ? 1 : 0);
      labels.push_back(valid.labels[i]);
    }
  const auto matches = std::count(labels.begin(), labels.end(), 1);
  if (matches == 0 || matches == std::ssize(labels) || !are_probabilities(valid.scores)) {
    note(are_probabilities(valid.scores) ? "no cascade: the validation pairs among the candidates have one label alone"
                                         : "no cascade: the model's scores are no probabilities");
    return std::nullopt;
  }
  const auto cascade = lx::fit_cascade(pairs, found, labels);
  const auto on_valid = lx::outcome(cascade, pairs, found, labels);
  if (on_valid.decided == 0) {
    note("no cascade: it would decide no validation pair");
    return std::nullopt;
  }
  std::size_t decided = 0;
  for (std::size_t i = 0; i < evidence.candidates.size(); ++i)
    if (cascade.decide(evidence.of(i))) ++decided;
  const auto points = [](double share) {
    StringWriter out;
    out << std::fixed << std::setprecision(1) << 100 * share + 0.0;
    return out.str() == "-0.0" ? "0.0" : out.str();
  };
  note(lx::cat("cascade: decides ", percent(static_cast<double>(decided) / static_cast<double>(evidence.candidates.size())),
               " of the candidates; of ", pairs.size(), " validation pairs with ", matches, " matches ", percent(on_valid.decided_share()),
               ", where recall falls by ", points(on_valid.lost_recall()), " and precision by ", points(on_valid.lost_precision()),
               " points"));
  return cascade;
}

}  // namespace program
