// SPDX-License-Identifier: MIT
// Tags the words on standard input with a trained tagger; or evaluates the tagger on files with tags.
#include "train/tagger_training.hpp"

namespace lx = lexformer;

namespace {

struct Options {
  std::string model;
  std::vector<std::string> evaluate;
  program::StaticVectorFlags vectors;
  std::size_t batch = 64;
  program::Compute compute;
};

/// Word, tab, tag in each line; an empty line after each sentence.
std::string tagged(const program::Sentences& sentences, const std::vector<std::vector<std::string>>& tags) {
  std::string out;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    for (std::size_t i = 0; i < tags[s].size(); ++i) out += sentences[s].words[i] + '\t' + tags[s][i] + '\n';
    out += '\n';
  }
  return out;
}

template <class Model>
int run(const Options& o, const Model& model, std::size_t max_length) {
  const auto prepare = [&](const std::string& file, const program::Sentences& sentences) {
    auto data = model.prepare(sentences, false);
    program::say_cut(file, data, max_length);
    return data;
  };
  if (!o.evaluate.empty()) {
    program::TaggerRows rows;
    for (const auto& file : o.evaluate) {
      const auto sentences = program::read_sentences(file, 0);
      rows.emplace_back(file, program::tagger_scores(model, prepare(file, sentences), sentences, o.batch));
    }
    program::print_tagger_table(std::cout, rows);
    return 0;
  }
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto sentences = lx::parse_tagged_text(text, "standard input", {.tags = false}).sentences;
  std::cout << tagged(sentences, lx::predict_tags(model, prepare("standard input", sentences), sentences, o.batch));
  return 0;
}

template <class T, class Dev>
int open(const Options& o) {
  const auto file = lx::ModelFile::open(o.model);
  if (lx::get_string(file.config, "model_type", o.model + ": config", "bert") == "lstm_tagger") {
    lx::LstmTagger<T, Dev> model(file);
    model.provide(o.vectors.load());
    return run(o, model, 0);
  }
  if (o.vectors.used()) lx::fail_usage("--vectors", "this model is an encoder, which reads no word vectors");
  const lx::BertTagger<T, Dev> model(file);
  return run(o, model, model.options().max_length);
}

int run_tag(int argc, char** argv) {
  CLI::App app(
      "Tags the words on standard input, one per line with an empty line after each sentence, and writes each word, a tab and its tag. "
      "More "
      "columns of a line are not read. With --evaluate: precision, recall and F1 of entities in files with tags.",
      "tag");
  Options o;
  app.add_option("--model", o.model, "a tagger (train_tagger), or a HuggingFace folder of a model for token classification")
      ->required()
      ->type_name("M.lxf");
  o.vectors.add_to(app);
  app.add_option("--evaluate", o.evaluate, "files of words with tags, instead of standard input")->type_name("F");
  app.add_option("--batch", o.batch, "sentences per batch")->check(program::positive())->capture_default_str();
  program::add_compute(app, o.compute);
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    return program::compute_with(o.compute, [&](auto number, auto device) { return open<decltype(number), decltype(device)>(o); });
  });
}

const program::Command command{"tag", program::Group::use, "tags words, or evaluates a tagger", run_tag};

}  // namespace
