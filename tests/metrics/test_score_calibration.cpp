// SPDX-License-Identifier: MIT
#include "lexformer/metrics/score_calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "lexformer/core/random.hpp"
#include "lexformer/io/json.hpp"
#include "support/error_message.hpp"
#include "support/golden.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// Overconfident scores: the labels follow the square root of the odds.
struct Overconfident {
  std::vector<double> scores;
  std::vector<std::int32_t> labels;

  Overconfident(std::size_t n, std::uint64_t seed) {
    RandomStream random(seed, random_site::user);
    for (std::size_t i = 0; i < n; ++i) {
      const double x = 3 * random.normal();
      scores.push_back(1 / (1 + std::exp(-2 * x)));
      labels.push_back(random.uniform() < 1 / (1 + std::exp(-x)) ? 1 : 0);
    }
  }
};

std::vector<double> calibrated(const Calibration& c, const std::vector<double>& scores) {
  std::vector<double> out;
  for (const double s : scores) out.push_back(c(s));
  return out;
}

}  // namespace

TEST_CASE("fit_calibration: scikit-learn's probabilities") {
  auto in = open_golden("calibration.txt");
  std::size_t cases = 0;
  for (; in >> std::ws && in.peek() != std::char_traits<char>::eof(); ++cases) {
    const auto want = read_blocks(in, "measures");
    const auto &scores = want.at("scores"), &fresh = want.at("new");
    const std::vector<std::int32_t> truth(want.at("labels").begin(), want.at("labels").end());
    const auto platt = fit_calibration(CalibrationKind::platt, scores, truth);
    const auto isotonic = fit_calibration(CalibrationKind::isotonic, scores, truth);
    CHECK(platt.odds);
    CHECK(platt.platt.slope == doctest::Approx(want.at("platt")[0]).epsilon(1e-9));
    CHECK(platt.platt.offset == doctest::Approx(want.at("platt")[1]).epsilon(1e-9));
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      CHECK(platt(fresh[i]) == doctest::Approx(want.at("platt_new")[i]).epsilon(1e-9));
      CHECK(isotonic(fresh[i]) == doctest::Approx(want.at("isotonic_new")[i]).epsilon(1e-12));
    }
    for (std::size_t i = 0; i < scores.size(); ++i)
      CHECK(isotonic(scores[i]) == doctest::Approx(want.at("isotonic_fit")[i]).epsilon(1e-12));
    CHECK(brier_score(scores, truth) == doctest::Approx(want.at("measures")[0]).epsilon(1e-12));
    CHECK(calibration_error(scores, truth) == doctest::Approx(want.at("measures")[1]).epsilon(1e-12));
  }
  CHECK(cases == 12);
}

TEST_CASE("fit_calibration: better probabilities of new scores; cross-fitted ones say how good") {
  const Overconfident fit(2000, 1), fresh(4000, 2);
  const double raw = calibration_error(fresh.scores, fresh.labels);
  for (const auto kind : {CalibrationKind::platt, CalibrationKind::isotonic}) {
    const auto c = fit_calibration(kind, fit.scores, fit.labels);
    const auto p = calibrated(c, fresh.scores);
    CHECK(calibration_error(p, fresh.labels) < 0.5 * raw);
    CHECK(brier_score(p, fresh.labels) < brier_score(fresh.scores, fresh.labels));
    const double honest = brier_score(cross_fitted(kind, fit.scores, fit.labels), fit.labels);
    CHECK(honest > brier_score(calibrated(c, fit.scores), fit.labels));
    CHECK(honest == doctest::Approx(brier_score(p, fresh.labels)).epsilon(0.08));
  }
}

TEST_CASE("fit_calibration: scores outside of [0, 1] are taken as they are") {
  const std::vector<double> scores{-2, -1, 0.5, 3, 4};
  const std::vector<std::int32_t> truth{0, 1, 0, 1, 1};
  const auto c = fit_calibration(CalibrationKind::platt, scores, truth);
  CHECK_FALSE(c.odds);
  CHECK(c(4) == c.platt(4));
  CHECK(log_odds(0.75) == doctest::Approx(std::log(3)));
  CHECK(log_odds(1) == doctest::Approx(-log_odds(0)));
}

TEST_CASE("cross_fitted: an example does not see its own label; the seed draws the folds") {
  const Overconfident data(40, 3);
  const auto p = cross_fitted(CalibrationKind::isotonic, data.scores, data.labels, 40);  // one by one
  for (const std::size_t i : {std::size_t{0}, std::size_t{17}, std::size_t{39}}) {
    std::vector<double> scores = data.scores;
    std::vector<std::int32_t> truth = data.labels;
    scores.erase(scores.begin() + static_cast<std::ptrdiff_t>(i));
    truth.erase(truth.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(p[i] == fit_calibration(CalibrationKind::isotonic, scores, truth)(data.scores[i]));
  }
  const auto a = cross_fitted(CalibrationKind::platt, data.scores, data.labels, 5, 1);
  CHECK(a == cross_fitted(CalibrationKind::platt, data.scores, data.labels, 5, 1));
  CHECK(a != cross_fitted(CalibrationKind::platt, data.scores, data.labels, 5, 2));
}

TEST_CASE("Calibration: JSON and back") {
  const Overconfident data(60, 4);
  for (const auto kind : {CalibrationKind::platt, CalibrationKind::isotonic}) {
    const auto c = fit_calibration(kind, data.scores, data.labels);
    const auto again = parse_calibration(parse_json(to_json(c).dump(), "text"), "text");
    for (const double s : {0.0, 0.1, 0.5, 0.77, 1.0}) CHECK(again(s) == c(s));
  }
  const auto said = [](const char* text) { return error_message([&] { parse_calibration(parse_json(text, "c.json"), "c.json"); }); };
  CHECK(said("{}") == "c.json: the key 'kind' is missing");
  CHECK(said(R"({"kind": "beta"})") == "c.json: 'kind' is 'beta', expected one of: platt, isotonic");
  CHECK(said(R"({"kind": "platt", "odds": true, "slope": 1})") == "c.json: the key 'offset' is missing");
  const auto isotonic = [&](const char* scores, const char* probabilities) {
    return said(cat(R"({"kind": "isotonic", "scores": )", scores, R"(, "probabilities": )", probabilities, "}").c_str());
  };
  CHECK(isotonic("[]", "[]") == "c.json: 'scores' is empty, expected a list of numbers");
  CHECK(isotonic("[0, 1]", "[0, 2]") == "c.json: 'probabilities' has 2, expected numbers from 0 to 1");
  CHECK(isotonic("[0, 1]", "[1, 0]") == "c.json: 'probabilities' falls, expected ascending numbers");
  CHECK(isotonic("[0, 1]", "[0]") == "c.json: there are 2 scores and 1 probabilities");
  CHECK(isotonic("[0, 0]", "[0, 1]") == "c.json: 'scores' has a number twice");
}

TEST_CASE("score_calibration: bad input") {
  const std::vector<double> one{0.5};
  const std::vector<std::int32_t> label{1};
  CHECK(error_message([&] { cross_fitted(CalibrationKind::platt, one, label); }) == "stratified_folds: 1 example, expected at least 2");
  const std::vector<double> two{0.5, 0.6};
  const std::vector<std::int32_t> truth{1, 0};
  CHECK(error_message([&] { cross_fitted(CalibrationKind::platt, two, truth, 1); }) ==
        "stratified_folds: the number of folds is 1, expected at least 2");
  CHECK(error_message([&] { brier_score({}, {}); }) == "brier_score: there are no examples");
}
