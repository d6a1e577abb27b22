// SPDX-License-Identifier: MIT
// LEA, lexical attention (Almagro et al., "LEA: Improving Sentence Similarity Robustness to Typos Using Lexical Attention
// Bias", KDD 2023). The paper leaves some points open; docs/paper-map.md states how each is resolved.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexformer/attention/term_factory.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/matmul.hpp"

namespace lexformer {

enum class LeaSharing { head, layer, model };             // one w per head of each layer, per layer, or for the model
enum class LeaRepresentation { scaled, plain, learned };  // sinusoids of 2 pi s, sinusoids of s, a learned row per level
enum class LeaAlpha { query, magnitude, constant };
enum class LeaColumns { any, same, both };  // words that meet: of any columns, of the same column, both with a projection each

template <>
inline constexpr Named<LeaSharing> names_of<LeaSharing>[] = {
    {"head", LeaSharing::head}, {"layer", LeaSharing::layer}, {"model", LeaSharing::model}};
template <>
inline constexpr Named<LeaRepresentation> names_of<LeaRepresentation>[] = {
    {"scaled", LeaRepresentation::scaled}, {"plain", LeaRepresentation::plain}, {"learned", LeaRepresentation::learned}};
template <>
inline constexpr Named<LeaAlpha> names_of<LeaAlpha>[] = {
    {"query", LeaAlpha::query}, {"magnitude", LeaAlpha::magnitude}, {"constant", LeaAlpha::constant}};
template <>
inline constexpr Named<LeaColumns> names_of<LeaColumns>[] = {
    {"any", LeaColumns::any}, {"same", LeaColumns::same}, {"both", LeaColumns::both}};

struct LeaOptions {
  LexicalOptions lexical{};  // word similarity, and which words are compared; its `levels` and `same_column` are set from those below
  LeaColumns columns = LeaColumns::any;  // for records as `COL name VAL value`
  LeaSharing sharing = LeaSharing::head;
  LeaRepresentation representation = LeaRepresentation::scaled;
  std::size_t dimension = 128;  // d_L, even
  std::size_t levels = 0;       // quantised similarity levels; 0 = exact values
  LeaAlpha alpha = LeaAlpha::query;
  double alpha_value = 1.0;     // alpha if it is LeaAlpha::constant
  std::size_t first_layer = 0;  // layers first_layer ... last_layer - 1 have the bias; both 0 = the second half
  std::size_t last_layer = 0;

  void visit(OptionVisitor& v) {
    v.choice("similarity", lexical.similarity, "word similarity measure");
    v.choice("words", lexical.words, "words that are compared: the tokenizer's, space-separated ones, or the larger of both");
    v.choice("columns", columns,
             "of records written as COL name VAL value: words of any columns meet, of the same column, or both as two biases");
    v.flag("within_sentences", lexical.self_attention, "add the bias between words of the same text, too");
    v.size("levels", levels, 0, 65535, "number of levels that similarities are quantised to; 0 = exact");
    v.choice("sharing", sharing, "one projection per head, per layer, or for the model");
    v.choice("representation", representation, "of a similarity s: sinusoids of 2 pi s, of s, or a learned row per level");
    v.choice("alpha", alpha, "how alpha, the factor of the bias, is set");
    v.number("alpha_value", alpha_value, -1e30, 1e30, "alpha, if it is constant");
    v.size("dimension", dimension, 2, 65536, "of the lexical embedding; even");
    v.layers(first_layer, last_layer, "layers with the bias; the second half by default");
  }
};

/// Computes l(s) for each level s (eq. 7 and 8):
///   l(s) = [sin(s w_0) ... sin(s w_{E/2-1}) | cos(s w_0) ... cos(s w_{E/2-1})]
///   w_p = 2 pi / 10000^(2p/E)   (Table 11, "fix scale sinusoid"), without 2 pi if not `scaled` ("fix sinusoid")
/// -> (R, E). All sines come before all cosines, as in the authors' code.
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

/// lea_sinusoid of the levels of a batch, on the device. One object serves all layers. Keeps the rows that it has computed, because batches
/// have many levels in common, and a GPU would wait while the host computes sines.
template <class T, class Dev>
class LeaSinusoids {
 public:
  LeaSinusoids(std::size_t dimension, bool scaled) : dimension_(dimension), scaled_(scaled) {}

  Tensor<T, Dev> operator()(const std::vector<double>& levels) {
    const std::lock_guard lock(mutex_);
    for (const auto& last : last_)
      if (last.rows.size() != 0 && last.levels == levels) return last.rows;
    if (known_.size() * dimension_ > most_known) known_.clear();
    Tensor<T> rows({levels.size(), dimension_});
    T* out = rows.mutable_data();
    for (const double& level : levels) {
      auto& row = known_[level];
      if (!row.defined()) row = lea_sinusoid<T>({&level, 1}, dimension_, scaled_);
      out = std::copy_n(row.data(), dimension_, out);
    }
    next_ = 1 - next_;
    last_[next_] = {levels, rows.template to<Dev>()};
    return last_[next_].rows;
  }

 private:
  struct Batch {
    std::vector<double> levels;
    Tensor<T, Dev> rows;
  };
  const std::size_t dimension_;
  const bool scaled_;
  static constexpr std::size_t most_known = std::size_t{1} << 24;  // numbers
  std::mutex mutex_;
  std::unordered_map<double, Tensor<T>> known_;  // the row of each level
  std::array<Batch, 2> last_;                    // of the two features that LeaColumns::both has
  std::size_t next_ = 0;
};

/// Lexical attention bias (eq. 5 and 6):   S_ij += alpha l(s_ij) . w_h
/// s takes few distinct values, so l is projected once per value: table = alpha W l(levels)^T, (H, E) x (E, R) -> (H, R).
/// Attention looks the bias up by code. The gradient of the table is summed over the cells of each code.
/// With LeaColumns::both there are two such sums with a projection each: s_ij of any words, and s_ij of words of the same column, else 0.
/// (Columns are not in the paper.)
template <class T = float, class Dev = Cpu>
struct Lea final : AttentionTerm<T, Dev> {
  LeaOptions options;
  Var<T, Dev> projection;   // (H, E), or (1, E) if the heads share it
  Var<T, Dev> same_column;  // the projection of the bias between words of the same column; only with LeaColumns::both
  Var<T, Dev> level_table;  // (levels, E), only for the learned representation
  Var<T, Dev> alpha;        // (1); 0 = not set yet. Set by calibrate() and saved with the model
  bool owns_projection = true;

  /// Names of features. With LeaColumns::same, all_words compares words of the same column alone.
  static constexpr const char* all_words = "lexical";
  static constexpr const char* column_words = "lexical_same_column";

  /// first: the first layer's term, in all other layers. With LeaSharing::model these have no parameters of their own.
  Lea(const LeaOptions& o, std::size_t heads, Init& init, const Lea* first = nullptr)
      : options(o),
        alpha(Tensor<T, Dev>::full({1}, o.alpha == LeaAlpha::constant ? static_cast<T>(o.alpha_value) : T{0})),
        sinusoids_(first != nullptr ? first->sinusoids_
                                    : std::make_shared<LeaSinusoids<T, Dev>>(o.dimension, o.representation == LeaRepresentation::scaled)) {
    if (o.dimension == 0 || o.dimension % 2 != 0) fail_usage("lea", "the dimension must be even and not 0, got ", o.dimension);
    const bool learned = o.representation == LeaRepresentation::learned;
    if (learned && o.levels < 2)
      fail_usage("lea",
                 "the learned representation has one row for each level, so it needs quantised levels (for example 50), not exact ones");
    if (o.alpha == LeaAlpha::constant && static_cast<accumulate_t<T>>(static_cast<T>(o.alpha_value)) == 0)
      fail_usage("lea", "a constant alpha of 0 would switch the bias off; leave LEA out instead");
    const Lea* const shared = o.sharing == LeaSharing::model ? first : nullptr;
    owns_projection = shared == nullptr;
    const Shape shape{o.sharing == LeaSharing::head ? heads : 1, o.dimension};
    projection = shared != nullptr ? shared->projection : init.normal<T, Dev>(shape);
    if (o.columns == LeaColumns::both) same_column = shared != nullptr ? shared->same_column : init.normal<T, Dev>(shape);
    if (learned) level_table = shared != nullptr ? shared->level_table : init.normal<T, Dev>({o.levels, o.dimension});
  }

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    const auto& words = in.batch.feature(all_words, "lea").codes;
    const auto factor = alpha_on_host();
    if (factor == 0)
      fail("lea",
           "alpha is not set: model.calibrate(batch) measures it before training, and it is saved with the model; or use a constant "
           "alpha");
    out.lookups.push_back({table(in, false, factor), words});
    if (same_column.defined()) out.lookups.push_back({table(in, true, factor), in.batch.feature(column_words, "lea").codes});
  }

  /// Sets alpha by the rule of the options if it is not set. Returns false if the batch has no cells to measure it on.
  /// query:     alpha = mean over sequences, heads and i of max_j q_i . q_j, unscaled, as in the authors' code
  /// magnitude: alpha = std(e) / std(l . W) over the cells with s > 0 of all heads; e = q . k / sqrt(d), or with the scale of the
  ///            model's position scheme. The paper: "based on the magnitudes of both terms"
  bool calibrate(const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms) override {
    if (alpha_on_host() == 0) set_alpha(in, table(in, false, 1).value(), terms.scale);
    return alpha_on_host() != 0;
  }

  void visit(ParameterVisitor<T, Dev>& v) override {
    if (owns_projection) v("projection", projection);
    if (owns_projection && same_column.defined()) v("same_column", same_column);
    if (owns_projection && level_table.defined()) v("levels", level_table);
    v.buffer("alpha", alpha);
  }

 private:
  /// The lookup table:  factor W l(levels)^T -> (H, R);   `columns`: of column_words, else of all_words
  Var<T, Dev> table(const AttentionInputs<T, Dev>& in, bool columns, accumulate_t<T> factor) const {
    const auto& levels = in.batch.feature(columns ? column_words : all_words, "lea").levels;
    if (options.levels != 0 && levels.size() != options.levels)
      fail("lea", "the model was made for ", options.levels, " quantised levels, the batch has ", levels.size());
    const Var<T, Dev> l = options.representation == LeaRepresentation::learned ? level_table : Var<T, Dev>((*sinusoids_)(levels));
    const auto y =
        matmul(columns ? same_column : projection, l, {.transpose_b = true, .scale = static_cast<double>(factor)});  // (H or 1, R)
    return y.dim(0) == in.heads ? y : multiply(y, Var<T, Dev>(Tensor<T, Dev>::ones({in.heads, 1})));
  }

  /// Reads alpha from the device only after a change; reading it in every forward pass would synchronize with the device.
  accumulate_t<T> alpha_on_host() const {
    const std::lock_guard lock(mutex_);
    const auto& value = alpha.value();
    if (!fetched_.shares_storage(value) || fetched_version_ != value.version()) {
      fetched_ = value;
      fetched_version_ = value.version();
      fetched_value_ = value.item();
    }
    return fetched_value_;
  }

  /// Computes alpha on the host.
  void set_alpha(const AttentionInputs<T, Dev>& in, const Tensor<T, Dev>& lookup_table,
                 const std::optional<accumulate_t<T>>& scale_of_scheme) {
    const auto qkv = in.qkv.value().template to<Cpu>(), table = lookup_table.template to<Cpu>();
    const auto codes = in.batch.feature(all_words, "lea").codes.to_vector();
    const std::size_t stride = in.qkv.dim(1), width = stride / 3, d = width / in.heads, levels = table.dim(1);
    const bool query = options.alpha == LeaAlpha::query;
    const double scale = scale_of_scheme ? static_cast<double>(*scale_of_scheme) : 1 / std::sqrt(static_cast<double>(d));
    struct Moments {  // Welford's algorithm: equal numbers have a deviation of exactly 0
      double n = 0, mean = 0, squares = 0;
      void add(double x) {
        const double difference = x - mean;
        mean += difference / ++n;
        squares += difference * (x - mean);
      }
      double deviation() const { return std::sqrt(squares / n); }
    } semantic, lexical;
    if (in.batch.offsets.sequences() == 0) fail("lea", "the batch is empty");
    if (codes.size() != in.batch.offsets.pairs())
      fail("lea", codes.size(), " codes for ", in.batch.offsets.pairs(), " token pairs; the feature must hold a code for each pair");
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
    if (!std::isfinite(value)) fail_numeric("lea", "alpha would be ", value, "; the queries, keys or the table are not finite");
    const T measured = static_cast<T>(value);
    alpha.mutable_value().assign({&measured, 1});
  }

  std::shared_ptr<LeaSinusoids<T, Dev>> sinusoids_;
  mutable std::mutex mutex_;  // guards what follows: the last value of alpha that was read
  mutable Tensor<T, Dev> fetched_;
  mutable std::uint64_t fetched_version_ = 0;
  mutable accumulate_t<T> fetched_value_{0};
};

/// The factory of "lea" in a config.
template <class T = float, class Dev = Cpu>
class LeaFactory final : public TermFactory<T, Dev> {
 public:
  explicit LeaFactory(const LeaOptions& options = {}) : options_(options) {}

  const LeaOptions& options() const { return options_; }
  void visit(OptionVisitor& v) override { options_.visit(v); }
  bool needs_pairs() const override { return !options_.lexical.self_attention; }
  void check(const EncoderSizes& sizes, const std::string& where) override {
    if (options_.levels * options_.dimension > 1u << 24)  // no tensor of the file accounts for these numbers
      fail_file(where, "lea: ", options_.levels, " 'levels' of 'dimension' ", options_.dimension, " are more than ", 1u << 24, " numbers");
    resolve_layers("lea", options_.first_layer, options_.last_layer, sizes.layers / 2, sizes.layers);
  }
  double weights(const EncoderSizes& sizes) const override {
    const std::size_t rows = sizes.heads * (options_.columns == LeaColumns::both ? 2 : 1) +
                             (options_.representation == LeaRepresentation::learned ? options_.levels : 0);
    return static_cast<double>(sizes.layers * rows) * static_cast<double>(options_.dimension);
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites&) override {
    std::vector<PlacedTerm<T, Dev>> terms;
    std::shared_ptr<Lea<T, Dev>> first;
    for (std::size_t i = options_.first_layer; i < options_.last_layer; ++i) {
      const auto term = std::make_shared<Lea<T, Dev>>(options_, sizes.heads, init, first.get());
      if (!first) first = term;
      terms.push_back({i, term});
    }
    return terms;
  }
  std::vector<FeatureMaker> features() const override {
    auto lexical = options_.lexical;
    lexical.levels = static_cast<unsigned>(options_.levels);
    lexical.same_column = options_.columns == LeaColumns::same;
    std::vector<FeatureMaker> makers{lexical_feature(lexical, Lea<T, Dev>::all_words)};
    lexical.same_column = true;
    if (options_.columns == LeaColumns::both) makers.push_back(lexical_feature(lexical, Lea<T, Dev>::column_words));
    return makers;
  }
  /// Does not reuse an alpha that was set by another rule.
  bool reuses(const std::string& tensor, const TermFactory<T, Dev>& stored) const override {
    const auto* other = dynamic_cast<const LeaFactory*>(&stored);
    return !tensor.ends_with(".alpha") || other == nullptr ||
           (other->options_.alpha == options_.alpha && other->options_.alpha_value == options_.alpha_value);
  }

 private:
  LeaOptions options_;
};

}  // namespace lexformer
