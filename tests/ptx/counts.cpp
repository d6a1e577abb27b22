// SPDX-License-Identifier: MIT
// Prints how many PTX instructions the kernels run at small fixed sizes: a signal of speed where no GPU is.
// ../support/ptx/compare_counts.py compares the lines with the table in tests/golden.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>
#include <string>
#include <vector>

#include "cuda/on_device.hpp"
#include "lexformer/core/error.hpp"
#include "ptx_host.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

template <class T>
const char* const name_of = sizeof(T) == 2 ? "bf16" : "float";

void report(const std::string& name) {
  for (const ptx_host::Counts& c : ptx_host::take_counts())
    std::printf("%s\t%s\t%zu\t%zu\t%llu\t%llu\t%llu\t%llu\n", name.c_str(), c.kernel.c_str(), c.launches, c.blocks,
                static_cast<unsigned long long>(c.instructions), static_cast<unsigned long long>(c.global_accesses),
                static_cast<unsigned long long>(c.shared_accesses), static_cast<unsigned long long>(c.matrix_products));
}

/// One sequence of n tokens and one head of size d, forward and backward.
template <class T>
void attention(std::size_t n, std::size_t d, bool lea, bool dropout) {
  using A = accumulate_t<T>;
  constexpr std::size_t levels = 50;
  const std::vector<std::size_t> token{0, n}, pair{0, n * n};
  const Array<std::size_t, Cuda> token_begin(token), pair_begin(pair);
  std::vector<std::uint16_t> codes;  // as of real pairs: a fifth of the cells has a similarity above 0
  for (const auto id : random_ids(n * n, 5 * levels)) codes.push_back(static_cast<std::uint16_t>(id < static_cast<int>(levels) ? id : 0));
  const Array<std::uint16_t, Cuda> code(codes);
  const Array<T, Cuda> qkv(random_values<T>(n * 3 * d)), table(random_values<T>(levels, 1)), dcontext(random_values<T>(n * d, 2));
  const Array<T, Cuda> context(zeros<T>(n * d)), dqkv(zeros<T>(n * 3 * d)), dtable(zeros<T>(levels));
  const Array<A, Cuda> log_sum(zeros<A>(n));
  AttentionArgs<T> a;
  a.sequences = 1;
  a.tokens = n;
  a.pairs = n * n;
  a.longest = n;
  a.token_begin = token_begin.data();
  a.pair_begin = pair_begin.data();
  a.host_token_begin = token.data();
  a.heads = 1;
  a.width = d;
  a.scale = static_cast<A>(0.2);
  a.qkv = qkv.data();
  AttentionGrads<T> g;
  g.qkv = dqkv.data();
  if (lea) {
    a.lookups.push_back({table.data(), levels, code.data()});
    g.lookups.push_back(dtable.data());
  }
  if (dropout) a.dropout = {0.1f, RandomKey{7, 3, 5}};
  AttentionKernels<Cuda>::attention<T>(a, context.data(), log_sum.data(), nullptr);
  AttentionKernels<Cuda>::attention_grad<T>(a, context.data(), log_sum.data(), dcontext.data(), nullptr, g);
  report(cat("attention ", name_of<T>, " n=", n, " d=", d, lea ? " lea" : "", dropout ? " dropout" : ""));
}

/// What stands beside attention and products in a layer, for a few tokens of MiniLM's width; a table of embeddings, and the optimizer.
template <class T>
void rows_of_a_layer() {
  using A = accumulate_t<T>;
  constexpr std::size_t rows = 16, n = 384, vocabulary = 64;
  const DropoutMask mask{0.1f, RandomKey{7, 3, 5}}, none;
  const Array<T, Cuda> x(random_values<T>(rows * n)), residual(random_values<T>(rows * n, 1)), gamma(random_values<T>(n, 2));
  const Array<T, Cuda> y(zeros<T>(rows * n)), z(zeros<T>(rows * n)), xhat(zeros<T>(rows * n)), dgamma(zeros<T>(n)), dbeta(zeros<T>(n));
  const Array<A, Cuda> rstd(zeros<A>(rows)), table(zeros<A>(vocabulary * n)), first(zeros<A>(rows * n)), second(zeros<A>(rows * n));
  const Array<std::int32_t, Cuda> ids(random_ids(rows, vocabulary)), types(random_ids(rows, 2));
  const std::string size = cat(" ", name_of<T>, " ", rows, "x", n);
  Kernels<Cuda>::layer_norm(rows, n, static_cast<A>(1e-3), mask, none, x.data(), residual.data(), gamma.data(), gamma.data(), xhat.data(),
                            rstd.data(), y.data());
  Kernels<Cuda>::layer_norm_grad(rows, n, mask, none, x.data(), gamma.data(), xhat.data(), rstd.data(), y.data(), z.data(), dgamma.data(),
                                 dbeta.data());
  report("layer_norm" + size);
  Kernels<Cuda>::column_sum(rows, n, x.data(), n, dgamma.data());
  report("column_sum" + size);
  Kernels<Cuda>::dropout(rows * n, mask, x.data(), y.data());
  report("dropout" + size);
  Kernels<Cuda>::gelu_with_grad(rows * n, y.data(), z.data());
  report("gelu_with_grad" + size);
  Kernels<Cuda>::softmax(rows, n, false, x.data(), y.data());
  report("softmax" + size);
  const Array<T, Cuda> words(random_values<T>(vocabulary * n)), dtypes(zeros<T>(2 * n));
  Kernels<Cuda>::gather_sum(rows, n, nullptr, std::vector<RowLookup<T>>{{ids.data(), words.data()}, {types.data(), x.data()}}, y.data());
  Kernels<Cuda>::gather_sum_grad(rows, n, x.data(),
                                 std::vector<RowLookupGrad<T>>{{vocabulary, ids.data(), words.data()}, {2, types.data(), dtypes.data()}});
  report("embedding" + size);
  const AdamWUpdate<T, A> update{rows * n, {1, 0.9, 0.999, 1e-3, 1, 1e-8}, x.data(), first.data(), second.data(), table.data(), y.data()};
  Kernels<Cuda>::adamw(std::vector{update}, {});
  report("adamw" + size);
}

/// The gradient of a table of two rows: each id goes on over many chunks.
void token_types() {
  constexpr std::size_t rows = 2048, n = 32;
  const Array<float, Cuda> x(random_values<float>(rows * n)), table(zeros<float>(2 * n));
  const Array<std::int32_t, Cuda> types(random_ids(rows, 2));
  Kernels<Cuda>::gather_sum_grad(rows, n, x.data(), std::vector<RowLookupGrad<float>>{{2, types.data(), table.data()}});
  report(cat("token types float ", rows, "x", n));
}

}  // namespace

int main() {
  std::printf("# nvcc %s\ncase\tkernel\tlaunches\tblocks\tinstructions\tglobal accesses\tshared accesses\tmatrix products\n",
              LEXFORMER_NVCC);
  for (const bool dropout : {false, true})
    for (const bool lea : {false, true}) {
      attention<bfloat16>(64, 32, lea, dropout);
      attention<float>(64, 32, lea, dropout);
    }
  attention<bfloat16>(63, 32, true, false);  // codes whose rows are not aligned
  attention<bfloat16>(64, 64, true, true);
  attention<bfloat16>(64, 48, true, true);   // by the kernels of tiles
  attention<bfloat16>(160, 32, true, true);  // several blocks of a head
  attention<bfloat16>(160, 64, true, true);
  rows_of_a_layer<float>();
  rows_of_a_layer<bfloat16>();
  token_types();
}
