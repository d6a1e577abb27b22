// SPDX-License-Identifier: MIT
// lexformer::cuda for builds without CUDA: defines its memory, its options and its kernels. What needs a device throws.
#include "lexformer/core/error.hpp"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"

namespace lexformer {
namespace {

[[noreturn]] void missing() { fail("cuda", "this build of lexformer has no CUDA; configure it with -DLEXFORMER_CUDA=ON, or use the CPU"); }

using Size = std::size_t;
using Ids = const std::int32_t*;

}  // namespace

// The functions after these cannot be reached without device memory.
MemoryBlock Memory<Cuda>::allocate(Size) { missing(); }
void Memory<Cuda>::release(MemoryBlock) noexcept {}
void Memory<Cuda>::trim() noexcept {}
void Memory<Cuda>::upload(void*, const void*, Size) { missing(); }
void Memory<Cuda>::upload(void*, std::span<const UploadPart>) { missing(); }
void Memory<Cuda>::download(void*, const void*, Size) { missing(); }
void Memory<Cuda>::copy(void*, const void*, Size) { missing(); }
void Memory<Cuda>::zero(void*, Size) { missing(); }
std::size_t Memory<Cuda>::in_use() { return 0; }
std::size_t Memory<Cuda>::peak() { return 0; }
void Memory<Cuda>::reset_peak() {}

namespace cuda {
bool available() noexcept { return false; }
void synchronize() { missing(); }
void set_tf32(bool) {}
bool tf32() { return false; }
void set_attention_path(AttentionPath, std::size_t) {}
AttentionPath attention_path() { return AttentionPath::fused; }
}  // namespace cuda

// clang-format off
template <> template <class F, class T> void ElementwiseKernels<Cuda>::map(Size, const T*, T*) { missing(); }
template <> template <class F, class T> void ElementwiseKernels<Cuda>::map(Size, const T*, const T*, T*) { missing(); }
template <> template <class F, class T> void ElementwiseKernels<Cuda>::map_broadcast(const Broadcast&, const T*, const T*, T*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::sum_to(const Broadcast&, Size, const T*, T*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::gelu_with_grad(Size, T*, T*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::affine(Size, accumulate_t<T>, const T*, accumulate_t<T>, T*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::scale_by(Size, const accumulate_t<T>*, const T*, T*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::fill_quotient(Size, const accumulate_t<T>*, accumulate_t<T>, T*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::add_to(Size, const T*, T*) { missing(); }
template <> template <class T, class To> void ElementwiseKernels<Cuda>::cast(Size, const T*, To*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::dropout(Size, const DropoutMask&, const T*, T*) { missing(); }
template <> template <class T> bool ElementwiseKernels<Cuda>::all_finite(Size, const T*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::sum(Size, const T*, accumulate_t<T>*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::mean(Size, const T*, accumulate_t<T>*) { missing(); }
template <> template <class T> void ElementwiseKernels<Cuda>::gradient_norm(const std::vector<Elements<T>>&, const accumulate_t<T>*, const double*, double*) { missing(); }
template <> template <class T, class A> void ElementwiseKernels<Cuda>::adamw(const std::vector<AdamWUpdate<T, A>>&, const GradientClip&) { missing(); }

template <> template <class T, class To> void RowKernels<Cuda>::column_sum(Size, Size, const T*, Size, To*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::fill_rows(Size, Size, const T*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::copy_columns(Size, Size, const T*, Size, T*, Size) { missing(); }
template <> template <class T> void RowKernels<Cuda>::expand_rows(Size, Size, const T*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::row_sum(Size, Size, const T*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::transpose(Size, Size, Size, const T*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::row_extreme(Size, Size, bool, const T*, T*, std::int32_t*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::row_extreme_grad(Size, Size, Ids, const T*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::log_sum_exp(Size, Size, const T*, accumulate_t<T>*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::log_sum_exp_grad(Size, Size, const T*, const T*, const accumulate_t<T>*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::standardize(Size, Size, accumulate_t<T>, const T*, T*, accumulate_t<T>*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::standardize_grad(Size, Size, accumulate_t<T>, const T*, const T*, const accumulate_t<T>*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::l2_normalize(Size, Size, accumulate_t<T>, const T*, T*, accumulate_t<T>*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::l2_normalize_grad(Size, Size, accumulate_t<T>, const T*, const T*, const accumulate_t<T>*, T*) { missing(); }
template <> template <class T, class To> void RowKernels<Cuda>::softmax(Size, Size, bool, const T*, To*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::softmax_grad(Size, Size, bool, const T*, const T*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::layer_norm(Size, Size, accumulate_t<T>, const DropoutMask&, const DropoutMask&, const T*, const T*, const T*, const T*, T*, accumulate_t<T>*, T*) { missing(); }
template <> template <class T> void RowKernels<Cuda>::layer_norm_grad(Size, Size, const DropoutMask&, const DropoutMask&, const T*, const T*, const T*, const accumulate_t<T>*, T*, T*, T*, T*) { missing(); }

template <> template <class T> void IndexKernels<Cuda>::gather_sum(Size, Size, const std::type_identity_t<T>*, const std::vector<RowLookup<T>>&, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::gather_sum_grad(Size, Size, const T*, const std::vector<RowLookupGrad<T>>&) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::place_rows(Size, Size, const T*, Ids, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::gather_columns(Size, Size, Size, const T*, Ids, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::scatter_add_columns(Size, Size, Size, const T*, Ids, accumulate_t<T>*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::sequence_mean(Size, Size, const Size*, const T*, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::sequence_mean_grad(Size, Size, const Size*, const T*, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::sequence_max(Size, Size, const Size*, const T*, T*, std::int32_t*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::sequence_max_grad(Size, Size, const Size*, Ids, const T*, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::window(Size, Size, Size, Size, const Size*, const T*, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::window_grad(Size, Size, Size, Size, const Size*, const T*, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::rotary(Size, Size, Size, const accumulate_t<T>*, Ids, accumulate_t<T>, const T*, T*) { missing(); }
template <> template <class T> void IndexKernels<Cuda>::distance_bias(Size, Size, const double*, T*) { missing(); }

template <> template <class T> void LossKernels<Cuda>::cross_entropy(Size, Size, Ids, accumulate_t<T>, T*, accumulate_t<T>*) { missing(); }
template <> template <class A> void LossKernels<Cuda>::mean_loss(Size, const A*, A*) { missing(); }
template <> template <class A> void LossKernels<Cuda>::negative_log_likelihood(Size, Size, Ids, const A*, A, const A*, A*) { missing(); }
template <> template <class A, class T> void LossKernels<Cuda>::negative_log_likelihood_grad(Size, Size, Ids, const A*, A, const A*, const A*, T*) { missing(); }
template <> template <class T> void LossKernels<Cuda>::cosine_similarity(Size, Size, accumulate_t<T>, const T*, const T*, T*) { missing(); }
template <> template <class T> void LossKernels<Cuda>::cosine_similarity_grad(Size, Size, accumulate_t<T>, const T*, const T*, const T*, T*, T*) { missing(); }
template <> template <class T> void LossKernels<Cuda>::pairwise_cosine(const VectorGroups&, const T*, accumulate_t<T>*) { missing(); }
template <> template <class T> void LossKernels<Cuda>::pairwise_cosine_grad(const VectorGroups&, const accumulate_t<T>*, const T*, T*) { missing(); }

template <> template <class T> void AttentionKernels<Cuda>::attention(const AttentionArgs<T>&, T*, accumulate_t<T>*, T*) { missing(); }
template <> template <class T> void AttentionKernels<Cuda>::attention_grad(const AttentionArgs<T>&, const T*, const accumulate_t<T>*, const T*, const T*, const AttentionGrads<T>&) { missing(); }

template <> template <class T> void AdditiveKernels<Cuda>::additive_attention(const AdditiveArgs<T>&, accumulate_t<T>*, T*) { missing(); }
template <> template <class T> void AdditiveKernels<Cuda>::additive_attention_grad(const AdditiveArgs<T>&, const accumulate_t<T>*, const T*, const AdditiveGrads<T>&) { missing(); }

template <> template <class T> void LstmKernels<Cuda>::lstm_step(Size, Size, const accumulate_t<T>*, accumulate_t<T>*, accumulate_t<T>*, T*) { missing(); }
template <> template <class T> void LstmKernels<Cuda>::lstm_step_grad(Size, Size, const accumulate_t<T>*, const accumulate_t<T>*, const accumulate_t<T>*, const T*, const accumulate_t<T>*, accumulate_t<T>*, T*) { missing(); }

template <> template <class A> void CrfKernels<Cuda>::crf_forward(const CrfArgs<A>&, Ids, A*, A*, A*) { missing(); }
template <> template <class A> void CrfKernels<Cuda>::crf_grad(const CrfArgs<A>&, Ids, const A*, const A*, const A*, A*, const CrfGrads<A>&) { missing(); }
template <> template <class A> void CrfKernels<Cuda>::crf_decode(const CrfArgs<A>&, std::int32_t*) { missing(); }

template <> template <class T, class C> void Kernels<Cuda>::gemm(bool, bool, Size, Size, Size, accumulate_t<T>, const T*, Size, const T*, Size, accumulate_t<T>, C*, Size, const std::type_identity_t<T>*) { missing(); }
template <> template <class T> void Kernels<Cuda>::linear_grad(Size, Size, Size, const T*, Size, const T*, T*, T*) { missing(); }
template <> template <class T> void Kernels<Cuda>::gemm_batched(Size, bool, bool, Size, Size, Size, accumulate_t<T>, const T*, Size, const T*, Size, T*) { missing(); }

LEXFORMER_KERNELS(, Cuda)
// clang-format on

}  // namespace lexformer
