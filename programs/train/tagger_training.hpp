// SPDX-License-Identifier: MIT
// A run of train_tagger: its table and card, and what it writes.
#pragma once

#include <iomanip>

#include "train/tagger_options.hpp"
#include "train/training.hpp"

namespace program {

using Sentences = std::vector<lx::TaggedSentence>;

/// The scores of tags that a model gives sentences which have tags.
inline lx::JsonValue entity_scores(const Sentences& sentences, const std::vector<std::vector<std::string>>& found) {
  return lx::score_tags(sentences, found).json();
}

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
       << " parameters, trained with lexformer " << LEXFORMER_VERSION << ", seed " << o.settings.seed << ".\n\n```sh\n"
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
  if (const auto note = lx::cut_note(file, data.cut_sentences, data.cut_words, most); !note.empty())
    std::cerr << "warning: " << note << "\n";
}

/// Trains a model and evaluates it. of_vectors: describes its word vectors. Returns false if the run was interrupted (and saved).
template <class Model>
bool train_tagger(const TaggerOptions& o, Model& model, Sentences sentences, const std::string& of_vectors) {
  const lx::TaggedSet train{o.train_file, std::move(sentences)}, valid{o.valid, read_sentences(o.valid, 0)};
  std::vector<Sentences> tests;  // read before training, so that a bad file is reported early
  for (const auto& file : o.tests) tests.push_back(read_sentences(file, 0));
  auto run = run_of(o, o.settings, o.out, "sentences");
  run.identity = o.identity(of_vectors);
  const auto done = lx::train_tagger(model, train, valid, o.settings, run);
  if (!done.run.finished) {
    say_interrupted(lx::cat("step ", done.run.step), o.out);
    return false;
  }

  lx::Json results = results_of(done.run, done.examples, done.settings);
  for (const char* key : {"precision", "recall", "f1", "accuracy", "entities", "types"}) results.erase(key);  // of the last evaluation
  results["parameters"] = lx::count(model.parameters());
  results["valid"] = done.run.best;
  results["test"] = lx::Json::array();
  TaggerRows rows{{o.valid, done.run.best}};
  std::vector<std::pair<std::string, std::size_t>> data{{o.train_file, done.examples}, {o.valid, valid.sentences.size()}};
  for (std::size_t t = 0; t < tests.size(); ++t) {
    if (interrupted != 0) {
      say_interrupted("the training", o.out);
      return false;
    }
    const auto prepared = model.prepare(tests[t], false);
    say_cut(o.tests[t], prepared, o.bert.max_length);
    lx::Json scores = entity_scores(tests[t], lx::predict_tags(model, prepared, tests[t], o.settings.eval_batch));
    rows.emplace_back(o.tests[t], scores);
    scores["file"] = o.tests[t];
    results["test"].push_back(std::move(scores));
    data.emplace_back(o.tests[t], tests[t].size());
  }
  TaggerOptions defaults;
  defaults.model = o.model;
  defaults.lstm.size = o.lstm.size;
  defaults.finish_defaults(OptionVisitor());
  lx::write_file_atomic(o.out + "/README.md", tagger_card(o, model.labels().names(), results, rows, data, defaults.identity("")));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  print_tagger_table(std::cout, rows);
  return true;
}

}  // namespace program
