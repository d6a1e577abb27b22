// SPDX-License-Identifier: MIT
// Attention with a reach beside attention to all keys: causal, and local as in ModernBERT, forward and backward. Prints the ratios of the
// times as one line of JSON.
#include <lexformer/ops/attention.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

class AttentionReachBench final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    where_.visit(v);
    v.size("length", length_, 1, "tokens of a sequence");
    v.size("sequences", sequences_, 1, "sequences");
    v.size("heads", heads_, 1, "heads");
    v.size("head_width", head_width_, 1, "numbers of a head");
    v.size("distance", distance_, 1, "largest distance to a token that local attention sees");
    v.size("repeats", repeats_, 1, "measurements of each");
    v.number("seconds", seconds_, lx::bounds::positive, "what a measurement takes");
    bench::visit_cpu_time(v);
  }
  int run() override {
    where_.run([&]<class T, class Dev>(T, Dev) {
      const auto offsets = lx::Offsets::from_lengths(std::vector(sequences_, length_));
      const lx::Var<T, Dev> qkv(bench::random_tensor<T, Dev>({offsets.tokens(), 3 * heads_ * head_width_}, 1), true);
      const auto gradient = bench::random_tensor<T, Dev>({offsets.tokens(), heads_ * head_width_}, 2);
      std::vector<std::function<void()>> calls;
      for (const bool backward : {false, true})
        for (const lx::AttentionReach& reach : {lx::AttentionReach{}, {true, 0}, {false, distance_}}) {
          lx::ScoreTerms<T, Dev> terms;
          terms.limit_reach(reach);
          calls.emplace_back([&qkv, &gradient, offsets, terms, backward, heads = heads_] {
            if (backward) {
              lx::attention(qkv, offsets, heads, terms).context.backward(gradient.clone());
            } else {
              const lx::NoGrad no_grad;
              lx::attention(qkv, offsets, heads, terms);
            }
          });
        }
      const auto times = bench::in_turns<Dev>(calls, repeats_, seconds_);
      lx::Json line = where_.json();
      line.update(
          {{"what", "attention_reach"}, {"length", length_}, {"sequences", sequences_}, {"heads", heads_}, {"distance", distance_}});
      for (const std::size_t first : {std::size_t{0}, std::size_t{3}}) {
        const auto ratio = [&](std::size_t k) { return bench::median(times[first + k]) / bench::median(times[first]); };
        line[first == 0 ? "forward" : "with_backward"] = {
            {"all_ms", 1e3 * bench::median(times[first])}, {"causal_to_all", ratio(1)}, {"local_to_all", ratio(2)}};
      }
      bench::print_line(line);
    });
    return 0;
  }

 private:
  bench::Where where_;
  std::size_t length_ = 2048, sequences_ = 1, heads_ = 12, head_width_ = 64, distance_ = 64, repeats_ = 9;
  double seconds_ = 0.1;
};

}  // namespace

int main(int argc, char** argv) {
  return program::run_alone<AttentionReachBench>(
      "attention_reach", "Measures causal and local attention beside attention to all keys, as a line of JSON.", argc, argv);
}
