// SPDX-License-Identifier: MIT
// The training of a tagger: its task, its table and card, and what a run writes.
#pragma once

#include <lexformer/metrics/entity_metrics.hpp>
#include <lexformer/train/trainer.hpp>

#include <iomanip>

#include "train/tagger_options.hpp"
#include "train/training.hpp"

namespace program {

using Sentences = std::vector<lx::TaggedSentence>;

/// The scores of tags that a model gives sentences which have tags.
inline lx::Json entity_scores(const Sentences& sentences, const std::vector<std::vector<std::string>>& found) {
  std::vector<std::vector<std::string>> gold;
  for (const auto& sentence : sentences) gold.push_back(sentence.tags);
  return lx::score_entities(gold, found).json();
}

/// The task for Trainer.
template <class T, class Dev, class Model>
struct TaggerTask {
  const TaggerOptions& o;
  Model& model;
  const Sentences& valid;
  typename Model::Data train, valid_data;
  lx::BatchPlan plan{};
  std::vector<std::vector<std::size_t>> rows{};  // of the batches in epoch plan.epoch

  TaggerTask(const TaggerOptions& options, Model& of_model, const Sentences& of_train, const Sentences& of_valid)
      : o(options), model(of_model), valid(of_valid), train(model.prepare(of_train, true)), valid_data(model.prepare(valid, false)) {
    plan = {.size = o.batch, .seed = o.seed, .order = o.order};
    if (train.size() == 0) lx::fail_file(o.train_file, "no word of its sentences has a token of the model; is its language another one?");
  }
  std::size_t batches() const { return (train.size() + o.batch - 1) / o.batch; }
  typename Model::Batch batch(std::uint32_t epoch, std::size_t number) {
    if (rows.empty() || plan.epoch != epoch) {
      plan.epoch = epoch;
      rows = lx::plan_batches(train.lengths, plan);
    }
    return model.batch(train, rows.at(number));
  }
  lx::BatchSize size(const typename Model::Batch& batch) const { return {batch.words.sequences(), batch.words.tokens()}; }
  double weights(const typename Model::Batch& batch) const { return model.weight(batch); }
  auto loss(const typename Model::Batch& batch, const lx::ForwardOptions& forward) const { return model.loss(batch, forward); }
  lx::Measurement evaluate() const {
    lx::Measurement m;
    const lx::Json scores = entity_scores(valid, lx::predict_tags(model, valid_data, valid, o.eval_batch));
    for (const char* key : {"precision", "recall", "f1", "accuracy"}) m.log[lx::cat("eval_", key)] = scores[key];
    m.value = scores["f1"].get<double>();
    m.text = lx::cat("f1 ", std::setprecision(3), 100 * *m.value);
    m.state = scores;
    return m;
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(lx::ModelFile::open(path)); }
};

using TaggerRows = std::vector<std::pair<std::string, lx::Json>>;  // name and scores

/// Prints one line for each row, and one for each type of entities below it.
inline void print_tagger_table(std::ostream& out, const TaggerRows& rows) {
  std::size_t width = 8;
  for (const auto& [name, scores] : rows) width = std::max(width, name.size() + 2);
  StringWriter text;
  text << std::left << std::setw(static_cast<int>(width)) << "" << std::right;
  for (const char* key : {"precision", "recall", "f1", "entities"}) text << std::setw(11) << key;
  text << "\n" << std::fixed << std::setprecision(1);
  const auto line = [&](const std::string& name, const lx::Json& scores) {
    text << std::left << std::setw(static_cast<int>(width)) << name << std::right;
    for (const char* key : {"precision", "recall", "f1"}) text << std::setw(11) << 100 * scores[key].get<double>();
    text << std::setw(11) << scores["entities"].get<std::size_t>() << "\n";
  };
  for (const auto& [name, scores] : rows) {
    line(name, scores);
    if (scores["types"].size() < 2) continue;
    for (const auto& [type, of_type] : scores["types"].items()) line("  " + type, of_type);
  }
  out << text.str();
}

/// results: as in all_results.json; data: files with their numbers of sentences; defaults: settings of a run without options.
inline std::string tagger_card(const TaggerOptions& o, const std::vector<std::string>& labels, const lx::Json& results,
                               const TaggerRows& rows, const std::vector<std::pair<std::string, std::size_t>>& data,
                               const lx::Json& defaults) {
  StringWriter card;
  card << "# A tagger of " << (labels.size() - 1) / 2 << " types of entities\n\n"
       << (o.with_bert() ? "An encoder, starting from `" + o.model + "`, with a linear layer over the first token of each word"
                         : std::string("A bidirectional LSTM over fixed word vectors"))
       << (o.with_bert() && !o.bert.crf ? "" : ", and a conditional random field") << ". " << results["parameters"]
       << " parameters, trained with lexformer " << LEXFORMER_VERSION << ", seed " << o.seed << ".\n\n```sh\n"
       << "lexformer tag --model model.lxf" << o.vectors.command()
       << " < words.txt > tags.tsv      # one word a line, an empty line after each sentence\n```\n\nTags:";
  for (const auto& label : labels) card << " `" << label << "`";
  card << "\n\n## Data\n\n| file | sentences |\n| --- | --- |\n";
  for (const auto& [file, size] : data) card << "| " << table_cell(file) << " | " << size << " |\n";
  card << "\n## Results\n\nEntities in percent, as seqeval counts them by default. The best model was chosen on the validation sentences "
          "(first "
          "row), so that row is optimistic.\n\n|  | precision | recall | f1 | entities |\n| --- | --- | --- | --- | --- |\n"
       << std::fixed << std::setprecision(1);
  for (const auto& [name, scores] : rows) {
    card << "| " << table_cell(name) << " |";
    for (const char* key : {"precision", "recall", "f1"}) card << " " << 100 * scores[key].get<double>() << " |";
    card << " " << scores["entities"] << " |\n";
  }
  card << changed_settings(results["settings"], defaults, {"model", "train", "valid", "seed", "vectors"}) << how_it_was_made(o.command)
       << "\n## Citation\n\nlexformer " << LEXFORMER_VERSION << ", "
       << (o.with_bert() ? "and the base model"
                         : "the word vectors, and Huang, Xu and Yu, \"Bidirectional LSTM-CRF Models for Sequence Tagging\", 2015")
       << ".\n";
  return card.str();
}

/// Reads a file, and says how many sentences were cut.
inline Sentences read_sentences(const std::string& file, std::size_t max_words) {
  auto text = lx::read_tagged_text(file, {.max_words = max_words});
  if (text.cut_sentences > 0)
    std::cerr << "warning: " << lx::one_line(file) << ": " << text.cut_sentences << " sentences have more than " << max_words
              << " words; the last " << text.cut_words << " words are not read\n";
  return std::move(text.sentences);
}
/// data: lx::TagData or lx::SentenceTags.
template <class Data>
void say_cut(const std::string& file, const Data& data, std::size_t most) {
  if (data.cut_sentences > 0)
    std::cerr << "warning: " << lx::one_line(file) << ": " << data.cut_sentences << " sentences have more than " << most
              << " tokens; the last " << data.cut_words << " words are not read, and tagged O\n";
}

inline lx::Json describe(const std::string& file, const Sentences& sentences) {
  std::uint32_t sum = 0;
  for (const auto& sentence : sentences)
    for (std::size_t i = 0; i <= sentence.words.size(); ++i)
      sum = lx::crc32(i < sentence.words.size() ? sentence.words[i] + "\t" + sentence.tags[i] + "\n" : "\n", sum);
  lx::Json out = lx::Json::object();
  out["file"] = file;
  out["sentences"] = sentences.size();
  out["crc32"] = sum;
  return out;
}

/// Trains a model, whose parameters in `frozen` are not trained; `open` opens the best one in the end. Returns false if the run was
/// interrupted (and saved).
template <class T, class Dev, class Model, class Open>
bool train_tagger(const TaggerOptions& o, Model& model, const std::vector<std::string>& frozen, const Sentences& train,
                  const std::string& of_vectors, Open&& open) {
  const auto valid = read_sentences(o.valid, 0);
  std::vector<Sentences> tests;  // read before training, so that a bad file is reported early
  for (const auto& file : o.tests) tests.push_back(read_sentences(file, 0));
  TaggerTask<T, Dev, Model> task(o, model, train, valid);
  say_cut(o.train_file, task.train, o.bert.max_length);
  say_cut(o.valid, task.valid_data, o.bert.max_length);
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr, .weight_decay = o.weight_decay});
  auto settings = trainer_options(o, "sentences", task.batches());
  lx::Json of_data = lx::Json::object();
  of_data["train"] = describe(o.train_file, train);
  of_data["valid"] = describe(o.valid, valid);
  if (!of_vectors.empty()) of_data["vectors"] = of_vectors;
  settings.settings = o.json(of_data);
  settings.frozen.insert(frozen.begin(), frozen.end());
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    say_interrupted(lx::cat("step ", done.step), o.out);
    return false;
  }

  lx::Json results = results_of(done, train.size(), settings.settings);
  for (const char* key : {"precision", "recall", "f1", "accuracy", "entities", "types"}) results.erase(key);  // of the last evaluation
  results["parameters"] = lx::count(model.parameters());
  results["valid"] = done.best;
  results["test"] = lx::Json::array();
  TaggerRows rows{{o.valid, done.best}};
  std::vector<std::pair<std::string, std::size_t>> data{{o.train_file, train.size()}, {o.valid, valid.size()}};
  const auto best = open(o.out + "/model.lxf");
  for (std::size_t t = 0; t < tests.size(); ++t) {
    if (interrupted != 0) {
      say_interrupted("the training", o.out);
      return false;
    }
    const auto prepared = best.prepare(tests[t], false);
    say_cut(o.tests[t], prepared, o.bert.max_length);
    auto scores = entity_scores(tests[t], lx::predict_tags(best, prepared, tests[t], o.eval_batch));
    rows.emplace_back(o.tests[t], scores);
    scores["file"] = o.tests[t];
    results["test"].push_back(std::move(scores));
    data.emplace_back(o.tests[t], tests[t].size());
  }
  TaggerOptions defaults;
  defaults.model = o.model;
  defaults.lstm.size = o.lstm.size;
  defaults.finish_defaults(OptionVisitor());
  lx::write_file_atomic(o.out + "/README.md", tagger_card(o, model.labels().names(), results, rows, data, defaults.json({})));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  print_tagger_table(std::cout, rows);
  return true;
}

}  // namespace program
