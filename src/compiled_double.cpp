// SPDX-License-Identifier: MIT
// lexformer::double: models in double.
#include "lexformer/double.hpp"

namespace lexformer {
LEXFORMER_DOUBLE_MODELS()
}  // namespace lexformer
