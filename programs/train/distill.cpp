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
  const double start = lx::Progress::steady_seconds();
  double last = start;
  std::vector<std::string> texts;
  std::string line;
  for (bool more = true; more;) {
    more = reader.next(line);
    if (more && line.find_first_not_of(" \t") != line.npos) texts.push_back(line);
    if (texts.empty() || (more && texts.size() < block)) continue;
    use(std::span<const std::string>(texts));
    texts.clear();
    const double now = lx::Progress::steady_seconds();
    if (now - last < 10 || reader.offset() >= bytes) continue;
    const double share = static_cast<double>(reader.offset()) / static_cast<double>(bytes);
    std::cerr << what << ": " << static_cast<int>(100 * share) << "%  ETA " << lx::format_duration((now - start) * (1 - share) / share)
              << "\n";
    last = now;
  }
}

int run_distill(int argc, char** argv) {
  CLI::App app(
      "Distills an encoder into word vectors. The vector of an occurrence of a word is the mean of the hidden states of its pieces; the "
      "vector of a word is the mean or the maximum over its occurrences. Words are those of the tokenizer; unknown words are left out. "
      "The output is a text file in the form of word2vec, which train_love --targets and evaluate_words --vectors read.",
      "distill");
  std::string model_path, text_path, output;
  std::size_t min_count = 5, max_words = 0;
  int layer = -1;
  lx::ContextualOptions options;
  app.add_option("--model", model_path, "an encoder: a .lxf file or a HuggingFace folder")->required()->type_name("M.lxf");
  app.add_option("--text", text_path, "a text file, one text per line")->required()->type_name("F");
  app.add_option("--output", output, "the word vectors, the most frequent word first")->required()->type_name("F.txt");
  app.add_option("--layer", layer, "0 = embeddings, 1 = after the first layer, ...; -1 = after the last")
      ->check(CLI::Range(-1, 256))
      ->capture_default_str();
  program::add_choice(app, "--pool", options.pooling, "over the occurrences of a word");
  app.add_option("--min-count", min_count, "occurrences that a word has at least")->check(program::positive())->capture_default_str();
  app.add_option("--max-words", max_words, "the most frequent words only; 0: all")->capture_default_str();
  app.add_option("--max-occurrences", options.max_occurrences, "the first occurrences of each word only, which takes less time; 0: all")
      ->capture_default_str();
  app.add_option("--max-length", options.max_length, "maximum number of tokens of a text; what is longer is left out")
      ->capture_default_str();
  app.add_option("--batch", options.batch_size, "texts per batch")->check(program::positive())->capture_default_str();
  program::KnowledgeOptions knowledge;
  knowledge.add_to(app);
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    program::keep_inputs("--output", output, {model_path, text_path});
    if (const std::string name = lx::lower_case(output); name.ends_with(".npy") || name.ends_with(".lxf"))
      lx::fail_usage("--output", "'", output, "' is written as text; choose a name that does not end in .npy or .lxf");
    auto model = lx::Encoder<>::load(model_path);
    model.provide(knowledge.load());
    const auto& config = model.config();
    if (layer > static_cast<int>(config.num_hidden_layers))
      lx::fail_usage("--layer", layer, " of a model with ", config.num_hidden_layers, " layers");
    if (layer >= 0) options.layers = static_cast<std::size_t>(layer);
    options.max_length = std::min(options.max_length, config.max_position_embeddings);

    lx::WordFrequencies counts(model.tokenizer(), options.max_length);
    for_each_block(text_path, "counting words", [&](auto texts) { counts.add(texts); });
    auto words = counts.frequent(min_count, max_words);
    if (words.empty())
      lx::fail_file(text_path, "none of its ", counts.size(), " words occurs ", min_count, " times or more; choose a lower --min-count");
    std::cerr << text_path << ": " << words.size() << " of " << counts.size() << " words, each " << min_count << " times or more\n";
    lx::ContextualVectors<> vectors(model, std::move(words), options);
    for_each_block(text_path, "encoding", [&](auto texts) { vectors.add(texts); });
    const auto distilled = vectors.vectors();
    distilled.write(output);
    std::cerr << output << ": " << distilled.size() << " words, " << distilled.dimension() << " numbers, mean length "
              << distilled.mean_norm() << "\n";
    return 0;
  });
}

const program::Command command{"distill", program::Group::train, "word vectors from an encoder", run_distill};

}  // namespace
