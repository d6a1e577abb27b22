// SPDX-License-Identifier: MIT
// For src/products_*.cpp: functions between LEXFORMER_BEGIN_TARGET("avx2,fma") and LEXFORMER_END_TARGET are compiled for these
// instructions, in addition to the command line's. Included before, so that their functions are not: everything that the tiles need.
#pragma once

#if defined(__x86_64__)
#define LEXFORMER_X86 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define LEXFORMER_X86 0
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/products.hpp"
#include "lexformer/kernels/products/amx_permission.hpp"

#define LEXFORMER_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define LEXFORMER_BEGIN_TARGET(features) LEXFORMER_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define LEXFORMER_END_TARGET LEXFORMER_PRAGMA(clang attribute pop)
#else
#define LEXFORMER_BEGIN_TARGET(features) LEXFORMER_PRAGMA(GCC push_options) LEXFORMER_PRAGMA(GCC target(features))
#define LEXFORMER_END_TARGET LEXFORMER_PRAGMA(GCC pop_options)
#endif

namespace lexformer::detail {

// Each replaces the products that its level computes faster than the level before it.
void use_avx2(Products& p);
void use_avx_vnni(Products& p);
void use_avx512(Products& p);
void use_avx512_vnni(Products& p);
void use_avx512_bf16(Products& p);
void use_amx(Products& p);

}  // namespace lexformer::detail
