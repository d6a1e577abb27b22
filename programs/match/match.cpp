// SPDX-License-Identifier: MIT
// Matches the records of two tables, or finds duplicates within one: candidates, scores of a trained model or of their similarity,
// decisions.
#include <filesystem>
#include <set>

#include "cli/part_file.hpp"
#include "match/attended_words.hpp"
#include "match/match_cascade.hpp"
#include "match/match_progress.hpp"
#include "match/match_writer.hpp"

namespace lx = lexformer;

namespace {

/// The candidates of one left record, which the model scores in batches of their own: so the score of a pair does not depend on shards,
/// on where a run was interrupted, or on threads.
struct Group {
  std::size_t begin, end;
};

std::uint32_t checksum(std::span<const std::string> texts, std::uint32_t sum = 0) {
  for (const auto& text : texts) sum = lx::crc32("\n", lx::crc32(text, sum));
  return sum;
}
std::uint32_t checksum(const lx::RecordTable& table, const std::vector<std::string>& texts) {
  std::uint32_t sum = checksum(texts);
  for (const auto& record : table.records) sum = lx::crc32("\n", lx::crc32(record.id, sum));
  return sum;
}
/// Of a model: its file, the model.lxf of its folder, or all files of a folder of HuggingFace.
std::uint32_t checksum_of_model(const std::string& path) {
  if (!lx::is_folder(path)) return lx::crc32(lx::read_file(path));
  if (lx::path_exists(path + "/model.lxf")) return lx::crc32(lx::read_file(path + "/model.lxf"));
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_regular_file()) files.insert(entry.path().string());
  std::uint32_t sum = 0;
  for (const auto& file : files) sum = lx::crc32(lx::read_file(file), sum);
  return sum;
}
lx::Json checksums(const std::vector<std::string>& files) {
  lx::Json all = lx::Json::array();
  for (const auto& file : files) all.push_back(lx::crc32(lx::read_file(file)));
  return all;
}

/// The model's scores of some candidates. Errors (numeric): one is not finite; where, first: of the message.
std::vector<double> score(const lx::Scorer& model, std::size_t batch, const lx::RecordPairs& records, const program::Evidence& evidence,
                          const std::vector<std::size_t>& numbers, const std::string& where, std::size_t first) {
  if (numbers.empty()) return {};
  std::vector<lx::PairExample> examples;
  for (const std::size_t i : numbers) {
    const auto& candidate = evidence.candidates[i];
    examples.push_back({records.left_texts()[candidate.left], records.right_texts()[candidate.right]});
  }
  const auto y = model.logits(examples, batch);
  lx::require_finite(y, where, "pair", first);
  return model.scores_of(y);
}

/// Decides the candidates of one left record: the clear ones by the cascade, the others by the model; without a model (null), all by their
/// similarity.
std::vector<program::DecidedPair> decide_record(const program::MatchOptions& o, const lx::Scorer* model, const lx::RecordPairs& records,
                                                const program::Decisions& decisions, const program::Evidence& evidence, Group group) {
  std::vector<program::DecidedPair> decided(group.end - group.begin);
  if (model == nullptr) {
    for (std::size_t i = group.begin; i < group.end; ++i) decided[i - group.begin] = decisions.of(evidence.similarity(i), evidence.of(i));
    return decided;
  }
  std::vector<std::size_t> asked;
  for (std::size_t i = group.begin; i < group.end; ++i) {
    const auto cheap = evidence.of(i);
    if (const auto clear = decisions.cascade ? decisions.cascade->decide(cheap) : std::nullopt)
      decided[i - group.begin] = program::Decisions::of_cascade(decisions.cascade->probability(cheap), *clear);
    else
      asked.push_back(i);
  }
  const auto scores = score(*model, o.batch, records, evidence, asked, o.model, group.begin + 1);
  for (std::size_t k = 0; k < asked.size(); ++k) decided[asked[k] - group.begin] = decisions.of(scores[k], evidence.of(asked[k]));
  return decided;
}

std::unique_ptr<lx::Scorer> load_model(const program::MatchOptions& o) {
  auto model = lx::open_scorer(o.model, o.compute, o.love.extras(o.knowledge.load()));
  const lx::CrossEncoderOptions& kind = model->options();
  if (kind.texts != 2) lx::fail_usage("--model", o.model, " reads single texts, not pairs");
  if (kind.labels > 2)
    lx::fail_usage("--model", o.model, " has ", kind.labels, " classes; match needs a model of two, or one that gives numbers");
  if (kind.labels == 1 && !o.chooses_threshold())
    lx::fail_usage("--threshold",
                   "must be given, or --validation without --model-alone: the model has no threshold, since it gives numbers");
  return model;
}

int match(program::MatchOptions o) {
  const auto shard = program::Shard::parse(o.shard);
  program::output_format(o.out);
  if (o.resume && program::PartFile::is_finished(o.out)) {
    if (!o.quiet) std::cerr << o.out << ": already finished; without --resume it is made anew\n";
    return 0;
  }
  std::unique_ptr<lx::Scorer> model;
  if (!o.model.empty()) {
    if (!o.decision.calibration.empty()) o.decision.saved = program::CalibrationFile::load(o.decision.calibration);
    model = load_model(o);
  }
  const bool combine =
      model && !o.decision.model_alone && !o.decision.validation.empty() && o.candidates.source() != program::CandidateSource::none;
  const bool odds = model && (model->options().labels == 2 || model->options().activation == lx::ScoreActivation::sigmoid);
  o.check_threshold(!model || combine || odds);
  program::PartFile file(o.out, o.resume, o.overwrite);
  if (model && !o.decision.saved && o.decision.validation.empty() && !model->calibration.empty())
    o.decision.saved = {lx::parse_calibration(model->calibration, o.model + ": lexformer.calibration"), {}};
  const auto records = o.records.load(o.records.columns(), model ? model->records : "", o.model);
  if (model) {
    model->check_texts(records->left_texts(), records->left().path);
    model->check_texts(records->right_texts(), records->right().path);
  }
  if (!model && records->one_table() && !o.decision.threshold && o.decision.validation.empty())
    lx::fail_usage("--threshold", "must be given, or --validation: without --model the scores within one table are cosines");
  std::optional<program::ValidationPairs> valid;
  if (!o.decision.validation.empty())
    valid = program::ValidationPairs::read(
        o.decision.validation, records,
        model && model->options().task == lx::Task::classification ? model->options().label_names : std::vector<std::string>());

  const std::size_t left_rows = records->left().records.size(), right_rows = records->right().records.size();
  program::MatchProgress progress(std::cerr, !o.quiet, isatty(2) != 0);
  progress.note(records->one_table() ? program::counted(left_rows, "record", "records")
                                     : lx::cat(left_rows, " x ", right_rows, " records"));
  double pairs = 0;
  std::vector<lx::Candidate> all;
  {
    const auto texts = program::blocking_texts(*records);
    auto flags = o.candidates;
    flags.options().progress = [&](double done) { progress.searching(done); };
    const auto search = flags.search(texts.first, texts.second, records->one_table());
    all = search.find();
    pairs = search.pairs();
  }
  progress.note(lx::cat(program::counted(all.size(), "candidate", "candidates"), " of ", std::fixed, std::setprecision(0), pairs,
                        pairs == 1 ? " pair" : " pairs"));
  program::Evidence evidence(std::move(all), records->one_table());
  const auto& candidates = evidence.candidates;
  const auto note = [&](const std::string& text) { progress.note(text); };
  if (valid) {
    valid->keep_candidates(evidence);
    if (model) {
      valid->scores = score(*model, o.batch, *records, evidence, valid->candidates, valid->name, 1);
    } else {
      for (const std::size_t i : valid->candidates) valid->scores.push_back(evidence.similarity(i));
    }
  }
  auto decisions = program::decide(o.decision, model ? model->threshold.value_or(0.5) : 0.5, valid ? &*valid : nullptr,
                                   combine ? &evidence : nullptr, odds, note);
  if (valid && model && !o.decision.no_cascade) decisions.cascade = program::find_cascade(*valid, evidence, decisions, note);
  evidence.keep_if([&](const auto& c) { return shard.has(records->left().records[c.left].id); });
  std::vector<Group> groups;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i == 0 || candidates[i].left != candidates[i - 1].left) groups.push_back({i, i});
    groups.back().end = i + 1;
  }

  const auto lexical = o.words > 0 ? program::lexical_options(model->config()) : lx::LexicalOptions();
  const auto words = [&](const std::string& left, const std::string& right) {
    return o.words_by == program::WordsBy::attention ? program::attended_words(*model, left, right, lexical, o.words)
                                                     : program::similar_words(model->encode(left, right), lexical, o.words);
  };
  const program::MatchWriter writer(o, *records, decisions.combined.has_value(), decisions.calibration.has_value(),
                                    decisions.cascade.has_value(), words);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& c = candidates[i];
    sum = lx::crc32(lx::cat(c.left, " ", c.right, " ", c.score, " ", evidence.leads[i], "\n"), sum);
  }
  file.begin({{"left", checksum(records->left(), records->left_texts())},
              {"right", checksum(records->right(), records->right_texts())},
              {"candidates", sum},
              {"model", model ? lx::Json(checksum_of_model(o.model)) : lx::Json()},
              {"love", o.love.used() ? o.love.json() : lx::Json()},
              {"knowledge", {checksums(o.knowledge.parses), o.knowledge.wordnet}},
              {"decisions", decisions.json()},
              {"top", o.top},
              {"matches_only", o.matches_only},
              {"words", o.words},
              {"words_by", lx::name_of(o.words_by)},
              {"text", o.text},
              {"batch", o.batch},
              {"precision", lx::name_of(o.compute.precision)},
              {"int8_skip", o.compute.int8_skip}});
  if (file.bytes() == 0 && file.done() == 0) file.append(writer.header(), 0);
  progress.scoring(candidates.size(), groups.size(), file.done() < groups.size() ? groups[file.done()].begin : candidates.size(),
                   file.done());
  program::catch_signals();
  std::size_t matches = 0;
  constexpr std::size_t chunk = 512;  // pairs that are written at once, or more
  for (std::size_t next = file.done(); next < groups.size();) {
    program::StringWriter lines;
    const std::size_t first = next;
    while (next < groups.size() && program::interrupted == 0 && (next == first || groups[next - 1].end - groups[first].begin < chunk)) {
      const auto of_row = std::span<const lx::Candidate>(candidates).subspan(groups[next].begin, groups[next].end - groups[next].begin);
      const auto decided = decide_record(o, model.get(), *records, decisions, evidence, groups[next]);
      matches += writer.write(lines, of_row, decided);
      progress.scored(groups[next].end, next + 1);
      ++next;
    }
    file.append(lines.str(), next);
    if (program::interrupted != 0 && next < groups.size()) {
      progress.end();
      std::cerr << "interrupted after " << next << " of " << groups.size() << " left records; saved in " << o.out
                << ".part, continue with --resume\n";
      return 130;
    }
  }
  file.finish();
  progress.end();
  if (!o.quiet)
    std::cerr << o.out << ": " << program::counted(candidates.size(), "pair", "pairs") << " scored, "
              << program::counted(matches, "match", "matches") << " at threshold " << decisions.threshold
              << (o.resume ? " since the run was resumed" : "") << "\n";
  return 0;
}

class Match final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    options_.visit(v);
    visit_threads(v);
  }
  int run() override { return match(options_); }

 private:
  program::MatchOptions options_;
};

const program::Registered<Match> registered{
    "match", program::Group::match, "matches the records of two tables, or finds duplicates within one",
    "Matches two tables of records, or finds duplicates within one: finds candidates, scores them with a trained model, or by their "
    "similarity alone, and writes ids, scores and decisions. Records become texts as in the model's training unless other options are "
    "given."};

}  // namespace
