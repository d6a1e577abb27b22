// SPDX-License-Identifier: MIT
// The explicit instantiations of Kernels<Cuda>, used by the .cu files and, for builds without CUDA, by stub.cpp.
#pragma once

#define LEXFORMER_MAP_INSTANCE(F, T) template void ElementwiseKernels<Cuda>::map<scalar::F, T>(std::size_t, const T*, T*);
#define LEXFORMER_MAP2_INSTANCE(F, T) template void ElementwiseKernels<Cuda>::map<scalar::F, T>(std::size_t, const T*, const T*, T*);
#define LEXFORMER_ARITHMETIC_INSTANCE(F, T) \
  LEXFORMER_MAP2_INSTANCE(F, T)             \
  template void ElementwiseKernels<Cuda>::map_broadcast<scalar::F, T>(const Broadcast&, const T*, const T*, T*);

#define LEXFORMER_ELEMENTWISE_INSTANCES(T)                                                                            \
  LEXFORMER_MAP_INSTANCE(Gelu, T)                                                                                     \
  LEXFORMER_MAP_INSTANCE(GeluTanh, T)                                                                                 \
  LEXFORMER_MAP_INSTANCE(Tanh, T)                                                                                     \
  LEXFORMER_MAP_INSTANCE(Sigmoid, T)                                                                                  \
  LEXFORMER_MAP_INSTANCE(Relu, T)                                                                                     \
  LEXFORMER_MAP_INSTANCE(Exp, T)                                                                                      \
  LEXFORMER_MAP_INSTANCE(Log, T)                                                                                      \
  LEXFORMER_MAP_INSTANCE(Sqrt, T)                                                                                     \
  LEXFORMER_MAP_INSTANCE(Abs, T)                                                                                      \
  LEXFORMER_MAP2_INSTANCE(GeluGrad, T)                                                                                \
  LEXFORMER_MAP2_INSTANCE(GeluTanhGrad, T)                                                                            \
  LEXFORMER_MAP2_INSTANCE(TanhGrad, T)                                                                                \
  LEXFORMER_MAP2_INSTANCE(SigmoidGrad, T)                                                                             \
  LEXFORMER_MAP2_INSTANCE(ReluGrad, T)                                                                                \
  LEXFORMER_MAP2_INSTANCE(SqrtGrad, T)                                                                                \
  LEXFORMER_MAP2_INSTANCE(AbsGrad, T)                                                                                 \
  LEXFORMER_ARITHMETIC_INSTANCE(Add, T)                                                                               \
  LEXFORMER_ARITHMETIC_INSTANCE(Subtract, T)                                                                          \
  LEXFORMER_ARITHMETIC_INSTANCE(Multiply, T)                                                                          \
  LEXFORMER_ARITHMETIC_INSTANCE(Divide, T)                                                                            \
  LEXFORMER_ARITHMETIC_INSTANCE(Maximum, T)                                                                           \
  LEXFORMER_ARITHMETIC_INSTANCE(Minimum, T)                                                                           \
  LEXFORMER_ARITHMETIC_INSTANCE(GreaterShare, T)                                                                      \
  LEXFORMER_ARITHMETIC_INSTANCE(Where, T)                                                                             \
  LEXFORMER_ARITHMETIC_INSTANCE(WhereNot, T)                                                                          \
  template void ElementwiseKernels<Cuda>::sum_to<T>(const Broadcast&, std::size_t, const T*, T*);                     \
  template void ElementwiseKernels<Cuda>::gelu_with_grad<T>(std::size_t, T*, T*);                                     \
  template void ElementwiseKernels<Cuda>::affine<T>(std::size_t, accumulate_t<T>, const T*, accumulate_t<T>, T*);     \
  template void ElementwiseKernels<Cuda>::scale_by<T>(std::size_t, const accumulate_t<T>*, const T*, T*);             \
  template void ElementwiseKernels<Cuda>::fill_quotient<T>(std::size_t, const accumulate_t<T>*, accumulate_t<T>, T*); \
  template void ElementwiseKernels<Cuda>::add_to<T>(std::size_t, const T*, T*);                                       \
  template void ElementwiseKernels<Cuda>::dropout<T>(std::size_t, const DropoutMask&, const T*, T*);                  \
  template bool ElementwiseKernels<Cuda>::all_finite<T>(std::size_t, const T*);                                       \
  template void ElementwiseKernels<Cuda>::sum<T>(std::size_t, const T*, accumulate_t<T>*);                            \
  template void ElementwiseKernels<Cuda>::mean<T>(std::size_t, const T*, accumulate_t<T>*);

#define LEXFORMER_CAST_INSTANCES                                                                       \
  template void ElementwiseKernels<Cuda>::cast<float, float>(std::size_t, const float*, float*);       \
  template void ElementwiseKernels<Cuda>::cast<float, double>(std::size_t, const float*, double*);     \
  template void ElementwiseKernels<Cuda>::cast<double, float>(std::size_t, const double*, float*);     \
  template void ElementwiseKernels<Cuda>::cast<double, double>(std::size_t, const double*, double*);   \
  template void ElementwiseKernels<Cuda>::cast<float, bfloat16>(std::size_t, const float*, bfloat16*); \
  template void ElementwiseKernels<Cuda>::cast<bfloat16, float>(std::size_t, const bfloat16*, float*);

#define LEXFORMER_OPTIMIZER_INSTANCES(T)                                                                                           \
  template void ElementwiseKernels<Cuda>::gradient_norm<T>(const std::vector<Elements<T>>&, const accumulate_t<T>*, const double*, \
                                                           double*);                                                               \
  template void ElementwiseKernels<Cuda>::adamw<T, accumulate_t<T>>(const std::vector<AdamWUpdate<T>>&, const GradientClip&);

#define LEXFORMER_COLUMN_SUM_INSTANCE(T, To) \
  template void RowKernels<Cuda>::column_sum<T, To>(std::size_t, std::size_t, const T*, std::size_t, To*);
#define LEXFORMER_COLUMN_SUM_INSTANCES              \
  LEXFORMER_COLUMN_SUM_INSTANCE(float, float)       \
  LEXFORMER_COLUMN_SUM_INSTANCE(double, double)     \
  LEXFORMER_COLUMN_SUM_INSTANCE(bfloat16, bfloat16) \
  LEXFORMER_COLUMN_SUM_INSTANCE(bfloat16, float)    \
  LEXFORMER_COLUMN_SUM_INSTANCE(float, bfloat16)

#define LEXFORMER_ROW_INSTANCES(T)                                                                                               \
  template void RowKernels<Cuda>::fill_rows<T>(std::size_t, std::size_t, const T*, T*);                                          \
  template void RowKernels<Cuda>::copy_columns<T>(std::size_t, std::size_t, const T*, std::size_t, T*, std::size_t);             \
  template void RowKernels<Cuda>::expand_rows<T>(std::size_t, std::size_t, const T*, T*);                                        \
  template void RowKernels<Cuda>::row_sum<T>(std::size_t, std::size_t, const T*, T*);                                            \
  template void RowKernels<Cuda>::transpose<T>(std::size_t, std::size_t, std::size_t, const T*, T*);                             \
  template void RowKernels<Cuda>::row_extreme<T>(std::size_t, std::size_t, bool, const T*, T*, std::int32_t*);                   \
  template void RowKernels<Cuda>::row_extreme_grad<T>(std::size_t, std::size_t, const std::int32_t*, const T*, T*);              \
  template void RowKernels<Cuda>::log_sum_exp<T>(std::size_t, std::size_t, const T*, accumulate_t<T>*);                          \
  template void RowKernels<Cuda>::log_sum_exp_grad<T>(std::size_t, std::size_t, const T*, const T*, const accumulate_t<T>*, T*); \
  template void RowKernels<Cuda>::standardize<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, T*, accumulate_t<T>*);     \
  template void RowKernels<Cuda>::standardize_grad<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*,             \
                                                      const accumulate_t<T>*, T*);                                               \
  template void RowKernels<Cuda>::l2_normalize<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, T*, accumulate_t<T>*);    \
  template void RowKernels<Cuda>::l2_normalize_grad<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*,            \
                                                       const accumulate_t<T>*, T*);                                              \
  template void RowKernels<Cuda>::softmax_grad<T>(std::size_t, std::size_t, bool, const T*, const T*, T*);

#define LEXFORMER_LAYER_NORM_INSTANCES(T)                                                                                                  \
  template void RowKernels<Cuda>::layer_norm<T>(std::size_t, std::size_t, accumulate_t<T>, const DropoutMask&, const DropoutMask&,         \
                                                const T*, const T*, const T*, const T*, T*, accumulate_t<T>*, T*);                         \
  template void RowKernels<Cuda>::layer_norm_grad<T>(std::size_t, std::size_t, const DropoutMask&, const DropoutMask&, const T*, const T*, \
                                                     const T*, const accumulate_t<T>*, T*, T*, T*, T*);

#define LEXFORMER_SOFTMAX_INSTANCE(T, To) template void RowKernels<Cuda>::softmax<T, To>(std::size_t, std::size_t, bool, const T*, To*);
#define LEXFORMER_SOFTMAX_INSTANCES              \
  LEXFORMER_SOFTMAX_INSTANCE(float, float)       \
  LEXFORMER_SOFTMAX_INSTANCE(double, double)     \
  LEXFORMER_SOFTMAX_INSTANCE(bfloat16, bfloat16) \
  LEXFORMER_SOFTMAX_INSTANCE(bfloat16, float)

#define LEXFORMER_GATHER_INSTANCES(T)                                                                                        \
  template void IndexKernels<Cuda>::gather_sum<T>(std::size_t, std::size_t, const T*, const std::vector<RowLookup<T>>&, T*); \
  template void IndexKernels<Cuda>::gather_sum_grad<T>(std::size_t, std::size_t, const T*, const std::vector<RowLookupGrad<T>>&);

#define LEXFORMER_INDEX_INSTANCES(T)                                                                                                       \
  template void IndexKernels<Cuda>::place_rows<T>(std::size_t, std::size_t, const T*, const std::int32_t*, T*);                            \
  template void IndexKernels<Cuda>::gather_columns<T>(std::size_t, std::size_t, std::size_t, const T*, const std::int32_t*, T*);           \
  template void IndexKernels<Cuda>::scatter_add_columns<T>(std::size_t, std::size_t, std::size_t, const T*, const std::int32_t*,           \
                                                           accumulate_t<T>*);                                                              \
  template void IndexKernels<Cuda>::sequence_mean<T>(std::size_t, std::size_t, const std::size_t*, const T*, T*);                          \
  template void IndexKernels<Cuda>::sequence_mean_grad<T>(std::size_t, std::size_t, const std::size_t*, const T*, T*);                     \
  template void IndexKernels<Cuda>::sequence_max<T>(std::size_t, std::size_t, const std::size_t*, const T*, T*, std::int32_t*);            \
  template void IndexKernels<Cuda>::sequence_max_grad<T>(std::size_t, std::size_t, const std::size_t*, const std::int32_t*, const T*, T*); \
  template void IndexKernels<Cuda>::window<T>(std::size_t, std::size_t, std::size_t, std::size_t, const std::size_t*, const T*, T*);       \
  template void IndexKernels<Cuda>::window_grad<T>(std::size_t, std::size_t, std::size_t, std::size_t, const std::size_t*, const T*, T*);  \
  template void IndexKernels<Cuda>::rotary<T>(std::size_t, std::size_t, std::size_t, const accumulate_t<T>*, const std::int32_t*,          \
                                              accumulate_t<T>, const T*, T*);                                                              \
  template void IndexKernels<Cuda>::distance_bias<T>(std::size_t, std::size_t, const double*, T*);

#define LEXFORMER_LOSS_INSTANCES(T)                                                                                                        \
  template void LossKernels<Cuda>::cross_entropy<T>(std::size_t, std::size_t, const std::int32_t*, accumulate_t<T>, T*, accumulate_t<T>*); \
  template void LossKernels<Cuda>::cosine_similarity<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*, T*);                \
  template void LossKernels<Cuda>::cosine_similarity_grad<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*, const T*, T*,  \
                                                             T*);                                                                          \
  template void LossKernels<Cuda>::pairwise_cosine<T>(const VectorGroups&, const T*, accumulate_t<T>*);                                    \
  template void LossKernels<Cuda>::pairwise_cosine_grad<T>(const VectorGroups&, const accumulate_t<T>*, const T*, T*);

#define LEXFORMER_LIKELIHOOD_GRAD_INSTANCE(A, T)                                                                                  \
  template void LossKernels<Cuda>::negative_log_likelihood_grad<A, T>(std::size_t, std::size_t, const std::int32_t*, const A*, A, \
                                                                      const A*, const A*, T*);
#define LEXFORMER_COMPUTE_LOSS_INSTANCE(A)                                                                                               \
  template void LossKernels<Cuda>::mean_loss<A>(std::size_t, const A*, A*);                                                              \
  template void LossKernels<Cuda>::negative_log_likelihood<A>(std::size_t, std::size_t, const std::int32_t*, const A*, A, const A*, A*); \
  LEXFORMER_LIKELIHOOD_GRAD_INSTANCE(A, A)
#define LEXFORMER_COMPUTE_LOSS_INSTANCES  \
  LEXFORMER_COMPUTE_LOSS_INSTANCE(float)  \
  LEXFORMER_COMPUTE_LOSS_INSTANCE(double) \
  LEXFORMER_LIKELIHOOD_GRAD_INSTANCE(float, bfloat16)

#define LEXFORMER_GEMM_INSTANCE(T, C)                                                                                                \
  template void Kernels<Cuda>::gemm<T, C>(bool, bool, std::size_t, std::size_t, std::size_t, accumulate_t<T>, const T*, std::size_t, \
                                          const T*, std::size_t, accumulate_t<T>, C*, std::size_t, const T*);
#define LEXFORMER_GEMM_BATCHED_INSTANCE(T)                                                                                                \
  template void Kernels<Cuda>::gemm_batched<T>(std::size_t, bool, bool, std::size_t, std::size_t, std::size_t, accumulate_t<T>, const T*, \
                                               std::size_t, const T*, std::size_t, T*);                                                   \
  template void Kernels<Cuda>::linear_grad<T>(std::size_t, std::size_t, std::size_t, const T*, std::size_t, const T*, T*, T*);
#define LEXFORMER_GEMM_INSTANCES              \
  LEXFORMER_GEMM_INSTANCE(float, float)       \
  LEXFORMER_GEMM_INSTANCE(double, double)     \
  LEXFORMER_GEMM_INSTANCE(bfloat16, bfloat16) \
  LEXFORMER_GEMM_INSTANCE(bfloat16, float)    \
  LEXFORMER_GEMM_BATCHED_INSTANCE(float)      \
  LEXFORMER_GEMM_BATCHED_INSTANCE(double)     \
  LEXFORMER_GEMM_BATCHED_INSTANCE(bfloat16)

#define LEXFORMER_ATTENTION_INSTANCES(T)                                                                                                 \
  template void AttentionKernels<Cuda>::attention<T>(const AttentionArgs<T>&, T*, accumulate_t<T>*, T*);                                 \
  template void AttentionKernels<Cuda>::attention_grad<T>(const AttentionArgs<T>&, const T*, const accumulate_t<T>*, const T*, const T*, \
                                                          const AttentionGrads<T>&);

#define LEXFORMER_ADDITIVE_INSTANCES(T)                                                                                     \
  template void AdditiveKernels<Cuda>::additive_attention<T>(const AdditiveArgs<T>&, accumulate_t<T>*, T*);                 \
  template void AdditiveKernels<Cuda>::additive_attention_grad<T>(const AdditiveArgs<T>&, const accumulate_t<T>*, const T*, \
                                                                  const AdditiveGrads<T>&);

#define LEXFORMER_LSTM_INSTANCES(T)                                                                                                        \
  template void LstmKernels<Cuda>::lstm_step<T>(std::size_t, std::size_t, const accumulate_t<T>*, accumulate_t<T>*, accumulate_t<T>*, T*); \
  template void LstmKernels<Cuda>::lstm_step_grad<T>(std::size_t, std::size_t, const accumulate_t<T>*, const accumulate_t<T>*,             \
                                                     const accumulate_t<T>*, const T*, const accumulate_t<T>*, accumulate_t<T>*, T*);

#define LEXFORMER_CRF_INSTANCES(A)                                                                                      \
  template void CrfKernels<Cuda>::crf_forward<A>(const CrfArgs<A>&, const std::int32_t*, A*, A*, A*);                   \
  template void CrfKernels<Cuda>::crf_grad<A>(const CrfArgs<A>&, const std::int32_t*, const A*, const A*, const A*, A*, \
                                              const CrfGrads<A>&);                                                      \
  template void CrfKernels<Cuda>::crf_decode<A>(const CrfArgs<A>&, std::int32_t*);
