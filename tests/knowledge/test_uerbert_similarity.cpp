// SPDX-License-Identifier: MIT
#include "lexformer/knowledge/uerbert_similarity.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "support/expect_error.hpp"
#include "support/tiny_wordnet.hpp"

using namespace lexformer;

TEST_CASE("UERBERT similarity by hand") {
  const TemporaryFolder folder;
  test::write_tiny_wordnet(folder);
  const auto wordnet = WordNet::load(folder.path);
  const auto s = [&](const char* a, const char* b) {
    const double value = uerbert_similarity(*wordnet, a, b);
    CHECK(value == uerbert_similarity(*wordnet, b, a));
    return value;
  };
  CHECK(s("the", "the") == 0.0);
  CHECK(s("Am", "dog") == 0.0);
  CHECK(s("xyzzy", "XYZZY") == 1.0);
  CHECK(s("xyzzy", "dog") == 0.0);
  CHECK(s("xyzzy", "plugh") == 0.0);
  CHECK(s("\xC3\x84gypten", "\xC3\xA4gypten") == 1.0);  // the A with diaeresis in upper and lower case
  CHECK(s(".", ".") == 1.0);
  CHECK(s("run", "Run") == 1.0);  // a lemma of its own synset
  CHECK(s("animals", "beast") == 1.0);
  CHECK(s("hot", "cold") == 1.0);      // antonyms
  CHECK(s("quickly", "slow") == 1.0);  // slow is in the synset of slowly
  CHECK(s("quickly", "slowly") == 1.0);
  CHECK(s("hot", "cool") == doctest::Approx(0.5));  // each is the second antonym of the other
  CHECK(s("dogs", "cats") == doctest::Approx(0.75));
  // run.n and run.v: 1 with themselves, 2 / 6 with each other
  CHECK(s("runs", "runs") == doctest::Approx((1 + 1.0 / 3 + 1.0 / 3 + 1) / 4));
  // paris.n.01 and genus_paris.n.01: the word in lower case is no lemma
  CHECK(s("Paris", "paris") == doctest::Approx((1 + 0.4 + 0.4 + 1) / 4));
  CHECK(s("thing", "dog") == 0.0);  // two nouns without a common ancestor
  // The verb is a pair of its own in each order: (move, run) 2/3, (run, move) 2/5; run.n with move: 2 / (2 + 1 + 2).
  CHECK(s("moves", "runs") == doctest::Approx((2.0 / 3 + 0.4 + 0.4 + 0.4) / 4));
}

TEST_CASE("UERBERT table: the values of the function, on several threads and with a memory that is too small") {
  const TemporaryFolder folder;
  test::write_tiny_wordnet(folder);
  const auto wordnet = WordNet::load(folder.path);
  const std::vector<std::string> words{"dog",   "dogs",  "cat", "Cat",     "the",  "am",    "run",   "runs",   "jogs",
                                       "walks", "moved", "hot", "cold",    "cool", "warm",  "pets",  "Paris",  "city",
                                       "xyz",   "XYZ",   ".",   "quickly", "slow", "think", "thing", "anomaly"};
  for (const std::size_t max_pairs : {std::size_t{0}, std::size_t{7}, std::size_t{1000}}) {
    UerbertTable table(wordnet, max_pairs);
    std::vector<int> wrong(200, 0);
    parallel_for(wrong.size(), 1, [&](std::size_t example, std::size_t) {
      RandomStream random(7, random_site::user, static_cast<std::uint32_t>(example));
      std::vector<std::string> left, right;
      for (std::size_t i = random.below(6); i > 0; --i) left.push_back(words[random.below(words.size())]);
      for (std::size_t i = random.below(6); i > 0; --i) right.push_back(words[random.below(words.size())]);
      const std::vector<double> values = table(left, right);
      if (values.size() != left.size() * right.size()) wrong[example] = 1;
      for (std::size_t i = 0, cell = 0; i < left.size(); ++i)
        for (std::size_t j = 0; j < right.size(); ++j, ++cell)
          if (values[cell] != uerbert_similarity(*wordnet, left[i], right[j])) ++wrong[example];
    });
    for (const int count : wrong) REQUIRE(count == 0);
  }
}

TEST_CASE("UERBERT similarity: golden pairs of nltk on WordNet 3.0") {
  std::ifstream file(LEXFORMER_SOURCE_DIR "/tests/golden/wordnet.txt");
  std::vector<std::string> left, right;
  std::vector<double> values;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    double value = -1;
    fields >> left.emplace_back() >> right.emplace_back() >> value;
    REQUIRE((fields && value >= 0 && value <= 1));
    values.push_back(value);
  }
  REQUIRE(values.size() == 300);
  const std::string folder = "/usr/share/wordnet";
  if (!path_exists(folder + "/data.noun")) {
    MESSAGE("skipped: no WordNet in ", folder, ", where Debian's package wordnet-base installs it");
    return;
  }
  const auto wordnet = WordNet::load(folder);
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO(left[i], " ", right[i]);
    CHECK(std::abs(uerbert_similarity(*wordnet, left[i], right[i]) - values[i]) < 1e-12);
  }
}
