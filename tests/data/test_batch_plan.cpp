// SPDX-License-Identifier: MIT
#include "lexformer/data/batch_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lexformer/text/tokenizer.hpp"
#include "support/error_message.hpp"

using namespace lexformer;

TEST_CASE("every row comes once in every order") {
  RandomStream random(5, random_site::user);
  for (std::size_t n : {0u, 1u, 7u, 64u, 1000u}) {
    std::vector<std::size_t> lengths(n);
    for (auto& l : lengths) l = 3 + random.below(60);
    for (const auto order : {BatchOrder::length_grouped, BatchOrder::random})
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

TEST_CASE("the order of an epoch is part of the contract: a run goes on after an update as it began") {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 23; ++i) lengths.push_back(5 + i * 7 % 11);
  const auto order = [&](const BatchPlan& plan) {
    std::string text;
    for (const auto& batch : plan_batches(lengths, plan)) {
      for (const std::size_t row : batch) text += cat(row, ' ');
      text += "| ";
    }
    return text;
  };
  CHECK(order({.size = 5, .seed = 3, .epoch = 1}) == "17 12 1 19 0 | 14 9 4 10 2 | 20 15 18 | 6 7 21 13 16 | 3 5 8 22 11 | ");
  CHECK(order({.size = 5, .seed = 3, .epoch = 1, .block = 2, .order = BatchOrder::random}) ==
        "2 13 21 17 9 | 1 6 3 5 20 | 0 12 18 16 19 | 7 15 11 22 14 | 10 8 4 | ");
}

TEST_CASE("token counts") {
  const Tokenizer t(Vocabulary({"[UNK]", "[CLS]", "[SEP]", "a"}));
  CHECK(token_counts(std::vector{t.encode("a a", 9), t.encode("", 9)}) == std::vector<std::size_t>{4, 2});
  CHECK(token_counts({}).empty());
}

TEST_CASE("batches by falling length: rows of equal length keep their order, the last batch may have fewer") {
  const std::vector<std::size_t> lengths{3, 9, 3, 12, 9};
  CHECK(batches_by_length(lengths, 2) == std::vector<std::vector<std::size_t>>{{3, 1}, {4, 0}, {2}});
  CHECK(batches_by_length({}, 2).empty());
  CHECK(test::error_message([&] { batches_by_length(lengths, 0); }) == "batches_by_length: a batch has at least one row");
}

TEST_CASE("batches of groups: whole groups in the order of their rows, the same batches in every epoch in another order") {
  RandomStream random(8, random_site::user);
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < 400; ++i) groups.push_back(random.below(90));
  groups.insert(groups.end(), 40, 1000);  // a group larger than a batch
  const std::vector<std::size_t> lengths(groups.size(), 5);
  std::vector<std::vector<std::vector<std::size_t>>> epochs;
  for (const std::uint32_t epoch : {0u, 1u}) {
    auto& batches = epochs.emplace_back(plan_batches(lengths, {.size = 16, .seed = 3, .epoch = epoch, .groups = groups}));
    std::set<std::size_t> rows, finished;
    for (const auto& batch : batches) {
      CHECK((batch.size() <= 16 || (batch.size() == 40 && groups[batch[0]] == 1000)));
      for (std::size_t i = 0; i < batch.size(); ++i) {
        CHECK(rows.insert(batch[i]).second);
        const std::size_t group = groups[batch[i]];
        if (i > 0 && groups[batch[i - 1]] == group)
          CHECK(batch[i] > batch[i - 1]);
        else
          CHECK(finished.insert(group).second);  // a group is in one place
      }
    }
    CHECK(rows.size() == groups.size());
    CHECK(batches.size() < 2 * groups.size() / 16);
  }
  CHECK(epochs[0] != epochs[1]);
  for (auto& batches : epochs) std::sort(batches.begin(), batches.end());
  CHECK(epochs[0] == epochs[1]);
  CHECK(epochs[0] != plan_batches(lengths, {.size = 16, .seed = 4, .groups = groups}));
  CHECK(test::error_message([&] { plan_batches(lengths, {.groups = {1, 2}}); }) == "plan_batches: 2 groups for 440 rows");
}

TEST_CASE("a batch size beyond all rows is one batch") {
  const std::vector<std::size_t> lengths{3, 1, 2};
  const std::size_t most = ~std::size_t{0};
  CHECK(batches_of(3, most) == 1);
  CHECK(batches_of(0, most) == 0);
  CHECK(batches_of(6, 3) == 2);
  CHECK(batches_of(7, 3) == 3);
  CHECK(EpochBatches(lengths, {.size = most}).size() == 1);
  CHECK(plan_batches(lengths, {.size = most}).size() == 1);
}
