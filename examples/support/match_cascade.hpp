// SPDX-License-Identifier: MIT
// The cascade of `match`: how similar two records are, and how far they stand out among their candidates, decides the clear pairs.
#pragma once

#include <lexformer/text/candidate_leads.hpp>
#include <lexformer/train/cascade.hpp>

#include "match_decisions.hpp"

namespace program {

/// Candidates and their evidence, which depends on all candidates of both records, so it is taken before they are divided into shards.
struct Evidence {
  std::vector<lx::Candidate> candidates;
  std::vector<float> leads;

  Evidence(std::vector<lx::Candidate> all, bool one_table)
      : candidates(std::move(all)), leads(lx::candidate_leads(candidates, one_table)) {}

  lx::CheapEvidence of(std::size_t i) const { return {static_cast<double>(candidates[i].score), static_cast<double>(leads[i])}; }
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

/// The cascade that keeps the decisions on the validation pairs that are candidates, or none if it would decide nothing. Notes what it
/// does.
template <class Note>
std::optional<lx::Cascade> find_cascade(const ValidationPairs& valid, const Evidence& evidence, bool one_table, double threshold,
                                        Note&& note) {
  const auto key = [&](std::size_t left, std::size_t right) {
    if (one_table && left > right) std::swap(left, right);
    return static_cast<std::uint64_t>(left) << 32 | right;
  };
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < evidence.candidates.size(); ++i)
    places.emplace(key(evidence.candidates[i].left, evidence.candidates[i].right), i);
  std::vector<lx::CheapEvidence> pairs;
  std::vector<std::uint8_t> found;
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < valid.places.size(); ++i)
    if (const auto place = places.find(key(valid.places[i].first, valid.places[i].second)); place != places.end()) {
      pairs.push_back(evidence.of(place->second));
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
