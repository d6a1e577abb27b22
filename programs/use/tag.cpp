// SPDX-License-Identifier: MIT
// Tags the words on standard input with a trained tagger; or evaluates the tagger on files with tags.
#include <lexformer/data/tagged_text.hpp>
#include <lexformer/models/word_tagger.hpp>

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
    lx::ModelExtras extras;
    if (vectors_.used()) extras.vectors = [this] { return vectors_.load(); };
    const auto model = lx::open_tagger(model_, compute_, extras);
    const auto tags_of = [&](const std::string& file, const program::Sentences& sentences) {
      auto found = model->tag(sentences, batch_);
      program::say_cut(file, found, model->max_length());
      return std::move(found.tags);
    };
    if (!evaluate_.empty()) {
      program::TaggerRows rows;
      for (const auto& file : evaluate_) {
        const auto sentences = program::read_sentences(file, 0);
        const auto tags = tags_of(file, sentences);
        for (const auto& of_sentence : tags)
          for (const auto& tag : of_sentence)
            if (const std::string fault = lx::tag_fault(tag); !fault.empty()) lx::fail_file(model_, fault);
        rows.emplace_back(file, program::entity_scores(sentences, tags));
      }
      program::print_tagger_table(std::cout, rows);
      return 0;
    }
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const auto sentences = lx::parse_tagged_text(text, "standard input", {.tags = false}).sentences;
    std::cout << tagged(sentences, tags_of("standard input", sentences));
    return 0;
  }

 private:
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
