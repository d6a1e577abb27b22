// SPDX-License-Identifier: MIT
// Shared by the benchmarks: real pairs, batches of given rows, devices, timers, one line of results.
#pragma once

#include <sys/resource.h>
#include <lexformer/io/json.hpp>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <type_traits>

#include "cli/knowledge.hpp"

namespace bench {

namespace lx = lexformer;

/// The device and precision of a program.
struct Where {
  program::Compute compute;

  void visit(program::OptionVisitor& v) { compute.visit(v, true); }
  /// Calls f(T(), Dev()).
  template <class F>
  void run(F&& f) const {
    lx::with_compute(compute, std::forward<F>(f));
  }
  lx::Json json() const { return {{"device", lx::name_of(compute.device)}, {"precision", lx::name_of(compute.precision)}}; }
};

/// Waits until all work queued on the device is done.
template <class Dev>
void finish() {
  if constexpr (std::is_same_v<Dev, lx::Cuda>) lx::cuda::synchronize();
}

/// Seconds since the last call or since construction: wall-clock time, or processor time summed over the threads, which depends less on
/// other load of the machine.
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

/// Median and minimum of the seconds per call, in ms.
inline lx::Json times_json(const std::vector<double>& seconds) {
  return {{"median_ms", 1e3 * median(seconds)}, {"min_ms", 1e3 * *std::min_element(seconds.begin(), seconds.end())}};
}

/// Measures the seconds per call of each function, `repeats` times, alternating between the functions. Calls are queued in series of about
/// `seconds`, so that launch and synchronization cost count once per series. Two warm-up series of each function are discarded.
template <class Dev>
std::vector<std::vector<double>> in_turns(const std::vector<std::function<void()>>& functions, std::size_t repeats, double seconds) {
  std::vector<std::vector<double>> all(functions.size());
  std::vector<std::size_t> calls(functions.size(), 1);
  for (std::size_t r = 0; r < repeats + 2; ++r)
    for (std::size_t i = 0; i < functions.size(); ++i) {
      finish<Dev>();
      Timer timer;
      for (std::size_t k = 0; k < calls[i]; ++k) functions[i]();
      finish<Dev>();
      const double once = timer.lap() / static_cast<double>(calls[i]);
      if (r < 2)  // warm-up; the first call is slower than all others
        calls[i] = static_cast<std::size_t>(std::clamp(seconds / once, 1.0, 10000.0));
      else
        all[i].push_back(once);
    }
  return all;
}

/// Prints a result for other programs as one line of JSON.
inline void print_line(const lx::Json& result) { std::cout << lx::dump_json(result, "result") << std::endl; }

/// Random numbers. They repeat after about a million, which does not affect the speed.
template <class T, class Dev>
lx::Tensor<T, Dev> random_tensor(const lx::Shape& shape, std::uint32_t stream) {
  constexpr std::size_t distinct = 1000003;
  lx::RandomStream random(1, lx::random_site::user, stream);
  std::vector<T> values(shape.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < distinct ? static_cast<T>(random.normal()) : values[i - distinct];
  return lx::Tensor<T, Dev>::from(values, shape);
}

/// The peak resident memory of this process in GB.
inline double peak_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

/// --cpu-time.
inline void visit_cpu_time(program::OptionVisitor& v) { v.flag("cpu_time", Timer::cpu_time, "measure processor time, not the clock"); }

/// The data of a program, and where its results go.
struct Input {
  std::string model, data = "../shared/data/abt-buy/train.tsv", batches, logits, json;
  std::size_t length = 0, max_length = 512, size = 32;
  std::vector<std::string> labels{"0", "1"};
  program::KnowledgeOptions knowledge;

  void visit(program::OptionVisitor& v) {
    v.input("model", model, "a .lxf file or a HuggingFace folder").required();
    v.input("data", data, "labelled pairs");
    v.list("labels", labels, "class names, as in --data").split_at(',');
    knowledge.visit(v);
    v.input("batches", batches, "a file with the rows (from 0) of one batch on each line; default: chosen here");
    v.size("length", length, 0, "repeat each pair until it has so many tokens; 0 = real lengths");
    v.size("max_length", max_length, 0, "maximum number of tokens per pair");
    v.size("batch", size, 1, "pairs in a batch that is chosen here");
    v.output("logits", logits, "write the logits of all batches, without dropout, before measuring (.npy)");
    visit_cpu_time(v);
    v.output("json", json, "write the results to this file too");
  }

  /// The pairs as a data set of this model, which gets the trees.
  template <class Model>
  lx::PairDataset pairs(Model& model_) const {
    auto examples = lx::class_examples(lx::read_pairs(data), labels);
    model_.provide(knowledge.load(length > 0 ? "--length" : nullptr));
    if (!knowledge.parses.empty()) model_.fit(lexformer::texts_of(examples, 2));
    if (length > 0)
      for (auto& e : examples)
        for (std::string* text : {&e.left, &e.right})
          for (const std::string once = *text + " "; text->size() < 8 * length;) *text += " " + once;
    return lx::PairDataset(std::move(examples), model_.tokenizer(),
                           {.max_length = length > 0 ? length : max_length, .features = model_.features()});
  }

  /// The batches in the file, or `count` batches of --batch pairs, grouped or sorted by length.
  std::vector<std::vector<std::size_t>> rows(const std::vector<std::size_t>& lengths, std::size_t count, bool sorted) const {
    if (batches.empty()) {
      auto all = lx::plan_batches(lengths, {.size = size, .seed = 1, .drop_last = true});
      if (all.empty()) lx::fail_file(data, "has ", lengths.size(), " pairs, expected at least --batch ", size);
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

  /// Writes the logits of all batches, concatenated, if requested.
  template <class Model>
  void write_logits(const Model& model_, const std::vector<lx::Batch>& all) const {
    if (logits.empty()) return;
    const lx::NoGrad no_grad;
    std::vector<decltype(model_(all[0]).logits)> parts;
    for (const auto& batch : all) parts.push_back(model_(batch).logits);
    lx::save_npy(logits, lx::cast<float>(lx::concat_rows(parts)).value().template to<lx::Cpu>());
  }
  void write(const lx::Json& results) const {
    if (!json.empty()) lx::write_file_atomic(json, lx::dump_json(results, json) + "\n");
  }
};

}  // namespace bench
