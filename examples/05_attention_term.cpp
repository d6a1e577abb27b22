// SPDX-License-Identifier: MIT
// A complete custom attention term: the term, its gradient check, and a model that is trained with it and LEA, saved, loaded and used.
// Each head learns a preference for near tokens:  S_ij += -slope_h |i - j|  (ALiBi's idea, Press et al. 2022, with learned
// slopes). A term needs no kernel, and its parameters get their gradients like any other.   Try: build/release/bin/05_attention_term
#include <filesystem>
#include <iostream>
#include <lexformer/double.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

template <class T, class Dev>
struct Nearness final : lx::AttentionTerm<T, Dev> {
  lx::Var<T, Dev> slope;  // (H, 1)

  Nearness(const lx::EncoderSizes& sizes, lx::Init&) : slope(lx::Tensor<T, Dev>::full({sizes.heads, 1}, static_cast<T>(0.1)), true) {}
  void contribute(const lx::AttentionInputs<T, Dev>& in, lx::ScoreTerms<T, Dev>& out) const override {
    const std::size_t n = in.batch.offsets.longest();
    std::vector<T> distance(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) distance[i * n + j] = static_cast<T>(-static_cast<float>(i > j ? i - j : j - i));
    const lx::Var<T, Dev> map(lx::Tensor<T, Dev>::from(distance, {1, n * n}));
    out.add_position_bias(reshape(multiply(slope, map), {in.heads, n, n}));
  }
  void visit(lx::ParameterVisitor<T, Dev>& v) override { v("slope", slope); }
};

int main() try {
  lx::register_term<Nearness>("nearness");
  const auto folder = std::filesystem::temp_directory_path();
  const std::string start_path = folder / "start.lxf", path = folder / "nearness.lxf";
  // Pairs, and an untrained encoder with a vocabulary for them.
  const std::vector<std::pair<std::string, std::string>> pairs{{"black camera case", "case for a camera, black"},
                                                               {"usb cable", "cable, usb"},
                                                               {"black camera case", "usb cable"},
                                                               {"red lamp", "lens cap"}};
  const std::vector<std::int32_t> labels{1, 1, 0, 0};
  lx::WordCounts words;
  for (const auto& [left, right] : pairs)
    for (const auto& text : {left, right}) lx::count_words(text, {}, words);
  lx::MaskedLm<> start({{"hidden_size", 16u}, {"num_hidden_layers", 2u}, {"num_attention_heads", 2u}, {"intermediate_size", 32u}},
                       lx::train_vocabulary(words, {}, {.size = 80}), {}, 1);
  start.save(start_path);

  // Train: the options name the term.
  auto model = lx::CrossEncoder<>::load(start_path, {.attention = {"lea", "nearness"}, .seed = 1});
  std::vector<lx::Encoding> encodings;
  for (const auto& [left, right] : pairs) encodings.push_back(model.tokenizer().encode_pair(left, right, 32));
  const auto batch = model.batch(encodings);
  model.calibrate(batch);  // LEA measures its factor alpha
  lx::AdamW<> optimizer(model.parameters(), {.lr = 1e-2});
  for (std::uint32_t step = 0; step < 30; ++step) {
    const auto loss = lx::cross_entropy(model(batch, model.training(step)).logits, labels);
    loss.backward();
    optimizer.step();
    if (step % 10 == 9) std::cout << "step " << step + 1 << ", loss " << loss.item() << "\n";
  }

  // Save, load, score.
  model.save(path);
  const auto same = lx::CrossEncoder<>::load(path);
  std::cout << "match: " << same.probabilities({pairs[0]}).at(0, 1)
            << ", equal after loading: " << (same.logits(pairs).to_vector() == model.logits(pairs).to_vector() ? "yes" : "no") << "\n";

  // A program that does not know the term refuses the file; here, models in double do not know it yet.
  try {
    lx::CrossEncoder<double>::load(path);
  } catch (const lx::Error& error) {
    std::cout << error.what() << "\n";
  }
  // Gradients against finite differences, in double.
  lx::register_term<Nearness, double>("nearness");
  auto exact = lx::CrossEncoder<double>::load(path);
  std::vector<lx::Var<double>> slopes;
  for (const auto& p : exact.parameters())
    if (p.name.ends_with(".slope")) slopes.push_back(p.var);
  const auto result = lx::gradcheck([&] { return exact(batch).logits; }, slopes);
  std::cout << "gradients of " << slopes.size() << " slopes: " << (result.ok ? "correct" : result.message) << ", worst error "
            << result.worst << "\n";
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
