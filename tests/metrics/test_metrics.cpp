// SPDX-License-Identifier: MIT
#include "lexformer/metrics/metrics.hpp"

#include <set>

#include "lexformer/core/random.hpp"
#include "support/golden.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

std::vector<std::int32_t> whole(const std::vector<double>& values) { return {values.begin(), values.end()}; }

/// The definition: precision and recall of "score >= t" for every distinct score t in descending order.
double naive_average_precision(const std::vector<double>& scores, const std::vector<std::int32_t>& labels) {
  const std::set<double, std::greater<>> cuts(scores.begin(), scores.end());
  double sum = 0, recall_before = 0;
  for (double t : cuts) {
    double tp = 0, predicted = 0, positives = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      positives += labels[i];
      predicted += scores[i] >= t;
      tp += scores[i] >= t && labels[i] == 1;
    }
    const double recall = positives == 0 ? 0 : tp / positives;
    sum += (recall - recall_before) * tp / predicted;
    recall_before = recall;
  }
  return sum;
}

double naive_f1(const std::vector<double>& scores, const std::vector<std::int32_t>& labels, double threshold) {
  double tp = 0, fp = 0, fn = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    tp += scores[i] >= threshold && labels[i] == 1;
    fp += scores[i] >= threshold && labels[i] == 0;
    fn += !(scores[i] >= threshold) && labels[i] == 1;
  }
  return tp == 0 ? 0 : 2 * tp / (2 * tp + fp + fn);
}

}  // namespace

TEST_CASE("metrics: scikit-learn's and scipy's values") {
  auto in = open_golden("metrics.txt");
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-12; };
  for (int i = 0; i < 24; ++i) {
    CAPTURE(i);
    const Blocks b = read_blocks(in, "ranks");
    const auto &scores = b.at("scores"), &binary = b.at("binary"), &other = b.at("other"), &regression = b.at("regression");
    const double above_zero = std::nextafter(0.0, 1);  // the scores that are positive in the golden file
    const BinaryReport report = binary_report(scores, whole(b.at("labels")), above_zero);
    CHECK(near(report.f1, binary[0]));
    CHECK(near(report.precision, binary[1]));
    CHECK(near(report.recall, binary[2]));
    CHECK(near(report.accuracy, binary[3]));
    CHECK(near(report.average_precision, binary[4]));
    const auto matrix = confusion_matrix(whole(b.at("guesses")), whole(b.at("classes")), 6);
    CHECK(near(matrix.accuracy(), b.at("multi")[0]));
    CHECK(near(matrix.macro_f1(), b.at("multi")[1]));
    CHECK(near(pearson(scores, other), regression[0]));
    CHECK(near(spearman(scores, other), regression[1]));
    CHECK(near(mean_squared_error(scores, other), regression[2]));
    CHECK(near(mean_and_deviation(scores).mean, regression[3]));
    CHECK(near(mean_and_deviation(scores).deviation, regression[4]));
    CHECK(average_ranks(scores) == b.at("ranks"));
  }
}

TEST_CASE("a decision among very many classes takes no memory by their square") {
  const std::vector<std::int32_t> labels{0, 999999, 999999, 7}, predictions{0, 999999, 7, 7};
  const auto matrix = confusion_matrix(predictions, labels, 1000000);
  CHECK(matrix.accuracy() == 0.75);
  CHECK(matrix.macro_f1() == doctest::Approx((1.0 + 2.0 / 3 + 2.0 / 3) / 3).epsilon(1e-12));
}

TEST_CASE("law: metrics of 10,000 random sets with ties against the definitions over all thresholds") {
  RandomStream random(3, random_site::user);
  std::size_t wrong = 0, with_ties = 0, of_one_class = 0;
  for (int round = 0; round < 10000; ++round) {
    const auto n = static_cast<std::size_t>(1 + random.below(12)), values = static_cast<std::size_t>(1 + random.below(8));
    const double share = random.uniform();
    std::vector<double> scores;
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < n; ++i) {
      // Every other round uses adjacent floating-point numbers, which have no midpoint between them.
      const auto k = static_cast<double>(random.below(values));
      scores.push_back(round % 2 == 0 ? (k - 3) / 4 : 1.0 + k * 0x1p-52);
      labels.push_back(random.uniform() < share ? 1 : 0);
    }
    with_ties += std::set(scores.begin(), scores.end()).size() < n;
    of_one_class += std::set(labels.begin(), labels.end()).size() == 1;
    double best = 0;
    for (double t : scores) best = std::max({best, naive_f1(scores, labels, t), naive_f1(scores, labels, std::nextafter(t, INFINITY))});
    const BestThreshold found = best_f1_threshold(scores, labels);
    const BinaryCounts counts = count_binary(scores, labels, found.threshold);
    wrong += std::abs(found.f1 - best) > 1e-15 || std::abs(counts.f1() - found.f1) > 1e-15;
    wrong += std::abs(average_precision(scores, labels) - naive_average_precision(scores, labels)) > 1e-12;
    // The same rows in another order.
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.shuffle(order);
    std::vector<double> shuffled_scores;
    std::vector<std::int32_t> shuffled_labels;
    for (std::size_t i : order) {
      shuffled_scores.push_back(scores[i]);
      shuffled_labels.push_back(labels[i]);
    }
    wrong += best_f1_threshold(shuffled_scores, shuffled_labels).threshold != found.threshold;
  }
  CHECK(wrong == 0);
  CHECK(with_ties > 1000);
  CHECK(of_one_class > 1000);
}

TEST_CASE("best_f1_threshold: worked cases") {
  using S = std::vector<double>;
  using L = std::vector<std::int32_t>;
  const auto best = [](const S& s, const L& l) { return best_f1_threshold(s, l); };
  CHECK(best({0.1, 0.4, 0.8, 0.9}, {0, 0, 1, 1}).threshold == doctest::Approx(0.6));
  CHECK(best({0.1, 0.4, 0.8, 0.9}, {0, 0, 1, 1}).f1 == 1.0);
  // A constant predictor: all positive, F1 = 2 * 2 / (2 + 5).
  const auto constant = best({0.5, 0.5, 0.5, 0.5, 0.5}, {1, 1, 0, 0, 0});
  CHECK(constant.f1 == doctest::Approx(4.0 / 7.0));
  CHECK(constant.threshold < 0.5);
  CHECK(best({0.2, 0.7}, {1, 1}).f1 == 1.0);
  CHECK(best({0.2, 0.7}, {1, 1}).threshold < 0.2);
  CHECK(best({0.2, 0.7}, {0, 0}).f1 == 0.0);
  CHECK(best({0.2, 0.7}, {0, 0}).threshold == std::nextafter(0.7, 1));
  CHECK(best({1.0, std::nextafter(1.0, 2)}, {0, 1}).threshold == std::nextafter(1.0, 2));  // nothing is between them
  // The highest of several: {3} and {3, 2, 1} both give 2/3.
  CHECK(best({3, 2, 1}, {1, 0, 1}).threshold == doctest::Approx(0.99).epsilon(0.02));
  CHECK(best({4, 3, 2, 1}, {1, 0, 0, 1}).threshold == 3.5);
}

TEST_CASE("metrics refuse what they cannot measure") {
  const std::vector<double> scores = {1.0, std::nan("")}, good = {1.0, 2.0}, none;
  const std::vector<std::int32_t> labels = {0, 1}, two = {0, 2}, empty;
  CHECK_THROWS_WITH(average_precision(scores, labels), doctest::Contains("the value of example 1 is nan"));
  CHECK_THROWS_AS(best_f1_threshold(scores, labels), Error);
  CHECK_THROWS_AS(count_binary(scores, labels, 0), Error);
  CHECK_THROWS_WITH(count_binary(good, two, 0), doctest::Contains("the label of example 1 is 2"));
  CHECK_THROWS_WITH(count_binary(none, empty, 0), doctest::Contains("no examples"));
  CHECK_THROWS_AS(average_precision(good, empty), Error);
  CHECK_THROWS_AS(pearson(good, none), Error);
  CHECK_THROWS_AS(confusion_matrix(two, labels, 2), Error);
  CHECK_THROWS_AS(confusion_matrix(labels, two, 2), Error);
  CHECK_THROWS_AS(argmax_rows(good, 3), Error);
  CHECK_THROWS_AS(argmax_rows(scores, 2), Error);
  try {
    spearman(scores, good);
    FAIL("NaN was accepted");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::numeric);
  }
}

TEST_CASE("correlations of a constant are 0, argmax takes the first, one value has no deviation") {
  const std::vector<double> constant = {0.1, 0.1, 0.1}, rising = {1, 2, 3}, one = {5.0};
  CHECK(pearson(constant, rising) == 0.0);
  CHECK(spearman(rising, constant) == 0.0);
  CHECK(pearson(rising, rising) == doctest::Approx(1.0));
  CHECK(argmax_rows(std::vector<double>{1, 3, 3, 0, 0, 0}, 3) == std::vector<std::int32_t>{1, 0});
  CHECK(mean_and_deviation(one).mean == 5.0);
  CHECK(mean_and_deviation(one).deviation == 0.0);
}

TEST_CASE("is_match: a score that equals the threshold is one, and argmax is its own threshold") {
  CHECK(is_match(0.5, 0.5));
  CHECK_FALSE(is_match(std::nextafter(0.5, 0), 0.5));
  CHECK(is_match(1, 1));  // a saturated probability
  const std::vector<double> scores{0.25, 0.5, 0.5, 0.75};
  const std::vector<std::int32_t> labels{0, 1, 0, 1};
  const auto counts = count_binary(scores, labels, 0.5);
  CHECK(counts.true_positive == 2);
  CHECK(counts.false_positive == 1);
  CHECK_FALSE(is_match(0.5, argmax_threshold));  // a tie is class 0
  CHECK(is_match(std::nextafter(0.5, 1), argmax_threshold));
  CHECK(argmax_threshold == std::nextafter(0.5, 1));
}
