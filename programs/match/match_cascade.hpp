// SPDX-License-Identifier: MIT
// The cascade of `match`, chosen on validation pairs.
#pragma once

#include "match/match_decisions.hpp"

namespace program {

/// The cascade that keeps the decisions on the validation pairs, or none if these have few matches or it would decide nothing. Notes what
/// it does.
template <class Note>
std::optional<lx::Cascade> find_cascade(const ValidationPairs& valid, const Evidence& evidence, const Decisions& decisions, Note&& note) {
  if (!decisions.combined && !are_probabilities(valid.scores)) {
    note("no cascade: the model's scores are no probabilities");
    return std::nullopt;
  }
  // With m matches and none of them lost, 3 / m bounds the recall that is lost on new pairs: below 30 that says next to nothing.
  if (valid.matches() < few_matches) {
    note(lx::cat("no cascade: it needs ", few_matches, " validation matches, which bound the recall that it may lose; there ",
                 valid.matches() == 1 ? "is 1" : lx::cat("are ", valid.matches())));
    return std::nullopt;
  }
  const auto pairs = valid.evidence_in(evidence);
  std::vector<std::uint8_t> found;
  for (std::size_t i = 0; i < pairs.size(); ++i) found.push_back(decisions.of(valid.scores[i], pairs[i]).match ? 1 : 0);
  const auto cascade = lx::fit_cascade(pairs, found, valid.labels);
  const auto on_valid = lx::outcome(cascade, pairs, found, valid.labels);
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
  note(lx::cat(
      "cascade: decides ", percent(static_cast<double>(decided) / static_cast<double>(evidence.candidates.size())),
      " of the candidates; of ", found.size(), " validation pairs with ", valid.matches(), " matches ", percent(on_valid.decided_share()),
      ", where recall falls by ", points(on_valid.lost_recall()), " and precision by ", points(on_valid.lost_precision()), " points",
      on_valid.found < on_valid.model_found
          ? ""
          : lx::cat("; on new pairs recall may fall by up to ", points(3 / static_cast<double>(valid.matches())), " (95 % confidence)")));
  return cascade;
}

}  // namespace program
