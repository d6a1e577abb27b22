// SPDX-License-Identifier: MIT
// Makes an untrained model from text: trains a vocabulary and initializes the weights.
#include <lexformer/io/json.hpp>

#include "cli/program.hpp"

namespace lx = lexformer;

namespace {

class MakeModel final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("text", texts_, "text files").required();
    v.size("vocab_size", vocab_size_, 0, "maximum number of tokens");
    v.input("model_config", settings_,
            "sizes of the encoder: a JSON file with HuggingFace's keys (hidden_size, num_hidden_layers, ...); vocab_size = at least so "
            "many rows of the embedding")
        .shown_as("C.json");
    v.size("seed", seed_, 0, "seed of the weights");
    v.flag("cased", cased_, "keep upper case and accents");
    v.output("out", out_, "the model to write").required().shown_as("M.lxf");
  }
  int run() override {
    lx::ModelFile file;
    if (!settings_.empty()) file.config = lx::parse_json(lx::read_file(settings_), settings_);
    if (!file.config->is_object()) lx::fail_file(settings_, "expected a JSON object of settings, found ", file.config->type_name());
    file.tokenizer.lowercase = !cased_;
    std::vector<std::string> lines;
    for (const auto& path : texts_) {
      const std::string text = lx::read_file(path);
      if (text.find_first_not_of(" \t\r\n") == text.npos) lx::fail_file(path, "has no text; expected lines to learn a vocabulary from");
      std::istringstream in(text);
      in.exceptions(std::ios::badbit);  // of no memory
      lx::StreamLines reader(in);
      for (std::string line; reader.next(line);) lines.push_back(line);
    }
    file.vocabulary = lx::train_vocabulary(std::span<const std::string>(lines), file.tokenizer, {.size = vocab_size_});
    const std::string where = settings_.empty() ? "make_model" : settings_;
    file.config = lx::complete_config(file.config, file.vocabulary.size(), file.vocabulary.id(file.tokenizer.pad), where);
    auto config = lx::parse_transformer_config(file.config, where);
    // The embedding may have more rows than there are tokens: a model of a given size from little text.
    config.vocab_size = std::max(config.vocab_size, file.vocabulary.size());
    file.config["vocab_size"] = config.vocab_size;
    lx::Init init(seed_, config.initializer_range);
    lx::Transformer<> encoder(config, init);
    std::size_t parameters = 0;
    for (const auto& p : lx::encoder_state(encoder)) {
      file.tensors.set(p.name, p.var.value());
      parameters += p.var.size();
    }
    file.save(out_);
    std::cout << out_ << ": " << file.vocabulary.size() << " tokens, " << config.num_hidden_layers << " layers of width "
              << config.hidden_size << ", " << parameters << " parameters, untrained\n";
    return 0;
  }

 private:
  std::vector<std::string> texts_;
  std::string out_, settings_;
  std::size_t vocab_size_ = 4000;
  std::uint64_t seed_ = 1;
  bool cased_ = false;
};

const program::Registered<MakeModel> command{
    "make_model", program::Group::train, "a vocabulary and an untrained encoder from plain text",
    "Trains a WordPiece vocabulary on text and writes an untrained encoder with it as a .lxf file."};

}  // namespace
