// SPDX-License-Identifier: MIT
// The losses of LOVE (Chen et al. 2022, sections 3, 4.3 and 5.5; words/love.hpp). u_b: the target vector of word b of a batch, v_b: the
// vector that LOVE computes for the word, or for a corrupted form of it.
//   L_dis     = mean_b psi(u_b, v_b)                                                                (eq. 1)
//   l_cl      = -log(e^(u.u+ / tau) / (e^(u.u+ / tau) + sum e^(u.u- / tau)))                        (eq. 3)
//   l_align   = mean_b psi(u_b, v_b),   l_uniform = log mean e^(-t psi(x, y))                       (eq. 6, 7)
//   l_au      = l_align + lambda l_uniform                                                          (eq. 8)
//
//   LoveLoss        formula
//   nt_xent         mean of l_cl: each of the 2 B vectors u_b and v_b is u once, the other one of its pair is u+, and all vectors of other
//                   words are u- (the authors' code also counts rows of the same word). Vectors have length 1, tau = 0.07
//   align_uniform   l_au: psi = |.|^2, t = 2, lambda = 1; l_uniform is computed for the targets and for the outputs, and averaged
//   mse             L_dis, psi = mean over the elements of (v - u)^2
//   euclidean       L_dis, psi = |v - u| (the paper prints its square)
//   cosine          L_dis, psi = 1 - cos(v, u)
// nt_xent and align_uniform scale u to length 1; mse and euclidean take it as it is in the table. In full: ops/contrastive_loss.hpp.
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

/// The loss of outputs v (B, D) for targets u (B, D); words (B): rows of equal numbers belong to the same word. Errors: see the losses.
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
