// SPDX-License-Identifier: MIT
#include "lexformer/data/features.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/lexical.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "support/cases.hpp"
#include "support/error_message.hpp"

using namespace lexformer;

namespace {

std::vector<Encoding> small_pairs() {
  const Tokenizer t(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "black", "b", "##lk", "sony", "-"}));
  return {t.encode_pair("black sony", "blk-1", 64), t.encode_pair("", " ", 64), t.encode_pair("[MASK] 漢", "\xFF sony", 64)};
}

}  // namespace

TEST_CASE("make_batch: tokens of all encodings, and what each feature maker adds") {
  const auto pairs = small_pairs();
  const FeatureMaker lengths = [](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<double> values;
    for (const Encoding& e : encodings) values.push_back(static_cast<double>(e.size()));
    batch.features["length"] = {Per::example, std::move(values)};
  };
  const std::vector<FeatureMaker> makers = {lexical_feature({}), lengths,
                                            lexical_feature({.words = LexicalWords::whitespace, .levels = 3}, "whole words")};
  const Batch batch = make_batch(pairs, makers);
  CHECK(batch.size() == 3);
  CHECK(batch.offsets.length(1) == 3);
  CHECK(batch.index == std::vector<std::size_t>{0, 1, 2});
  CHECK(batch.word_ids.size() == batch.ids.size());
  CHECK(batch.features.size() == 3);
  CHECK(std::get<std::vector<double>>(batch.features.at("length").values) == std::vector<double>{9, 3, 6});
  CHECK(batch.codes("whole words").levels == std::vector<double>{0, 0.5, 1});
  REQUIRE(batch.codes("lexical").codes.size() == batch.offsets.pairs());
  CHECK(batch.features.at("lexical").per == Per::pair);
  for (std::size_t s = 0; s < pairs.size(); ++s) {
    const LexicalMatrix m = lexical_matrix(pairs[s], {});
    for (std::size_t c = 0; c < m.code.size(); ++c)
      REQUIRE(batch.codes("lexical").levels[batch.codes("lexical").codes[batch.offsets.pair_begin(s) + c]] == m.level[m.code[c]]);
  }
  const DeviceBatch<double> copy(batch);  // the sizes match the offsets
  CHECK(copy.features.size() == 3);
  CHECK(make_batch(pairs).features.empty());
  CHECK(test::error_message([] { make_batch({}); }) == "make_batch: there are no encodings");
}

TEST_CASE("lexical_feature: the same codes with one thread and with three") {
  std::vector<Encoding> many;
  for (int i = 0; i < 20; ++i)
    for (const Encoding& e : small_pairs()) many.push_back(e);
  const std::vector<FeatureMaker> makers = {lexical_feature({.similarity = Similarity::jaro_winkler, .words = LexicalWords::both})};
  set_threads(1);
  const Batch one = make_batch(many, makers);
  set_threads(3);
  const Batch three = make_batch(many, makers);
  set_threads(0);
  CHECK(one.codes("lexical").codes == three.codes("lexical").codes);
  CHECK(one.codes("lexical").levels == three.codes("lexical").levels);
}

TEST_CASE("law: merging matrices keeps their values; levels ascend without repetition") {
  RandomStream random(5, random_site::user);
  for (std::size_t n = 0; n < test::cases(300); ++n) {
    std::vector<LexicalMatrix> matrices(random.below(4));
    for (LexicalMatrix& m : matrices) {
      m.size = random.below(6);
      for (std::uint64_t k = random.below(5); k > 0; --k)
        m.level.push_back(m.level.back() + 0.25 * static_cast<double>(1 + random.below(3)));
      for (std::size_t i = 0; i < m.size * m.size; ++i) m.code.push_back(static_cast<std::uint16_t>(random.below(m.level.size())));
    }
    const Codes batch = merge(matrices);
    REQUIRE(batch.levels[0] == 0.0);
    for (std::size_t k = 1; k < batch.levels.size(); ++k) REQUIRE(batch.levels[k - 1] < batch.levels[k]);
    std::size_t next = 0;
    for (const LexicalMatrix& m : matrices)
      for (const std::uint16_t code : m.code) REQUIRE(batch.levels[batch.codes.at(next++)] == m.level[code]);
    REQUIRE(batch.codes.size() == next);
  }
}

TEST_CASE("merge refuses what does not fit") {
  CHECK(merge({}).levels == std::vector<double>{0.0});
  std::vector<LexicalMatrix> bad(1);
  bad[0].size = 2;
  bad[0].code = {0, 0, 0};
  CHECK_THROWS_AS(merge(bad), Error);
  bad[0].code = {0, 0, 0, 1};
  CHECK_THROWS_AS(merge(bad), Error);
  bad[0].code = {0, 0, 0, 0};
  bad[0].level.clear();
  CHECK_THROWS_WITH_AS(merge(bad), "lexical merge: code 0 is out of range; the example has 0 levels", Error);
  std::vector<LexicalMatrix> many(1);
  for (int i = 1; i < 70000; ++i) many[0].level.push_back(i);
  CHECK_THROWS_WITH_AS(merge(many),
                       "lexical levels: 70000 distinct similarities do not fit into 16-bit codes; set LexicalOptions.levels, e.g. to 50",
                       Error);
}
