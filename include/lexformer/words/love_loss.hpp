// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "lexformer/core/names.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/ops/contrastive_loss.hpp"
#include "lexformer/ops/loss.hpp"

namespace lexformer {

/// nt_xent        eq. 3 of LOVE as the released code has it: NT-Xent over targets and outputs
/// align_uniform  eq. 6-8
/// mse            mean of (x - t)^2 over all elements
/// euclidean      mean of |x - t| over rows
/// cosine         mean of 1 - cos(x, t) over rows
enum class LoveLoss { nt_xent, align_uniform, mse, euclidean, cosine };

template <>
inline constexpr Named<LoveLoss> names_of<LoveLoss>[] = {{"nt_xent", LoveLoss::nt_xent},
                                                         {"align_uniform", LoveLoss::align_uniform},
                                                         {"mse", LoveLoss::mse},
                                                         {"euclidean", LoveLoss::euclidean},
                                                         {"cosine", LoveLoss::cosine}};

struct LoveLossOptions {
  LoveLoss loss = LoveLoss::nt_xent;
  double temperature = 0.07;  // tau of nt_xent
  double lambda = 1;          // of align_uniform

  void visit(OptionVisitor& v) {
    v.choice("loss", loss, "distance of outputs and targets");
    v.number("temperature", temperature, 1e-4, 1e4, "tau of nt_xent");
    v.number("lambda", lambda, 0, 1e4, "weight of the uniformity in align_uniform");
  }
};

/// The loss of outputs (B, D) for targets (B, D); words (B): rows of equal numbers belong to the same word. Errors: those of the losses.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> love_loss(const Var<accumulate_t<T>, Dev>& targets, const Var<T, Dev>& outputs,
                                    std::span<const std::int32_t> words, const LoveLossOptions& options) {
  using A = accumulate_t<T>;
  const auto x = cast<A>(outputs);
  switch (options.loss) {
    case LoveLoss::align_uniform:
      return align_uniform(targets, x, options.lambda);
    case LoveLoss::mse:
      return mse_loss(x, targets);
    case LoveLoss::euclidean:
      return euclidean_loss(targets, x);
    case LoveLoss::cosine:
      return add_scalar(scale(mean(cosine_similarity(x, targets)), A{-1}), A{1});
    case LoveLoss::nt_xent:
      break;
  }
  return nt_xent(targets, x, words, options.temperature);
}

}  // namespace lexformer
