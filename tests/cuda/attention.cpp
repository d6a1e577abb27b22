// SPDX-License-Identifier: MIT
// Attention on both paths against the CPU: lengths around the tile size, each term alone and all together, maps, dropout, all gradients;
// and the memory that each path needs.
#include <limits>
#include <memory>
#include <tuple>

#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

struct Case {
  std::vector<std::size_t> lengths{1, 17, 33, 5};
  std::size_t heads = 2, d = 8, lookups = 0, levels = 5;
  bool query_side = false, key_side = false, shared_table = false, bias = false, pair_bias = false, gate = false, dropout = false;
  bool attentions = false, absolute = false, no_context_gradient = false, no_map_gradient = false, infinite_tile = false;
  bool shifted_codes = false;  // they do not begin at a multiple of 16 bytes
  bool bias_of_heads = false;  // the pair bias differs by head
  AttentionReach reach{};
};

/// Calls f and returns the additional bytes of device memory that it needed.
template <class Dev, class F>
std::size_t memory_of(const F& f) {
  if constexpr (std::is_same_v<Dev, Cuda>) {
    const std::size_t before = Memory<Cuda>::in_use();
    Memory<Cuda>::reset_peak();
    f();
    return Memory<Cuda>::peak() - before;
  } else {
    f();
    return 0;
  }
}

/// All outputs of forward and backward, concatenated; `memory` = the maximum of what the two needed.
template <class T, class Dev>
std::vector<double> run(const Case& c, std::size_t* memory = nullptr) {
  using A = accumulate_t<T>;
  using K = AttentionKernels<Dev>;
  std::vector<std::size_t> token{0}, pair{0};
  std::size_t longest = 0;
  for (const std::size_t n : c.lengths) {
    token.push_back(token.back() + n);
    pair.push_back(pair.back() + n * n);
    longest = std::max(longest, n);
  }
  const std::size_t tokens = token.back(), pairs = pair.back(), width = c.heads * c.d, rows = 7;
  std::vector<std::unique_ptr<Array<T, Dev>>> arrays;
  std::uint32_t stream = 0;
  const auto random = [&](std::size_t n) {
    return arrays.emplace_back(std::make_unique<Array<T, Dev>>(random_values<T>(n, ++stream)))->data();
  };
  const Array<std::size_t, Dev> token_begin(token), pair_begin(pair);
  std::vector<std::uint16_t> codes(c.shifted_codes ? 1 : 0);
  for (const auto id : random_ids(pairs, 2 * c.levels))
    codes.push_back(static_cast<std::uint16_t>(std::max<int>(0, id - static_cast<int>(c.levels))));
  const Array<std::uint16_t, Dev> code(codes);
  const Array<std::int32_t, Dev> bucket(random_ids(2 * longest - 1, rows)), map_row(std::vector<std::int32_t>{-1, 0, 1});

  AttentionArgs<T> a;
  a.sequences = c.lengths.size();
  a.tokens = tokens;
  a.pairs = pairs;
  a.longest = longest;
  a.token_begin = token_begin.data();
  a.pair_begin = pair_begin.data();
  a.host_token_begin = token.data();
  a.heads = c.heads;
  a.width = width;
  a.scale = static_cast<A>(0.4);
  a.qkv = random(tokens * 3 * width);
  for (std::size_t t = 0; t < c.lookups; ++t)
    a.lookups.push_back({random(c.heads * c.levels), c.levels, code.data() + (c.shifted_codes ? 1 : 0)});
  const std::size_t tables = c.shared_table ? 1 : c.heads;
  for (const bool key : {false, true})
    if (key ? c.key_side : c.query_side)
      a.relatives.push_back({key, random(tables * rows * c.d), tables, rows, bucket.data(), static_cast<A>(0.7)});
  a.bias_length = longest + 2;
  if (c.bias) {
    auto bias = random_values<T>(c.heads * a.bias_length * a.bias_length, 99);
    for (std::size_t e = 0; c.infinite_tile && e < bias.size(); ++e)
      if (e % a.bias_length < 33) bias[e] = static_cast<T>(-std::numeric_limits<float>::infinity());
    a.position_bias = arrays.emplace_back(std::make_unique<Array<T, Dev>>(bias))->data();
  }
  a.pair_bias_heads = c.bias_of_heads ? c.heads : 1;
  if (c.pair_bias) a.pair_bias = random(a.pair_bias_heads * pairs);
  if (c.gate) a.gate = random(pairs);
  if (c.dropout) a.dropout = {0.3f, RandomKey{7, 3, 5}};
  a.reach = c.reach;
  if (c.attentions) a.map_row = map_row.data();
  a.maps_are_scores = c.absolute;

  std::vector<std::pair<T*, const Array<T, Dev>*>> written;
  const auto output = [&](std::size_t n) {
    auto& array = *arrays.emplace_back(std::make_unique<Array<T, Dev>>(std::vector<T>(n, T{99})));
    written.emplace_back(array.data(), &array);
    return array.data();
  };
  const std::size_t map_size = c.attentions ? 2 * pairs : 0;
  T *const context = output(tokens * width), *const attentions = c.attentions ? output(map_size) : nullptr;
  const Array<A, Dev> logsumexp(std::vector<A>(tokens * c.heads, A{99}));
  const std::size_t forward = memory_of<Dev>([&] { K::attention(a, context, logsumexp.data(), attentions); });
  AttentionGrads<T> g;
  g.qkv = output(tokens * 3 * width);
  for (std::size_t t = 0; t < a.lookups.size(); ++t) g.lookups.push_back(output(c.heads * c.levels));
  for (std::size_t t = 0; t < a.relatives.size(); ++t) g.relatives.push_back(output(tables * rows * c.d));
  if (c.bias) g.position_bias = output(c.heads * a.bias_length * a.bias_length);
  if (c.pair_bias) g.pair_bias = output(a.pair_bias_heads * pairs);
  if (c.gate) g.gate = output(pairs);
  const T* const dcontext = random(tokens * width);
  const T* const dmaps = c.attentions && !c.no_map_gradient ? random(map_size) : nullptr;
  const std::size_t backward =
      memory_of<Dev>([&] { K::attention_grad(a, context, logsumexp.data(), c.no_context_gradient ? nullptr : dcontext, dmaps, g); });
  if (memory != nullptr) *memory = std::max(forward, backward);

  std::vector<double> all = joined(logsumexp.values());
  for (const auto& [data, array] : written) all = joined(all, array->values());
  return all;
}

void check_path(const Case& c, double times_tolerance) {
  compare<float>([&](auto device) { return run<float, decltype(device)>(c); }, times_tolerance * tolerance<float>);
  compare<double>([&](auto device) { return run<double, decltype(device)>(c); }, times_tolerance * tolerance<double>);
  compare<bfloat16>([&](auto device) { return run<bfloat16, decltype(device)>(c); }, times_tolerance * tolerance<bfloat16>);
}

/// By the fused kernels; by cuBLAS with all sequences at once, and one by one.
void check(const Case& c, double times_tolerance = 1) {
  check_path(c, times_tolerance);
  for (const std::size_t scratch_bytes : {std::size_t{1} << 26, std::size_t{1}}) {
    const AttentionBy path(cuda::AttentionPath::cublas, scratch_bytes);
    check_path(c, times_tolerance);
  }
}

/// By the kernels that keep scores in registers.
void check_strips(Case c, double times_tolerance = 1) {
  for (const std::size_t d : {std::size_t{32}, std::size_t{64}}) {
    c.d = d;
    compare<bfloat16>([&](auto device) { return run<bfloat16, decltype(device)>(c); }, times_tolerance * tolerance<bfloat16>);
  }
}

}  // namespace

TEST_CASE("attention: each term alone") {
  check({});
  check({.lookups = 1});
  check({.query_side = true});
  check({.key_side = true, .shared_table = true});
  check({.bias = true});
  check({.lengths = {40}, .bias = true, .infinite_tile = true});
  check({.pair_bias = true});
  check({.pair_bias = true, .bias_of_heads = true});
  check({.gate = true});
  check({.dropout = true});
  check({.attentions = true, .absolute = true});
  check({.attentions = true});
  check({.attentions = true, .no_context_gradient = true});
}
TEST_CASE("attention: all terms together, with attentions of scores and of probabilities") {
  for (const bool absolute : {false, true})
    check({.lengths = {3, 40, 16},
           .heads = 3,
           .d = 20,
           .lookups = 2,
           .levels = 9,
           .query_side = true,
           .key_side = true,
           .shared_table = !absolute,
           .bias = true,
           .pair_bias = true,
           .gate = true,
           .dropout = true,
           .attentions = true,
           .absolute = absolute,
           .bias_of_heads = absolute},
          10);  // scores of 20 and more: exp() makes their rounding larger
}
TEST_CASE("attention: bfloat16 with scores in registers, lengths around strips and steps, each term") {
  check_strips({.lengths = {1, 15, 16, 17, 31, 32, 33, 47, 49, 5}});
  check_strips({.lengths = {70, 3, 145}, .heads = 1, .lookups = 1});
  check_strips({.lengths = {16, 8, 40, 4, 24}, .lookups = 1, .dropout = true});  // codes with and without aligned rows
  check_strips({.lengths = {16, 35}, .lookups = 1, .shifted_codes = true});      // by tiles
  check_strips({.lookups = 1, .dropout = true});
  check_strips({.lengths = {40}, .bias = true, .infinite_tile = true});
  check_strips({.lookups = 2, .bias = true, .pair_bias = true, .gate = true, .dropout = true}, 2);  // sums over heads by other kernels
  check_strips({.lookups = 2, .pair_bias = true, .gate = true, .bias_of_heads = true}, 2);
  check_strips({.lookups = 1, .query_side = true}, 2);                                          // forward alone
  check_strips({.lookups = 1, .attentions = true, .no_map_gradient = true});                    // backward alone
  check_strips({.lookups = 1, .attentions = true, .absolute = true, .no_map_gradient = true});  // tables as they are
  check_strips({.lengths = {140, 70}, .heads = 1, .lookups = 1, .dropout = true});              // two strips a warp, for d = 32
}
TEST_CASE("attention: bfloat16 with scores in registers, sequences of several panels, each term") {
  check_strips({.lengths = {257, 5, 129}, .heads = 1, .lookups = 1, .dropout = true}, 2);  // as far from the CPU as by tiles
  check_strips({.lengths = {127, 145, 128}, .heads = 1});
  check_strips({.lengths = {300}, .heads = 1, .dropout = true});
  check_strips({.lengths = {143, 256}, .heads = 1, .lookups = 1});
  check_strips({.lengths = {264, 8}, .heads = 1, .lookups = 1});
  check_strips({.lengths = {150}, .heads = 1, .bias = true, .infinite_tile = true});
  check_strips({.lengths = {161, 18}, .lookups = 2, .bias = true, .pair_bias = true, .gate = true, .dropout = true}, 2);
  check_strips({.lengths = {130}, .heads = 1, .query_side = true, .key_side = true}, 2);  // forward alone
  check_strips({.lengths = {146}, .heads = 1, .lookups = 1, .attentions = true, .absolute = true, .no_map_gradient = true});
}
TEST_CASE("attention: a reach, with distances around tiles, each term, and maps") {
  for (const AttentionReach& reach : {AttentionReach{true, 0}, {false, 1}, {false, 16}, {true, 31}}) {
    check({.lengths = {1, 17, 70}, .reach = reach});
    check({.lookups = 1, .query_side = true, .dropout = true, .reach = reach});
    check({.lengths = {40, 3}, .key_side = true, .bias = true, .pair_bias = true, .gate = true, .reach = reach}, 5);
    for (const bool absolute : {false, true}) check({.attentions = true, .absolute = absolute, .reach = reach});
  }
}
TEST_CASE("attention: bfloat16 with scores in registers and a reach, in short and long sequences") {
  for (const AttentionReach& reach : {AttentionReach{true, 0}, {false, 3}, {false, 64}, {true, 17}}) {
    check_strips({.lengths = {1, 15, 16, 17, 49, 70}, .reach = reach}, 2);  // the CPU may compute in float
    check_strips({.lengths = {70, 3, 145}, .heads = 1, .lookups = 1, .dropout = true, .reach = reach}, 2);
    check_strips({.lengths = {300, 129}, .heads = 1, .reach = reach});
    check_strips({.lengths = {257, 130}, .heads = 1, .lookups = 1, .dropout = true, .reach = reach}, 2);
    check_strips({.lengths = {161, 18}, .lookups = 2, .bias = true, .gate = true, .dropout = true, .reach = reach}, 2);
  }
}
TEST_CASE("attention: bfloat16 with scores in registers: what is not finite is not lost in the table's gradient") {
  constexpr std::size_t d = 32;
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // In short and long sequences: a gradient, or all scores of a query.
  for (const auto& [n, gradient, bias] :
       {std::tuple{std::size_t{20}, infinity, 0.0f}, std::tuple{std::size_t{20}, nan, 0.0f}, std::tuple{std::size_t{20}, 0.5f, -infinity},
        std::tuple{std::size_t{150}, infinity, 0.0f}, std::tuple{std::size_t{150}, 0.5f, -infinity}}) {
    const std::vector<std::size_t> token{0, n}, pair{0, n * n};
    const Array<std::size_t, Cuda> token_begin(token), pair_begin(pair);
    const Array<std::uint16_t, Cuda> code(std::vector<std::uint16_t>(n * n, 1));
    auto gradients = random_values<bfloat16>(n * d, 2);
    gradients[3 * d] = static_cast<bfloat16>(gradient);
    std::vector<bfloat16> biases(n * n);
    std::fill_n(biases.data() + 3 * n, n, static_cast<bfloat16>(bias));
    const Array<bfloat16, Cuda> qkv(random_values<bfloat16>(n * 3 * d)), table(random_values<bfloat16>(3, 1)), dcontext(gradients);
    const Array<bfloat16, Cuda> context(zeros<bfloat16>(n * d)), dqkv(zeros<bfloat16>(n * 3 * d)), dtable(zeros<bfloat16>(3));
    const Array<bfloat16, Cuda> pair_bias(biases);
    const Array<float, Cuda> log_sum(zeros<float>(n));
    AttentionArgs<bfloat16> a;
    a.sequences = a.heads = 1;
    a.tokens = a.longest = n;
    a.pairs = n * n;
    a.token_begin = token_begin.data();
    a.pair_begin = pair_begin.data();
    a.host_token_begin = token.data();
    a.width = d;
    a.scale = 0.2f;
    a.qkv = qkv.data();
    a.lookups.push_back({table.data(), 3, code.data()});
    a.pair_bias = pair_bias.data();
    AttentionGrads<bfloat16> g;
    g.qkv = dqkv.data();
    g.lookups.push_back(dtable.data());
    AttentionKernels<Cuda>::attention<bfloat16>(a, context.data(), log_sum.data(), nullptr);
    AttentionKernels<Cuda>::attention_grad<bfloat16>(a, context.data(), log_sum.data(), dcontext.data(), nullptr, g);
    CHECK(std::isnan(static_cast<float>(dtable.values()[1])));
    CHECK(std::isnan(static_cast<float>(dqkv.values()[3 * 3 * d])));
  }
}
TEST_CASE("attention: heads so wide that the tiles are small, or go by cuBLAS, and tables so large") {
  compare<float>([](auto device) { return run<float, decltype(device)>({.lengths = {18, 2}, .heads = 1, .d = 150, .lookups = 1}); });
  for (const std::size_t d : {std::size_t{120}, std::size_t{600}})
    compare<double>(
        [d](auto device) {
          return run<double, decltype(device)>({.lengths = {18, 2}, .heads = 1, .d = d, .query_side = true});
        },
        10 * tolerance<double>);  // sums of 120 products and more
  // bfloat16 by tensor cores, with vectors that can be copied 16 bytes at a time and with others, and without tensor cores: then the GPU
  // multiplies in float, and a CPU that multiplies bfloat16 rounds gradients of scores, which are as large as the square root of d.
  for (const std::size_t d : {std::size_t{64}, std::size_t{150}, std::size_t{450}})
    compare<bfloat16>(
        [d](auto device) {
          return run<bfloat16, decltype(device)>({.lengths = {35, 2}, .heads = 2, .d = d, .lookups = 1, .dropout = true});
        },
        (d == 450 ? 2 : 1) * tolerance<bfloat16>);
  for (const std::size_t levels : {std::size_t{2000}, std::size_t{9000}})  // the second: forward alone fits
    compare<float>([levels](auto device) { return run<float, decltype(device)>({.lookups = 1, .levels = levels}); });
}
TEST_CASE("attention: the path by cuBLAS takes heads of any width") {
  const AttentionBy path(cuda::AttentionPath::cublas);
  compare<double>([](auto device) { return run<double, decltype(device)>({.lengths = {5, 2}, .heads = 1, .d = 600, .lookups = 1}); });
}
TEST_CASE("attention: the scores of our kernels take no memory, those of cuBLAS what is allowed") {
  constexpr std::size_t n = 60, count = 6, heads = 2;
  const Case c{.lengths = std::vector<std::size_t>(count, n), .heads = heads, .d = 4};
  const std::size_t sequence = 2 * heads * n * (n + 7) * sizeof(float);  // two squares per head, with padded rows
  const std::size_t lists = std::size_t{8} << 10;                        // delta, and pointers for the products
  std::size_t fused = 0;
  static_cast<void>(run<float, Cuda>(c, &fused));
  CHECK(fused < lists);
  for (const std::size_t allowed : {std::size_t{0}, 3 * sequence, std::size_t{1} << 26}) {
    const AttentionBy path(cuda::AttentionPath::cublas, allowed);
    std::size_t taken = 0;
    static_cast<void>(run<float, Cuda>(c, &taken));
    const std::size_t together = std::clamp(allowed / sequence, std::size_t{1}, count);
    CHECK(taken >= together * sequence);
    CHECK(taken <= together * sequence + lists);
  }
}
TEST_CASE("attention: the path by cuBLAS says what it lacks") {
  const AttentionBy path(cuda::AttentionPath::cublas);
  CHECK(cuda::attention_path() == cuda::AttentionPath::cublas);
  AttentionArgs<float> args;
  args.sequences = args.heads = args.width = 1;
  CHECK_THROWS_WITH_AS(static_cast<void>(AttentionKernels<Cuda>::attention<float>(args, nullptr, nullptr, nullptr)),
                       doctest::Contains("host_token_begin"), Error);
}
