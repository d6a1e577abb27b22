// SPDX-License-Identifier: MIT
// A simulated device whose memory the host cannot read: its pointers are the CPU's, moved to unmapped addresses. Its kernels move them
// back and call the CPU's, so all numbers are the same, and host code that accesses a tensor outside the kernels crashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lexformer/kernels/cpu.hpp"

namespace lexformer {

struct Far {};

namespace test {

inline constexpr std::uintptr_t far_away = std::uintptr_t{1} << 54;

template <class T>
T* far(T* p) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) + far_away);
}
/// Converts arguments for the CPU's kernels: pointers are moved back, other values are unchanged.
template <class T>
T* near(T* p) {
  if (p == nullptr) return p;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  if (address < far_away) fail("Far", "was given a pointer to the host's memory");
  return reinterpret_cast<T*>(address - far_away);
}
template <class T>
const T& near(const T& value) {
  return value;
}
inline VectorGroups near(VectorGroups g) {
  g.list = near(g.list);
  return g;
}
template <class T>
std::vector<Elements<T>> near(std::vector<Elements<T>> list) {
  for (auto& x : list) x.data = near(x.data);
  return list;
}
template <class T, class A>
std::vector<AdamWUpdate<T, A>> near(std::vector<AdamWUpdate<T, A>> list) {
  for (auto& u : list) u = {u.count, u.factors, near(u.gradient), near(u.exp_avg), near(u.exp_avg_sq), near(u.master), near(u.parameter)};
  return list;
}
template <class T>
std::vector<RowLookup<T>> near(std::vector<RowLookup<T>> list) {
  for (auto& l : list) l = {near(l.ids), near(l.table)};
  return list;
}
template <class T>
std::vector<RowLookupGrad<T>> near(std::vector<RowLookupGrad<T>> list) {
  for (auto& l : list) l = {l.rows, near(l.ids), near(l.gradient)};
  return list;
}
inline GradientClip near(const GradientClip& clip) { return {near(clip.norm), clip.max_norm}; }
template <class T>
AttentionArgs<T> near(AttentionArgs<T> a) {
  a.token_begin = near(a.token_begin);
  a.pair_begin = near(a.pair_begin);
  a.qkv = near(a.qkv);
  for (auto& l : a.lookups) l = {near(l.table), l.levels, near(l.code)};
  for (auto& r : a.relatives) {
    r.table = near(r.table);
    r.bucket = near(r.bucket);
  }
  a.position_bias = near(a.position_bias);
  a.pair_bias = near(a.pair_bias);
  a.gate = near(a.gate);
  a.map_row = near(a.map_row);
  return a;
}
template <class T>
AttentionGrads<T> near(AttentionGrads<T> g) {
  g.qkv = near(g.qkv);
  for (T*& l : g.lookups) l = near(l);
  for (T*& r : g.relatives) r = near(r);
  g.position_bias = near(g.position_bias);
  g.pair_bias = near(g.pair_bias);
  g.gate = near(g.gate);
  return g;
}

template <class T>
AdditiveArgs<T> near(AdditiveArgs<T> a) {
  a.token_begin = near(a.token_begin);
  a.pair_begin = near(a.pair_begin);
  a.keys = near(a.keys);
  a.queries = near(a.queries);
  a.weights = near(a.weights);
  a.values = near(a.values);
  return a;
}
template <class T>
AdditiveGrads<T> near(const AdditiveGrads<T>& g) {
  return {near(g.keys), near(g.queries), near(g.weights), near(g.values)};
}
template <class A>
CrfArgs<A> near(CrfArgs<A> c) {
  c.token_begin = near(c.token_begin);
  c.emissions = near(c.emissions);
  c.transitions = near(c.transitions);
  c.start = near(c.start);
  c.end = near(c.end);
  return c;
}
template <class A>
CrfGrads<A> near(const CrfGrads<A>& g) {
  return {near(g.emissions), near(g.transitions), near(g.start), near(g.end)};
}

}  // namespace test

template <>
struct Memory<Far> {
  static MemoryBlock allocate(std::size_t bytes) {
    MemoryBlock block = Memory<Cpu>::allocate(bytes);
    block.data = test::far(static_cast<char*>(block.data));
    return block;
  }
  static void release(MemoryBlock block) noexcept {
    block.data = test::near(static_cast<char*>(block.data));
    Memory<Cpu>::release(block);
  }
  static void upload(void* to, const void* host, std::size_t bytes) { Memory<Cpu>::copy(near(to), host, bytes); }
  static void upload(void* to, std::span<const UploadPart> parts) { Memory<Cpu>::upload(near(to), parts); }
  static inline std::size_t downloads = 0;  // number of synchronizing reads from the device by the host
  static void download(void* host, const void* from, std::size_t bytes) {
    ++downloads;
    Memory<Cpu>::copy(host, near(from), bytes);
  }
  static void copy(void* to, const void* from, std::size_t bytes) { Memory<Cpu>::copy(near(to), near(from), bytes); }
  static void zero(void* to, std::size_t bytes) { Memory<Cpu>::zero(near(to), bytes); }

 private:
  static void* near(void* p) { return test::near(static_cast<char*>(p)); }
  static const void* near(const void* p) { return test::near(static_cast<const char*>(p)); }
};

#define LEXFORMER_FAR(name)                      \
  template <class... A>                          \
  static auto name(const A&... a) {              \
    return Kernels<Cpu>::name(test::near(a)...); \
  }
#define LEXFORMER_FAR_OF(name)                        \
  template <class F, class... A>                      \
  static void name(const A&... a) {                   \
    Kernels<Cpu>::template name<F>(test::near(a)...); \
  }

template <>
struct Kernels<Far> {
  LEXFORMER_FAR_OF(map)
  LEXFORMER_FAR_OF(map_broadcast)
  LEXFORMER_FAR(sum_to)
  LEXFORMER_FAR(gelu_with_grad)
  LEXFORMER_FAR(affine)
  LEXFORMER_FAR(scale_by)
  LEXFORMER_FAR(fill_quotient)
  LEXFORMER_FAR(add_to)
  LEXFORMER_FAR(cast)
  LEXFORMER_FAR(dropout)
  template <class T>
  static bool all_finite(std::size_t n, const T* x) {
    ++Memory<Far>::downloads;
    return Kernels<Cpu>::all_finite(n, test::near(x));
  }
  LEXFORMER_FAR(sum)
  LEXFORMER_FAR(mean)
  LEXFORMER_FAR(gradient_norm)
  LEXFORMER_FAR(adamw)
  LEXFORMER_FAR(column_sum)
  LEXFORMER_FAR(fill_rows)
  LEXFORMER_FAR(copy_columns)
  LEXFORMER_FAR(expand_rows)
  LEXFORMER_FAR(row_sum)
  LEXFORMER_FAR(transpose)
  LEXFORMER_FAR(row_extreme)
  LEXFORMER_FAR(row_extreme_grad)
  LEXFORMER_FAR(log_sum_exp)
  LEXFORMER_FAR(log_sum_exp_grad)
  LEXFORMER_FAR(standardize)
  LEXFORMER_FAR(standardize_grad)
  LEXFORMER_FAR(l2_normalize)
  LEXFORMER_FAR(l2_normalize_grad)
  LEXFORMER_FAR(softmax)
  LEXFORMER_FAR(softmax_grad)
  LEXFORMER_FAR(layer_norm)
  LEXFORMER_FAR(layer_norm_grad)
  LEXFORMER_FAR(gather)
  LEXFORMER_FAR(gather_sum)
  LEXFORMER_FAR(gather_sum_grad)
  LEXFORMER_FAR(place_rows)
  LEXFORMER_FAR(gather_columns)
  LEXFORMER_FAR(scatter_add_columns)
  LEXFORMER_FAR(sequence_mean)
  LEXFORMER_FAR(sequence_mean_grad)
  LEXFORMER_FAR(sequence_max)
  LEXFORMER_FAR(sequence_max_grad)
  LEXFORMER_FAR(window)
  LEXFORMER_FAR(window_grad)
  LEXFORMER_FAR(rotary)
  LEXFORMER_FAR(distance_bias)
  LEXFORMER_FAR(cross_entropy)
  LEXFORMER_FAR(mean_loss)
  LEXFORMER_FAR(negative_log_likelihood)
  LEXFORMER_FAR(negative_log_likelihood_grad)
  LEXFORMER_FAR(cosine_similarity)
  LEXFORMER_FAR(cosine_similarity_grad)
  LEXFORMER_FAR(pairwise_cosine)
  LEXFORMER_FAR(pairwise_cosine_grad)
  LEXFORMER_FAR(attention)
  LEXFORMER_FAR(attention_grad)
  LEXFORMER_FAR(additive_attention)
  LEXFORMER_FAR(additive_attention_grad)
  LEXFORMER_FAR(lstm_step)
  LEXFORMER_FAR(lstm_step_grad)
  LEXFORMER_FAR(crf_forward)
  LEXFORMER_FAR(crf_grad)
  LEXFORMER_FAR(crf_decode)
  LEXFORMER_FAR(gemm)
  LEXFORMER_FAR(gemm_batched)
  LEXFORMER_FAR(linear_grad)
};

#undef LEXFORMER_FAR
#undef LEXFORMER_FAR_OF

}  // namespace lexformer
