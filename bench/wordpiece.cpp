// SPDX-License-Identifier: MIT
// Measures the tokenizer: ids, type ids, word ids and offsets of each line of a file.
#include <lexformer/io/json.hpp>

#include "common.hpp"

namespace lx = lexformer;

int main(int argc, char** argv) {
  CLI::App app("Measures the WordPiece tokenizer on the lines of a file.", "wordpiece");
  std::string model, input, ids;
  std::size_t rounds = 5, max_length = 512;
  app.add_option("--model", model, "a .lxf file or a HuggingFace folder")->required();
  app.add_option("--input", input, "a text file")->required();
  app.add_option("--max-length", max_length, "maximum number of tokens per line")->capture_default_str();
  app.add_option("--rounds", rounds, "how often the file is tokenized, after once for warming up")->capture_default_str();
  app.add_option("--ids", ids, "write the ids of each line to this file");
  app.add_flag("--cpu-time", bench::Timer::cpu_time, "measure processor time, not the clock");
  program::add_threads(app);
  return bench::run(app, argc, argv, [&] {
    const auto tokenizer = lx::make_tokenizer(lx::ModelFile::open(model));
    std::vector<std::string> lines;
    std::ifstream in(input);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (lines.empty()) lx::fail_file(input, "cannot be read, or is empty");
    std::size_t tokens = 0;
    std::vector<double> seconds;
    for (std::size_t r = 0; r <= rounds; ++r) {
      bench::Timer timer;
      const auto encodings = lx::encode_all(tokenizer, lines, max_length);
      if (const double t = timer.lap(); r > 0) {
        seconds.push_back(t);
        continue;
      }
      program::StringWriter text;
      for (const auto& e : encodings) {
        tokens += e.size();
        for (std::size_t i = 0; i < e.size(); ++i) text << e.ids[i] << (i + 1 < e.size() ? " " : "\n");
      }
      if (!ids.empty()) lx::write_file_atomic(ids, text.str());
    }
    bench::print_line({{"lines", lines.size()},
                       {"tokens", tokens},
                       {"threads", lx::threads()},
                       {"tokens_per_second", static_cast<double>(tokens) / bench::median(seconds)}});
  });
}
