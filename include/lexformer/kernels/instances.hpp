// SPDX-License-Identifier: MIT
// The instances of the kernels in lexformer::compiled (Dev: Cpu) and in lexformer::cuda (Dev: Cuda). word: nothing where they are compiled,
// extern where they are used.
#pragma once

#define LEXFORMER_MAP_INSTANCE(word, Dev, F, T) word template void ElementwiseKernels<Dev>::map<scalar::F, T>(std::size_t, const T*, T*);
#define LEXFORMER_MAP2_INSTANCE(word, Dev, F, T) \
  word template void ElementwiseKernels<Dev>::map<scalar::F, T>(std::size_t, const T*, const T*, T*);
#define LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, F, T) \
  LEXFORMER_MAP2_INSTANCE(word, Dev, F, T)             \
  word template void ElementwiseKernels<Dev>::map_broadcast<scalar::F, T>(const Broadcast&, const T*, const T*, T*);

#define LEXFORMER_ELEMENTWISE_INSTANCES(word, Dev, T)                                                                     \
  LEXFORMER_MAP_INSTANCE(word, Dev, Gelu, T)                                                                              \
  LEXFORMER_MAP_INSTANCE(word, Dev, GeluTanh, T)                                                                          \
  LEXFORMER_MAP_INSTANCE(word, Dev, Tanh, T)                                                                              \
  LEXFORMER_MAP_INSTANCE(word, Dev, Sigmoid, T)                                                                           \
  LEXFORMER_MAP_INSTANCE(word, Dev, Relu, T)                                                                              \
  LEXFORMER_MAP_INSTANCE(word, Dev, Exp, T)                                                                               \
  LEXFORMER_MAP_INSTANCE(word, Dev, Log, T)                                                                               \
  LEXFORMER_MAP_INSTANCE(word, Dev, Sqrt, T)                                                                              \
  LEXFORMER_MAP_INSTANCE(word, Dev, Abs, T)                                                                               \
  LEXFORMER_MAP2_INSTANCE(word, Dev, GeluGrad, T)                                                                         \
  LEXFORMER_MAP2_INSTANCE(word, Dev, GeluTanhGrad, T)                                                                     \
  LEXFORMER_MAP2_INSTANCE(word, Dev, TanhGrad, T)                                                                         \
  LEXFORMER_MAP2_INSTANCE(word, Dev, SigmoidGrad, T)                                                                      \
  LEXFORMER_MAP2_INSTANCE(word, Dev, ReluGrad, T)                                                                         \
  LEXFORMER_MAP2_INSTANCE(word, Dev, SqrtGrad, T)                                                                         \
  LEXFORMER_MAP2_INSTANCE(word, Dev, AbsGrad, T)                                                                          \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, Add, T)                                                                        \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, Subtract, T)                                                                   \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, Multiply, T)                                                                   \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, Divide, T)                                                                     \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, Maximum, T)                                                                    \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, Minimum, T)                                                                    \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, GreaterShare, T)                                                               \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, Where, T)                                                                      \
  LEXFORMER_ARITHMETIC_INSTANCE(word, Dev, WhereNot, T)                                                                   \
  word template void ElementwiseKernels<Dev>::sum_to<T>(const Broadcast&, std::size_t, const T*, T*);                     \
  word template void ElementwiseKernels<Dev>::gelu_with_grad<T>(std::size_t, T*, T*);                                     \
  word template void ElementwiseKernels<Dev>::affine<T>(std::size_t, accumulate_t<T>, const T*, accumulate_t<T>, T*);     \
  word template void ElementwiseKernels<Dev>::scale_by<T>(std::size_t, const accumulate_t<T>*, const T*, T*);             \
  word template void ElementwiseKernels<Dev>::fill_quotient<T>(std::size_t, const accumulate_t<T>*, accumulate_t<T>, T*); \
  word template void ElementwiseKernels<Dev>::add_to<T>(std::size_t, const T*, T*);                                       \
  word template void ElementwiseKernels<Dev>::dropout<T>(std::size_t, const DropoutMask&, const T*, T*);                  \
  word template bool ElementwiseKernels<Dev>::all_finite<T>(std::size_t, const T*);                                       \
  word template void ElementwiseKernels<Dev>::sum<T>(std::size_t, const T*, accumulate_t<T>*);                            \
  word template void ElementwiseKernels<Dev>::mean<T>(std::size_t, const T*, accumulate_t<T>*);

#define LEXFORMER_CAST_INSTANCES(word, Dev)                                                                \
  word template void ElementwiseKernels<Dev>::cast<float, float>(std::size_t, const float*, float*);       \
  word template void ElementwiseKernels<Dev>::cast<float, double>(std::size_t, const float*, double*);     \
  word template void ElementwiseKernels<Dev>::cast<double, float>(std::size_t, const double*, float*);     \
  word template void ElementwiseKernels<Dev>::cast<double, double>(std::size_t, const double*, double*);   \
  word template void ElementwiseKernels<Dev>::cast<float, bfloat16>(std::size_t, const float*, bfloat16*); \
  word template void ElementwiseKernels<Dev>::cast<bfloat16, float>(std::size_t, const bfloat16*, float*);

#define LEXFORMER_OPTIMIZER_INSTANCES(word, Dev, T)                                                                                    \
  word template void ElementwiseKernels<Dev>::gradient_norm<T>(const std::vector<Elements<T>>&, const accumulate_t<T>*, const double*, \
                                                               double*);                                                               \
  word template void ElementwiseKernels<Dev>::adamw<T, accumulate_t<T>>(const std::vector<AdamWUpdate<T>>&, const GradientClip&);

#define LEXFORMER_COLUMN_SUM_INSTANCE(word, Dev, T, To) \
  word template void RowKernels<Dev>::column_sum<T, To>(std::size_t, std::size_t, const T*, std::size_t, To*);
#define LEXFORMER_COLUMN_SUM_INSTANCES(word, Dev)              \
  LEXFORMER_COLUMN_SUM_INSTANCE(word, Dev, float, float)       \
  LEXFORMER_COLUMN_SUM_INSTANCE(word, Dev, double, double)     \
  LEXFORMER_COLUMN_SUM_INSTANCE(word, Dev, bfloat16, bfloat16) \
  LEXFORMER_COLUMN_SUM_INSTANCE(word, Dev, bfloat16, float)    \
  LEXFORMER_COLUMN_SUM_INSTANCE(word, Dev, float, bfloat16)

#define LEXFORMER_ROW_INSTANCES(word, Dev, T)                                                                                        \
  word template void RowKernels<Dev>::fill_rows<T>(std::size_t, std::size_t, const T*, T*);                                          \
  word template void RowKernels<Dev>::copy_columns<T>(std::size_t, std::size_t, const T*, std::size_t, T*, std::size_t);             \
  word template void RowKernels<Dev>::expand_rows<T>(std::size_t, std::size_t, const T*, T*);                                        \
  word template void RowKernels<Dev>::row_sum<T>(std::size_t, std::size_t, const T*, T*);                                            \
  word template void RowKernels<Dev>::transpose<T>(std::size_t, std::size_t, std::size_t, const T*, T*);                             \
  word template void RowKernels<Dev>::row_extreme<T>(std::size_t, std::size_t, bool, const T*, T*, std::int32_t*);                   \
  word template void RowKernels<Dev>::row_extreme_grad<T>(std::size_t, std::size_t, const std::int32_t*, const T*, T*);              \
  word template void RowKernels<Dev>::log_sum_exp<T>(std::size_t, std::size_t, const T*, accumulate_t<T>*);                          \
  word template void RowKernels<Dev>::log_sum_exp_grad<T>(std::size_t, std::size_t, const T*, const T*, const accumulate_t<T>*, T*); \
  word template void RowKernels<Dev>::standardize<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, T*, accumulate_t<T>*);     \
  word template void RowKernels<Dev>::standardize_grad<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*,             \
                                                          const accumulate_t<T>*, T*);                                               \
  word template void RowKernels<Dev>::l2_normalize<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, T*, accumulate_t<T>*);    \
  word template void RowKernels<Dev>::l2_normalize_grad<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*,            \
                                                           const accumulate_t<T>*, T*);                                              \
  word template void RowKernels<Dev>::softmax_grad<T>(std::size_t, std::size_t, bool, const T*, const T*, T*);

#define LEXFORMER_LAYER_NORM_INSTANCES(word, Dev, T)                                                                                   \
  word template void RowKernels<Dev>::layer_norm<T>(std::size_t, std::size_t, accumulate_t<T>, const DropoutMask&, const DropoutMask&, \
                                                    const T*, const T*, const T*, const T*, T*, accumulate_t<T>*, T*);                 \
  word template void RowKernels<Dev>::layer_norm_grad<T>(std::size_t, std::size_t, const DropoutMask&, const DropoutMask&, const T*,   \
                                                         const T*, const T*, const accumulate_t<T>*, T*, T*, T*, T*);

#define LEXFORMER_SOFTMAX_INSTANCE(word, Dev, T, To) \
  word template void RowKernels<Dev>::softmax<T, To>(std::size_t, std::size_t, bool, const T*, To*);
#define LEXFORMER_SOFTMAX_INSTANCES(word, Dev)              \
  LEXFORMER_SOFTMAX_INSTANCE(word, Dev, float, float)       \
  LEXFORMER_SOFTMAX_INSTANCE(word, Dev, double, double)     \
  LEXFORMER_SOFTMAX_INSTANCE(word, Dev, bfloat16, bfloat16) \
  LEXFORMER_SOFTMAX_INSTANCE(word, Dev, bfloat16, float)

#define LEXFORMER_GATHER_INSTANCES(word, Dev, T)                                                                                 \
  word template void IndexKernels<Dev>::gather_sum<T>(std::size_t, std::size_t, const T*, const std::vector<RowLookup<T>>&, T*); \
  word template void IndexKernels<Dev>::gather_sum_grad<T>(std::size_t, std::size_t, const T*, const std::vector<RowLookupGrad<T>>&);

#define LEXFORMER_INDEX_INSTANCES(word, Dev, T)                                                                                           \
  word template void IndexKernels<Dev>::place_rows<T>(std::size_t, std::size_t, const T*, const std::int32_t*, T*);                       \
  word template void IndexKernels<Dev>::gather_columns<T>(std::size_t, std::size_t, std::size_t, const T*, const std::int32_t*, T*);      \
  word template void IndexKernels<Dev>::scatter_add_columns<T>(std::size_t, std::size_t, std::size_t, const T*, const std::int32_t*,      \
                                                               accumulate_t<T>*);                                                         \
  word template void IndexKernels<Dev>::sequence_mean<T>(std::size_t, std::size_t, const std::size_t*, const T*, T*);                     \
  word template void IndexKernels<Dev>::sequence_mean_grad<T>(std::size_t, std::size_t, const std::size_t*, const T*, T*);                \
  word template void IndexKernels<Dev>::sequence_max<T>(std::size_t, std::size_t, const std::size_t*, const T*, T*, std::int32_t*);       \
  word template void IndexKernels<Dev>::sequence_max_grad<T>(std::size_t, std::size_t, const std::size_t*, const std::int32_t*, const T*, \
                                                             T*);                                                                         \
  word template void IndexKernels<Dev>::window<T>(std::size_t, std::size_t, std::size_t, std::size_t, const std::size_t*, const T*, T*);  \
  word template void IndexKernels<Dev>::window_grad<T>(std::size_t, std::size_t, std::size_t, std::size_t, const std::size_t*, const T*,  \
                                                       T*);                                                                               \
  word template void IndexKernels<Dev>::rotary<T>(std::size_t, std::size_t, std::size_t, const accumulate_t<T>*, const std::int32_t*,     \
                                                  accumulate_t<T>, const T*, T*);                                                         \
  word template void IndexKernels<Dev>::distance_bias<T>(std::size_t, std::size_t, const double*, T*);

#define LEXFORMER_LOSS_INSTANCES(word, Dev, T)                                                                                            \
  word template void LossKernels<Dev>::cross_entropy<T>(std::size_t, std::size_t, const std::int32_t*, accumulate_t<T>, T*,               \
                                                        accumulate_t<T>*);                                                                \
  word template void LossKernels<Dev>::cosine_similarity<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*, T*);           \
  word template void LossKernels<Dev>::cosine_similarity_grad<T>(std::size_t, std::size_t, accumulate_t<T>, const T*, const T*, const T*, \
                                                                 T*, T*);                                                                 \
  word template void LossKernels<Dev>::pairwise_cosine<T>(const VectorGroups&, const T*, accumulate_t<T>*);                               \
  word template void LossKernels<Dev>::pairwise_cosine_grad<T>(const VectorGroups&, const accumulate_t<T>*, const T*, T*);

#define LEXFORMER_LIKELIHOOD_GRAD_INSTANCE(word, Dev, A, T)                                                                           \
  word template void LossKernels<Dev>::negative_log_likelihood_grad<A, T>(std::size_t, std::size_t, const std::int32_t*, const A*, A, \
                                                                          const A*, const A*, T*);
#define LEXFORMER_COMPUTE_LOSS_INSTANCE(word, Dev, A)                                                                                   \
  word template void LossKernels<Dev>::mean_loss<A>(std::size_t, const A*, A*);                                                         \
  word template void LossKernels<Dev>::negative_log_likelihood<A>(std::size_t, std::size_t, const std::int32_t*, const A*, A, const A*, \
                                                                  A*);                                                                  \
  LEXFORMER_LIKELIHOOD_GRAD_INSTANCE(word, Dev, A, A)
#define LEXFORMER_COMPUTE_LOSS_INSTANCES(word, Dev)  \
  LEXFORMER_COMPUTE_LOSS_INSTANCE(word, Dev, float)  \
  LEXFORMER_COMPUTE_LOSS_INSTANCE(word, Dev, double) \
  LEXFORMER_LIKELIHOOD_GRAD_INSTANCE(word, Dev, float, bfloat16)

#define LEXFORMER_GEMM_INSTANCE(word, Dev, T, C)                                                                                         \
  word template void Kernels<Dev>::gemm<T, C>(bool, bool, std::size_t, std::size_t, std::size_t, accumulate_t<T>, const T*, std::size_t, \
                                              const T*, std::size_t, accumulate_t<T>, C*, std::size_t, const T*);
#define LEXFORMER_GEMM_BATCHED_INSTANCE(word, Dev, T)                                                                               \
  word template void Kernels<Dev>::gemm_batched<T>(std::size_t, bool, bool, std::size_t, std::size_t, std::size_t, accumulate_t<T>, \
                                                   const T*, std::size_t, const T*, std::size_t, T*);                               \
  word template void Kernels<Dev>::linear_grad<T>(std::size_t, std::size_t, std::size_t, const T*, std::size_t, const T*, T*, T*);
#define LEXFORMER_GEMM_INSTANCES(word, Dev)              \
  LEXFORMER_GEMM_INSTANCE(word, Dev, float, float)       \
  LEXFORMER_GEMM_INSTANCE(word, Dev, double, double)     \
  LEXFORMER_GEMM_INSTANCE(word, Dev, bfloat16, bfloat16) \
  LEXFORMER_GEMM_INSTANCE(word, Dev, bfloat16, float)    \
  LEXFORMER_GEMM_BATCHED_INSTANCE(word, Dev, float)      \
  LEXFORMER_GEMM_BATCHED_INSTANCE(word, Dev, double)     \
  LEXFORMER_GEMM_BATCHED_INSTANCE(word, Dev, bfloat16)

#define LEXFORMER_ATTENTION_INSTANCES(word, Dev, T)                                                                                \
  word template void AttentionKernels<Dev>::attention<T>(const AttentionArgs<T>&, T*, accumulate_t<T>*, T*);                       \
  word template void AttentionKernels<Dev>::attention_grad<T>(const AttentionArgs<T>&, const T*, const accumulate_t<T>*, const T*, \
                                                              const T*, const AttentionGrads<T>&);

#define LEXFORMER_ADDITIVE_INSTANCES(word, Dev, T)                                                                              \
  word template void AdditiveKernels<Dev>::additive_attention<T>(const AdditiveArgs<T>&, accumulate_t<T>*, T*);                 \
  word template void AdditiveKernels<Dev>::additive_attention_grad<T>(const AdditiveArgs<T>&, const accumulate_t<T>*, const T*, \
                                                                      const AdditiveGrads<T>&);

#define LEXFORMER_LSTM_INSTANCES(word, Dev, T)                                                                                            \
  word template void LstmKernels<Dev>::lstm_step<T>(std::size_t, std::size_t, const accumulate_t<T>*, accumulate_t<T>*, accumulate_t<T>*, \
                                                    T*);                                                                                  \
  word template void LstmKernels<Dev>::lstm_step_grad<T>(std::size_t, std::size_t, const accumulate_t<T>*, const accumulate_t<T>*,        \
                                                         const accumulate_t<T>*, const T*, const accumulate_t<T>*, accumulate_t<T>*, T*);

#define LEXFORMER_CRF_INSTANCES(word, Dev, A)                                                                               \
  word template void CrfKernels<Dev>::crf_forward<A>(const CrfArgs<A>&, const std::int32_t*, A*, A*, A*);                   \
  word template void CrfKernels<Dev>::crf_grad<A>(const CrfArgs<A>&, const std::int32_t*, const A*, const A*, const A*, A*, \
                                                  const CrfGrads<A>&);                                                      \
  word template void CrfKernels<Dev>::crf_decode<A>(const CrfArgs<A>&, std::int32_t*);

#define LEXFORMER_KERNELS_OF(word, Dev, T)      \
  LEXFORMER_ELEMENTWISE_INSTANCES(word, Dev, T) \
  LEXFORMER_OPTIMIZER_INSTANCES(word, Dev, T)   \
  LEXFORMER_ROW_INSTANCES(word, Dev, T)         \
  LEXFORMER_LAYER_NORM_INSTANCES(word, Dev, T)  \
  LEXFORMER_GATHER_INSTANCES(word, Dev, T)      \
  LEXFORMER_INDEX_INSTANCES(word, Dev, T)       \
  LEXFORMER_LOSS_INSTANCES(word, Dev, T)        \
  LEXFORMER_ATTENTION_INSTANCES(word, Dev, T)   \
  LEXFORMER_ADDITIVE_INSTANCES(word, Dev, T)    \
  LEXFORMER_LSTM_INSTANCES(word, Dev, T)

/// All of them.
#define LEXFORMER_KERNELS(word, Dev)          \
  LEXFORMER_KERNELS_OF(word, Dev, float)      \
  LEXFORMER_KERNELS_OF(word, Dev, double)     \
  LEXFORMER_KERNELS_OF(word, Dev, bfloat16)   \
  LEXFORMER_CAST_INSTANCES(word, Dev)         \
  LEXFORMER_COLUMN_SUM_INSTANCES(word, Dev)   \
  LEXFORMER_SOFTMAX_INSTANCES(word, Dev)      \
  LEXFORMER_COMPUTE_LOSS_INSTANCES(word, Dev) \
  LEXFORMER_GEMM_INSTANCES(word, Dev)         \
  LEXFORMER_CRF_INSTANCES(word, Dev, float)   \
  LEXFORMER_CRF_INSTANCES(word, Dev, double)
