// SPDX-License-Identifier: MIT
// Options of a part of a model or of its training, which the identity of a run has as one object.
#pragma once

#include <span>

#include "train/training_options.hpp"

namespace program {

/// Visits the options of a part except `size`, which the data give. Returns them; the next option makes this invalid.
template <class Part>
std::span<lx::Option> visit_part(OptionVisitor& v, Part& part, const std::string& prefix = "") {
  const auto visited =
      v.nested(prefix, [&](OptionVisitor& of_part) { of_part.leave_out("size", [&](OptionVisitor& o) { part.visit(o); }); });
  for (lx::Option& option : visited) option.identity(false);
  return visited;
}

template <class Part>
lx::Json part_json(Part part) {
  return lx::options_json([&](OptionVisitor& v) { part.visit(v); });
}

}  // namespace program
