// SPDX-License-Identifier: MIT
#include "lexformer/data/pair_dataset.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace lexformer;

namespace {

WordPieceTokenizer tokenizer() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "black", "blk", "sony", "tv"};
  for (char c = 'a'; c <= 'z'; ++c) {
    tokens.emplace_back(1, c);
    tokens.push_back(std::string("##") + c);
  }
  return WordPieceTokenizer(Vocabulary(tokens));
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

}  // namespace

TEST_CASE("a batch is its sequences one after the other; its codes stand for each pair's own similarities") {
  const auto t = tokenizer();
  const PairDataset data(examples(20), t, {.lexical = LexicalOptions{}});
  const auto encodings = data.encode(1, 0);
  const std::vector<std::size_t> rows = {7, 2, 19};
  const Batch batch = data.batch(encodings, rows);
  CHECK(batch.size() == 3);
  CHECK(batch.index == rows);
  CHECK(batch.labels == std::vector<std::int32_t>{1, 0, 1});
  CHECK(batch.targets.empty());
  CHECK(batch.ids.size() == batch.offsets.tokens());
  REQUIRE(batch.codes.size() == batch.offsets.pairs());
  std::size_t wrong = 0;
  for (std::size_t s = 0; s < 3; ++s) {
    const Encoding& e = encodings[rows[s]];
    const LexicalMatrix m = lexical_matrix(t, e, {});
    REQUIRE(batch.offsets.length(s) == e.size());
    for (std::size_t i = 0; i < e.size(); ++i) {
      const std::size_t at = batch.offsets.begin(s) + i;
      wrong += batch.ids[at] != e.ids[i] || batch.type_ids[at] != e.type_ids[i] || batch.position_ids[at] != static_cast<std::int32_t>(i);
    }
    for (std::size_t c = 0; c < m.code.size(); ++c)
      wrong += batch.levels[batch.codes[batch.offsets.pair_begin(s) + c]] != m.level[m.code[c]];
  }
  CHECK(wrong == 0);
}

TEST_CASE("a batch carries what was asked for") {
  const PairDataset plain(examples(4), tokenizer(), {.labels = Labels::none}),
      numbers(examples(4), tokenizer(), {.labels = Labels::numbers});
  const std::vector<std::size_t> rows = {3, 1};
  const Batch a = plain.batch(plain.encode(0, 0), rows), b = numbers.batch(numbers.encode(0, 0), rows);
  CHECK(a.codes.empty());
  CHECK(a.levels.empty());
  CHECK(a.labels.empty());
  CHECK(b.targets == std::vector<float>{0.375f, 0.125f});
  const PairDataset levels(examples(4), tokenizer(), {.lexical = LexicalOptions{.levels = 5}});
  CHECK(levels.batch(levels.encode(0, 0), rows).levels == std::vector<double>{0, 0.25, 0.5, 0.75, 1});
  CHECK_THROWS_AS(plain.batch(plain.encode(0, 0), std::vector<std::size_t>{4}), Error);
  CHECK_THROWS_AS(make_batch({}), Error);
  CHECK_THROWS_AS(PairDataset({}, tokenizer()), Error);
  CHECK_THROWS_AS(PairDataset(examples(1), tokenizer(), {.augment = 1.5}), Error);
}

TEST_CASE("typos depend on seed, epoch and row alone; about the asked share of pairs has them") {
  const PairDataset clean(examples(600), tokenizer()), noisy(examples(600), tokenizer(), {.augment = 0.5});
  const auto without = clean.encode(1, 0), first = noisy.encode(1, 0);
  CHECK(same(without, clean.encode(2, 5)));
  set_threads(1);
  const auto alone = noisy.encode(1, 0);
  set_threads(0);
  CHECK(same(first, alone));
  CHECK_FALSE(same(first, noisy.encode(1, 1)));
  CHECK_FALSE(same(first, noisy.encode(2, 0)));
  // A row has the same typos in a smaller data set.
  const PairDataset few(examples(10), tokenizer(), {.augment = 0.5});
  CHECK(same(few.encode(1, 0), {first.begin(), first.begin() + 10}));
  std::size_t changed = 0;
  for (std::size_t i = 0; i < first.size(); ++i) changed += first[i].ids != without[i].ids;
  CHECK(changed > 240);
  CHECK(changed < 340);
}

TEST_CASE("every row comes once in every order") {
  RandomStream random(5, random_site::user);
  for (std::size_t n : {0u, 1u, 7u, 64u, 1000u}) {
    std::vector<std::size_t> lengths(n);
    for (auto& l : lengths) l = 3 + random.below(60);
    for (const auto order : {BatchOrder::length_grouped, BatchOrder::random, BatchOrder::sequential})
      for (std::size_t size : {1u, 8u, 33u}) {
        const BatchPlan plan{.size = size, .seed = 3, .epoch = 2, .order = order};
        const auto batches = plan_batches(lengths, plan);
        std::multiset<std::size_t> seen;
        for (const auto& b : batches) {
          CHECK(!b.empty());
          CHECK(b.size() <= size);
          seen.insert(b.begin(), b.end());
        }
        CHECK(batches.size() == (n + size - 1) / size);
        CHECK(seen.size() == n);
        CHECK(std::set<std::size_t>(seen.begin(), seen.end()).size() == n);
        CHECK(batches == plan_batches(lengths, plan));
        auto dropped = plan;
        dropped.drop_last = true;
        for (const auto& b : plan_batches(lengths, dropped)) CHECK(b.size() == size);
        CHECK(plan_batches(lengths, dropped).size() == n / size);
      }
  }
}

TEST_CASE("length-grouped batches are alike in length, differ by epoch and seed, and do not come sorted") {
  RandomStream random(6, random_site::user);
  std::vector<std::size_t> lengths(2000);
  for (auto& l : lengths) l = 3 + random.below(100);
  const auto spread = [&](const std::vector<std::vector<std::size_t>>& batches) {
    double total = 0;
    for (const auto& b : batches) {
      const auto [low, high] = std::minmax_element(b.begin(), b.end(), [&](auto x, auto y) { return lengths[x] < lengths[y]; });
      total += static_cast<double>(lengths[*high] - lengths[*low]);
    }
    return total / static_cast<double>(batches.size());
  };
  const auto grouped = plan_batches(lengths, {.size = 16, .seed = 1});
  CHECK(spread(grouped) < 8);
  CHECK(spread(plan_batches(lengths, {.size = 16, .seed = 1, .order = BatchOrder::random})) > 70);
  CHECK(grouped != plan_batches(lengths, {.size = 16, .seed = 1, .epoch = 1}));
  CHECK(grouped != plan_batches(lengths, {.size = 16, .seed = 2}));
  std::size_t falling = 0;
  for (std::size_t i = 1; i < grouped.size(); ++i) falling += lengths[grouped[i][0]] < lengths[grouped[i - 1][0]];
  CHECK(falling > 45);
  CHECK(falling < 80);
  CHECK_THROWS_AS(plan_batches(lengths, {.size = 0}), Error);
  CHECK_THROWS_AS(parse_name<BatchOrder>("sorted", "order"), Error);
}

TEST_CASE("examples of a table") {
  const PairTable table{"t.tsv", {{"a", "b", "yes", 1, 3}, {"c", "d", "no", 2, 3}}};
  const auto pairs = class_examples(table, {"no", "yes"});
  CHECK(pairs[0].label == 1);
  CHECK(pairs[1].right == "d");
  CHECK_THROWS_WITH(class_examples(table), doctest::Contains("t.tsv: line 1, column 3: unknown label 'yes'"));
  CHECK(number_examples({"t.tsv", {{"a", "b", "2.5", 1}}})[0].target == 2.5f);
}

TEST_CASE("a description of the data notices every change") {
  const auto data = examples(5);
  std::set<std::string> seen{describe(data)};
  for (const auto change :
       {+[](PairExample& e) { e.left += "x"; }, +[](PairExample& e) { e.right.pop_back(); }, +[](PairExample& e) { e.label = 7; },
        +[](PairExample& e) { e.target += 0.5f; }, +[](PairExample& e) { std::swap(e.left, e.right); }}) {
    auto other = data;
    change(other[2]);
    seen.insert(describe(other));
  }
  CHECK(seen.size() == 6);
  CHECK(describe(std::vector<PairExample>{{"a", "b", 1}}) == describe(std::vector<PairExample>{{"a", "b", 1}}));
  CHECK(describe(data).starts_with("5 pairs, crc32 "));
}
