// SPDX-License-Identifier: MIT
// Computes the hidden states of an encoder, or the vectors of a sentence encoder, for lines of text or a column of a table.
#include <iomanip>

#include <lexformer/io/json.hpp>
#include <lexformer/models/sentence_encoder.hpp>

#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/texts.hpp"

namespace lx = lexformer;

namespace {

struct Input {
  std::optional<program::Texts> file;    // --input
  std::vector<std::string> left, right;  // right: of pairs
};

/// The lines of standard input: texts, or pairs separated by a tab.
Input read_lines(bool pairs) {
  Input input;
  std::string line;
  for (std::size_t row = 1; std::getline(std::cin, line); ++row) {
    if (line.ends_with('\r')) line.pop_back();
    const auto tab = line.find('\t');
    if (pairs && tab == line.npos) lx::fail_file(lx::cat("standard input: line ", row), "there is no tab between a left and a right text");
    input.left.push_back(pairs ? line.substr(0, tab) : line);
    if (pairs) input.right.push_back(line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1));
  }
  if (input.left.empty()) lx::fail_file("standard input", "is empty");
  return input;
}

template <class A>
void write_rows(const std::string& output, const lx::Tensor<A>& all, const Input& input) {
  const std::string name = lx::lower_case(output);
  if (name.ends_with(".npy")) return lx::save_npy(output, all);
  const bool json = name.ends_with(".jsonl");
  const std::size_t width = all.dim(1);
  program::StringWriter text;
  text << std::setprecision(9);
  for (std::size_t i = 0; i < all.dim(0); ++i) {
    if (json) text << "{\"id\":" << lx::Json(input.file ? input.file->ids[i] : std::to_string(i + 1)).dump() << ",\"vector\":[";
    for (std::size_t j = 0; j < width; ++j) text << all.at(i, j) << (j + 1 < width ? (json ? "," : "\t") : (json ? "]}\n" : "\n"));
  }
  lx::write_file_atomic(output, text.str());
}

int run_encode(int argc, char** argv) {
  CLI::App app(
      "Writes a vector of each line of standard input, or of each text of a file: of a sentence encoder as it was trained, of other models "
      "the hidden states. Output: .npy (float32), .tsv or .jsonl.",
      "encode");
  std::string model_path, input_path, column, id, output, pool = "auto";
  bool pairs = false, normalize = false;
  std::size_t max_length = 512, batch_size = 32;
  int layer = -1;
  app.add_option("--model", model_path, "a .lxf file, a HuggingFace folder or one of sentence-transformers")
      ->required()
      ->type_name("M.lxf");
  app.add_option("--input", input_path, "instead of standard input: .txt with a text in each line, or .csv, .tsv, .jsonl")->type_name("F");
  app.add_option("--columns", column, "with --input: the column of the text, a name or a number from 1 (default: text, else the first)");
  app.add_option("--id", id, "with --input and a .jsonl output: the column of the ids (default: the number of the text)");
  app.add_flag("--pairs", pairs, "each line is left TAB right");
  app.add_option("--layer", layer, "0 = embeddings, 1 = after the first layer, ...; -1 = after the last")
      ->check(CLI::Range(-1, 256))
      ->capture_default_str();
  app.add_option("--pool", pool,
                 "none (the rows of all tokens, line by line), cls, mean, max; auto: as a sentence encoder was trained, with its Dense "
                 "modules, else mean")
      ->check(program::one_of({"auto", "none", "cls", "mean", "max"}))
      ->capture_default_str();
  app.add_flag("--normalize", normalize, "scale each row to length 1; with --pool auto also if the model requires it");
  app.add_option("--max-length", max_length, "maximum number of tokens per line; a sentence encoder may have a lower one")
      ->capture_default_str();
  app.add_option("--batch", batch_size, "lines per batch")->check(program::positive())->capture_default_str();
  app.add_option("--output", output, "a .npy, .tsv or .jsonl file")->required()->type_name("F.npy");
  program::KnowledgeOptions knowledge;
  knowledge.add_to(app);
  program::LovePlugFlags love;
  love.add_to(app);
  program::Compute compute;
  program::add_compute(app, compute, true);
  program::add_threads(app);
  const auto write = [&](auto number, auto device) {
    using T = decltype(number);
    using Dev = decltype(device);
    program::keep_inputs("--output", output, {model_path, love.path(), input_path});
    const std::string name = lx::lower_case(output);
    if (!name.ends_with(".npy") && !name.ends_with(".tsv") && !name.ends_with(".jsonl"))
      lx::fail_usage("--output", "'", output, "' ends neither in .npy nor in .tsv or .jsonl");
    if (name.ends_with(".jsonl") && pool == "none")
      lx::fail_usage("--pool", "none gives several rows for a text, which .jsonl has no place for");
    if (input_path.empty() && !(column.empty() && id.empty())) lx::fail_usage(column.empty() ? "--id" : "--columns", "needs --input");
    if (!input_path.empty() && pairs) lx::fail_usage("--pairs", "is for standard input; --input has single texts");
    const auto read = [&] {
      if (input_path.empty()) return read_lines(pairs);
      Input input{.file = program::read_texts(input_path, column, id), .left = {}, .right = {}};
      input.left = std::move(input.file->texts);
      return input;
    };
    const auto prepare = [&](auto& model) {
      love.apply(model);
      compute.apply(model);
      model.provide(knowledge.load());
    };
    const auto finish = [&](const auto& all, const Input& input) {
      lx::require_finite(all, input_path.empty() ? "standard input" : input_path, pool == "none" ? "token" : "line", 1);
      write_rows(output, all, input);
      std::cerr << output << ": " << all.dim(0) << " rows of " << all.dim(1) << "\n";
      return 0;
    };
    std::optional<lx::ModelFile> file = lx::ModelFile::open(model_path);
    if (pool == "auto" && lx::is_sentence_encoder(*file)) {
      auto options = lx::stored_sentence_options(*file);
      if (layer < 0 && !pairs) {
        lx::SentenceEncoder<T, Dev> model(*file);
        file.reset();
        prepare(model);
        const Input input = read();
        auto encodings = model.tokenize(input.left, max_length);
        auto all = model.encode(std::span<const lx::Encoding>(encodings), batch_size);
        if (normalize) all = lx::l2_normalize(lx::Var<lx::accumulate_t<T>>(all)).value();
        return finish(all, input);
      }
      if (!options.dense.empty())
        lx::fail_usage(pairs ? "--pairs" : "--layer", model_path,
                       " has Dense modules, which read the vectors of single texts; name a --pool to leave them out");
    }
    lx::Encoder<T, Dev> model(*file, {});
    file.reset();
    prepare(model);
    const auto& config = model.config();
    lx::TextEncodeOptions options{.max_length = std::min(max_length, config.max_position_embeddings), .batch_size = batch_size};
    if (layer > static_cast<int>(config.num_hidden_layers))
      lx::fail_usage("--layer", layer, " of a model with ", config.num_hidden_layers, " layers");
    if (layer >= 0) options.layers = static_cast<std::size_t>(layer);
    if (pool != "auto") options.pooling = lx::parse_name<lx::Pooling>(pool, "--pool");
    if (normalize || pool != "auto") options.normalize = normalize;
    const Input input = read();
    std::vector<lx::Encoding> encoded;
    for (std::size_t i = 0; i < input.left.size(); ++i)
      encoded.push_back(pairs ? model.tokenizer().encode_pair(input.left[i], input.right[i], options.max_length)
                              : model.tokenizer().encode(input.left[i], options.max_length));
    return finish(model.encode(std::span<const lx::Encoding>(encoded), options), input);
  };
  return program::run(app, argc, argv, [&] { return program::compute_with(compute, write); });
}

const program::Command command{"encode", program::Group::use, "vectors or hidden states of texts", run_encode};

}  // namespace
