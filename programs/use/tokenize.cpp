// SPDX-License-Identifier: MIT
// Tokenizes text: one JSON line for each line of text.
#include <lexformer/io/json.hpp>

#include "cli/program.hpp"

namespace lx = lexformer;

namespace {

class Tokenize final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a .lxf file or a HuggingFace folder").required().shown_as("M.lxf");
    v.flag("pairs", pairs_, "each line is left TAB right");
    v.size("max_length", max_length_, 0, "maximum number of tokens; longer texts are cut, the longer one of a pair first");
  }
  int run() override {
    const auto tokenizer = lx::make_tokenizer(lx::ModelFile::open(model_));
    lx::StreamLines lines(std::cin);
    for (std::string line; lines.next(line);) {
      lx::Encoding e;
      if (pairs_) {
        const auto tab = line.find('\t');
        if (tab == line.npos)
          lx::fail_file(lx::cat("standard input: line ", lines.number()), "there is no tab between a left and a right text");
        e = tokenizer.encode_pair(std::string_view(line).substr(0, tab),
                                  std::string_view(line).substr(tab + 1, line.find('\t', tab + 1) - tab - 1), max_length_);
      } else {
        e = tokenizer.encode(line, max_length_);
      }
      lx::Json words = lx::Json::array(), tokens = lx::Json::array();
      for (const auto w : e.word_ids) words.push_back(w < 0 ? lx::Json() : lx::Json(w));
      for (const auto id : e.ids) tokens.push_back(tokenizer.vocabulary().tokens()[static_cast<std::size_t>(id)]);
      std::cout
          << lx::Json{{"ids", e.ids}, {"type_ids", e.type_ids}, {"word_ids", words}, {"tokens", tokens}, {"offsets", e.offsets}}.dump()
          << '\n';
    }
    return 0;
  }

 private:
  std::string model_;
  bool pairs_ = false;
  std::size_t max_length_ = 512;
};

const program::Registered<Tokenize> command{
    "tokenize", program::Group::use, "token ids, word ids and offsets as JSON lines",
    "Tokenizes lines of standard input with a model's tokenizer. Writes one JSON object per line: ids, type_ids, word_ids (null for "
    "special tokens), tokens, offsets (in characters)."};

}  // namespace
