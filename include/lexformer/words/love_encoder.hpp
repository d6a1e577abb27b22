// SPDX-License-Identifier: MIT
// phi of LOVE (Chen et al. 2022, eq. 2; words/love.hpp): the vector of a word from the rows of its units in a table.
//   v_w = phi(X) / |phi(X)|,   X (n, D): row zeta_1(w) ... zeta_n(w) of V (|V|, D)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <variant>

#include "lexformer/nn/embedding.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/words/love_attention.hpp"
#include "lexformer/words/love_cnn.hpp"
#include "lexformer/words/love_pam.hpp"
#include "lexformer/words/love_rnn.hpp"

namespace lexformer {

/// A table V of units and one of LOVE's encoders phi, LoveOptions::encoder: pam (section 4.2), or another row of Table 5.
/// With a rank h the table is the product V = U M of U (|V|, h) and M (h, D) (Appendix A.1, matrix decomposition).
template <class T = float, class Dev = Cpu>
class LoveEncoder {
 public:
  using Mixer = std::variant<LovePam<T, Dev>, LoveAttention<T, Dev>, LoveCnn<T, Dev>, LoveRnn<T, Dev>>;

  Embedding<T, Dev> table;               // V; with a rank, U
  std::optional<Var<T, Dev>> expansion;  // M, with a rank
  Mixer mixer;
  LoveOptions options;

  /// Starts as PyTorch does: the table N(0, 1) with a row of zeros for [PAD], or U in this way and M such that the rows of U M have
  /// variance 1, uniform in +-sqrt(3 / h); matrices and biases uniform in +-1 / sqrt(inputs), an LSTM's in +-1 / sqrt(its states).
  /// Errors: as check_love_options().
  LoveEncoder(const LoveOptions& o, std::uint64_t seed) : LoveEncoder(o, Init(seed, 1.0)) {
    auto values = table.weight.value().template to<Cpu>();
    std::fill_n(values.mutable_data() + o.pad * values.dim(1), values.dim(1), T{0});
    table.weight.mutable_value().assign(values.span());
  }
  /// For a model that is loaded from a file: the table has no values yet.
  explicit LoveEncoder(const LoveOptions& o) : LoveEncoder(o, Init::none()) {}

  /// Computes the vectors of B words. ids: the units of all words, one after another -> (B, D)
  Var<T, Dev> operator()(const Indices<std::int32_t, Dev>& ids, const Offsets& words, const ForwardOptions& forward = {}) const {
    if (ids.size() != words.tokens()) fail("LoveEncoder", ids.size(), " ids but the offsets have ", words.tokens(), " units");
    auto x = table(ids);
    if (expansion) x = matmul(x, *expansion);
    return l2_normalize(std::visit([&](const auto& of) { return of(x, words, forward); }, mixer));
  }

  void visit(ParameterVisitor<T, Dev>& v) {
    v("units", table);
    if (expansion) v("expansion", *expansion);
    std::visit([&](auto& of) { of.visit(v); }, mixer);
  }

 private:
  LoveEncoder(const LoveOptions& o, Init init)
      : table(check_love_options(o).rows, o.rank > 0 ? o.rank : o.size, init),
        expansion(o.rank > 0 ? std::optional(init.template uniform<T, Dev>({o.rank, o.size}, std::sqrt(3.0 / static_cast<double>(o.rank))))
                             : std::nullopt),
        mixer(make(o, init)),
        options(o) {}

  static Mixer make(const LoveOptions& o, Init& init) {
    switch (o.encoder) {
      case LoveEncoderKind::attention:
        return LoveAttention<T, Dev>(o, init);
      case LoveEncoderKind::cnn:
        return LoveCnn<T, Dev>(o, init);
      case LoveEncoderKind::rnn:
        return LoveRnn<T, Dev>(o, init);
      case LoveEncoderKind::pam:
        break;
    }
    return LovePam<T, Dev>(o, init);
  }
};

/// Number of elements of the table, or of its two factors.
inline double love_table_weights(const LoveOptions& o) {
  const auto rows = static_cast<double>(o.rows), d = static_cast<double>(o.size), h = static_cast<double>(o.rank);
  return o.rank > 0 ? rows * h + h * d : rows * d;
}

/// Number of elements of the weights of an encoder, without the table, biases and the normalization.
inline double love_weights(const LoveOptions& o) {
  switch (o.encoder) {
    case LoveEncoderKind::attention:
      return LoveAttention<>::weights(o);
    case LoveEncoderKind::cnn:
      return LoveCnn<>::weights(o);
    case LoveEncoderKind::rnn:
      return LoveRnn<>::weights(o);
    case LoveEncoderKind::pam:
      break;
  }
  return LovePam<>::weights(o);
}

}  // namespace lexformer
