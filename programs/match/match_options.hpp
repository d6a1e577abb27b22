// SPDX-License-Identifier: MIT
// The options of `match`.
#pragma once

#include "cli/calibration_file.hpp"
#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "match/candidates.hpp"

namespace program {
/// How `match` chooses the words that it shows.
enum class WordsBy { similarity, attention };
}  // namespace program
template <>
inline constexpr lexformer::Named<program::WordsBy> lexformer::names_of<program::WordsBy>[] = {{"similarity", program::WordsBy::similarity},
                                                                                               {"attention", program::WordsBy::attention}};

namespace program {

/// --shard i/n: the left records whose hash is i - 1 modulo n. It depends on the id alone, so the shards of any tables are disjoint.
struct Shard {
  std::size_t number = 1, count = 1;

  static Shard parse(const std::string& text) {
    const std::size_t slash = text.find('/');
    const Shard s{whole_number(text.substr(0, slash)).value_or(0),
                  slash == text.npos ? 0 : whole_number(text.substr(slash + 1)).value_or(0)};
    if (s.number == 0 || s.number > s.count) lx::fail_usage("--shard", lx::in_quotes(text), " is not I/N with I from 1 to N, e.g. 2/4");
    return s;
  }
  bool has(const std::string& id) const { return lx::fnv1a(id) % count == number - 1; }
};

/// How a pair is decided: a threshold, or what it is chosen and calibrated by.
struct DecisionOptions {
  std::optional<double> threshold, precision, recall;
  std::vector<std::string> validation;
  std::string calibration;
  std::optional<CalibrationFile> saved{};  // of --calibration, or of the model
  lx::CalibrationKind kind = lx::CalibrationKind::platt;
  bool no_cascade = false, model_alone = false;

  void visit(OptionVisitor& v) {
    v.number("threshold", threshold, lx::bounds::any, "least score of a match")
        .default_text(
            "the one with the best F1 on --validation; without it or with --model-alone, the model's, chosen on its validation data; else "
            "0.5");
    v.inputs(
         "validation", validation,
         "files of pairs of ids with a label, which were not trained on: by them the score combines the model's (column model) with the "
         "evidence of the candidate search, the threshold is chosen, and the column probability is calibrated")
        .shown_as("F.csv");
    v.number("min_precision", precision, lx::bounds::share,
             "the threshold is the least one with this precision on the pairs of --validation, e.g. 0.98")
        .needs("validation")
        .excludes("threshold");
    v.number("min_recall", recall, lx::bounds::share,
             "the threshold is the highest one with this recall on the pairs of --validation, e.g. 0.95")
        .needs("validation")
        .excludes("threshold")
        .excludes("min_precision");
    v.choice("calibrate", kind, "how probabilities are fitted; platt: two numbers; isotonic: a step function, for 1,000 pairs or more")
        .needs("validation");
    v.flag("model_alone", model_alone, "decide by the model's score and threshold, without the evidence of the candidate search")
        .needs("validation")
        .needs("model");
    v.flag("no_cascade", no_cascade, "let the model score every candidate, also those that are clear by the search for candidates")
        .needs("validation")
        .needs("model");
    v.input("calibration", calibration, "a calibration that evaluate --calibration saved, in place of --validation")
        .shown_as("F.json")
        .excludes("validation")
        .needs("model");
  }
};

struct MatchOptions {
  RecordFlags records;
  CandidateFlags candidates;
  DecisionOptions decision;
  KnowledgeOptions knowledge;
  LovePlugFlags love;
  Compute compute;
  std::string model, out, shard = "1/1";
  std::size_t top = 0, words = 0, batch = 32;
  WordsBy words_by = WordsBy::similarity;
  bool text = false, matches_only = false, resume = false, overwrite = false, quiet = false;

  /// Refuses what needs no table to be refused. probabilities: whether the scores are from 0 to 1.
  void check_threshold(bool probabilities) const {
    if (probabilities && decision.threshold && !(*decision.threshold >= 0 && *decision.threshold <= 1))
      lx::fail_usage("--threshold", "is ", *decision.threshold, ", but the scores are from 0 to 1");
  }
  /// Whether the options say which score is a match.
  bool chooses_threshold() const {
    const DecisionOptions& d = decision;
    return d.threshold || d.precision || d.recall || (d.saved && d.saved->threshold) || (!d.validation.empty() && !d.model_alone);
  }
  void visit(OptionVisitor& v) {
    records.visit_arguments(v, true);
    v.input("model", model,
            "a trained model: a .lxf file, or a folder with one or with a HuggingFace classifier; without it, two records match if neither "
            "has a more similar candidate")
        .shown_as("M.lxf");
    v.output("out", out, "file to write: .csv or .jsonl; it grows as F.part and gets its name at the end").required().shown_as("F.csv");
    candidates.visit(v, "candidates");
    v.find("blocking")
        ->only_if(candidates.source() != CandidateSource::none || !model.empty(), "none needs --model: it has no similarities");
    decision.visit(v);
    v.size("top", top, 0, "write at most this many pairs of each left record, those with the largest scores; 0 = all candidates");
    v.flag("matches_only", matches_only, "write only the pairs that reach the threshold");
    v.size("words", words, 0, "write up to this many pairs of words that the model compares; 0 = no column").needs("model");
    v.choice("words_by", words_by,
             "different words that the model's LEA sees as the most similar, or similar and equal words by similarity x attention "
             "between them, which takes one more forward pass for each pair")
        .needs("words");
    v.flag("text", text, "write both texts, too");
    v.text("shard", shard, "do only the part I of N of the left records, e.g. 2/4; the parts together are the whole");
    v.flag("resume", resume, "continue a run that was interrupted, to the same bytes; does nothing if it is finished");
    v.flag("overwrite", overwrite, "discard what an interrupted run has written").excludes("resume");
    v.flag("quiet", quiet, "no progress");
    v.size("batch", batch, 1, "pairs per batch");
    const auto visit_extras = [&](OptionVisitor& o) {
      knowledge.visit(o);
      love.visit(o);
    };
    for (lx::Option& option : v.nested("", visit_extras)) option.needs("model");
    compute.visit(v, true);
  }
};

}  // namespace program
