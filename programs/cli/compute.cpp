// SPDX-License-Identifier: MIT
#include "cli/compute.hpp"

namespace program {

void Compute::visit(OptionVisitor& v, bool scoring) {
  v.choice("device", device, "compute device").identity(false);
  lx::Option& numbers = v.choice(
      "precision", precision,
      std::string("numeric precision; bfloat16: tensors in 16 bits, sums in float") +
          (scoring ? "; int8: linear layers of the encoder in 8 bits, the rest is float32" : ""));
  if (!scoring)
    numbers.without_last().advise("; int8 is for scoring (match, score_pairs, evaluate, robustness, rank, encode)");
  else if (v.find("min_precision") != nullptr)
    numbers.advise("; for a wanted precision: --min-precision");
  if (scoring)
    v.list("int8_skip", int8_skip,
           "with --precision int8: layers that stay in float; numbers from 0, or parts of names, e.g. 0,intermediate.dense")
        .split_at(',')
        .shown_as("LAYER,...")
        .only_if(precision == lx::Precision::int8, "needs --precision int8");
}

}  // namespace program
