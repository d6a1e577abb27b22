// SPDX-License-Identifier: MIT
#include "cli/compute.hpp"

namespace program {

void Compute::visit(OptionVisitor& v, bool with_int8) {
  scores = with_int8;
  v.choice("device", device, "compute device").identity(false);
  v.choice(
       "precision", precision,
       std::string("numeric precision; bfloat16: tensors and, with AMX or AVX-512 BF16, factors of products in 16 bits; sums are float") +
           (scores ? "; int8: linear layers of the encoder in 8 bits, the rest is float32" : "; int8 is for scoring alone"))
      .advise(v.find("min_precision") != nullptr ? "; for a wanted precision: --min-precision" : "");
  if (scores)
    v.list("int8_skip", int8_skip,
           "with --precision int8: layers that stay in float; numbers from 0, or parts of names, e.g. 0,intermediate.dense")
        .split_at(',')
        .shown_as("LAYER,...")
        .only_if(precision == Precision::int8, "needs --precision int8");
}

}  // namespace program
