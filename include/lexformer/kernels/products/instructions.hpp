// SPDX-License-Identifier: MIT
// Levels of x86-64 vector instructions, for the matrix products. The headers alone use the level for which the compiler compiles (-march).
// lexformer::compiled holds the products of all levels and uses the highest one of the processor.
#pragma once

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"

// The level of this translation unit, as the preprocessor needs it; src/products_*.cpp set it.
#if !defined(LEXFORMER_LEVEL)
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__) && \
    defined(__AVX512BW__) && defined(__FMA__) && defined(__linux__)
#define LEXFORMER_LEVEL 6
#elif defined(__AVX512BF16__) && defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__FMA__) && !defined(__AVX512FP16__)
#define LEXFORMER_LEVEL 5  // Intel's processors with FP16 have AMX, and multiply floats faster than bfloat16 where a system hides it
#elif defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__FMA__)
#define LEXFORMER_LEVEL 4
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__FMA__)
#define LEXFORMER_LEVEL 3
#elif defined(__AVX2__) && defined(__FMA__) && defined(__AVXVNNI__)
#define LEXFORMER_LEVEL 2
#elif defined(__AVX2__) && defined(__FMA__)
#define LEXFORMER_LEVEL 1
#else
#define LEXFORMER_LEVEL 0
#endif
#endif

// Code of different levels is in different inline namespaces of these names, so that the linker does not mix it.
#if LEXFORMER_LEVEL == 0
#define LEXFORMER_LEVEL_NAME plain
#elif LEXFORMER_LEVEL == 1
#define LEXFORMER_LEVEL_NAME avx2
#elif LEXFORMER_LEVEL == 2
#define LEXFORMER_LEVEL_NAME avx_vnni
#elif LEXFORMER_LEVEL == 3
#define LEXFORMER_LEVEL_NAME avx512
#elif LEXFORMER_LEVEL == 4
#define LEXFORMER_LEVEL_NAME avx512_vnni
#elif LEXFORMER_LEVEL == 5
#define LEXFORMER_LEVEL_NAME avx512_bf16
#else
#define LEXFORMER_LEVEL_NAME amx
#endif

namespace lexformer {

/// Instructions of the matrix products; a level has all instructions of the levels before it, except AVX-VNNI. Products of float and double
/// have the same bits at all levels from avx2 on, products of 8 bits at all levels.
enum class Instructions {
  plain,        // Eigen's products, for what the compiler may use; 8 bits in plain C++
  avx2,         // AVX2 and FMA
  avx_vnni,     // 8-bit products by AVX-VNNI
  avx512,       // by AVX-512 F, BW, DQ and VL
  avx512_vnni,  // 8-bit products by AVX-512 VNNI
  avx512_bf16,  // products of bfloat16 by AVX-512 BF16
  amx,          // products of bfloat16 and 8 bits by AMX tiles; Linux only
};

template <>
inline constexpr Named<Instructions> names_of<Instructions>[] = {{"plain", Instructions::plain},
                                                                 {"avx2", Instructions::avx2},
                                                                 {"avx_vnni", Instructions::avx_vnni},
                                                                 {"avx512", Instructions::avx512},
                                                                 {"avx512_vnni", Instructions::avx512_vnni},
                                                                 {"avx512_bf16", Instructions::avx512_bf16},
                                                                 {"amx", Instructions::amx}};

/// The level of the products of this program. With lexformer::compiled: the fastest one of the processor, or the one that the environment
/// variable LEXFORMER_INSTRUCTIONS names, for tests and comparisons. The fastest one is the highest one, but for avx512_bf16 on Intel's
/// processors with AVX-512 FP16: these multiply bfloat16 by it at half the rate of float. Errors: an unknown name; the processor lacks the
/// instructions.
Instructions instructions();

/// Whether products multiply bfloat16 as it is: level avx512_bf16 or amx. Other levels multiply floats.
inline bool multiplies_bfloat16() { return instructions() >= Instructions::avx512_bf16; }
/// Whether there are products with packed weights of bfloat16 (linear_bfloat16.hpp): from level avx512 on.
inline bool packs_bfloat16() { return instructions() >= Instructions::avx512; }

}  // namespace lexformer

#if LEXFORMER_BODIES && !defined(LEXFORMER_DISPATCH)
namespace lexformer {

inline Instructions instructions() { return Instructions::LEXFORMER_LEVEL_NAME; }

}  // namespace lexformer
#endif
