// SPDX-License-Identifier: MIT
#pragma once

// For loops over values of a thread, which must stay in registers or be loaded at once; and for loops that contain such loops.
#if defined(__CUDACC__)
#define LEXFORMER_UNROLL _Pragma("unroll")
#define LEXFORMER_NO_UNROLL _Pragma("unroll 1")
#else
#define LEXFORMER_UNROLL
#define LEXFORMER_NO_UNROLL
#endif
