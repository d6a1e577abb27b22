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
  std::uint32_t number = 1, count = 1;

  static Shard parse(const std::string& text) {
    Shard s;
    const std::size_t slash = text.find('/');
    const bool numbers = slash != text.npos && CLI::detail::lexical_cast(text.substr(0, slash), s.number) &&
                         CLI::detail::lexical_cast(text.substr(slash + 1), s.count);
    if (!numbers || s.number == 0 || s.number > s.count)
      lx::fail_usage("--shard", lx::in_quotes(text), " is not I/N with I from 1 to N, e.g. 2/4");
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

  void add_to(CLI::App& app) {
    auto* fixed =
        app.add_option("--threshold", threshold, "least score of a match")
            ->default_str(
                "the one with the best F1 on --validation; without it or with --model-alone, the model's, chosen on its validation "
                "data; else 0.5")
            ->check(finite());
    auto* labelled = app.add_option("--validation", validation,
                                    "files of pairs of ids with a label, which were not trained on: by them the score combines the "
                                    "model's (column model) with the evidence of the candidate search, the threshold is chosen, and "
                                    "the column probability is calibrated")
                         ->type_name("F.csv");
    auto* least_precision = app.add_option("--min-precision", precision,
                                           "the threshold is the least one with this precision on the pairs of --validation, e.g. 0.98")
                                ->check(CLI::Range(0.0, 1.0))
                                ->needs(labelled)
                                ->excludes(fixed);
    app.add_option("--min-recall", recall, "the threshold is the highest one with this recall on the pairs of --validation, e.g. 0.95")
        ->check(CLI::Range(0.0, 1.0))
        ->needs(labelled)
        ->excludes(fixed)
        ->excludes(least_precision);
    add_choice(app, "--calibrate", kind,
               "how probabilities are fitted; platt: two numbers; isotonic: a step function, for 1,000 pairs or more")
        ->needs(labelled);
    app.add_flag("--model-alone", model_alone, "decide by the model's score and threshold, without the evidence of the candidate search")
        ->needs(labelled);
    app.add_flag("--no-cascade", no_cascade, "let the model score every candidate, also those that are clear by the search for candidates")
        ->needs(labelled);
    app.add_option("--calibration", calibration, "a calibration that evaluate --calibration saved, in place of --validation")
        ->excludes(labelled)
        ->type_name("F.json");
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
  /// Refuses the options that need a model.
  void check_without_model() const {
    if (love.used()) lx::fail_usage("--love", "needs --model");
    if (!knowledge.parses.empty()) lx::fail_usage("--parses", "needs --model");
    if (!knowledge.wordnet.empty()) lx::fail_usage("--wordnet", "needs --model");
    if (decision.model_alone) lx::fail_usage("--model-alone", "needs --model");
    if (decision.no_cascade) lx::fail_usage("--no-cascade", "needs --model");
    if (candidates.source() == CandidateSource::none) lx::fail_usage("--blocking none", "needs --model: it has no similarities");
    if (!decision.calibration.empty()) lx::fail_usage("--calibration", "needs --model, whose scores it was fitted to");
  }
  void add_to(CLI::App& app) {
    records.add_arguments(app, true);
    auto* trained = app.add_option("--model", model,
                                   "a trained model: a .lxf file, or a folder with one or with a HuggingFace classifier; without it, two "
                                   "records match if neither has a more similar candidate")
                        ->type_name("M.lxf");
    app.add_option("--out", out, "file to write: .csv or .jsonl; it grows as F.part and gets its name at the end")
        ->required()
        ->type_name("F.csv");
    candidates.add_to(app, "--candidates");
    decision.add_to(app);
    app.add_option("--top", top, "write at most this many pairs of each left record, those with the largest scores; 0 = all candidates")
        ->check(non_negative())
        ->capture_default_str();
    app.add_flag("--matches-only", matches_only, "write only the pairs that reach the threshold");
    auto* shown = app.add_option("--words", words, "write up to this many pairs of words that the model compares; 0 = no column")
                      ->check(non_negative())
                      ->needs(trained)
                      ->capture_default_str();
    add_choice(app, "--words-by", words_by,
               "different words that the model's LEA sees as the most similar, or similar and equal words by similarity x attention "
               "between them, which takes one more forward pass for each pair")
        ->needs(shown);
    app.add_flag("--text", text, "write both texts, too");
    app.add_option("--shard", shard, "do only the part I of N of the left records, e.g. 2/4; the parts together are the whole")
        ->capture_default_str();
    auto* resumes =
        app.add_flag("--resume", resume, "continue a run that was interrupted, to the same bytes; does nothing if it is finished");
    app.add_flag("--overwrite", overwrite, "discard what an interrupted run has written")->excludes(resumes);
    app.add_flag("--quiet", quiet, "no progress");
    app.add_option("--batch", batch, "pairs per batch")->check(positive())->capture_default_str();
    knowledge.add_to(app);
    love.add_to(app);
    add_compute(app, compute, true);
    add_threads(app);
  }
};

}  // namespace program
