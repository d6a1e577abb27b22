// SPDX-License-Identifier: MIT
// lexformer::compiled: the functions that are not templates.
#if !defined(__clang_analyzer__)  // clang-tidy does not see that no other file defines these functions
#define LEXFORMER_INLINE
#endif
#define LEXFORMER_DISPATCH  // the matrix products are in src/products*.cpp
#include "lexformer/lexformer.hpp"
