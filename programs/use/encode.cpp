// SPDX-License-Identifier: MIT
// Computes the hidden states of an encoder, or the vectors of a sentence encoder, for lines of text or a column of a table.
#include <iomanip>

#include <lexformer/io/json.hpp>
#include <lexformer/models/text_encoder.hpp>

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
  lx::StreamLines lines(std::cin);
  for (std::string line; lines.next(line);) {
    const auto tab = line.find('\t');
    if (pairs && tab == line.npos)
      lx::fail_file(lx::cat("standard input: line ", lines.number()), "there is no tab between a left and a right text");
    input.left.push_back(pairs ? line.substr(0, tab) : line);
    if (pairs) input.right.push_back(line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1));
  }
  if (input.left.empty()) lx::fail_file("standard input", "is empty");
  return input;
}

void write_rows(const std::string& output, const lx::Tensor<float>& all, const Input& input) {
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

class Encode final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a .lxf file, a HuggingFace folder or one of sentence-transformers").required().shown_as("M.lxf");
    v.input("input", input_, "instead of standard input: .txt with a text in each line, or .csv, .tsv, .jsonl");
    v.text("columns", column_, "with --input: the column of the text, a name or a number from 1 (default: text, else the first)")
        .needs("input");
    v.text("id", id_, "with --input and a .jsonl output: the column of the ids (default: the number of the text)").needs("input");
    program::visit_header(v, table_.header).needs("input");
    program::visit_delimiter(v, table_.delimiter);
    v.find("delimiter")->needs("input");
    v.flag("pairs", pairs_, "each line is left TAB right").only_if(input_.empty(), "is for standard input; --input has single texts");
    v.integer("layer", layer_, -1, 256, "0 = embeddings, 1 = after the first layer, ...; -1 = after the last");
    const std::string form = lx::lower_case(output_);
    v.text("pool", pool_,
           "none (the rows of all tokens, line by line), cls, mean, max; auto: as a sentence encoder was trained, with its Dense "
           "modules, else mean")
        .among({"auto", "none", "cls", "mean", "max"})
        .only_if(pool_ != "none" || !form.ends_with(".jsonl"), "none gives several rows for a text, which .jsonl has no place for");
    v.flag("normalize", normalize_, "scale each row to length 1; with --pool auto also if the model requires it");
    v.size("max_length", max_length_, 0, "maximum number of tokens per line; a sentence encoder may have a lower one");
    v.size("batch", batch_, 1, "lines per batch");
    v.output("output", output_, "a .npy, .tsv or .jsonl file")
        .required()
        .shown_as("F.npy")
        .only_if(form.ends_with(".npy") || form.ends_with(".tsv") || form.ends_with(".jsonl"),
                 lx::cat("'", output_, "' ends neither in .npy nor in .tsv or .jsonl"));
    knowledge_.visit(v);
    love_.visit(v);
    compute_.visit(v, true);
    visit_threads(v);
  }
  int run() override {
    lx::ModelFile file = lx::ModelFile::open(model_);
    const bool of_sentences = pool_ == "auto" && lx::is_sentence_encoder(file), as_trained = of_sentences && layer_ < 0 && !pairs_;
    if (of_sentences && !as_trained && !lx::stored_sentence_options(file).dense.empty())
      lx::fail_usage(pairs_ ? "--pairs" : "--layer", model_,
                     " has Dense modules, which read the vectors of single texts; name a --pool to leave them out");
    const auto model = lx::open_text_encoder(std::move(file), compute_, love_.extras(knowledge_.load()), !as_trained);
    if (layer_ > static_cast<int>(model->config().num_hidden_layers))
      lx::fail_usage("--layer", layer_, " of a model with ", model->config().num_hidden_layers, " layers");
    lx::TextEncodeOptions options{.max_length = std::min(max_length_, model->max_length()), .batch_size = batch_};
    if (layer_ >= 0) options.layers = static_cast<std::size_t>(layer_);
    if (pool_ != "auto") options.pooling = lx::parse_name<lx::Pooling>(pool_, "--pool");
    if (normalize_ || pool_ != "auto") options.normalize = normalize_;
    const Input input = read();
    std::vector<lx::Encoding> encoded;
    for (std::size_t i = 0; i < input.left.size(); ++i)
      encoded.push_back(pairs_ ? model->tokenizer().encode_pair(input.left[i], input.right[i], options.max_length)
                               : model->tokenizer().encode(input.left[i], options.max_length));
    const auto rows = model->encode(std::span<const lx::Encoding>(encoded), options);
    lx::require_finite(rows, input_.empty() ? "standard input" : input_, pool_ == "none" ? "token" : "line", 1);
    write_rows(output_, rows, input);
    std::cerr << output_ << ": " << rows.dim(0) << " rows of " << rows.dim(1) << "\n";
    return 0;
  }

 private:
  Input read() const {
    if (input_.empty()) return read_lines(pairs_);
    Input input{.file = program::read_texts(input_, column_, id_, table_), .left = {}, .right = {}};
    input.left = std::move(input.file->texts);
    return input;
  }

  std::string model_, input_, column_, id_, output_, pool_ = "auto";
  bool pairs_ = false, normalize_ = false;
  std::size_t max_length_ = 512, batch_ = 32;
  int layer_ = -1;
  lx::TableOptions table_;
  program::KnowledgeOptions knowledge_;
  program::LovePlugFlags love_;
  program::Compute compute_;
};

const program::Registered<Encode> command{
    "encode", program::Group::use, "vectors or hidden states of texts",
    "Writes a vector for each line of standard input, or for each text of a file. Sentence encoders give the vectors that they were "
    "trained for, other models hidden states. Output: .npy (float32), .tsv or .jsonl."};

}  // namespace
