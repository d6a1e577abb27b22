// SPDX-License-Identifier: MIT
// What the measuring programs share: real pairs, batches given as rows, timers, one line of results.
#pragma once

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <lexformer/lexformer.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

namespace lx = lexformer;

/// Seconds since the last call or since it was made: of the clock, or of processor time summed over the threads, which a busy
/// machine disturbs less.
class Timer {
 public:
  static inline bool cpu_time = false;
  double lap() {
    const double now = read();
    return now - std::exchange(last_, now);
  }

 private:
  static double read() {
    timespec t{};
    clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double last_ = read();
};

inline double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.empty() ? 0 : (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}
inline double sum(const std::vector<double>& x) {
  double total = 0;
  for (const double v : x) total += v;
  return total;
}

/// Largest resident memory of this process so far, in GB.
inline double peak_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

/// What every program is told.
struct Input {
  std::string model, data = "../shared/data/abt-buy/train.tsv", batches, logits, json;
  std::size_t length = 0, max_length = 512;

  explicit Input(CLI::App& app) {
    app.add_option("--model", model, "a .lxf file or a HuggingFace folder")->required();
    app.add_option("--data", data, "labelled pairs")->capture_default_str();
    app.add_option("--batches", batches, "a file with the rows (from 0) of one batch on each line; default: chosen here");
    app.add_option("--length", length, "repeat each pair until it has so many tokens; 0 = real lengths")->capture_default_str();
    app.add_option("--max-length", max_length, "tokens of a pair at the most")->capture_default_str();
    app.add_option("--logits", logits, "write the logits of all batches, without dropout, before measuring (.npy)");
    app.add_flag("--cpu-time", Timer::cpu_time, "measure processor time, not the clock");
    app.add_option("--json", json, "write the results to this file too");
    app.add_option_function<int>(
        "--threads", [](int n) { lx::set_threads(n); }, "default: all cores");
  }

  lx::PairDataset pairs(const lx::CrossEncoder<>& model_, bool lexical) const {
    auto examples = lx::class_examples(lx::read_pairs(data));
    if (length > 0)
      for (auto& e : examples)
        for (std::string* text : {&e.left, &e.right})
          for (const std::string once = *text + " "; text->size() < 8 * length;) *text += " " + once;
    return lx::PairDataset(
        std::move(examples), model_.tokenizer(),
        {.max_length = length > 0 ? length : max_length, .lexical = lexical ? std::optional(lx::LexicalOptions{}) : std::nullopt});
  }

  /// The batches of the file, or `count` of 32 pairs: grouped by length, or sorted by it.
  std::vector<std::vector<std::size_t>> rows(const std::vector<lx::Encoding>& encodings, std::size_t count, bool sorted) const {
    const auto lengths = lx::token_counts(encodings);
    if (batches.empty()) {
      auto all = lx::make_batches(lengths, {.size = 32, .seed = 1, .drop_last = true});
      all.resize(std::min(count, all.size()));
      const auto longest = [&](const auto& batch) { return lengths[batch.front()]; };
      if (sorted) std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return longest(a) > longest(b); });
      return all;
    }
    std::vector<std::vector<std::size_t>> all;
    std::ifstream in(batches);
    for (std::string line; std::getline(in, line);) {
      std::istringstream numbers(line);
      all.emplace_back();
      for (std::size_t row = 0; numbers >> row;) all.back().push_back(row);
    }
    if (all.empty()) lx::fail_file(batches, "there are no batches in it");
    return all;
  }

  /// Logits of all batches one after the other, if asked for.
  void write_logits(const lx::CrossEncoder<>& model_, const std::vector<lx::Batch>& all) const {
    if (logits.empty()) return;
    const lx::NoGrad no_grad;
    std::vector<lx::Var<>> parts;
    for (const auto& batch : all) parts.push_back(model_(batch).logits);
    lx::save_npy(logits, lx::concat_rows(parts).value());
  }
  void write(const lx::Json& results) const {
    if (!json.empty()) lx::write_file_atomic(json, lx::dump_json(results, json) + "\n");
  }
};

/// Runs the body and turns an error into one line and its exit code.
template <class Body>
int run(CLI::App& app, int argc, char** argv, Body&& body) {
  CLI11_PARSE(app, argc, argv);
  try {
    body();
    return 0;
  } catch (const lx::Error& e) {
    std::cerr << app.get_name() << ": " << e.what() << "\n";
    return e.exit_code();
  }
}

}  // namespace bench
