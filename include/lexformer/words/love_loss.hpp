// SPDX-License-Identifier: MIT
// The losses of LOVE (Chen et al. 2022, sections 3, 4.3 and 5.5; words/love.hpp). t_b: the target vector u_w of word b, x_b: the vector v_w
// that LOVE gives the word, or a corrupted form of it.
//   L_dis     = mean_b psi(t_b, x_b)                                                                (eq. 1)
//   l_cl      = -log(e^(u.u+ / tau) / (e^(u.u+ / tau) + sum e^(u.u- / tau)))                        (eq. 3)
//   l_align   = mean_b psi(t_b, x_b),   l_uniform = log mean e^(-t psi(u, u')),   psi = |.|^2       (eq. 6, 7)
//   l_au      = l_align + lambda l_uniform                                                          (eq. 8)
//
//   LoveLoss        formula
//   nt_xent         l_cl, both ways: each of the 2 B vectors t and x is u once, the other one of its pair is u+, and all vectors of other
//                   words in the batch are u-, as in the authors' code (ops/contrastive_loss.hpp: nt_xent); tau = 0.07
//   align_uniform   l_au, with t = 2 and l_uniform the mean over targets and outputs; lambda = 1
//   mse             L_dis, psi = the mean over the elements of (x - t)^2
//   euclidean       L_dis, psi = |x - t|
//   cosine          L_dis, psi = 1 - cos(x, t)
#pragma once

#include <cstdint>
#include <span>

#include "lexformer/core/names.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/ops/contrastive_loss.hpp"
#include "lexformer/ops/loss.hpp"

namespace lexformer {

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
