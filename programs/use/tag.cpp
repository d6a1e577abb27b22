// SPDX-License-Identifier: MIT
// Tags the words on standard input with a trained tagger; or evaluates the tagger on files with tags.
#include "train/tagger_training.hpp"

namespace lx = lexformer;

namespace {

/// Word, tab, tag in each line; an empty line after each sentence.
std::string tagged(const program::Sentences& sentences, const std::vector<std::vector<std::string>>& tags) {
  std::string out;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    for (std::size_t i = 0; i < tags[s].size(); ++i) out += sentences[s].words[i] + '\t' + tags[s][i] + '\n';
    out += '\n';
  }
  return out;
}

class Tag final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a tagger (train_tagger), or a HuggingFace folder of a model for token classification")
        .required()
        .shown_as("M.lxf");
    vectors_.visit(v);
    v.inputs("evaluate", evaluate_, "files of words with tags, instead of standard input");
    v.size("batch", batch_, 1, "sentences per batch");
    compute_.visit(v);
    visit_threads(v);
  }
  int run() override {
    return program::compute_with(compute_, [&](auto number, auto device) { return open<decltype(number), decltype(device)>(); });
  }

 private:
  template <class T, class Dev>
  int open() const {
    const auto file = lx::ModelFile::open(model_);
    if (lx::get_string(file.config, "model_type", model_ + ": config", "bert") == "lstm_tagger") {
      lx::LstmTagger<T, Dev> model(file);
      model.provide(vectors_.load());
      return tag(model, 0);
    }
    if (vectors_.used()) lx::fail_usage("--vectors", "this model is an encoder, which reads no word vectors");
    const lx::BertTagger<T, Dev> model(file);
    return tag(model, model.options().max_length);
  }

  template <class Model>
  int tag(const Model& model, std::size_t max_length) const {
    const auto prepare = [&](const std::string& file, const program::Sentences& sentences) {
      auto data = model.prepare(sentences, false);
      program::say_cut(file, data, max_length);
      return data;
    };
    if (!evaluate_.empty()) {
      program::TaggerRows rows;
      for (const auto& file : evaluate_) {
        const auto sentences = program::read_sentences(file, 0);
        rows.emplace_back(file, program::tagger_scores(model, prepare(file, sentences), sentences, batch_));
      }
      program::print_tagger_table(std::cout, rows);
      return 0;
    }
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const auto sentences = lx::parse_tagged_text(text, "standard input", {.tags = false}).sentences;
    std::cout << tagged(sentences, lx::predict_tags(model, prepare("standard input", sentences), sentences, batch_));
    return 0;
  }

  std::string model_;
  std::vector<std::string> evaluate_;
  program::StaticVectorFlags vectors_;
  std::size_t batch_ = 64;
  program::Compute compute_;
};

const program::Registered<Tag> command{
    "tag", program::Group::use, "tags words, or evaluates a tagger",
    "Tags the words on standard input, one per line with an empty line after each sentence, and writes each word, a tab and its tag. More "
    "columns of a line are not read. With --evaluate: precision, recall and F1 of entities in files with tags."};

}  // namespace
