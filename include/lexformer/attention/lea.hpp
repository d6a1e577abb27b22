// SPDX-License-Identifier: MIT
// LEA, lexical attention (Almagro et al., "LEA: Improving Sentence Similarity Robustness to Typos Using Lexical Attention
// Bias", KDD 2023). The paper leaves some points open; how each is read stands in docs/paper-map.md.
#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "lexformer/attention/term.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/nn/init.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/matmul.hpp"

namespace lexformer {

enum class LeaSharing { head, layer, model };             // one w for each head of each layer, for each layer, or for the model
enum class LeaRepresentation { scaled, plain, learned };  // sinusoids of 2 pi s, sinusoids of s, a learned row for each level
enum class LeaAlpha { query, magnitude, constant };

template <>
inline constexpr auto names_of<LeaSharing> =
    std::to_array<Named<LeaSharing>>({{"head", LeaSharing::head}, {"layer", LeaSharing::layer}, {"model", LeaSharing::model}});
template <>
inline constexpr auto names_of<LeaRepresentation> = std::to_array<Named<LeaRepresentation>>({{"scaled", LeaRepresentation::scaled},
                                                                                             {"plain", LeaRepresentation::plain},
                                                                                             {"learned", LeaRepresentation::learned}});
template <>
inline constexpr auto names_of<LeaAlpha> =
    std::to_array<Named<LeaAlpha>>({{"query", LeaAlpha::query}, {"magnitude", LeaAlpha::magnitude}, {"constant", LeaAlpha::constant}});

struct LeaOptions {
  LeaSharing sharing = LeaSharing::head;
  LeaRepresentation representation = LeaRepresentation::scaled;
  std::size_t dimension = 128;  // d_L, even
  std::size_t levels = 0;       // quantised similarity levels; 0 = exact values
  LeaAlpha alpha = LeaAlpha::query;
  double alpha_value = 1.0;     // of LeaAlpha::constant
  std::size_t first_layer = 0;  // layers first_layer ... last_layer - 1 have the bias; both 0 = the second half
  std::size_t last_layer = 0;
};

/// l(s) for each level s, eq. 7 and 8:  l(s) = [sin(s w_0) ... sin(s w_{E/2-1}) | cos(s w_0) ... cos(s w_{E/2-1})],
///   w_p = 2 pi / 10000^(2p/E)   (Table 11, "fix scale sinusoid"), without 2 pi if not `scaled` ("fix sinusoid")
/// -> (R, E). The sine and cosine blocks stand one behind the other, as in the authors' code.
template <class T>
Tensor<T> lea_sinusoid(std::span<const double> levels, std::size_t dimension, bool scaled) {
  if (dimension % 2 != 0) fail_usage("lea", "the dimension must be even, got ", dimension);
  Tensor<T> y({levels.size(), dimension});
  T* out = y.mutable_data();
  const std::size_t half = dimension / 2;
  for (std::size_t r = 0; r < levels.size(); ++r)
    for (std::size_t p = 0; p < half; ++p) {
      const double w =
          (scaled ? 2.0 * std::numbers::pi : 1.0) / std::pow(10000.0, 2.0 * static_cast<double>(p) / static_cast<double>(dimension));
      out[r * dimension + p] = static_cast<T>(std::sin(levels[r] * w));
      out[r * dimension + half + p] = static_cast<T>(std::cos(levels[r] * w));
    }
  return y;
}

/// Lexical attention bias, eq. 5 and 6:   S_ij += alpha l(s_ij) . w_h
/// s takes few distinct values, so l is projected once for each: table = alpha W l(levels)^T, (H, E) x (E, R) -> (H, R), and
/// attention looks it up by code. Gradient: of the table, summed over the cells of each code; then ordinary ops.
template <class T = float, class Dev = Cpu>
struct Lea final : AttentionTerm<T, Dev> {
  LeaOptions options;
  Var<T, Dev> projection;   // (H, E), or (1, E) when heads share it
  Var<T, Dev> level_table;  // (levels, E), only for the learned representation
  Var<T, Dev> alpha;        // (1): 0 = not set yet. Set on the first training batch, saved with the model
  bool owns_projection = true;

  /// With LeaSharing::model every layer but the first gets the first one's term as `shared`.
  Lea(const LeaOptions& o, std::size_t heads, Init& init, const Lea* shared = nullptr)
      : options(o), alpha(Tensor<T, Dev>::full({1}, o.alpha == LeaAlpha::constant ? static_cast<T>(o.alpha_value) : T{0})) {
    if (o.dimension == 0 || o.dimension % 2 != 0) fail_usage("lea", "the dimension must be even and not 0, got ", o.dimension);
    const bool learned = o.representation == LeaRepresentation::learned;
    if (learned && o.levels < 2)
      fail_usage("lea",
                 "the learned representation has one row for each level, so it needs quantised levels (for example 50), not exact ones");
    if (o.alpha == LeaAlpha::constant && o.alpha_value == 0)
      fail_usage("lea", "a constant alpha of 0 would switch the bias off; leave LEA out instead");
    owns_projection = shared == nullptr;
    projection = shared != nullptr ? shared->projection : init.normal<T, Dev>({o.sharing == LeaSharing::head ? heads : 1, o.dimension});
    if (learned) level_table = shared != nullptr ? shared->level_table : init.normal<T, Dev>({o.levels, o.dimension});
  }

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) override {
    const auto& lexical = in.batch.feature("lexical", "lea");
    if (options.levels != 0 && lexical.levels.size() != options.levels)
      fail("lea", "the model was made for ", options.levels, " quantised levels, the batch has ", lexical.levels.size());
    const Var<T, Dev> l =
        options.representation == LeaRepresentation::learned
            ? level_table
            : Var<T, Dev>(lea_sinusoid<T>(lexical.levels, options.dimension, options.representation == LeaRepresentation::scaled)
                              .template to<Dev>());
    auto table = matmul(projection, l, {.transpose_b = true});                                                // (H or 1, R)
    if (table.dim(0) != in.heads) table = multiply(table, Var<T, Dev>(Tensor<T, Dev>::ones({in.heads, 1})));  // (H, R)
    auto factor = alpha_on_host();
    if (factor == 0) {
      if (!in.forward.training)
        fail("lea",
             "alpha is not set: it is measured on the first training batch and saved with the model; train the model, or use a constant "
             "alpha");
      set_alpha(in, table.value(), out.scale);
      factor = alpha_on_host();
      if (factor == 0) return;  // nothing in this batch to measure it on, and nothing to add either
    }
    out.lookups.push_back({scale(table, factor), lexical.codes});
  }

  void visit(ParameterVisitor<T, Dev>& v) override {
    if (owns_projection) v("projection", projection);
    if (owns_projection && level_table.defined()) v("levels", level_table);
    v.buffer("alpha", alpha);
  }

 private:
  /// Fetched again only where it was changed: in every forward pass the device would have to wait for it.
  accumulate_t<T> alpha_on_host() {
    const std::lock_guard lock(mutex_);
    const auto& value = alpha.value();
    if (!fetched_.shares_storage(value) || fetched_version_ != value.version()) {
      fetched_ = value;
      fetched_version_ = value.version();
      fetched_value_ = value.item();
    }
    return fetched_value_;
  }

  /// On the host, once in a training:
  /// query:     alpha = mean over sequences, heads and i of max_j q_i . q_j, unscaled, as in the authors' code
  /// magnitude: alpha = std(e) / std(l . W) over the cells with s > 0 of all heads, e = q . k / sqrt(d), or with
  ///            the scale of the model's position scheme: the paper's "based on
  ///            the magnitudes of both terms"
  void set_alpha(const AttentionInputs<T, Dev>& in, const Tensor<T, Dev>& lookup_table,
                 const std::optional<accumulate_t<T>>& scale_of_scheme) {
    const auto qkv = in.qkv.value().template to<Cpu>(), table = lookup_table.template to<Cpu>();
    const auto codes = in.batch.feature("lexical", "lea").codes.to_vector();
    const std::size_t stride = in.qkv.dim(1), width = stride / 3, d = width / in.heads, levels = table.dim(1);
    const bool query = options.alpha == LeaAlpha::query;
    const double scale = scale_of_scheme ? static_cast<double>(*scale_of_scheme) : 1 / std::sqrt(static_cast<double>(d));
    struct Moments {  // Welford's, so that equal numbers have a deviation of exactly 0
      double n = 0, mean = 0, squares = 0;
      void add(double x) {
        const double difference = x - mean;
        mean += difference / ++n;
        squares += difference * (x - mean);
      }
      double deviation() const { return std::sqrt(squares / n); }
    } semantic, lexical;
    if (in.batch.offsets.sequences() == 0) fail("lea", "the batch is empty");
    for (const std::uint16_t code : codes)
      if (code >= levels) fail("lea", "code ", code, " has no level; the batch has ", levels);
    double total = 0;
    for (std::size_t s = 0; s < in.batch.offsets.sequences(); ++s)
      for (std::size_t h = 0; h < in.heads; ++h) {
        const std::size_t n = in.batch.offsets.length(s);
        const T* q = qkv.data() + in.batch.offsets.begin(s) * stride + h * d;
        std::vector<accumulate_t<T>> products(n * n);
        Kernels<Cpu>::gemm(false, true, n, n, d, 1, q, stride, query ? q : q + width, stride, 0, products.data(), n);
        for (std::size_t i = 0; i < n && query; ++i) total += static_cast<double>(row::max(products.data() + i * n, n));
        const std::uint16_t* code = codes.data() + in.batch.offsets.pair_begin(s);
        for (std::size_t e = 0; e < n * n && !query; ++e) {
          if (code[e] == 0) continue;
          semantic.add(static_cast<double>(products[e]) * scale);
          lexical.add(static_cast<double>(table.data()[h * levels + code[e]]));
        }
      }
    double value = 0;
    if (query)
      value = total / static_cast<double>(in.batch.offsets.tokens() * in.heads);
    else if (semantic.n > 0 && lexical.deviation() > 0)
      value = semantic.deviation() / lexical.deviation();
    const T measured = static_cast<T>(value);
    alpha.mutable_value().assign({&measured, 1});
  }

  std::mutex mutex_;  // of what follows: alpha as it was last fetched
  Tensor<T, Dev> fetched_;
  std::uint64_t fetched_version_ = 0;
  accumulate_t<T> fetched_value_{0};
};

/// The LEA terms of a model with `layers` layers: (layer, term), for the layers that have the bias (the second half by default).
template <class T, class Dev>
std::vector<std::pair<std::size_t, std::shared_ptr<Lea<T, Dev>>>> lea_terms(LeaOptions options, std::size_t layers, std::size_t heads,
                                                                            Init& init) {
  if (options.first_layer == 0 && options.last_layer == 0) {
    options.first_layer = layers / 2;
    options.last_layer = layers;
  }
  if (options.first_layer >= options.last_layer || options.last_layer > layers)
    fail_usage("lea", "layers ", options.first_layer, " to ", options.last_layer, " of a model with ", layers,
               " layers; the first counts from 0, the last is not included");
  std::vector<std::pair<std::size_t, std::shared_ptr<Lea<T, Dev>>>> terms;
  for (std::size_t i = options.first_layer; i < options.last_layer; ++i) {
    const auto* shared = options.sharing == LeaSharing::model && !terms.empty() ? terms[0].second.get() : nullptr;
    terms.emplace_back(i, std::make_shared<Lea<T, Dev>>(options, heads, init, shared));
  }
  return terms;
}

}  // namespace lexformer
