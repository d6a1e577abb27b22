// SPDX-License-Identifier: MIT
// Computes the hidden states of an encoder for lines of text.
#include <iomanip>

#include "support/knowledge.hpp"
#include "support/love_plug_options.hpp"

namespace lx = lexformer;

int main(int argc, char** argv) {
  CLI::App app("Writes the hidden states of each line of standard input as .npy (float32) or .tsv.", "encode");
  std::string model_path, output, pool = "auto";
  bool pairs = false, normalize = false;
  std::size_t max_length = 512, batch_size = 32;
  int layer = -1;
  app.add_option("--model", model_path, "a .lxf file or a HuggingFace folder")->required()->type_name("M.lxf");
  app.add_flag("--pairs", pairs, "each line is left TAB right");
  app.add_option("--layer", layer, "0 = embeddings, 1 = after the first layer, ...; -1 = after the last")
      ->check(CLI::Range(-1, 256))
      ->capture_default_str();
  app.add_option("--pool", pool,
                 "none (the rows of all tokens, line by line), cls, mean; auto: as set in a sentence-transformers model, else mean")
      ->check(program::one_of({"auto", "none", "cls", "mean"}))
      ->capture_default_str();
  app.add_flag("--normalize", normalize, "scale each row to length 1; with --pool auto also if the model requires it");
  app.add_option("--max-length", max_length, "maximum number of tokens per line")->capture_default_str();
  app.add_option("--batch", batch_size, "lines per batch")->check(program::positive())->capture_default_str();
  app.add_option("--output", output, "a .npy or .tsv file")->required()->type_name("F.npy");
  program::KnowledgeOptions knowledge;
  knowledge.add_to(app);
  program::LovePlugFlags love;
  love.add_to(app);
  program::Compute compute;
  program::add_compute(app, compute, true);
  program::add_threads(app);
  const auto write = [&](auto number, auto device) {
    program::keep_inputs("--output", output, {model_path, love.path()});
    if (!output.ends_with(".npy") && !output.ends_with(".tsv"))
      lx::fail_usage("--output", "'", output, "' ends neither in .npy nor in .tsv");
    auto model = lx::Encoder<decltype(number), decltype(device)>::load(model_path);
    love.apply(model);
    compute.apply(model);
    model.provide(knowledge.load());
    const auto& config = model.config();
    lx::TextEncodeOptions options{.max_length = std::min(max_length, config.max_position_embeddings), .batch_size = batch_size};
    if (layer > static_cast<int>(config.num_hidden_layers))
      lx::fail_usage("--layer", layer, " of a model with ", config.num_hidden_layers, " layers");
    if (layer >= 0) options.layers = static_cast<std::size_t>(layer);
    if (pool != "auto") options.pooling = lx::parse_name<lx::Pooling>(pool, "--pool");
    if (normalize || pool != "auto") options.normalize = normalize;

    std::vector<lx::Encoding> encoded;
    std::string line;
    for (std::size_t row = 1; std::getline(std::cin, line); ++row) {
      if (line.ends_with('\r')) line.pop_back();
      const auto tab = line.find('\t');
      if (pairs && tab == line.npos)
        lx::fail_file(lx::cat("standard input: line ", row), "there is no tab between a left and a right text");
      encoded.push_back(pairs ? model.tokenizer().encode_pair(line.substr(0, tab), line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1),
                                                              options.max_length)
                              : model.tokenizer().encode(line, options.max_length));
    }
    if (encoded.empty()) lx::fail_file("standard input", "is empty");
    const auto all = model.encode(std::span<const lx::Encoding>(encoded), options);
    lx::require_finite(all, "standard input", pool == "none" ? "token" : "line", 1);
    const std::size_t rows = all.dim(0);
    if (output.ends_with(".npy")) {
      lx::save_npy(output, all);
    } else {
      program::StringWriter text;
      text << std::setprecision(9);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < config.hidden_size; ++j) text << all.at(i, j) << (j + 1 < config.hidden_size ? '\t' : '\n');
      lx::write_file_atomic(output, text.str());
    }
    std::cerr << output << ": " << rows << " rows of " << config.hidden_size << "\n";
    return 0;
  };
  return program::run(app, argc, argv, [&] { return program::compute_with(compute, write); });
}
