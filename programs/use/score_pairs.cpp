// SPDX-License-Identifier: MIT
// Scores a stream of pairs, or single texts, of any length: one score per line, in the order of the input.
#include <sys/stat.h>
#include <unistd.h>

#include <iomanip>

#include "cli/records.hpp"
#include "cli/trained_model.hpp"

namespace lx = lexformer;

namespace {

/// A value as a .tsv column. The format cannot represent tabs and line ends, so they become spaces.
std::string cell(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

/// The part of standard input that has been read, 0 to 1; 0 if it is not a file.
double part_read() {
  struct stat file = {};
  if (fstat(0, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0) return 0;
  return std::clamp(static_cast<double>(lseek(0, 0, SEEK_CUR)) / static_cast<double>(file.st_size), 0.0, 1.0);
}

class ScorePairs final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a trained model: a .lxf file, or a folder with one or with a HuggingFace classifier")
        .required()
        .shown_as("M.lxf");
    v.flag("logits", logits_, "write the logits of all classes, separated by tabs");
    v.choice("format", format_, "input format");
    v.size("batch", batch_, 1, "pairs or texts per batch");
    v.size("window", window_, 1,
           "number of pairs or texts that are read, sorted by length and scored together; a bad row does not affect the output of "
           "earlier rows");
    flags_.visit(v);
    program::visit_table(v, table_);
    v.find("skip_label")->only_if(false, "the labels are not read");
    records_.visit(v);
    v.list("keep", table_.keep,
           "input columns to write before each score, e.g. ids; names, or numbers from 1. The output is then a tab-separated table with "
           "a header line; a tab or line end in a value becomes a space. With --left, the two ids come first")
        .split_at(',')
        .shown_as("COLUMN,...");
    compute_.visit(v, true);
    visit_threads(v);
  }
  int run() override {
    const auto model = lx::open_scorer(model_, compute_, flags_.extras());
    // Two classes have one score, whatever they are called.
    const auto classes = model->task().labels > 2 ? model->task().label_names : std::vector<std::string>{};
    table_.labels = false;
    table_.texts = model->task().texts;
    records_.apply(table_, model->metadata, model_);
    lx::PairReader reader(std::cin, "standard input", format_, table_);
    std::cout << std::setprecision(9);
    bool header = !table_.keep.empty() || table_.records;
    const bool shown = isatty(2) != 0 && isatty(1) == 0;  // scores on a terminal need no other sign of life
    lx::Progress progress(std::cerr, program::progress_options(shown ? lx::ProgressMode::bar : lx::ProgressMode::none, 0));
    const double start = lx::steady_seconds();
    std::size_t scored = 0, read = 0;
    const auto show = [&](std::size_t done) {
      scored += done;
      if (!shown) return;
      const double rate = static_cast<double>(scored) / std::max(lx::steady_seconds() - start, 1e-9);
      const double part = part_read(), left = part > 0 ? static_cast<double>(read) / part - static_cast<double>(scored) : 0;
      progress.update(
          lx::cat(scored, " scored  ", lx::format_rate(rate, table_.texts == 1 ? "texts" : "pairs", left > 0 ? left / rate : -1)));
    };
    for (bool more = true; more;) {
      std::vector<lx::PairExample> examples;
      std::vector<std::string> kept;  // of each row, each followed by a tab
      std::exception_ptr fault;       // of a bad row, which ends the run when the rows before it are written
      try {
        for (lx::PairRow row; examples.size() < window_ && (more = reader.next(row));) {
          examples.push_back({row.left, row.right});
          kept.push_back(table_.records ? cell(row.left_id) + '\t' + cell(row.right_id) + '\t' : "");
          for (const auto& value : row.kept) kept.back() += cell(value) + '\t';
        }
      } catch (const lx::Error&) {
        if (examples.empty()) throw;
        fault = std::current_exception();
      }
      const std::size_t first = std::exchange(read, read + examples.size());
      const auto y = model->logits(examples, batch_, show);
      lx::require_finite(y, "standard input", table_.texts == 1 ? "text" : "pair", first + 1);
      if (std::exchange(header, false)) {
        if (table_.records) std::cout << "left_id\tright_id\t";
        for (const auto& name : reader.kept_names()) std::cout << cell(name) << '\t';
        for (std::size_t c = 0; logits_ && c < y.dim(1); ++c)
          std::cout << "logit_" << (classes.empty() ? std::to_string(c) : classes[c]) << (c + 1 < y.dim(1) ? '\t' : '\n');
        if (!logits_) std::cout << (classes.empty() ? "score\n" : "class\n");
      }
      const auto scores = model->scores_of(y);
      for (std::size_t i = 0; i < examples.size(); ++i) {
        std::cout << kept[i];
        for (std::size_t c = 0; logits_ && c < y.dim(1); ++c) std::cout << y.at(i, c) << (c + 1 < y.dim(1) ? '\t' : '\n');
        if (!logits_ && classes.empty()) std::cout << scores[i] << '\n';
        if (!logits_ && !classes.empty()) std::cout << classes.at(static_cast<std::size_t>(scores[i])) << '\n';
      }
      std::cout.flush();
      if (fault) std::rethrow_exception(fault);
    }
    return 0;
  }

 private:
  std::string model_;
  bool logits_ = false;
  lx::TableFormat format_ = lx::TableFormat::tsv;
  std::size_t batch_ = 32, window_ = 4096;
  program::ModelFlags flags_;
  lx::TableOptions table_;
  program::RecordFlags records_;
  program::Compute compute_;
};

const program::Registered<ScorePairs> command{
    "score_pairs", program::Group::use, "scores a stream of pairs or single texts",
    "Scores pairs, or single texts if the model reads those, from standard input. Two classes: the probability of class 1; more classes: "
    "the most probable class, by its name if the model has names; regression: the value."};

}  // namespace
