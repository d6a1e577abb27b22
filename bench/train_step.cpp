// SPDX-License-Identifier: MIT
// Training steps on real pairs: batches of 32 grouped by length, dropout, cross-entropy, clipping, AdamW. With several kinds of
// attention each batch is trained on by one after the other, in turns first, so that both see the same machine.
#include <iomanip>

#include "common.hpp"

namespace lx = lexformer;

namespace {

struct Trained {
  std::string attention;
  lx::CrossEncoder<> model;
  lx::PairDataset data;
  lx::AdamW<> optimizer;
  std::vector<double> batch{}, forward{}, backward{}, update{};  // seconds of each step

  Trained(const std::string& name, const bench::Input& input)
      : attention(name),
        model(lx::CrossEncoder<>::load(input.model,
                                       {.attention = name == "none" ? std::vector<std::string>{} : std::vector{name}, .seed = 1})),
        data(input.pairs(model, name == "lea")),
        optimizer(model.parameters(), {.lr = 5e-5, .weight_decay = 5e-5}) {}

  void step(const std::vector<lx::Encoding>& encodings, const std::vector<std::size_t>& rows, std::uint32_t number, bool measured) {
    bench::Timer timer;
    const auto b = data.batch(encodings, rows);
    const double t0 = timer.lap();
    const auto loss = lx::cross_entropy(model(b, {.training = true, .seed = 1, .step = number}).logits, b.labels);
    const double t1 = timer.lap();
    loss.backward();
    const double t2 = timer.lap();
    lx::clip_grad_norm(model.parameters(), 1.0);
    optimizer.step();
    const double t3 = timer.lap();
    if (!measured) return;
    batch.push_back(t0);
    forward.push_back(t1);
    backward.push_back(t2);
    update.push_back(t3);
  }
  /// Without making the batch, as the peers are measured.
  std::vector<double> seconds() const {
    std::vector<double> all;
    for (std::size_t i = 0; i < forward.size(); ++i) all.push_back(forward[i] + backward[i] + update[i]);
    return all;
  }
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures training steps.", "train_step");
  bench::Input input(app);
  std::vector<std::string> attention = {"none"};
  std::size_t steps = 20, warmup = 3;
  std::string start;
  app.add_option("--attention", attention, "none, lea, or both as none,lea")->delimiter(',')->check(CLI::IsMember({"none", "lea"}));
  app.add_option("--steps", steps, "steps that are measured")->capture_default_str();
  app.add_option("--warmup", warmup, "steps before them")->capture_default_str();
  app.add_option("--save-start", start, "write the model before training (.lxf)");
  return bench::run(app, argc, argv, [&] {
    std::vector<std::unique_ptr<Trained>> all;
    for (const auto& name : attention) all.push_back(std::make_unique<Trained>(name, input));
    if (!start.empty()) all[0]->model.save(start);
    const auto encodings = all[0]->data.encode(0, 0);
    const auto rows = input.rows(encodings, warmup + steps, false);
    if (rows.size() <= warmup) lx::fail_usage("--warmup", warmup, " of ", rows.size(), " batches leave none to measure");
    if (!input.logits.empty()) {
      std::vector<lx::Batch> batches;
      for (const auto& r : rows) batches.push_back(all[0]->data.batch(encodings, r));
      input.write_logits(all[0]->model, batches);
    }
    const std::size_t measured = std::min(steps, rows.size() - warmup);
    std::size_t pairs = 0, tokens = 0;
    for (std::size_t k = 0; k < warmup + measured; ++k) {
      for (std::size_t i = 0; i < all.size(); ++i)
        all[(i + k) % all.size()]->step(encodings, rows[k], static_cast<std::uint32_t>(k), k >= warmup);
      for (const std::size_t row : rows[k]) tokens += k >= warmup ? encodings[row].size() : 0;
      pairs += k >= warmup ? rows[k].size() : 0;
    }

    lx::Json results;
    std::cout << std::fixed << "threads " << lx::threads() << ", " << pairs << " pairs, " << tokens << " tokens in " << measured
              << " steps\n";
    for (const auto& t : all) {
      const auto seconds = t->seconds();
      const double total = bench::sum(seconds), ms = 1e3 / static_cast<double>(measured);
      const auto percent = [&](const std::vector<double>& part) { return 100 * bench::sum(part) / total; };
      std::cout << std::setprecision(1) << "attention " << t->attention << ": " << total * ms << " ms/step (median "
                << 1e3 * bench::median(seconds) << "), " << static_cast<double>(pairs) / total << " pairs/s, "
                << static_cast<double>(tokens) / total << " tokens/s; forward " << percent(t->forward) << " %, backward "
                << percent(t->backward) << " %, clip and AdamW " << percent(t->update) << " %; making the batch " << std::setprecision(2)
                << bench::sum(t->batch) * ms << " ms\n";
      results[t->attention] = {
          {"pairs_per_second", static_cast<double>(pairs) / total}, {"ms_per_step", total * ms}, {"batch_ms", bench::sum(t->batch) * ms}};
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
    std::cout << std::setprecision(3) << "peak memory " << bench::peak_gb() << " GB\n";
    results["peak_gb"] = bench::peak_gb();
    input.write(results);
  });
}
