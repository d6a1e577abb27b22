// SPDX-License-Identifier: MIT
#include "lexformer/ops/query_loss.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"

using namespace lexformer;
using test::error_message;
using test::random_tensor;

namespace {

/// Five queries: of three documents, of one, without a relevant one, of two equal labels, of four graded ones.
const std::vector<std::size_t> query_of_row{7, 7, 7, 0, 4, 4, 1, 1, 9, 9, 9, 9};
const std::vector<float> row_labels_of_queries{0, 1, 0, 1, 0, 0, 1, 1, 0.5f, 2, 0, 0.5f};

}  // namespace

TEST_CASE("losses by query: by definition, with gradients") {
  const Var<double> scores(random_tensor({12, 1}, 3), true);
  const QueryRows queries(query_of_row);
  CHECK(queries.ranges == std::vector<std::pair<std::size_t, std::size_t>>{{0, 3}, {3, 4}, {4, 6}, {6, 8}, {8, 12}});
  CHECK(queries.relevant(row_labels_of_queries).ranges.size() == 4);
  const auto s = [&](std::size_t i) { return scores.value().data()[i]; };

  double margin = 0, pairs = 0, listwise = 0, counted = 0;
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < 12; ++j)
      if (query_of_row[i] == query_of_row[j] && row_labels_of_queries[i] > row_labels_of_queries[j]) {
        margin += std::max(0.0, 0.7 - (s(i) - s(j)));
        ++pairs;
      }
  CHECK(pairs == 2 + 5);
  for (const std::size_t q : {7u, 0u, 4u, 1u, 9u}) {
    double all = 0, mass = 0;
    for (std::size_t i = 0; i < 12; ++i)
      if (query_of_row[i] == q) {
        all += std::exp(s(i));
        mass += static_cast<double>(row_labels_of_queries[i]);
      }
    if (mass == 0) continue;
    ++counted;
    for (std::size_t i = 0; i < 12; ++i)
      if (query_of_row[i] == q) listwise -= static_cast<double>(row_labels_of_queries[i]) / mass * (s(i) - std::log(all));
  }
  CHECK(margin_ranking_by_query(scores, queries, row_labels_of_queries, 0.7).item() == doctest::Approx(margin / pairs).epsilon(1e-13));
  CHECK(listwise_softmax_by_query(scores, queries, row_labels_of_queries).item() == doctest::Approx(listwise / counted).epsilon(1e-13));
  CHECK(gradcheck([&] { return margin_ranking_by_query(scores, queries, row_labels_of_queries, 0.7); }, {scores}).ok);
  CHECK(gradcheck([&] { return listwise_softmax_by_query(scores, queries, row_labels_of_queries); }, {scores}).ok);
}

TEST_CASE("losses by query: what cannot be ranked is refused") {
  const Var<double> scores(random_tensor({2, 1}, 3));
  const QueryRows queries(std::vector<std::size_t>{0, 1});
  CHECK(error_message([&] {
          margin_ranking_by_query(scores, queries, std::vector<float>{0, 1}, 1);
        }) == "margin_ranking_by_query: no query has documents with different labels");
  CHECK(error_message([&] {
          listwise_softmax_by_query(scores, queries, std::vector<float>{0, 0});
        }) == "listwise_softmax_by_query: no query has a document with a label above 0");
}

TEST_CASE("losses by query: scores, queries and labels must fit") {
  const Var<double> scores(random_tensor({7, 1}, 3)), pairs(random_tensor({7, 2}, 3));
  const QueryRows queries(std::vector<std::size_t>{0, 0, 0, 1, 1, 1, 1});
  const auto both = [](const Var<double>& s, const QueryRows& q, const std::vector<float>& labels, const std::string& expected) {
    CHECK(error_message([&] { margin_ranking_by_query(s, q, labels, 1); }) == "margin_ranking_by_query: " + expected);
    CHECK(error_message([&] { listwise_softmax_by_query(s, q, labels); }) == "listwise_softmax_by_query: " + expected);
  };
  const std::string wanted = " rows of queries; expected scores (rows, 1) and a label for each row";
  both(scores, queries, {0, 1}, "scores (7, 1) and 2 labels for 7" + wanted);
  both(scores, queries, {0, 1, 0, 1, 0, 0, 1, 1}, "scores (7, 1) and 8 labels for 7" + wanted);
  both(pairs, queries, {0, 1, 0, 1, 0, 0, 1}, "scores (7, 2) and 7 labels for 7" + wanted);
  both(reshape(scores, {7}), queries, {0, 1, 0, 1, 0, 0, 1}, "scores (7,) and 7 labels for 7" + wanted);
  both(scores, QueryRows(std::vector<std::size_t>{0, 0}), {0, 1}, "scores (7, 1) and 2 labels for 2" + wanted);
  both(scores, {}, {0, 1, 0, 1, 0, 0, 1}, "scores (7, 1) and 7 labels for 0" + wanted);
}

TEST_CASE("losses by query: all labels are numbers, those of listwise_softmax_by_query 0 or more, also in queries that do not count") {
  const Var<double> scores(random_tensor({4, 1}, 3));
  const QueryRows queries(std::vector<std::size_t>{0, 0, 1, 1});
  const auto listwise = [&](std::vector<float> labels) {
    return error_message([&] { listwise_softmax_by_query(scores, queries, labels); });
  };
  const auto margin = [&](std::vector<float> labels) {
    return error_message([&] { margin_ranking_by_query(scores, queries, labels, 1); });
  };
  constexpr float none = std::numeric_limits<float>::quiet_NaN(), most = std::numeric_limits<float>::infinity();
  CHECK(listwise({1, 0, -1, 0}) == "listwise_softmax_by_query: the label of row 2 is -1; expected 0 or more");
  CHECK(listwise({1, 0, 0, none}) == "listwise_softmax_by_query: the label of row 3 is nan; expected 0 or more");
  CHECK(listwise({1, most, 0, 0}) == "listwise_softmax_by_query: the label of row 1 is inf; expected 0 or more");
  CHECK(margin({1, 0, 0, none}) == "margin_ranking_by_query: the label of row 3 is nan; expected a finite number");
  CHECK(margin({1, 0, -most, 0}) == "margin_ranking_by_query: the label of row 2 is -inf; expected a finite number");
  CHECK(margin({1, 0, -1, 0}) == "no error");
}
