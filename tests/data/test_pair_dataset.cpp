// SPDX-License-Identifier: MIT
#include "lexformer/data/pair_dataset.hpp"

#include <doctest/doctest.h>

#include <set>

#include "lexformer/text/lexical.hpp"
#include "lexformer/text/tokenizer.hpp"

using namespace lexformer;

namespace {

Tokenizer tokenizer() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "black", "blk", "sony", "tv"};
  for (char c = 'a'; c <= 'z'; ++c) {
    tokens.emplace_back(1, c);
    tokens.push_back(std::string("##") + c);
  }
  return Tokenizer(Vocabulary(tokens));
}

std::vector<PairExample> examples(std::size_t n) {
  std::vector<PairExample> out;
  RandomStream random(9, random_site::user);
  const std::vector<std::string> words = {"sony", "tv", "black", "blk", "camera", "lens", "x"};
  const auto text = [&] {
    std::string t;
    for (std::size_t i = 1 + random.below(8); i > 0; --i) t += words[random.below(words.size())] + " ";
    return t;
  };
  for (std::size_t i = 0; i < n; ++i) {
    std::string left = text(), right = text();
    out.push_back({left, right, static_cast<std::int32_t>(i % 2), static_cast<float>(i) / 8});
  }
  return out;
}

bool same(const std::vector<Encoding>& a, const std::vector<Encoding>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Encoding& x, const Encoding& y) { return x.ids == y.ids; });
}

std::vector<Encoding> encode_all(const PairDataset& data, std::uint32_t epoch) {
  std::vector<Encoding> all;
  for (std::size_t i = 0; i < data.size(); ++i) all.push_back(data.encode(epoch, i));
  return all;
}

}  // namespace

TEST_CASE("a batch is its sequences one after the other; its codes stand for each pair's own similarities") {
  const auto t = tokenizer();
  const PairDataset data(examples(20), t, {.features = {lexical_feature({})}});
  const auto encodings = encode_all(data, 0);
  CHECK(data.token_counts(0) == token_counts(encodings));
  const std::vector<std::size_t> rows = {7, 2, 19};
  const Batch batch = data.batch(0, rows);
  CHECK(batch.size() == 3);
  CHECK(batch.index == rows);
  CHECK(batch.labels == std::vector<std::int32_t>{1, 0, 1});
  CHECK(batch.targets.empty());
  CHECK(batch.ids.size() == batch.offsets.tokens());
  const Codes& lexical = batch.codes("lexical");
  REQUIRE(lexical.codes.size() == batch.offsets.pairs());
  std::size_t wrong = 0;
  for (std::size_t s = 0; s < 3; ++s) {
    const Encoding& e = encodings[rows[s]];
    const LexicalMatrix m = lexical_matrix(e, {});
    REQUIRE(batch.offsets.length(s) == e.size());
    for (std::size_t i = 0; i < e.size(); ++i) {
      const std::size_t at = batch.offsets.begin(s) + i;
      wrong += batch.ids[at] != e.ids[i] || batch.type_ids[at] != e.type_ids[i] || batch.position_ids[at] != static_cast<std::int32_t>(i);
    }
    for (std::size_t c = 0; c < m.code.size(); ++c)
      wrong += lexical.levels[lexical.codes[batch.offsets.pair_begin(s) + c]] != m.level[m.code[c]];
  }
  CHECK(wrong == 0);
}

TEST_CASE("a batch carries what was asked for") {
  const PairDataset plain(examples(4), tokenizer(), {.labels = Labels::none}),
      numbers(examples(4), tokenizer(), {.labels = Labels::numbers});
  const std::vector<std::size_t> rows = {3, 1};
  const Batch a = plain.batch(0, rows), b = numbers.batch(0, rows);
  CHECK(a.features.empty());
  CHECK(a.labels.empty());
  CHECK(b.targets == std::vector<float>{0.375f, 0.125f});
  const PairDataset levels(examples(4), tokenizer(), {.features = {lexical_feature({.levels = 5})}});
  CHECK(levels.batch(0, rows).codes("lexical").levels == std::vector<double>{0, 0.25, 0.5, 0.75, 1});
  CHECK_THROWS_AS(plain.batch(0, std::vector<std::size_t>{4}), Error);
  CHECK_THROWS_AS(PairDataset({}, tokenizer()), Error);
  CHECK_THROWS_AS(PairDataset(examples(1), tokenizer(), {.augment = 1.5}), Error);
}

TEST_CASE("typos depend on seed, epoch and row alone; about the asked share of pairs has them") {
  const auto noise = [](std::size_t pairs, std::uint64_t seed) {
    return PairDataset(examples(pairs), tokenizer(), {.augment = 0.5, .seed = seed});
  };
  const PairDataset clean(examples(600), tokenizer()), noisy = noise(600, 1);
  const auto without = encode_all(clean, 0), first = encode_all(noisy, 0);
  CHECK(same(without, encode_all(clean, 5)));
  CHECK(same(without, encode_all(PairDataset(examples(600), tokenizer(), {.seed = 2}), 0)));
  const std::vector<std::size_t> rows = {3, 100, 5, 70, 200, 599, 4, 90, 11, 12};
  const Batch batch = noisy.batch(0, rows);
  for (std::size_t s = 0; s < rows.size(); ++s) {
    const auto& ids = first[rows[s]].ids;
    CHECK(std::equal(ids.begin(), ids.end(), batch.ids.begin() + static_cast<std::ptrdiff_t>(batch.offsets.begin(s))));
  }
  set_threads(1);
  CHECK(noisy.token_counts(0) == token_counts(first));
  CHECK(noisy.batch(0, rows).ids == batch.ids);
  set_threads(0);
  CHECK(noisy.token_counts(0) == token_counts(first));
  CHECK_FALSE(same(first, encode_all(noisy, 1)));
  CHECK_FALSE(same(first, encode_all(noise(600, 2), 0)));
  // A row has the same typos in a smaller data set.
  CHECK(same(encode_all(noise(10, 1), 0), {first.begin(), first.begin() + 10}));
  std::size_t changed = 0;
  for (std::size_t i = 0; i < first.size(); ++i) changed += first[i].ids != without[i].ids;
  CHECK(changed > 240);
  CHECK(changed < 340);
}

TEST_CASE("a data set takes tokenizer, length, features and seed from a model") {
  struct Model {
    struct Options {
      std::size_t max_length = 7;
      bool both_orders() const { return true; }
    };
    Tokenizer vocabulary;
    const Tokenizer& tokenizer() const { return vocabulary; }
    Options options() const { return {}; }
    struct Task {
      std::size_t texts = 2;
    };
    Task task() const { return {}; }
    std::vector<FeatureMaker> features() const { return {lexical_feature({})}; }
    std::uint64_t seed() const { return 9; }
  };
  const PairDataset data(examples(4), Model{tokenizer()}, {.max_length = 100, .augment = 0.5, .seed = 1});
  CHECK(data.options().max_length == 7);
  CHECK(data.options().seed == 9);
  CHECK(data.options().augment == 0.5);
  for (const std::size_t tokens : data.token_counts(0)) CHECK(tokens <= 7);
  CHECK(data.batch(0, std::vector<std::size_t>{0, 1}).features.contains("lexical"));
  CHECK(data.batch(0, std::vector<std::size_t>{0, 1}).size() == 4);  // in both orders
}

TEST_CASE("single texts: [CLS] text [SEP], with the typos of the text") {
  std::vector<PairExample> texts = examples(40);
  for (auto& e : texts) e.right.clear();
  const auto t = tokenizer();
  const PairDataset data(texts, t, {.max_length = 6, .texts = 1}), noisy(texts, t, {.augment = 1, .seed = 3, .texts = 1});
  const auto plain = encode_all(data, 0), changed = encode_all(noisy, 2);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(plain[i].ids == t.encode(texts[i].left, 6).ids);
    CHECK(plain[i].texts.size() == 1);
    RandomStream random = typo_stream(3, 2, static_cast<std::uint32_t>(i));
    random.uniform();  // whether there are typos
    CHECK(changed[i].ids == t.encode(add_typos(texts[i].left, {}, random), 128).ids);
  }
}
