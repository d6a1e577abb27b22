// SPDX-License-Identifier: MIT
// Distills an encoder into word vectors: the contextual vectors of the frequent words of a text.
#include <filesystem>
#include <lexformer/models/contextual_vectors.hpp>

#include "cli/knowledge.hpp"

namespace lx = lexformer;

namespace {

/// Reads a text file in blocks of lines; blank lines are left out. Shows progress once in ten seconds: on a large text it takes hours.
template <class Use>
void for_each_block(const std::string& path, const std::string& what, Use&& use) {
  constexpr std::size_t block = 4096;
  lx::LineReader reader(path);
  const std::uint64_t bytes = std::filesystem::file_size(path);
  lx::Progress progress(std::cerr, {.mode = lx::ProgressMode::log, .log_seconds = 10});
  const double start = lx::steady_seconds();
  std::vector<std::string> texts;
  std::string line;
  for (bool more = true; more;) {
    more = reader.next(line);
    if (more && line.find_first_not_of(" \t") != line.npos) texts.push_back(line);
    if (texts.empty() || (more && texts.size() < block)) continue;
    use(std::span<const std::string>(texts));
    texts.clear();
    const double share = static_cast<double>(reader.offset()) / static_cast<double>(bytes);
    progress.update(lx::cat(what, ": ", static_cast<int>(100 * share), "%  ETA ",
                            lx::format_duration((lx::steady_seconds() - start) * (1 - share) / share)));
  }
  progress.end();
}

class Distill final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_path_, "an encoder: a .lxf file or a HuggingFace folder").required().shown_as("M.lxf");
    v.input("text", text_path_, "a text file, one text per line").required();
    v.output("output", output_, "the word vectors, the most frequent word first").required().shown_as("F.txt");
    v.integer("layer", layer_, -1, 256, "0 = embeddings, 1 = after the first layer, ...; -1 = after the last");
    v.choice("pool", options_.pooling, "over the occurrences of a word");
    v.size("min_count", min_count_, 1, "least number of occurrences of a word; rarer words are left out");
    v.size("max_words", max_words_, 0, "the most frequent words only; 0: all");
    v.size("max_occurrences", options_.max_occurrences, 0, "the first occurrences of each word only, which takes less time; 0: all");
    v.size("max_length", options_.max_length, 0, "maximum number of tokens of a text; longer texts are truncated");
    v.size("batch", options_.batch_size, 1, "texts per batch");
    knowledge_.visit(v);
    visit_threads(v);
  }
  int run() override {
    if (const std::string name = lx::lower_case(output_); name.ends_with(".npy") || name.ends_with(".lxf"))
      lx::fail_usage("--output", "'", output_, "' is written as text; choose a name that does not end in .npy or .lxf");
    auto model = lx::Encoder<>::load(model_path_);
    model.provide(knowledge_.load());
    const auto& config = model.config();
    if (layer_ > static_cast<int>(config.num_hidden_layers))
      lx::fail_usage("--layer", layer_, " of a model with ", config.num_hidden_layers, " layers");
    if (layer_ >= 0) options_.layers = static_cast<std::size_t>(layer_);
    options_.max_length = std::min(options_.max_length, config.max_tokens());

    lx::WordFrequencies counts(model.tokenizer(), options_.max_length);
    for_each_block(text_path_, "counting words", [&](auto texts) { counts.add(texts); });
    auto words = counts.frequent(min_count_, max_words_);
    if (words.empty())
      lx::fail_file(text_path_, "none of its ", counts.size(), " words occurs ", min_count_, " times or more; choose a lower --min-count");
    std::cerr << text_path_ << ": " << words.size() << " of " << counts.size() << " words, each " << min_count_ << " times or more\n";
    lx::ContextualVectors<> vectors(model, std::move(words), options_);
    for_each_block(text_path_, "encoding", [&](auto texts) { vectors.add(texts); });
    const auto distilled = vectors.vectors();
    distilled.write(output_);
    std::cerr << output_ << ": " << distilled.size() << " words, " << distilled.dimension() << " numbers, mean length "
              << distilled.mean_norm() << "\n";
    return 0;
  }

 private:
  std::string model_path_, text_path_, output_;
  std::size_t min_count_ = 5, max_words_ = 0;
  int layer_ = -1;
  lx::ContextualOptions options_;
  program::KnowledgeOptions knowledge_;
};

const program::Registered<Distill> command{
    "distill", program::Group::train, "word vectors from an encoder",
    "Distills an encoder into word vectors. The vector of an occurrence of a word is the mean of the hidden states of its pieces; the "
    "vector of a word is the mean or the maximum over its occurrences. Words are the tokenizer's; unknown words are left out. The "
    "output is a text file in the form of word2vec, which train_love --targets and evaluate_words --vectors read."};

}  // namespace
