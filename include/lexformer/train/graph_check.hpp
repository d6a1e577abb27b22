// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "lexformer/nn/module.hpp"

namespace lexformer {

/// Errors: a parameter does not require a gradient and is not in `frozen`, so it cannot learn.
template <class T, class Dev>
void check_trainable(const std::vector<NamedParameter<T, Dev>>& parameters, const std::set<std::string>& frozen) {
  for (const auto& p : parameters)
    if (!p.var.requires_grad() && !frozen.contains(p.name))
      fail("Trainer", "'", p.name, "' does not require a gradient: it cannot learn; make it with requires_grad = true, name it as a ",
           "buffer, or list it as frozen");
}

/// Compares the variables that the loss depends on (graph_leaves) with the optimizer's. Errors: the loss does not depend on a parameter
/// that requires a gradient; or it depends on a variable that the optimizer does not have. In that case `named()` returns the leaves of a
/// graph recorded under CheckFinite, so that the message names the modules.
template <class T, class Dev, class Named>
void check_graph(const std::vector<NamedParameter<T, Dev>>& parameters, const std::vector<GraphLeaf>& leaves, Named&& named) {
  std::unordered_set<const void*> reached, known;
  for (const GraphLeaf& leaf : leaves) reached.insert(leaf.id);
  for (const auto& p : parameters) {
    known.insert(p.var.id());
    if (p.var.requires_grad() && !reached.contains(p.var.id()))
      fail("Trainer", "'", p.name, "' takes no part in the loss: it cannot learn; freeze it or use it");
  }
  for (const GraphLeaf& leaf : leaves) {
    if (known.contains(leaf.id)) continue;
    GraphLeaf found = leaf;
    for (GraphLeaf& again : named())
      if (again.id == leaf.id) found = std::move(again);
    fail("Trainer", found.op, " reads a variable of shape ", found.shape,
         " that requires a gradient and that the optimizer does not have: ",
         "its module's visit() leaves it out, or parameters() was taken before the module was added");
  }
}

}  // namespace lexformer
