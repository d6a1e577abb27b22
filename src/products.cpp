// SPDX-License-Identifier: MIT
// lexformer::compiled: the matrix products, chosen by what the processor has when the program runs; here the level `plain`.
#define LEXFORMER_COMPILED
#define LEXFORMER_LEVEL 0
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 warns of its own AVX-512 header in Eigen's products
#endif
#include "lexformer/kernels/products.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/kernels/products/gemm.hpp"
#include "lexformer/kernels/products/gemm_bfloat16.hpp"
#include "lexformer/kernels/products/gemm_eigen.hpp"
#include "lexformer/kernels/products/gemm_int8.hpp"
#include "lexformer/kernels/products/gemm_int8_tile.hpp"
#include "lexformer/kernels/products/linear_bfloat16.hpp"
#include "products_level.hpp"

namespace lexformer {

bool detail::has_instructions(Instructions level) {
  if (level == Instructions::plain) return true;
#if LEXFORMER_X86
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return false;
  if (level == Instructions::avx2) return true;
  if (level == Instructions::avx_vnni) {  // clang 14's __builtin_cpu_supports does not know it
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & bit_AVXVNNI) != 0;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq"))
    return false;
  if (level == Instructions::avx512) return true;
  if (!__builtin_cpu_supports("avx512vnni")) return false;
  if (level == Instructions::avx512_vnni) return true;
  if (!__builtin_cpu_supports("avx512bf16")) return false;
  if (level == Instructions::avx512_bf16) return true;
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned needed = 1u << 22 | 1u << 24 | 1u << 25;  // AMX-BF16, AMX-TILE, AMX-INT8
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & needed) == needed && amx_permitted();
#else
  return false;
#endif
}

namespace {
bool never_rounded(bool, bool, std::size_t, std::size_t, std::size_t, float, const bfloat16*, std::size_t, const bfloat16*, std::size_t,
                   bfloat16*, std::size_t, const float*) {
  return false;
}
template <class T>
bool never_blocked(const FeedForward<T>&) {
  return false;
}
}  // namespace

detail::Products detail::products(Instructions level) {
  Products p{.gemm_float = gemm_eigen<float>,
             .gemm_double = gemm_eigen<double>,
             .gemm_bfloat16 = gemm_by_copies,
             .feed_forward_float = never_blocked<float>,
             .feed_forward_double = never_blocked<double>,
             .gemm_rounded = never_rounded,
             .linear_int8 = Int8Product::linear,
             .feed_forward_int8 = Int8Product::feed_forward};
#if LEXFORMER_X86
  if (level >= Instructions::avx2) use_avx2(p);
  if (level == Instructions::avx_vnni) use_avx_vnni(p);
  if (level >= Instructions::avx512) use_avx512(p);
  if (level >= Instructions::avx512_vnni) use_avx512_vnni(p);
  if (level >= Instructions::avx512_bf16) use_avx512_bf16(p);
#if defined(__linux__)
  if (level == Instructions::amx) use_amx(p);
#endif
#endif
  return p;
}

namespace {

/// Whether the processor multiplies bfloat16 by AVX-512 BF16 more slowly than float: Intel's with AVX-512 FP16, which have AMX for that.
bool has_slow_bfloat16() {
#if LEXFORMER_X86
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_is("intel") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & 1u << 23) != 0;  // AVX512-FP16
#else
  return false;
#endif
}

Instructions choose() {
  const char* const variable = std::getenv("LEXFORMER_INSTRUCTIONS");
  const std::string given = variable == nullptr ? "" : variable;
  if (const auto named = find_name<Instructions>(given); named && detail::has_instructions(*named)) return *named;
  std::vector<std::string> names;
  for (auto entry = std::rbegin(names_of<Instructions>); entry != std::rend(names_of<Instructions>); ++entry) {
    if (!detail::has_instructions(entry->value)) continue;
    if (given.empty() && !(entry->value == Instructions::avx512_bf16 && has_slow_bfloat16())) return entry->value;
    names.emplace_back(entry->name);
  }
  if (find_name<Instructions>(given))
    fail_usage("LEXFORMER_INSTRUCTIONS", "this processor, or its system, has no ", in_quotes(given), ", but: ", join(names));
  fail_usage("LEXFORMER_INSTRUCTIONS", in_quotes(given), " is not known; this processor has: ", join(names));
}

const detail::Products& chosen() {
  static const detail::Products products = detail::products(instructions());
  return products;
}

}  // namespace

Instructions instructions() {
  static const Instructions level = choose();
  return level;
}

template <class T>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias) {
  const auto product = [] {
    if constexpr (std::is_same_v<T, float>)
      return chosen().gemm_float;
    else
      return chosen().gemm_double;
  }();
  product(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
}
template void gemm<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*, std::size_t, const float*, std::size_t,
                          float, float*, std::size_t, const float*);
template void gemm<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*, std::size_t, const double*,
                           std::size_t, double, double*, std::size_t, const double*);

template <class T>
bool gemm_feed_forward(const FeedForward<T>& f) {
  if constexpr (std::is_same_v<T, float>)
    return chosen().feed_forward_float(f);
  else
    return chosen().feed_forward_double(f);
}
template bool gemm_feed_forward<float>(const FeedForward<float>&);
template bool gemm_feed_forward<double>(const FeedForward<double>&);

void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a, std::size_t lda,
          const bfloat16* b, std::size_t ldb, float beta, float* c, std::size_t ldc, const float* bias) {
  chosen().gemm_bfloat16(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
}
bool gemm_rounded(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a, std::size_t lda,
                  const bfloat16* b, std::size_t ldb, bfloat16* c, std::size_t ldc, const float* bias) {
  return chosen().gemm_rounded(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, c, ldc, bias);
}
void linear_bfloat16(std::size_t m, const bfloat16* x, const Bfloat16Weights& w, bfloat16* y, bool gelu) {
  chosen().linear_bfloat16(m, x, w, y, gelu);
}
void feed_forward_bfloat16(std::size_t m, const bfloat16* x, const Bfloat16Weights& w1, const Bfloat16Weights& w2, bfloat16* y) {
  chosen().feed_forward_bfloat16(m, x, w1, w2, y);
}
void linear_int8(std::size_t m, const float* x, std::size_t ldx, const Int8Weights& w, float* y, std::size_t ldy, bool gelu) {
  chosen().linear_int8(m, x, ldx, w, y, ldy, gelu);
}
void feed_forward_int8(std::size_t m, const float* x, const Int8Weights& w1, const Int8Weights& w2, float* y) {
  chosen().feed_forward_int8(m, x, w1, w2, y);
}

}  // namespace lexformer
