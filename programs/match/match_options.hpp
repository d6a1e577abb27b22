// SPDX-License-Identifier: MIT
// The options of `match`.
#pragma once

#include <filesystem>
#include <lexformer/io/json.hpp>
#include <lexformer/tables/matcher.hpp>
#include <memory>
#include <set>

#include "cli/calibration_file.hpp"
#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/origin.hpp"
#include "cli/trained_model.hpp"
#include "match/candidate_flags.hpp"
#include "match/match_page.hpp"

namespace program {
/// How `match` chooses the words that it shows.
enum class WordsBy { similarity, attention };
}  // namespace program
template <>
inline constexpr lexformer::Named<program::WordsBy> lexformer::names_of<program::WordsBy>[] = {{"similarity", program::WordsBy::similarity},
                                                                                               {"attention", program::WordsBy::attention}};

namespace program {

/// How a pair is decided: lexformer::DecisionOptions, and the files by which it is chosen.
struct DecisionFlags : lx::DecisionOptions {
  std::vector<std::string> validation, skip_labels;
  std::string calibration_file;
  bool no_cascade = false;

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
    visit_skip_label(v, skip_labels).needs("validation");
    v.number("min_precision", min_precision, lx::bounds::share,
             "the threshold is the least one with this precision on the pairs of --validation, e.g. 0.98")
        .needs("validation")
        .excludes("threshold");
    v.number("min_recall", min_recall, lx::bounds::share,
             "the threshold is the highest one with this recall on the pairs of --validation, e.g. 0.95")
        .needs("validation")
        .excludes("threshold")
        .excludes("min_precision");
    v.choice("calibrate", calibrate, "how probabilities are fitted; platt: two numbers; isotonic: a step function, for 1,000 pairs or more")
        .needs("validation");
    v.flag("model_alone", model_alone, "decide by the model's score and threshold, without the evidence of the candidate search")
        .needs("validation")
        .needs("model");
    v.flag("no_cascade", no_cascade, "let the model score every candidate, also those that are clear by the search for candidates")
        .needs("validation")
        .needs("model");
    v.input("calibration", calibration_file, "a calibration that evaluate --calibration saved, in place of --validation")
        .shown_as("F.json")
        .excludes("validation")
        .needs("model");
  }
};

struct MatchFlags {
  RecordFlags records;
  CandidateFlags candidates;
  DecisionFlags decision;
  KnowledgeOptions knowledge;
  LovePlugFlags love;
  Compute compute;
  std::string model, out, update, changes, report, shard = "1/1";
  std::size_t top = 0, words = 0, batch = 32;
  WordsBy words_by = WordsBy::similarity;
  bool text = false, matches_only = false, updatable = false, resume = false, overwrite = false, quiet = false;

  void visit(OptionVisitor& v) {
    records.visit_arguments(v, true);
    v.input("model", model,
            "a trained model: a .lxf file, or a folder with one or with a HuggingFace classifier; without it, two records match if neither "
            "has a more similar candidate")
        .shown_as("M.lxf");
    v.output("out", out, "file to write: .csv or .jsonl; it grows as F.part and gets its name at the end")
        .required()
        .shown_as("F.csv")
        .writes({".part", ".part.json", ".state"});
    candidates.visit(v, "candidates");
    v.find("blocking")
        ->only_if(candidates.source() != lx::CandidateSource::none || !model.empty(), "none needs --model: it has no similarities");
    decision.visit(v);
    v.size("top", top, 0, "write at most this many pairs of each left record, those with the largest scores; 0 = all candidates");
    v.flag("matches_only", matches_only, "write only the pairs that reach the threshold");
    v.size("words", words, 0, "write up to this many pairs of words that the model compares; 0 = no column").needs("model");
    v.choice("words_by", words_by,
             "different words that the model's LEA sees as the most similar, or similar and equal words by similarity x attention "
             "between them, which takes one more forward pass for each pair")
        .needs("words");
    v.flag("text", text, "also write both texts");
    v.text("shard", shard, "do only the part I of N of the left records, e.g. 2/4; the parts together are the whole");
    v.output("report", report,
             "also write a page that explains the result to people who decide: counts, how sure, examples with marked words; .html")
        .shown_as("F.html")
        .excludes("resume")
        .excludes("shard");
    v.flag("updatable", updatable, "also write F.csv.state, with which a later run can --update the file")
        .excludes("encoder")
        .excludes("shard");
    v.input(
         "update", update,
         "matches of an earlier run with --updatable or --update and the same options: only new and changed records are matched, with its "
         "weights and decisions; --out gets all matches, and a state of its own")
        .shown_as("OLD.csv")
        .excludes("encoder")
        .excludes("shard");
    v.output("changes", changes, "with --update: write which matches are new or gone, and why; .csv").needs("update").shown_as("F.csv");
    v.flag("resume", resume,
           "continue a run that was interrupted, to the same bytes; does nothing if it was finished from the same inputs and options");
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

  std::unique_ptr<lx::Scorer> open_model() const {
    return model.empty() ? nullptr : lx::open_scorer(model, compute, love.extras(knowledge.load()));
  }
  /// Errors (usage): the page or the list of changes has another ending than .html or .csv.
  void check_endings() const {
    if (!report.empty() && !lx::lower_case(report).ends_with(".html")) lx::fail_usage("--report", report, " must end in .html");
    if (!changes.empty() && !lx::lower_case(changes).ends_with(".csv")) lx::fail_usage("--changes", changes, " must end in .csv");
  }
  /// Whether the run leaves a state for the next one.
  bool keeps_state() const { return updatable || !update.empty(); }
  /// The library's options, without the encoder of the candidates. scorer: the model, or null.
  lx::MatchOptions settings(const lx::Scorer* scorer) const {
    lx::MatchOptions o{
        .decision = static_cast<const lx::DecisionOptions&>(decision), .shard = lx::Shard::parse(shard), .top = top, .batch = batch};
    o.candidates.source = candidates.source();
    o.keep_state = keeps_state();
    o.decision.cascade = !decision.no_cascade;
    if (scorer == nullptr) return o;
    o.model = model;
    if (!decision.calibration_file.empty()) {
      const auto file = CalibrationFile::load(decision.calibration_file);
      o.decision.calibration = file.calibration;
      o.decision.usual = file.threshold;
    } else if (decision.validation.empty()) {
      o.decision.calibration = scorer->calibration;
    }
    return o;
  }
  /// Reads the tables; as texts they are what the model reads, if there is one.
  std::shared_ptr<const lx::RecordPairs> load_records(const lx::Scorer* scorer) const {
    if (scorer == nullptr) return records.load(records.columns());
    auto pairs = records.load(records.columns(), scorer->metadata, model);
    scorer->check_texts(pairs->left_texts(), pairs->left().path);
    scorer->check_texts(pairs->right_texts(), pairs->right().path);
    return pairs;
  }
  MatchPageOptions page_options(const lx::LabelledPairs* labelled) const {
    MatchPageOptions page{.model = !model.empty(), .top = top};
    for (std::size_t i = 0; labelled != nullptr && i < labelled->labels.size(); ++i)
      page.typical = page.typical && !labelled->is_selected(i);
    for (const auto& file : decision.validation) page.fitted_to += (page.fitted_to.empty() ? "the labelled pairs of " : ", ") + file;
    if (page.fitted_to.empty() && model.empty()) page.fitted_to = "the similarities of all compared pairs, without labels";
    if (page.fitted_to.empty())
      page.fitted_to = decision.calibration_file.empty() ? "labelled pairs of the model's training"
                                                         : "the labelled pairs behind " + decision.calibration_file;
    return page;
  }
  std::vector<std::string> label_names(const lx::Scorer* scorer) const {
    const bool named = scorer != nullptr && scorer->task().kind == lx::TaskKind::classification && scorer->task().label_names.size() == 2;
    return named ? scorer->task().label_names : std::vector<std::string>{"0", "1"};
  }
  /// With --resume: whether the output was finished from the same inputs and options. Says so.
  bool is_finished(const Origin& origin) const {
    std::string changed;
    const bool finished = resume && !lx::path_exists(out + ".part") && origin.made(out, changed) &&
                          (!keeps_state() || lx::path_exists(out + ".state")) && (changes.empty() || lx::path_exists(changes));
    if (!quiet && finished) std::cerr << out << ": already finished; without --resume it is made anew\n";
    if (!quiet && !changed.empty()) std::cerr << out << ": was made with another " << changed << ", so it is made anew\n";
    return finished;
  }
  /// All that determines what is written; a resumed run must have the same.
  lx::Json identity(const lx::MatchStream& stream) const {
    lx::Json all = stream.identity();
    all["model"] = model.empty() ? lx::Json() : lx::Json(checksum_of_input(model));
    all["love"] = love.used() ? love.json() : lx::Json();
    lx::Json parses = lx::Json::array();
    for (const auto& file : knowledge.parses) parses.push_back(lx::crc32(lx::read_file(file)));
    all["knowledge"] = {parses, knowledge.wordnet};
    all["top"] = top;
    all["matches_only"] = matches_only;
    all["words"] = words;
    all["words_by"] = lx::name_of(words_by);
    all["text"] = text;
    all["batch"] = batch;
    all["precision"] = lx::name_of(compute.precision);
    all["int8_skip"] = compute.int8_skip;
    if (!update.empty()) all["update"] = checksum_of_input(update + ".state");
    return all;
  }
};

}  // namespace program
