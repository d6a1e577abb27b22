// SPDX-License-Identifier: MIT
// An attention term of your own: one struct with `contribute` and `visit`. This one lets every head learn how much it likes
// tokens that are close:  S_ij += -slope_h |i - j|  (ALiBi's idea, Press et al. 2022, with learned slopes).
// It needs no kernel, and its parameter gets its gradient for free.   Try: build/release/bin/05_attention_term
#include <iostream>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

struct Nearness final : lx::AttentionTerm<double> {
  lx::Var<double> slope;  // (H, 1)

  explicit Nearness(std::size_t heads) : slope(lx::Tensor<double>::full({heads, 1}, 0.1), true) {}
  void contribute(const lx::AttentionInputs<double>& in, lx::ScoreTerms<double>& out) override {
    const std::size_t n = in.offsets.longest();
    lx::Tensor<double> distance({1, n * n});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) distance.mutable_data()[i * n + j] = -static_cast<double>(i > j ? i - j : j - i);
    out.position_bias = lx::reshape(lx::multiply(slope, lx::Var<double>(distance)), {in.heads, n, n});
  }
  void visit(lx::ParameterVisitor<double>& v) override { v("slope", slope); }
};

int main() {
  lx::BertConfig config;
  config.vocab_size = 20;
  config.hidden_size = config.embedding_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 16;
  lx::Init init(1);
  lx::BertEncoder<double> encoder(config, init);
  const auto term = std::make_shared<Nearness>(config.num_attention_heads);
  encoder.add_term(1, "nearness", term);

  lx::Batch batch;  // two sequences of 3 and 5 tokens, one after the other, no padding
  batch.ids = {1, 2, 3, 4, 5, 6, 7, 8};
  batch.type_ids = {0, 0, 0, 0, 0, 0, 0, 0};
  batch.position_ids = {0, 1, 2, 0, 1, 2, 3, 4};
  batch.offsets = lx::Offsets::from_lengths(std::vector<std::size_t>{3, 5});

  const auto result = lx::gradcheck(
      [&](const std::vector<lx::Var<double>>& v) {
        term->slope = v[0];
        return encoder(batch).last;  // (8, 8)
      },
      {lx::Tensor<double>::from({0.1, 0.5}, {2, 1})});
  std::cout << "the gradient of the slopes is " << (result.ok ? "right" : "wrong: " + result.message) << ", worst error " << result.worst
            << "\n";
}
