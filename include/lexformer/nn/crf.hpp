// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/nn/init.hpp"
#include "lexformer/ops/crf.hpp"

namespace lexformer {

/// A linear-chain conditional random field over L labels (ops/crf.hpp): transitions (L, L), start and end (L), which start uniform in
/// +-0.1.
template <class T = float, class Dev = Cpu>
struct Crf {
  Var<T, Dev> transitions, start, end;

  Crf(std::size_t labels, Init& init)
      : transitions(init.template uniform<T, Dev>({labels, labels}, 0.1)),
        start(init.template uniform<T, Dev>({labels}, 0.1)),
        end(init.template uniform<T, Dev>({labels}, 0.1)) {}
  /// The mean negative log-likelihood of sequences: emissions (N, L), labels (N) -> scalar.
  Var<accumulate_t<T>, Dev> loss(const Var<T, Dev>& emissions, const Offsets& offsets, std::span<const std::int32_t> labels) const {
    return crf_loss(emissions, offsets, labels, transitions, start, end);
  }
  /// The most probable labels: (N).
  std::vector<std::int32_t> decode(const Var<T, Dev>& emissions, const Offsets& offsets) const {
    return crf_decode(emissions, offsets, transitions, start, end);
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("transitions", transitions);
    v("start", start);
    v("end", end);
  }
};

}  // namespace lexformer
