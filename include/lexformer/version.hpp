// SPDX-License-Identifier: MIT
// The one place that states the version; CMakeLists.txt reads it from here.
#pragma once

#define LEXFORMER_VERSION_MAJOR 0
#define LEXFORMER_VERSION_MINOR 2
#define LEXFORMER_VERSION_PATCH 0
#define LEXFORMER_VERSION "0.2.0"
