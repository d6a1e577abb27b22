// SPDX-License-Identifier: MIT
// Measures the tokenizer: ids, type ids, word ids and offsets of each line of a file.
#include <lexformer/io/json.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

class Wordpiece final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a .lxf file or a HuggingFace folder").required();
    v.input("input", input_, "a text file").required();
    v.size("max_length", max_length_, 0, "maximum number of tokens per line");
    v.size("rounds", rounds_, 1, "how often the file is tokenized, after once for warming up");
    v.output("ids", ids_, "write the ids of each line to this file");
    bench::visit_cpu_time(v);
    visit_threads(v);
  }
  int run() override {
    const auto tokenizer = lx::make_tokenizer(lx::ModelFile::open(model_));
    std::vector<std::string> lines;
    std::ifstream in(input_);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (lines.empty()) lx::fail_file(input_, "cannot be read, or is empty");
    std::size_t tokens = 0;
    std::vector<double> seconds;
    for (std::size_t r = 0; r <= rounds_; ++r) {
      bench::Timer timer;
      const auto encodings = lx::encode_all(tokenizer, lines, max_length_);
      if (const double t = timer.lap(); r > 0) {
        seconds.push_back(t);
        continue;
      }
      program::StringWriter text;
      for (const auto& e : encodings) {
        tokens += e.size();
        for (std::size_t i = 0; i < e.size(); ++i) text << e.ids[i] << (i + 1 < e.size() ? " " : "\n");
      }
      if (!ids_.empty()) lx::write_file_atomic(ids_, text.str());
    }
    bench::print_line({{"lines", lines.size()},
                       {"tokens", tokens},
                       {"threads", lx::threads()},
                       {"tokens_per_second", static_cast<double>(tokens) / bench::median(seconds)}});
    return 0;
  }

 private:
  std::string model_, input_, ids_;
  std::size_t rounds_ = 5, max_length_ = 512;
};

}  // namespace

int main(int argc, char** argv) {
  return program::run_alone<Wordpiece>("wordpiece", "Measures the WordPiece tokenizer on the lines of a file.", argc, argv);
}
