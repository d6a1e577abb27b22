// SPDX-License-Identifier: MIT
#if defined(ALL_HEADERS)
#include "lexformer/lexformer.hpp"
#else
#include "lexformer/io/json.hpp"
#include "lexformer/kernels/products/gemm.hpp"
#endif

float sum_of_product() {
  const float a[] = {1, 2, 3, 4};
  const float b[] = {5, 6, 7, 8};
  float c[4];
  lexformer::gemm(false, false, 2, 2, 2, 1.0F, a, 2, b, 2, 0.0F, c, 2);
  return c[0] + c[1] + c[2] + c[3];
}
