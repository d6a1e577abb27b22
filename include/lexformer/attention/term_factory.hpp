// SPDX-License-Identifier: MIT
// Builds attention terms from the list {name, options} in a model's config: one factory per name.
//
// A term with one instance for each layer needs no factory: register_term<Mine>("mine") (attention/term_registry.hpp) is enough. Its
// constructor is Mine(sizes, init), or Mine(options, sizes, init) if it has a struct Options with visit(). Other terms derive from
// TermFactory and write
//   make()                                     always
//   visit()                                    if there are options;  check() if they depend on each other or on the encoder
//   weights()                                  if there are parameters
//   features()                                 if the terms read features of a batch
// The other functions have defaults that most terms keep.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lexformer/attention/term.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/nn/init.hpp"
#include "lexformer/nn/module.hpp"

namespace lexformer {

class OptionVisitor;   // core/options.hpp
struct TextKnowledge;  // knowledge/knowledge.hpp

/// The sizes of an encoder.
struct EncoderSizes {
  std::size_t layers = 0, heads = 0, width = 0, max_length = 0;
  double layer_norm_eps = 1e-12, hidden_dropout = 0;

  std::size_t head_size() const { return width / heads; }
};

/// Checks a term's layer range: `first` to `last` - 1 of `layers`. If both are 0, it becomes `default_first` to `layers` - 1.
inline void resolve_layers(const std::string& who, std::size_t& first, std::size_t& last, std::size_t default_first, std::size_t layers) {
  if (first == 0 && last == 0) {
    first = default_first;
    last = layers;
  }
  if (first >= last || last > layers)
    fail_usage(who, "layers ", first, " to ", last, " of a model with ", layers,
               " layers; the first counts from 0, the last is not included");
}

/// A term, or a core, and its layer.
template <class T = float, class Dev = Cpu>
struct PlacedTerm {
  std::optional<std::size_t> layer{};  // empty: one term for all layers
  std::shared_ptr<AttentionTerm<T, Dev>> term{};
  std::shared_ptr<AttentionCore<T, Dev>> core{};
};

/// Defines a name in a config's list: its options, the number of weights, the features of a batch that its terms read, and the terms.
template <class T = float, class Dev = Cpu>
class TermFactory {
 public:
  TermFactory() = default;
  TermFactory(const TermFactory&) = delete;
  TermFactory& operator=(const TermFactory&) = delete;
  virtual ~TermFactory() = default;

  virtual std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites& sites) = 0;
  /// Visits the options.
  virtual void visit(OptionVisitor&) {}
  /// Checks the options against each other and the encoder; may set a default that depends on its sizes. `where` begins error messages.
  virtual void check(const EncoderSizes&, const std::string& /*where*/) {}
  /// An estimate of the number of weights. Pretrained compares it with the size of a file before memory is allocated, and leaves room for
  /// errors. So it may count parts that options leave out, and may leave out biases and normalizations. It must not miss a large tensor.
  virtual double weights(const EncoderSizes&) const { return 0; }
  /// Makers of the features that the terms read.
  virtual std::vector<FeatureMaker> features() const { return {}; }

  /// Whether the terms encode positions. A model has at most one such scheme; with one it has no position embeddings by default.
  virtual bool positions() const { return false; }
  /// Whether a model that is trained with other terms keeps these, as it keeps its position scheme, unless they are named anew.
  virtual bool stays() const { return positions(); }
  /// Whether the terms compare the two texts of a pair, so that they have no meaning for a single text.
  virtual bool needs_pairs() const { return false; }
  /// Gives the knowledge that features are computed from, e.g. dependency trees.
  virtual void provide(const TextKnowledge&) {}
  /// Checks that features can be computed for these texts. `where` begins error messages.
  virtual void check_texts(std::span<const std::string> /*texts*/, const std::string& /*where*/) const {}
  /// Counts what the features need in the training texts, before features(). The counts are options (OptionVisitor::counts).
  virtual void fit(std::span<const std::string> /*texts*/) {}
  /// Whether to reuse a stored tensor of a term that was made with the options of `stored`.
  virtual bool reuses(const std::string& /*tensor*/, const TermFactory& /*stored*/) const { return true; }
  /// The name of a term's parameters in a file, after "lexformer.encoder."; a name that begins with "encoder." is one of HuggingFace's.
  virtual std::string path(const std::string& name, std::optional<std::size_t> layer) const {
    return layer ? cat("layer.", *layer, ".", name) : name;
  }
};

/// Factories by name.
template <class T = float, class Dev = Cpu>
using TermFactories = std::map<std::string, std::function<std::shared_ptr<TermFactory<T, Dev>>()>>;

namespace detail {

/// Term::Options, or no options.
struct NoOptions {
  void visit(OptionVisitor&) {}
};
template <class Term>
struct TermOptions {
  using type = NoOptions;
};
template <class Term>
requires requires { typename Term::Options; }
struct TermOptions<Term> {
  using type = typename Term::Options;
};

template <class Term, class T, class Dev>
class LayerTermFactory final : public TermFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override { options_.visit(v); }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites&) override {
    std::vector<PlacedTerm<T, Dev>> terms;
    for (std::size_t i = 0; i < sizes.layers; ++i) {
      if constexpr (std::is_same_v<Options, NoOptions>)
        terms.push_back({i, std::make_shared<Term>(sizes, init)});
      else
        terms.push_back({i, std::make_shared<Term>(options_, sizes, init)});
    }
    return terms;
  }

 private:
  using Options = typename TermOptions<Term>::type;
  Options options_;
};

}  // namespace detail

/// The factory of a term with one instance for each layer (attention/term_registry.hpp: register_term).
template <template <class, class> class Term, class T = float, class Dev = Cpu>
std::shared_ptr<TermFactory<T, Dev>> layer_term() {
  return std::make_shared<detail::LayerTermFactory<Term<T, Dev>, T, Dev>>();
}

}  // namespace lexformer
