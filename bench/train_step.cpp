// SPDX-License-Identifier: MIT
// Training steps on real pairs: batches of 32 grouped by length, dropout, cross-entropy, clipping, AdamW. With several kinds of
// attention, each batch is used by all of them in alternating order, so that they run under the same machine load. On a GPU a step is
// synchronized only at its end, so the time of a part is the time in which the host queues it.
#include <iomanip>
#include <lexformer/io/json.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

template <class T, class Dev>
struct Trained {
  std::string attention;
  lx::CrossEncoder<T, Dev> model;
  lx::PairDataset data;
  lx::AdamW<T, Dev> optimizer;
  std::vector<double> batch{}, forward{}, backward{}, update{}, wait{};  // seconds per step

  Trained(const std::string& name, const bench::Input& input)
      : attention(name),
        model(lx::CrossEncoder<T, Dev>::load(
            input.model, {.attention = name == "none" ? std::vector<lx::TermConfig>{} : std::vector<lx::TermConfig>{name},
                          .task = {.labels = input.labels.size()},
                          .seed = 1})),
        data(input.pairs(model)),
        optimizer(model.parameters(), {.lr = 5e-5, .weight_decay = 5e-5}) {}

  void step(const std::vector<std::size_t>& rows, std::uint32_t number, bool measured) {
    if (number == 0) model.calibrate(data.batch(0, rows));
    bench::Timer timer;
    const auto b = data.batch(0, rows);
    const double t0 = timer.lap();
    const auto loss = lx::cross_entropy(model(b, {.training = true, .seed = 1, .step = number}).logits, b.labels);
    const double t1 = timer.lap();
    loss.backward();
    const double t2 = timer.lap();
    const auto norm = optimizer.clip_and_step(1.0, loss.value());
    const double t3 = timer.lap();
    bench::finish<Dev>();
    const double t4 = timer.lap();
    if (!measured) return;
    batch.push_back(t0);
    forward.push_back(t1);
    backward.push_back(t2);
    update.push_back(t3);
    wait.push_back(t4);
  }
  /// Seconds per step without making the batch, as for the peers.
  std::vector<double> seconds() const {
    std::vector<double> all;
    for (std::size_t i = 0; i < forward.size(); ++i) all.push_back(forward[i] + backward[i] + update[i] + wait[i]);
    return all;
  }
};

/// The operations of the encoder's products, forward and backward: the minimum for any implementation.
double flops(const lx::TransformerConfig& c, const std::vector<std::size_t>& lengths, const std::vector<std::size_t>& rows) {
  double total = 0;
  for (const std::size_t row : rows) {
    const double n = static_cast<double>(lengths[row]), d = static_cast<double>(c.hidden_size);
    const double linear = 4 * d * d + 2 * d * static_cast<double>(c.intermediate_size);
    total += 3 * static_cast<double>(c.num_hidden_layers) * (2 * n * linear + 4 * n * n * d);
  }
  return total;
}

struct Options {
  std::vector<std::string> attention = {"none"};
  std::size_t steps = 20, warmup = 3;
  std::string start;
  bool checkpointing = false;

  void visit(program::OptionVisitor& v) {
    v.list("attention", attention, "attention terms, or none; several as none,lea take turns").split_at(',');
    v.size("steps", steps, 1, "steps that are measured");
    v.size("warmup", warmup, 0, "steps before them");
    v.flag("gradient_checkpointing", checkpointing, "compute layers again in backward instead of storing their values");
    v.output("save_start", start, "write the model before training (.lxf)");
  }
};

template <class T, class Dev>
lx::Json measure(const bench::Input& input, const Options& o) {
  std::vector<std::unique_ptr<Trained<T, Dev>>> all;
  for (const auto& name : o.attention) all.push_back(std::make_unique<Trained<T, Dev>>(name, input));
  for (auto& t : all) t->model.encoder().gradient_checkpointing = o.checkpointing;
  if (!o.start.empty()) all[0]->model.save(o.start);
  const auto lengths = all[0]->data.token_counts(0);
  const auto rows = input.rows(lengths, o.warmup + o.steps, false);
  if (rows.size() <= o.warmup) lx::fail_usage("--warmup", o.warmup, " of ", rows.size(), " batches leave none to measure");
  if (!input.logits.empty()) {
    std::vector<lx::Batch> batches;
    for (const auto& r : rows) batches.push_back(all[0]->data.batch(0, r));
    input.write_logits(all[0]->model, batches);
  }
  const std::size_t measured = std::min(o.steps, rows.size() - o.warmup);
  std::size_t pairs = 0, tokens = 0;
  double products = 0;
  lx::Memory<Dev>::reset_peak();
  for (std::size_t k = 0; k < o.warmup + measured; ++k) {
    for (std::size_t i = 0; i < all.size(); ++i) all[(i + k) % all.size()]->step(rows[k], static_cast<std::uint32_t>(k), k >= o.warmup);
    for (const std::size_t row : rows[k]) tokens += k >= o.warmup ? lengths[row] : 0;
    pairs += k >= o.warmup ? rows[k].size() : 0;
    products += k >= o.warmup ? flops(all[0]->model.encoder().config, lengths, rows[k]) : 0;
  }

  lx::Json results{{"steps", measured}, {"pairs", pairs}, {"tokens", tokens}, {"flops_per_step", products / static_cast<double>(measured)}};
  std::cout << std::fixed << "threads " << lx::threads() << ", products by " << lx::name_of(lx::instructions()) << ", " << pairs
            << " pairs, " << tokens << " tokens in " << measured << " steps\n";
  for (const auto& t : all) {
    const auto seconds = t->seconds();
    const double total = bench::sum(seconds), ms = 1e3 / static_cast<double>(measured);
    const auto percent = [&](const std::vector<double>& part) { return 100 * bench::sum(part) / total; };
    std::cout << std::setprecision(std::is_same_v<Dev, lx::Cpu> ? 1 : 3) << "attention " << t->attention << ": " << total * ms
              << " ms/step (median " << 1e3 * bench::median(seconds) << "), " << std::setprecision(1) << static_cast<double>(pairs) / total
              << " pairs/s, " << static_cast<double>(tokens) / total << " tokens/s; ";
    std::cout << "forward " << percent(t->forward) << " %, backward " << percent(t->backward) << " %, clip and AdamW " << percent(t->update)
              << " %; ";
    if (!std::is_same_v<Dev, lx::Cpu>) std::cout << "wait for the device " << percent(t->wait) << " %; ";
    std::cout << "making the batch " << std::setprecision(2) << bench::sum(t->batch) * ms << " ms\n";
    results[t->attention] = bench::times_json(seconds);
    results[t->attention].update({{"pairs_per_second", static_cast<double>(pairs) / total},
                                  {"tokens_per_second", static_cast<double>(tokens) / total},
                                  {"ms_per_step", total * ms},
                                  {"batch_ms", bench::sum(t->batch) * ms},
                                  {"wait_ms", bench::sum(t->wait) * ms}});
  }
  if (all.size() == 2) {
    std::vector<double> ratio, with_batch;
    const auto a = all[0]->seconds(), b = all[1]->seconds();
    for (std::size_t i = 0; i < measured; ++i) {
      ratio.push_back(b[i] / a[i]);
      with_batch.push_back((b[i] + all[1]->batch[i]) / (a[i] + all[0]->batch[i]));
    }
    std::cout << std::setprecision(2) << all[1]->attention << " over " << all[0]->attention
              << ", median of the steps' ratios: " << 100 * (bench::median(ratio) - 1) << " %, with making the batch "
              << 100 * (bench::median(with_batch) - 1) << " %\n";
    results["ratio"] = bench::median(ratio);
  }
  results["peak_gb"] = bench::peak_gb();
  results["tensors_gb"] = 1e-9 * static_cast<double>(lx::Memory<Dev>::peak());
  std::cout << std::setprecision(3) << "peak memory of the process " << bench::peak_gb() << " GB, of tensors " << results["tensors_gb"]
            << " GB\n";
  return results;
}

class TrainStep final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    input_.visit(v);
    visit_threads(v);
    where_.visit(v);
    options_.visit(v);
  }
  int run() override {
    where_.run([&](auto number, auto device) {
      auto results = measure<decltype(number), decltype(device)>(input_, options_);
      results.update(where_.json());
      input_.write(results);
    });
    return 0;
  }

 private:
  bench::Input input_;
  bench::Where where_;
  Options options_;
};

}  // namespace

int main(int argc, char** argv) { return program::run_alone<TrainStep>("train_step", "Measures training steps.", argc, argv); }
