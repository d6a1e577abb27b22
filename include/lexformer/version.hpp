// SPDX-License-Identifier: MIT
// The version of lexformer. CMakeLists.txt reads it from this file.
#pragma once

#define LEXFORMER_VERSION_MAJOR 0
#define LEXFORMER_VERSION_MINOR 3
#define LEXFORMER_VERSION_PATCH 0
#define LEXFORMER_VERSION "0.3.0"
