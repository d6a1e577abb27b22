// SPDX-License-Identifier: MIT
// Makes an untrained model from text: trains a vocabulary and initializes the weights.
#include <lexformer/io/json.hpp>

#include "cli/program.hpp"

namespace lx = lexformer;

namespace {

int run_make_model(int argc, char** argv) {
  CLI::App app("Trains a WordPiece vocabulary on text and writes an untrained BERT encoder with it as a .lxf file.", "make_model");
  std::vector<std::string> texts;
  std::string out, settings;
  std::size_t vocab_size = 4000;
  std::uint64_t seed = 1;
  bool cased = false;
  app.add_option("--text", texts, "text files")->required()->type_name("F");
  app.add_option("--vocab-size", vocab_size, "maximum number of tokens")->capture_default_str();
  app.add_option(
         "--model-config", settings,
         "sizes of the encoder: a JSON file with HuggingFace's keys (hidden_size, num_hidden_layers, ...); vocab_size = at least so "
         "many rows of the embedding")
      ->type_name("C.json");
  app.add_option("--seed", seed, "seed of the weights")->capture_default_str();
  app.add_flag("--cased", cased, "keep upper case and accents");
  app.add_option("--out", out, "the model to write")->required()->type_name("M.lxf");
  return program::run(app, argc, argv, [&] {
    program::keep_inputs("--out", out, texts);
    program::keep_inputs("--out", out, {settings});
    lx::ModelFile file;
    if (!settings.empty()) file.config = lx::parse_json(lx::read_file(settings), settings);
    if (!file.config->is_object()) lx::fail_file(settings, "expected a JSON object of settings, found ", file.config->type_name());
    file.tokenizer.lowercase = !cased;
    std::vector<std::string> lines;
    for (const auto& path : texts) {
      const std::string text = lx::read_file(path);
      if (text.find_first_not_of(" \t\r\n") == text.npos) lx::fail_file(path, "has no text; expected lines to learn a vocabulary from");
      std::istringstream in(text);
      in.exceptions(std::ios::badbit);  // of no memory
      for (std::string line; std::getline(in, line);) lines.push_back(line);
    }
    file.vocabulary = lx::train_vocabulary(std::span<const std::string>(lines), file.tokenizer, {.size = vocab_size});
    file.config["model_type"] = "bert";
    // The embedding may have more rows than there are tokens: a model of a given size from little text.
    auto config = lx::parse_bert_config(file.config, settings.empty() ? "make_model" : settings);
    const bool rows_given = file.config->contains("vocab_size");
    config.vocab_size = rows_given ? std::max(config.vocab_size, file.vocabulary.size()) : file.vocabulary.size();
    file.config["vocab_size"] = config.vocab_size;
    lx::Init init(seed, config.initializer_range);
    lx::BertEncoder<> encoder(config, init);
    std::size_t parameters = 0;
    for (const auto& p : lx::encoder_state(encoder)) {
      file.tensors.set(p.name, p.var.value());
      parameters += p.var.size();
    }
    file.save(out);
    std::cout << out << ": " << file.vocabulary.size() << " tokens, " << config.num_hidden_layers << " layers of width "
              << config.hidden_size << ", " << parameters << " parameters, untrained\n";
    return 0;
  });
}

const program::Command command{"make_model", program::Group::train, "a vocabulary and an untrained encoder from plain text",
                               run_make_model};

}  // namespace
