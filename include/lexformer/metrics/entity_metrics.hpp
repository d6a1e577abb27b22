// SPDX-License-Identifier: MIT
// Precision, recall and F1 of named entities, as PyPI's seqeval computes them by default.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// Words begin .. end - 1 of a sentence.
struct Entity {
  std::string type;
  std::size_t begin = 0, end = 0;

  auto operator<=>(const Entity&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
};

/// The entities of one sentence with BIO tags. B-TYPE begins one; so does I-TYPE after O, after another type and at the start, as in
/// seqeval's default mode and CoNLL's conlleval. Errors: a tag is not BIO.
std::vector<Entity> entities_of(std::span<const std::string> tags);

/// Counts of entities, and the rates from them. A rate whose denominator is 0 is 0.
struct EntityCounts {
  std::size_t gold = 0, predicted = 0, correct = 0;  // correct: begin, end and type all equal a gold entity's

  double precision() const;  // correct / predicted
  double recall() const;     // correct / gold
  double f1() const;         // 2 correct / (gold + predicted), the harmonic mean of both
};

struct EntityScores {
  EntityCounts all;                             // of all types together (micro average)
  std::map<std::string, EntityCounts> types{};  // of the types that occur among gold or predicted entities
  std::size_t words = 0, correct_words = 0;     // words, and those with the right tag

  double accuracy() const;
  /// {"precision", "recall", "f1", "accuracy", "entities", "types": {TYPE: {"precision", "recall", "f1", "entities"}}}
  JsonValue json() const;
};

/// Compares predicted with gold tags, sentence by sentence. Errors: the numbers of sentences or words differ; a tag is not BIO.
EntityScores score_entities(std::span<const std::vector<std::string>> gold, std::span<const std::vector<std::string>> predicted);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <set>

#include "lexformer/data/tagged_text.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/metrics/metrics.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<Entity> entities_of(std::span<const std::string> tags) {
  std::vector<Entity> entities;
  bool inside = false;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (const std::string fault = tag_fault(tags[i]); !fault.empty()) fail("entities_of", fault);
    const bool continues = inside && tags[i][0] == 'I' && entities.back().type == tags[i].substr(2);
    inside = tags[i] != "O";
    if (continues) {
      entities.back().end = i + 1;
    } else if (inside) {
      entities.push_back({tags[i].substr(2), i, i + 1});
    }
  }
  return entities;
}

LEXFORMER_INLINE double EntityCounts::precision() const { return detail::ratio(correct, predicted); }
LEXFORMER_INLINE double EntityCounts::recall() const { return detail::ratio(correct, gold); }
LEXFORMER_INLINE double EntityCounts::f1() const { return detail::ratio(2 * correct, gold + predicted); }

LEXFORMER_INLINE double EntityScores::accuracy() const { return detail::ratio(correct_words, words); }

LEXFORMER_INLINE JsonValue EntityScores::json() const {
  const auto rates = [](const EntityCounts& c) {
    Json out = Json::object();
    out["precision"] = c.precision();
    out["recall"] = c.recall();
    out["f1"] = c.f1();
    out["entities"] = c.gold;
    return out;
  };
  Json out = rates(all);
  out["accuracy"] = accuracy();
  out["types"] = Json::object();
  for (const auto& [type, counts] : types) out["types"][type] = rates(counts);
  return JsonValue(std::move(out));
}

LEXFORMER_INLINE EntityScores score_entities(std::span<const std::vector<std::string>> gold,
                                             std::span<const std::vector<std::string>> predicted) {
  if (gold.size() != predicted.size())
    fail("score_entities", gold.size(), " sentences with gold tags, ", predicted.size(), " with predicted ones");
  EntityScores scores;
  for (std::size_t s = 0; s < gold.size(); ++s) {
    if (gold[s].size() != predicted[s].size())
      fail("score_entities", "sentence ", s, " has ", gold[s].size(), " gold tags and ", predicted[s].size(), " predicted ones");
    scores.words += gold[s].size();
    for (std::size_t i = 0; i < gold[s].size(); ++i) scores.correct_words += gold[s][i] == predicted[s][i] ? 1u : 0u;
    const auto expected = entities_of(gold[s]);
    const std::set<Entity> right(expected.begin(), expected.end());
    for (const Entity& e : expected) ++scores.types[e.type].gold;
    for (const Entity& e : entities_of(predicted[s])) {
      EntityCounts& counts = scores.types[e.type];
      ++counts.predicted;
      counts.correct += right.contains(e) ? 1u : 0u;
    }
  }
  for (const auto& [type, counts] : scores.types) {
    scores.all.gold += counts.gold;
    scores.all.predicted += counts.predicted;
    scores.all.correct += counts.correct;
  }
  return scores;
}

}  // namespace lexformer
#endif
