// SPDX-License-Identifier: MIT
// `evaluate --valid`: a calibration and a threshold from validation data, and how they hold on test data.
#pragma once

#include "cli/calibration_file.hpp"

namespace program {

class CalibratedEvaluation {
 public:
  void visit(OptionVisitor& v) {
    v.input(
        "valid", valid_,
        "labelled examples that the model was not trained on: probabilities are calibrated on them, and errors before and after printed");
    v.choice("calibrate", kind_, "how probabilities are fitted; platt: two numbers; isotonic: a step function, for 1,000 examples or more")
        .needs("valid");
    v.number("min_precision", precision_, lx::bounds::share, "also choose the least threshold with this precision on --valid, e.g. 0.98")
        .needs("valid");
    v.output("calibration", out_, "file to save the calibration to, and the threshold of --min-precision, for match --calibration")
        .shown_as("F.json")
        .needs("valid");
  }
  bool used() const { return !valid_.empty(); }
  const std::string& valid() const { return valid_; }

  /// Errors (file): no threshold has the wanted precision.
  void fit(const std::vector<lx::PairExample>& examples, const std::vector<double>& scores) {
    const auto labels = lx::labels_of(examples);
    file_.calibration = lx::fit_calibration(kind_, scores, labels);
    if (precision_) file_.threshold = lx::precise_threshold(valid_, scores, labels, *precision_);
    add(valid_, scores, labels, lx::cross_fitted(kind_, scores, labels), ", cross-fitted");
    if (!out_.empty()) file_.save(out_);
  }
  void test(const std::string& name, const std::vector<lx::PairExample>& examples, const std::vector<double>& scores) {
    add(name, scores, lx::labels_of(examples), calibrated(file_.calibration, scores), "");
  }
  void print(std::ostream& out) const {
    std::size_t width = 0;
    for (const Row& row : rows_) width = std::max(width, row.name.size() + row.how.size());
    StringWriter text;
    text << "\n"
         << std::left << std::setw(static_cast<int>(width) + 2) << lx::cat("calibration: ", lx::name_of(kind_)) << std::right
         << std::setw(12) << "error, %" << std::setw(9) << "after" << std::setw(9) << "Brier" << std::setw(9) << "after";
    if (precision_) text << std::setw(12) << "precision" << std::setw(9) << "recall";
    text << '\n' << std::fixed;
    for (const Row& row : rows_) {
      text << std::left << std::setw(static_cast<int>(width) + 2) << row.name + row.how << std::right << std::setprecision(2)
           << std::setw(12) << 100 * row.error << std::setw(9) << 100 * row.error_after << std::setprecision(4) << std::setw(9) << row.brier
           << std::setw(9) << row.brier_after;
      if (precision_)
        text << std::setprecision(1) << std::setw(12) << 100 * row.counts.precision() << std::setw(9) << 100 * row.counts.recall();
      text << '\n';
    }
    if (precision_)
      text << std::defaultfloat << std::setprecision(6) << "threshold for " << lx::percent(*precision_)
           << " precision: " << *file_.threshold << '\n';
    out << text.str();
  }
  lx::Json json() const {
    lx::Json out = {{"calibration", lx::to_json(file_.calibration)}, {"files", lx::Json::array()}};
    if (file_.threshold) out["threshold"] = *file_.threshold;
    for (const Row& row : rows_) {
      lx::Json entry = {{"file", row.name},
                        {"error", row.error},
                        {"error_after", row.error_after},
                        {"brier", row.brier},
                        {"brier_after", row.brier_after}};
      if (precision_) entry.update({{"precision", row.counts.precision()}, {"recall", row.counts.recall()}});
      out["files"].push_back(entry);
    }
    return out;
  }

 private:
  struct Row {
    std::string name, how;
    double error, error_after, brier, brier_after;
    lx::BinaryCounts counts;  // at the threshold of --min-precision
  };

  void add(const std::string& name, const std::vector<double>& scores, const std::vector<std::int32_t>& labels,
           const std::vector<double>& after, const char* how) {
    rows_.push_back({name, how, lx::calibration_error(scores, labels), lx::calibration_error(after, labels),
                     lx::brier_score(scores, labels), lx::brier_score(after, labels),
                     file_.threshold ? lx::count_binary(scores, labels, *file_.threshold) : lx::BinaryCounts()});
  }

  std::string valid_, out_;
  lx::CalibrationKind kind_ = lx::CalibrationKind::platt;
  std::optional<double> precision_;
  CalibrationFile file_;
  std::vector<Row> rows_;
};

}  // namespace program
