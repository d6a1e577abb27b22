// SPDX-License-Identifier: MIT
// Tokenizes text: one JSON line for each line of text.
#include <lexformer/io/json.hpp>

#include "cli/program.hpp"

namespace lx = lexformer;

namespace {

int run_tokenize(int argc, char** argv) {
  CLI::App app(
      "Tokenizes lines of standard input with a model's tokenizer. Writes one JSON object per line: ids, type_ids, word_ids (null for "
      "special "
      "tokens), tokens, offsets (in characters).",
      "tokenize");
  std::string model;
  bool pairs = false;
  std::size_t max_length = 512;
  app.add_option("--model", model, "a .lxf file or a HuggingFace folder")->required()->type_name("M.lxf");
  app.add_flag("--pairs", pairs, "each line is left TAB right");
  app.add_option("--max-length", max_length, "maximum number of tokens; longer texts are cut, the longer one of a pair first")
      ->capture_default_str();
  return program::run(app, argc, argv, [&] {
    const auto tokenizer = lx::make_tokenizer(lx::ModelFile::open(model));
    std::string line;
    for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
      if (line.ends_with('\r')) line.pop_back();
      lx::Encoding e;
      if (pairs) {
        const auto tab = line.find('\t');
        if (tab == line.npos) lx::fail_file(lx::cat("standard input: line ", number), "there is no tab between a left and a right text");
        e = tokenizer.encode_pair(std::string_view(line).substr(0, tab),
                                  std::string_view(line).substr(tab + 1, line.find('\t', tab + 1) - tab - 1), max_length);
      } else {
        e = tokenizer.encode(line, max_length);
      }
      lx::Json words = lx::Json::array(), tokens = lx::Json::array();
      for (const auto w : e.word_ids) words.push_back(w < 0 ? lx::Json() : lx::Json(w));
      for (const auto id : e.ids) tokens.push_back(tokenizer.vocabulary().tokens()[static_cast<std::size_t>(id)]);
      std::cout
          << lx::Json{{"ids", e.ids}, {"type_ids", e.type_ids}, {"word_ids", words}, {"tokens", tokens}, {"offsets", e.offsets}}.dump()
          << '\n';
    }
    return 0;
  });
}

const program::Command command{"tokenize", program::Group::use, "token ids, word ids and offsets as JSON lines", run_tokenize};

}  // namespace
