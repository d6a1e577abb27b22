// SPDX-License-Identifier: MIT
// The plain structs that kernels take (kernels/interface.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/dropout_mask.hpp"

namespace lexformer {

/// An array of `count` elements. With columns > 0 (CPU), a matrix of so many columns of which data holds only `rows`, in ascending order;
/// the others are zero.
template <class T>
struct Elements {
  std::size_t count = 0;
  const T* data = nullptr;
  const std::int32_t* rows = nullptr;
  std::size_t row_count = 0, columns = 0;
};

/// A table, and for each row i of an output the row ids[i] of the table that is looked up.
template <class T>
struct RowLookup {
  const std::int32_t* ids = nullptr;
  const T* table = nullptr;
};
/// The same with the gradient of the table, which has `rows` rows.
template <class T>
struct RowLookupGrad {
  std::size_t rows = 0;
  const std::int32_t* ids = nullptr;
  T* gradient = nullptr;
};
/// The most lookups that are summed in one call.
inline constexpr std::size_t most_row_lookups = 4;

/// The factors of one AdamW step; computed in double, used in the type of the moments.
struct AdamWFactors {
  double decay;  // 1 - lr * weight_decay
  double beta1, beta2;
  double step_size;        // lr / (1 - beta1^t)
  double root_correction;  // sqrt(1 - beta2^t)
  double eps;
};

/// The AdamW step of one parameter. `master` holds the weights in the type of the moments; the parameter gets a rounded copy. If the types
/// are equal, master is the parameter itself.
template <class T, class A = accumulate_t<T>>
struct AdamWUpdate {
  std::size_t count;
  AdamWFactors factors;
  const T* gradient;
  A *exp_avg, *exp_avg_sq, *master;
  T* parameter;
};

/// Gradient clipping in AdamW: gradients are multiplied by min(1, max_norm / (*norm + 1e-6)); if *norm is not finite, nothing is updated.
/// Without norm (null), gradients are not clipped.
struct GradientClip {
  const double* norm = nullptr;
  double max_norm = 0;
};

/// A group of `count` vectors: vector i is x[first + i * stride], `length` elements.
struct VectorGroup {
  std::size_t first, count, stride, length;
};
/// Groups of at least two vectors each. No two vectors share elements.
struct VectorGroups {
  std::size_t groups = 0;
  std::size_t most = 0, longest = 0;  // maximum of `count` and of `length`
  const VectorGroup* list = nullptr;
};

/// Which keys j a query i of a sequence of n tokens sees: j <= i if `causal`, and |i - j| <= distance unless it is 0.
struct AttentionReach {
  bool causal = false;
  std::size_t distance = 0;

  /// Whether each query sees all keys.
  LEXFORMER_HD bool sees_all(std::size_t n) const { return !causal && (distance == 0 || distance + 1 >= n); }
  /// Query i sees the keys begin(i) ... end(i, n) - 1. Both grow with i.
  LEXFORMER_HD std::size_t begin(std::size_t i) const { return distance == 0 || i < distance ? 0 : i - distance; }
  LEXFORMER_HD std::size_t end(std::size_t i, std::size_t n) const {
    return causal ? i + 1 : distance == 0 || n - i <= distance ? n : i + distance + 1;
  }
  LEXFORMER_HD bool sees(std::size_t i, std::size_t j, std::size_t n) const { return j >= begin(i) && j < end(i, n); }
  /// Key j is seen by the queries query_begin(j) ... query_end(j, n) - 1.
  LEXFORMER_HD std::size_t query_begin(std::size_t j) const { return causal ? j : begin(j); }
  LEXFORMER_HD std::size_t query_end(std::size_t j, std::size_t n) const {
    return distance == 0 || n - j <= distance ? n : j + distance + 1;
  }
  /// What both let a query see.
  AttentionReach operator&(const AttentionReach& other) const {
    const bool any = distance == 0 || other.distance == 0;
    return {causal || other.causal, any ? std::max(distance, other.distance) : std::min(distance, other.distance)};
  }
};

/// The inputs of attention (formula and terms: ops/attention.hpp). B sequences, N tokens, P token pairs, H heads, D = H d.
template <class T>
struct AttentionArgs {
  using A = accumulate_t<T>;
  std::size_t sequences = 0, tokens = 0, pairs = 0, longest = 0;    // B, N, P, tokens of the longest sequence
  const std::size_t *token_begin = nullptr, *pair_begin = nullptr;  // (B + 1): first token row and first pair of each sequence
  const std::size_t* host_token_begin = nullptr;                    // token_begin in host memory
  std::size_t heads = 0, width = 0;                                 // H, D
  A scale{1};
  const T* qkv = nullptr;  // (N, 3 D)

  struct Lookup {
    const T* table = nullptr;             // (H, R)
    std::size_t levels = 0;               // R
    const std::uint16_t* code = nullptr;  // (P)
  };
  struct Relative {
    bool key_side = false;
    const T* table = nullptr;  // (tables, R, d)
    std::size_t tables = 1, rows = 0;
    const std::int32_t* bucket = nullptr;  // bucket[i - j + longest - 1] = row of the table
    A scale{1};
  };
  std::vector<Lookup> lookups;
  std::vector<Relative> relatives;
  const T* position_bias = nullptr;  // (H, bias_length, bias_length)
  std::size_t bias_length = 0;
  const T* pair_bias = nullptr;     // (pair_bias_heads, P)
  std::size_t pair_bias_heads = 1;  // 1: shared by the heads, or H
  const T* gate = nullptr;          // (P)
  DropoutMask dropout;              // element h P + pair
  AttentionReach reach;             // the score of a key that is not seen is -inf

  const std::int32_t* map_row = nullptr;  // (H): row of the maps output for each head, or -1; null = no maps
  bool maps_are_scores = false;           // maps are scores: a lookup adds table[code] instead of table[code] - lookup_base(table[0])
};

/// What scores subtract from the entries of a lookup table that begins with `first`: that entry, so that code 0, the most frequent one,
/// adds nothing; the softmax is the same. Nothing if `first` would absorb the scores, as a mask of -1e9 or -inf for code 0 does.
template <class A>
LEXFORMER_HD A lookup_base(A first) {
  return first > A{-64} && first < A{64} ? first : A{0};
}

/// The outputs of attention_grad; null = not requested.
template <class T>
struct AttentionGrads {
  T* qkv = nullptr;            // (N, 3 D)
  std::vector<T*> lookups;     // of the shapes of the tables
  std::vector<T*> relatives;   // of the shapes of the tables
  T* position_bias = nullptr;  // (H, bias_length, bias_length)
  T* pair_bias = nullptr;      // (pair_bias_heads, P)
  T* gate = nullptr;           // (P)
};

/// The inputs of additive attention (ops/additive_attention.hpp). B sequences, N tokens, P token pairs, H heads.
template <class T>
struct AdditiveArgs {
  std::size_t sequences = 0, tokens = 0, pairs = 0, longest = 0;    // B, N, P, tokens of the longest sequence
  const std::size_t *token_begin = nullptr, *pair_begin = nullptr;  // (B + 1): first token row and first pair of each sequence
  std::size_t heads = 0, key_size = 0, value_size = 0;              // H, a, d
  std::size_t weight_rows = 1;                                      // 1 or H
  const T *keys = nullptr, *queries = nullptr;                      // (N, H a)
  const T* weights = nullptr;                                       // (weight_rows, a)
  const T* values = nullptr;                                        // (N, H d)

  LEXFORMER_HD std::size_t keys_width() const { return heads * key_size; }
  LEXFORMER_HD std::size_t values_width() const { return heads * value_size; }
};

/// The outputs of additive_attention_grad, of the shapes of the inputs.
template <class T>
struct AdditiveGrads {
  T *keys = nullptr, *queries = nullptr, *weights = nullptr, *values = nullptr;
};

/// The inputs of a conditional random field (ops/crf.hpp). B sequences, N tokens, L labels.
template <class A>
struct CrfArgs {
  std::size_t sequences = 0, tokens = 0, labels = 0;  // B, N, L
  const std::size_t* token_begin = nullptr;           // (B + 1): first token row of each sequence
  const A* emissions = nullptr;                       // (N, L)
  const A* transitions = nullptr;                     // (L, L), from row to column
  const A *start = nullptr, *end = nullptr;           // (L)
};

/// The outputs of crf_grad, of the shapes of the inputs.
template <class A>
struct CrfGrads {
  A *emissions = nullptr, *transitions = nullptr, *start = nullptr, *end = nullptr;
};

}  // namespace lexformer
