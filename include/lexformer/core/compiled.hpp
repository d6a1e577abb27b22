// SPDX-License-Identifier: MIT
// Functions that are not templates and slow to compile are declared first, with their bodies at the end of the same header:
//   #if LEXFORMER_BODIES ... LEXFORMER_INLINE void f() {...} ... #endif
// A program that uses the headers alone compiles the bodies; with lexformer::compiled (LEXFORMER_COMPILED) they are in the library.
#pragma once

#if defined(LEXFORMER_COMPILED)
#define LEXFORMER_BODIES 0
#else
#define LEXFORMER_BODIES 1
#endif

#if !defined(LEXFORMER_INLINE)  // cmake/bodies.cmake sets it to nothing
#define LEXFORMER_INLINE inline
#endif
