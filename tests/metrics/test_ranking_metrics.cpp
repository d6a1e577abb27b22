// SPDX-License-Identifier: MIT
// Metrics of rankings against values computed by hand.
#include "lexformer/metrics/ranking_metrics.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "../support/error_message.hpp"

using namespace lexformer;

TEST_CASE("ranking metrics: by hand") {
  const double log3 = std::log2(3.0), log5 = std::log2(5.0);
  // Relevance 3 at rank 2, 1 at rank 4; a third of relevance 2 was not found.
  const RankedQuery query{{0, 3, 0, 1, 0}, {1, 2, 3}};
  CHECK(reciprocal_rank(query) == 0.5);
  CHECK(reciprocal_rank(query, 1) == 0);
  CHECK(reciprocal_rank(query, 2) == 0.5);
  CHECK(recall_at(query) == doctest::Approx(2.0 / 3));
  CHECK(recall_at(query, 3) == doctest::Approx(1.0 / 3));
  CHECK(ndcg(query) == doctest::Approx((3 / log3 + 1 / log5) / (3 + 2 / log3 + 1.0 / 2)));
  CHECK(ndcg(query, 2) == doctest::Approx((3 / log3) / (3 + 2 / log3)));
  CHECK(ndcg(query, 99) == ndcg(query));
  // The best order, the least of it, and nothing.
  CHECK(ndcg({{3, 2, 1, 0}, {1, 2, 3}}) == 1);
  CHECK(ndcg({{0, 0}, {1}}) == 0);
  for (const RankedQuery& empty : {RankedQuery{}, RankedQuery{{0, 0}, {}}, RankedQuery{{}, {1}}}) {
    CHECK(reciprocal_rank(empty) == 0);
    CHECK(ndcg(empty) == 0);
    CHECK(recall_at(empty) == 0);
  }
}

TEST_CASE("ranking metrics: means over the queries that have relevant documents") {
  const std::vector<RankedQuery> queries{{{1, 0}, {1}}, {{0, 1}, {1, 1}}, {{0, 0}, {}}, {{0, 0, 1}, {1}}};
  const auto report = ranking_report(queries, 2);
  CHECK(report.queries == 3);
  CHECK(report.skipped == 1);
  CHECK(report.mrr == doctest::Approx((1 + 0.5 + 0) / 3));
  CHECK(report.recall == doctest::Approx((1 + 0.5 + 0) / 3));
  const double log3 = std::log2(3.0);
  CHECK(report.ndcg == doctest::Approx((1 + (1 / log3) / (1 + 1 / log3)) / 3));
  CHECK(ranking_report({}, 5).mrr == 0);
  const auto refused = [](RankedQuery query) { return test::error_message([&] { ranking_report(std::vector{query}, 3); }); };
  CHECK(refused({{-1}, {1}}) == "ranking_report: query 0 has a document of relevance -1; expected 0 or more");
  CHECK(refused({{1, 1}, {1}}) == "ranking_report: query 0 has 2 relevant documents in its ranking, but only 1 in all");
}
