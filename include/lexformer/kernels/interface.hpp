// SPDX-License-Identifier: MIT
// What the ops ask of a device: one struct of static functions for each subject, and the plain structs that some of them take. What each
// function computes stands at the CPU's (elementwise_cpu.hpp ...); a GPU has functions of the same names and parameters.
//
// T is the type that tensors are stored in. Numbers given by value, statistics and losses are accumulate_t<T>, and so is all arithmetic.
//
// They take pointers and sizes, no shapes. A pointer to numbers is one into the memory of the device; lists of such pointers
// (std::vector) lie on the host. Numbers that a result depends on, such as the gradient of a scalar, stay where they are and are
// given as a pointer, too: only all_finite returns what it found, and waits for it.
// The same input gives the same bits, for any number of threads: sums have a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/dropout_mask.hpp"

namespace lexformer {

template <class Dev>
struct ElementwiseKernels;
template <class Dev>
struct RowKernels;
template <class Dev>
struct IndexKernels;
template <class Dev>
struct LossKernels;
template <class Dev>
struct AttentionKernels;
/// All of them, and gemm.
template <class Dev>
struct Kernels;

template <class T>
struct Elements {
  std::size_t count = 0;
  const T* data = nullptr;
};

/// What one AdamW step multiplies with; computed in double, used in the moments' type.
struct AdamWFactors {
  double decay;  // 1 - lr * weight_decay
  double beta1, beta2;
  double step_size;        // lr / (1 - beta1^t)
  double root_correction;  // sqrt(1 - beta2^t)
  double eps;
};

/// The step of one parameter. `master` holds the weights in the type of the moments; the parameter gets a rounded copy. Where both types
/// are the same, master is the parameter itself.
template <class T, class A = accumulate_t<T>>
struct AdamWUpdate {
  std::size_t count;
  AdamWFactors factors;
  const T* gradient;
  A *exp_avg, *exp_avg_sq, *master;
  T* parameter;
};

/// AdamW takes each gradient times min(1, max_norm / (*norm + 1e-6)), and updates nothing where *norm is not finite. Without norm it takes
/// the gradients as they are.
struct GradientClip {
  const double* norm = nullptr;
  double max_norm = 0;
};

/// Vector i of a group is x + first + i * stride, `length` numbers.
struct VectorGroup {
  std::size_t first, count, stride, length;
};
/// Groups of two vectors or more each, of which no two have a number in common.
struct VectorGroups {
  std::size_t groups = 0;
  std::size_t most = 0, longest = 0;  // the largest count and the largest length
  const VectorGroup* list = nullptr;
};

/// What attention reads. Formula and terms: ops/attention.hpp. B sequences, N tokens, P pairs of tokens, H heads, D = H d.
template <class T>
struct AttentionArgs {
  using A = accumulate_t<T>;
  std::size_t sequences = 0, tokens = 0, pairs = 0, longest = 0;    // B, N, P, tokens of the longest sequence
  const std::size_t *token_begin = nullptr, *pair_begin = nullptr;  // (B + 1): first token row and first pair of each sequence
  const std::size_t* host_token_begin = nullptr;                    // token_begin in the host's memory
  std::size_t heads = 0, width = 0;                                 // H, D
  A scale{1};
  const T* qkv = nullptr;  // (N, 3D)

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
  const T* pair_bias = nullptr;  // (P)
  const T* gate = nullptr;       // (P)
  DropoutMask dropout;           // element h P + pair

  const std::int32_t* map_row = nullptr;  // (H): row of the maps that a head's map goes to, or -1; null = there are no maps
  bool maps_are_scores =
      false;  // maps are scores, so a lookup adds table[code], and not table[code] - table[0], which is the same to softmax
};

/// Where attention_grad writes; null = not wanted.
template <class T>
struct AttentionGrads {
  T* qkv = nullptr;            // (N, 3D)
  std::vector<T*> lookups;     // each as its table
  std::vector<T*> relatives;   // each as its table
  T* position_bias = nullptr;  // (H, bias_length, bias_length)
  T* pair_bias = nullptr;      // (P)
  T* gate = nullptr;           // (P)
};

}  // namespace lexformer
