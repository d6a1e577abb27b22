// SPDX-License-Identifier: MIT
// Entities and their scores against PyPI's seqeval (tests/oracles/make_golden_entities.py), and by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "../support/error_message.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/metrics/entity_metrics.hpp"

#ifndef LEXFORMER_SOURCE_DIR
#define LEXFORMER_SOURCE_DIR "."
#endif

using namespace lexformer;
using test::error_message;

namespace {

using Tags = std::vector<std::string>;

Tags tags(const std::string& line) {
  std::istringstream in(line);
  Tags all;
  for (std::string tag; in >> tag;) all.push_back(tag);
  return all;
}
std::string entities(const std::string& line) {
  std::string out;
  for (const Entity& e : entities_of(tags(line))) out += cat(out.empty() ? "" : " ", e.type, ":", e.begin, "-", e.end);
  return out;
}
bool near(double a, double b) { return std::abs(a - b) < 1e-14; }

}  // namespace

TEST_CASE("entities: where they begin and end") {
  CHECK(entities("O B-PER I-PER O") == "PER:1-3");
  CHECK(entities("I-PER I-PER") == "PER:0-2");
  CHECK(entities("B-PER B-PER I-PER") == "PER:0-1 PER:1-3");
  CHECK(entities("B-PER I-LOC I-LOC I-PER") == "PER:0-1 LOC:1-3 PER:3-4");
  CHECK(entities("O I-PER O I-PER B-PER") == "PER:1-2 PER:3-4 PER:4-5");
  CHECK(entities("B-a-b I-a-b I-a") == "a-b:0-2 a:2-3");
  CHECK(entities("O O").empty());
  CHECK(entities("").empty());
  CHECK(error_message([] { entities_of(Tags{"O", "E-PER"}); }) == "entities_of: the tag 'E-PER' is not BIO; expected O, B-TYPE or I-TYPE");
}

TEST_CASE("entity scores, by hand") {
  // Of three gold entities, one is found; one is found too short, and one is of another type.
  const std::vector<Tags> gold{tags("B-PER I-PER O B-LOC"), tags("B-LOC I-LOC O")};
  const std::vector<Tags> predicted{tags("I-PER I-PER O B-PER"), tags("B-LOC O O")};
  const auto scores = score_entities(gold, predicted);
  CHECK(scores.all.gold == 3);
  CHECK(scores.all.predicted == 3);
  CHECK(scores.all.correct == 1);
  CHECK(scores.types.at("PER").predicted == 2);
  CHECK(near(scores.types.at("PER").f1(), 2.0 / 3));
  CHECK(scores.types.at("LOC").correct == 0);
  CHECK(scores.types.at("LOC").f1() == 0);
  CHECK(near(scores.accuracy(), 4.0 / 7));
  const Json json = scores.json();
  CHECK(near(json.at("recall").get<double>(), 1.0 / 3));
  CHECK(json.at("types").at("LOC").at("entities") == 2);
  // A perfect answer, and none.
  CHECK(score_entities(gold, gold).all.f1() == 1);
  CHECK(score_entities({}, {}).all.f1() == 0);
  CHECK(error_message([&] { score_entities(gold, {}); }) == "score_entities: 2 sentences with gold tags, 0 with predicted ones");
  CHECK(error_message([&] {
          score_entities(gold, std::vector<Tags>{gold[0], gold[0]});
        }) == "score_entities: sentence 1 has 3 gold tags and 4 predicted ones");
}

TEST_CASE("entity scores are those of seqeval") {
  const char* other = std::getenv("LEXFORMER_ENTITIES");
  std::ifstream in(other != nullptr ? other : LEXFORMER_SOURCE_DIR "/tests/golden/entities.txt");
  REQUIRE(in.good());
  std::size_t cases = 0;
  for (std::string head; std::getline(in, head); ++cases) {
    std::vector<Tags> gold, predicted;
    for (std::string line; std::getline(in, line) && !line.empty();) {
      gold.push_back(tags(line));
      REQUIRE(std::getline(in, line));
      predicted.push_back(tags(line));
    }
    const auto scores = score_entities(gold, predicted);
    std::istringstream fields(head);
    double precision = 0, recall = 0, f1 = 0, accuracy = 0;
    fields >> precision >> recall >> f1 >> accuracy;
    REQUIRE(!fields.fail());
    CAPTURE(head);
    CHECK(near(scores.all.precision(), precision));
    CHECK(near(scores.all.recall(), recall));
    CHECK(near(scores.all.f1(), f1));
    CHECK(near(scores.accuracy(), accuracy));
    std::size_t types = 0;
    for (std::string type; fields >> type; ++types) {
      const auto equals = type.rfind('=');
      const EntityCounts& counts = scores.types.at(type.substr(0, equals));
      std::istringstream numbers(type.substr(equals + 1));
      char comma = 0;
      std::size_t number = 0;
      numbers >> precision >> comma >> recall >> comma >> f1 >> comma >> number;
      REQUIRE(!numbers.fail());
      CHECK(near(counts.precision(), precision));
      CHECK(near(counts.recall(), recall));
      CHECK(near(counts.f1(), f1));
      CHECK(counts.gold == number);
    }
    CHECK(scores.types.size() == types);
  }
  CHECK(cases >= 61);
}
