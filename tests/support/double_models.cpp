// SPDX-License-Identifier: MIT
#define LEXFORMER_DEFINES_DOUBLE_MODELS
#include "double_models.hpp"

namespace lexformer {
LEXFORMER_DOUBLE_MODELS()
}
