// SPDX-License-Identifier: MIT
// AttentionPath::cublas: the implementation of AttentionKernels<Cuda>::attention and attention_grad by cuBLAS.
#pragma once

#include "lexformer/core/device_cuda.hpp"
#include "lexformer/kernels/interface.hpp"

namespace lexformer::cuda {

template <class T>
void cublas_attention(const AttentionArgs<T>& args, T* context, accumulate_t<T>* logsumexp, T* attentions);
template <class T>
void cublas_attention_grad(const AttentionArgs<T>& args, const accumulate_t<T>* logsumexp, const T* dcontext, const T* dmaps,
                           const AttentionGrads<T>& grads);

}  // namespace lexformer::cuda
