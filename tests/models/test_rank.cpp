// SPDX-License-Identifier: MIT
// rank() against the scores of its models, and the nearest documents against all cosines, one by one.
#include "lexformer/models/rank.hpp"

#include "models/tiny.hpp"

using namespace lexformer;

namespace {
const std::vector<std::string> documents_to_rank{"case for a book", "sony blk camera", "silent", "listen a", "sony black camera", "silent"};
}

TEST_CASE("best_documents: descending, the earlier one of equal scores first") {
  const std::vector<double> scores{1, 3, 2, 3, -1};
  std::vector<std::size_t> order;
  for (const auto& d : best_documents(scores)) order.push_back(d.index);
  CHECK(order == std::vector<std::size_t>{1, 3, 2, 0, 4});
  CHECK(best_documents(scores, 2).size() == 2);
  CHECK(best_documents(scores, 2)[1].index == 3);
  CHECK(best_documents(scores, 99).size() == 5);
  CHECK(best_documents({}).empty());
}

TEST_CASE("nearest_documents: all cosines, for any number of threads") {
  const auto queries = test::random_tensor<float>({130, 5}, 1), documents = test::random_tensor<float>({33, 5}, 2);
  std::vector<std::vector<RankedDocument>> first;
  for (const int threads : {1, 3}) {
    const test::Threads some(threads);
    const auto found = nearest_documents(queries, documents, 4);
    REQUIRE(found.size() == 130);
    for (std::size_t q = 0; q < found.size(); ++q) {
      REQUIRE(found[q].size() == 4);
      std::vector<double> cosines;
      for (std::size_t d = 0; d < 33; ++d) {
        double ab = 0, aa = 0, bb = 0;
        for (std::size_t j = 0; j < 5; ++j) {
          const auto a = static_cast<double>(queries.at(q, j)), b = static_cast<double>(documents.at(d, j));
          ab += a * b;
          aa += a * a;
          bb += b * b;
        }
        cosines.push_back(ab / std::sqrt(aa * bb));
      }
      const auto expected = best_documents(cosines, 4);
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(found[q][i].score == doctest::Approx(expected[i].score).epsilon(1e-5));
        if (!first.empty()) CHECK(found[q][i].score == first[q][i].score);
        if (!first.empty()) CHECK(found[q][i].index == first[q][i].index);
      }
    }
    first = found;
  }
  std::vector<std::size_t> parts;
  nearest_documents(queries, documents, 4, VectorSimilarity::cosine, [&](std::size_t count) { parts.push_back(count); });
  CHECK(parts == std::vector<std::size_t>{64, 64, 2});
  CHECK_THROWS_WITH(nearest_documents(queries, documents, 4, VectorSimilarity::cosine, [](std::size_t) { fail("caller", "stops"); }),
                    "caller: stops");
  CHECK(nearest_documents(queries, Tensor<float>(Shape{0, 5})).at(7).empty());
  CHECK_THROWS_WITH(nearest_documents(queries, test::random_tensor<float>({3, 4})), doctest::Contains("needs vectors of one size"));
  auto bad = documents.clone();
  bad.mutable_data()[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH(nearest_documents(queries, bad), doctest::Contains("is not finite"));
}

TEST_CASE("nearest_documents: by other similarities, the largest value first") {
  const auto queries = Tensor<float>::from({1, 2}, {1, 2}), documents = Tensor<float>::from({10, 20, 1, 3, 2, 1}, {3, 2});
  const auto scores = [&](VectorSimilarity similarity) {
    std::vector<std::pair<std::size_t, double>> all;
    const auto found = nearest_documents(queries, documents, 0, similarity);
    for (const auto& d : found.at(0)) all.emplace_back(d.index, d.score);
    return all;
  };
  using Scores = std::vector<std::pair<std::size_t, double>>;
  CHECK(scores(VectorSimilarity::dot) == Scores{{0, 50}, {1, 7}, {2, 4}});
  CHECK(scores(VectorSimilarity::manhattan) == Scores{{1, -1}, {2, -2}, {0, -27}});
  CHECK(scores(VectorSimilarity::euclidean)[1].second == doctest::Approx(-1.4142135).epsilon(1e-6));
  CHECK(scores(VectorSimilarity::cosine)[0].first == 0);
}

TEST_CASE("rank: by a cross-encoder's score and by a sentence encoder's cosine") {
  const test::Threads one(1);
  const auto file = test::tiny_file();
  const CrossEncoder<> two(file, CrossEncoderOptions{.seed = 3}),
      value(file, {.task = {.kind = TaskKind::regression, .labels = 1}, .seed = 3});
  const auto by_hand = [&](const CrossEncoder<>& model) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& d : documents_to_rank) pairs.emplace_back("sony camera", d);
    return best_documents(model.scores_of(model.logits(std::span<const std::pair<std::string, std::string>>(pairs))));
  };
  for (const auto* model : {&two, &value}) {
    const auto ranked = rank(*model, "sony camera", documents_to_rank);
    const auto expected = by_hand(*model);
    REQUIRE(ranked.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) CHECK(ranked[i].index == expected[i].index);
    CHECK(rank(*model, "sony camera", documents_to_rank, 2)[1].index == expected[1].index);
  }
  const CrossEncoder<> three(file, CrossEncoderOptions{.task = {.labels = 3}, .seed = 3});
  expect_error(
      ErrorKind::usage, [&] { rank(three, "a", documents_to_rank); }, "the model has 3 classes, so it gives no score to rank by");

  const SentenceEncoder<> encoder(file);
  const auto ranked = rank(encoder, "sony black camera", documents_to_rank);
  CHECK(ranked[0].index == 4);  // the same text
  CHECK(ranked[0].score == doctest::Approx(1).epsilon(1e-5));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 6; ++i)
    if (ranked[i].index == 2 || ranked[i].index == 5) places.push_back(i);
  CHECK(places[1] == places[0] + 1);  // equal texts
  CHECK(rank(encoder, "a", std::vector<std::string>{}).empty());
}
