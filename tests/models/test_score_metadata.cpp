// SPDX-License-Identifier: MIT
#include "lexformer/models/score_metadata.hpp"

#include <cmath>

#include "models/tiny.hpp"

using namespace lexformer;

TEST_CASE("threshold and calibration: written to the metadata of a file and read from it") {
  ModelFile file;
  CHECK_FALSE(stored_threshold(file));
  CHECK_FALSE(stored_calibration(file));
  write_score_metadata(std::nullopt, std::nullopt, file);
  CHECK(file.metadata.empty());
  const Calibration steps{.kind = CalibrationKind::isotonic, .isotonic = {{0.1, 0.7}, {0, 1}}};
  for (const auto& calibration : {Calibration{}, Calibration{.odds = false, .platt = {1.0 / 3, -0.1}}, steps}) {
    write_score_metadata(0.1, calibration, file);
    CHECK(stored_threshold(file) == 0.1);
    CHECK(stored_calibration(file) == calibration);
  }
  expect_error(
      ErrorKind::numeric, [&] { write_score_metadata(HUGE_VAL, std::nullopt, file); }, "the threshold is inf");
}

TEST_CASE("threshold and calibration: what a file holds is none") {
  const auto refused = [](const char* key, const char* text, const std::string& message) {
    auto file = test::tiny_model<float>().file();
    file.metadata[key] = text;
    expect_error(
        ErrorKind::file, [&] { CrossEncoder<float> model(file); }, file.path + ": " + message);
    CHECK_NOTHROW(Encoder<float>(file, std::nullopt));  // an encoder has no scores
  };
  refused("lexformer.threshold", "high", "lexformer.threshold: not JSON");
  refused("lexformer.threshold", "\"0.5\"", "lexformer.threshold is '\"0.5\"', expected a number");
  refused("lexformer.calibration", "{}", "lexformer.calibration: the key 'kind' is missing");
}
