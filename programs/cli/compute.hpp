// SPDX-License-Identifier: MIT
// --device and --precision.
#pragma once

#include <lexformer/models/compute.hpp>

#include "cli/command.hpp"

namespace program {

struct Compute : lx::Compute {
  /// scoring: int8 is a precision, with --int8-skip. Of all options, precision is part of a run's identity.
  void visit(OptionVisitor& v, bool scoring = false);
};

}  // namespace program
