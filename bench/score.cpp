// SPDX-License-Identifier: MIT
// Scores 512 real pairs, sorted by length, in batches of 32.
#include <iomanip>
#include <lexformer/io/json.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

template <class T, class Dev>
lx::Json measure(const bench::Input& input, const program::Compute& compute, std::size_t rounds) {
  using Model = lx::CrossEncoder<T, Dev>;
  // A model without a head gets a random one.
  const bool trained = [&] {
    const auto file = lx::ModelFile::open(input.model);
    return file.config->contains("lexformer") && file.config["lexformer"].contains("head");
  }();
  auto model = trained ? Model::load(input.model) : Model::load(input.model, {.seed = 1});
  lx::apply_precision(model, compute);
  const auto data = input.pairs(model);
  const auto rows = input.rows(data.token_counts(0), 16, true);
  std::vector<lx::Batch> batches;
  std::size_t pairs = 0, tokens = 0;
  bench::Timer timer;
  for (const auto& r : rows) batches.push_back(data.batch(0, r));
  const double making = timer.lap();
  for (const auto& b : batches) {
    pairs += b.size();
    tokens += b.offsets.tokens();
  }
  input.write_logits(model, batches);
  const lx::NoGrad no_grad;
  std::vector<double> seconds;
  for (std::size_t r = 0; r <= rounds; ++r) {
    timer.lap();
    for (const auto& b : batches) model(b);
    bench::finish<Dev>();
    if (const double t = timer.lap(); r > 0) seconds.push_back(t);
  }
  const double n = static_cast<double>(pairs), typical = bench::median(seconds), best = *std::min_element(seconds.begin(), seconds.end());
  std::cout << std::fixed << std::setprecision(1) << "threads " << lx::threads() << ", products by " << lx::name_of(lx::instructions())
            << ", " << pairs << " pairs, " << tokens << " tokens: median " << n / typical << " pairs/s, best " << n / best
            << "; making the batches took " << 100 * making / typical << " % of a round; peak memory " << std::setprecision(3)
            << bench::peak_gb() << " GB\n";
  return {{"pairs_per_second", n / typical}, {"best_pairs_per_second", n / best}, {"peak_gb", bench::peak_gb()}};
}

class Score final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    input_.visit(v);
    visit_threads(v);
    where_.visit(v);
    v.size("rounds", rounds_, 1, "how often all pairs are scored, after once for warming up");
  }
  int run() override {
    where_.run([&](auto number, auto device) {
      auto results = measure<decltype(number), decltype(device)>(input_, where_.compute, rounds_);
      results.update(where_.json());
      input_.write(results);
    });
    return 0;
  }

 private:
  bench::Input input_;
  bench::Where where_;
  std::size_t rounds_ = 4;
};

}  // namespace

int main(int argc, char** argv) { return program::run_alone<Score>("score", "Measures scoring.", argc, argv); }
