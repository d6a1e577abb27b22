// SPDX-License-Identifier: MIT
// Additive attention against the CPU: lengths and features around the sizes of warps and tiles, and the memory that it needs.
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

struct Case {
  std::vector<std::size_t> lengths{1, 17, 33, 5};
  std::size_t heads = 2, a = 8, d = 6;
  bool shared = false;
  double size = 1;  // of keys and queries
};

/// All outputs of forward and backward, concatenated; *memory = the most bytes of device memory that a call needed besides.
template <class T, class Dev>
std::vector<double> run(const Case& c, std::size_t* memory = nullptr) {
  using A = accumulate_t<T>;
  std::vector<std::size_t> token{0}, pair{0};
  for (const std::size_t n : c.lengths) {
    token.push_back(token.back() + n);
    pair.push_back(pair.back() + n * n);
  }
  const std::size_t tokens = token.back(), pairs = pair.back(), rows = c.shared ? 1 : c.heads;
  const auto random = [](std::size_t n, std::uint32_t stream, double size = 1) {
    auto values = random_values<double>(n, stream);
    std::vector<T> all;
    for (const double x : values) all.push_back(static_cast<T>(static_cast<A>(size * x)));
    return all;
  };
  const Array<std::size_t, Dev> token_begin(token), pair_begin(pair);
  const Array<T, Dev> keys(random(tokens * c.heads * c.a, 1, c.size)), queries(random(tokens * c.heads * c.a, 2, c.size)),
      weights(random(rows * c.a, 3)), values(random(tokens * c.heads * c.d, 4)), dy(random(tokens * c.heads * c.d, 5));
  AdditiveArgs<T> args;
  args.sequences = c.lengths.size();
  args.tokens = tokens;
  args.pairs = pairs;
  args.longest = *std::max_element(c.lengths.begin(), c.lengths.end());
  args.token_begin = token_begin.data();
  args.pair_begin = pair_begin.data();
  args.heads = c.heads;
  args.key_size = c.a;
  args.value_size = c.d;
  args.weight_rows = rows;
  args.keys = keys.data();
  args.queries = queries.data();
  args.weights = weights.data();
  args.values = values.data();
  const auto blank = [](const Array<T, Dev>& like) { return Array<T, Dev>(std::vector<T>(like.values().size(), T{99})); };
  const Array<A, Dev> probabilities(std::vector<A>(c.heads * pairs, A{99}));
  const Array<T, Dev> y(blank(values)), dkeys(blank(keys)), dqueries(blank(keys)), dweights(blank(weights)), dvalues(blank(values));
  std::size_t before = 0;
  if constexpr (std::is_same_v<Dev, Cuda>) {
    before = Memory<Cuda>::in_use();
    Memory<Cuda>::reset_peak();
  }
  AdditiveKernels<Dev>::additive_attention(args, probabilities.data(), y.data());
  AdditiveKernels<Dev>::additive_attention_grad(args, probabilities.data(), dy.data(),
                                                {dkeys.data(), dqueries.data(), dweights.data(), dvalues.data()});
  if constexpr (std::is_same_v<Dev, Cuda>)
    if (memory != nullptr) *memory = Memory<Cuda>::peak() - before;
  return joined(probabilities.values(), y.values(), dkeys.values(), dqueries.values(), dweights.values(), dvalues.values());
}

void check(const Case& c) {
  compare<float>([&](auto device) { return run<float, decltype(device)>(c); });
  compare<double>([&](auto device) { return run<double, decltype(device)>(c); });
  compare<bfloat16>([&](auto device) { return run<bfloat16, decltype(device)>(c); });
}

}  // namespace

TEST_CASE("cuda: additive attention, lengths around the tile, features around the warp, weights of each head and shared") {
  check({});
  check({.shared = true});
  check({.lengths = {16, 15, 2}, .heads = 3, .a = 33, .d = 32});
  check({.lengths = {70}, .heads = 1, .a = 1, .d = 40, .shared = true});
  check({.lengths = {9, 3}, .heads = 1, .a = 70, .d = 3});
}
TEST_CASE("cuda: additive attention of numbers whose exponentials overflow") { check({.size = 60}); }
TEST_CASE("cuda: additive attention has no buffer of all pairs and features") {
  constexpr std::size_t n = 60, heads = 2, a = 32;
  std::size_t memory = 0;
  static_cast<void>(run<float, Cuda>({.lengths = {n, n}, .heads = heads, .a = a, .d = a}, &memory));
  const std::size_t lists = std::size_t{4} << 10;  // the partial sums of the weights, and rounding
  CHECK(memory <= sizeof(float) * 2 * heads * (n * n + n * a) + lists);
}
