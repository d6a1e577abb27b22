// SPDX-License-Identifier: MIT
// MIMICK (Pinter et al., "Mimicking Word Embeddings using Subword RNNs", EMNLP 2017) over pieces, as in LOVE's comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/nn/embedding.hpp"
#include "lexformer/nn/lstm.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/words/love_layers.hpp"
#include "lexformer/words/word_model.hpp"
#include "lexformer/words/word_units.hpp"

namespace lexformer {

struct MimickOptions {
  std::size_t size = 300;       // D, of the vectors
  std::size_t unit_size = 300;  // E, of the table of units
  std::size_t states = 100;     // H, of each direction of the LSTM

  void visit(OptionVisitor& v) {
    v.size("size", size, 1, 1 << 16, "size of the vectors");
    v.size("unit_size", unit_size, 1, 1 << 16, "size of the vectors of the units");
    v.size("states", states, 1, 1 << 16, "states of each direction of the LSTM");
  }
};

namespace detail {
/// Errors (file): another kind of model; no vocabulary; an option is out of range, or does not fit the tensors.
std::pair<WordUnits, MimickOptions> read_mimick(const ModelFile& file);
void write_mimick(const MimickOptions& options, const WordUnits& units, ModelFile& file);
}  // namespace detail

/// Units of a word, x (n, E) their rows of the table:
///   h = [last state of the forward direction | of the reverse direction] of an LSTM over x, (2 H)
///   vector of a word = W_o tanh(W_h h + b_h) + b_o,  W_h (D, 2 H), W_o (D, D)
template <class T = float, class Dev = Cpu>
class Mimick : public WordModel<Mimick<T, Dev>, T, Dev> {
 public:
  Embedding<T, Dev> table;
  BiLstm<T, Dev> lstm;
  Linear<T, Dev> hidden, output;

  /// Starts as PyTorch does: the table N(0, 1), the others uniform in +-1 / sqrt(inputs), the LSTM's in +-1 / sqrt(H).
  Mimick(const WordUnits& units, const MimickOptions& options, std::uint64_t seed) : Mimick({units, options}, Init(seed, 1.0)) {}
  /// Errors (file): as detail::read_mimick.
  explicit Mimick(const ModelFile& file) : Mimick(detail::read_mimick(file), Init::none()) { this->restore_all(file); }

  const WordUnits& units() const { return units_; }
  const MimickOptions& options() const { return options_; }

  /// Computes the vectors of a batch of words: (B, D). Errors: there are no words.
  Var<T, Dev> operator()(std::span<const std::string> words, const ForwardOptions& = {}) const {
    const auto ids = detail::units_of(words, [&](const std::string& word) { return units_.ids(word); });
    const auto states = lstm(table(Indices<std::int32_t, Dev>(ids.first)), ids.second);
    return output(tanh(hidden(last_states(states, ids.second))));
  }
  /// The squared Euclidean distance, mean over the words.
  Var<accumulate_t<T>, Dev> loss(const Var<accumulate_t<T>, Dev>& targets, const Var<T, Dev>& vectors) const {
    return scale(mse_loss(vectors, targets), static_cast<accumulate_t<T>>(options_.size));
  }
  void write_settings(ModelFile& file) const { detail::write_mimick(options_, units_, file); }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("mimick.units", table);
    v("mimick.lstm", lstm);
    v("mimick.hidden", hidden);
    v("mimick.output", output);
  }

 private:
  Mimick(std::pair<WordUnits, MimickOptions> parts, Init init)
      : table(parts.first.size(), parts.second.unit_size, init),
        lstm(parts.second.unit_size, parts.second.states, init),
        hidden(Linear<T, Dev>::uniform(2 * parts.second.states, parts.second.size, init)),
        output(Linear<T, Dev>::uniform(parts.second.size, parts.second.size, init)),
        units_(std::move(parts.first)),
        options_(parts.second) {}

  WordUnits units_;
  MimickOptions options_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer::detail {

LEXFORMER_INLINE void write_mimick(const MimickOptions& options, const WordUnits& units, ModelFile& file) {
  write_word_model(file, "mimick", [o = options](OptionVisitor& v) mutable { o.visit(v); });
  write_word_options(file, "units", [o = units.options()](OptionVisitor& v) mutable { o.visit(v); });
  file.vocabulary = units.vocabulary();
}

LEXFORMER_INLINE std::pair<WordUnits, MimickOptions> read_mimick(const ModelFile& file) {
  MimickOptions o;
  WordUnitOptions of_units;
  read_word_model(file, "mimick", [&](OptionVisitor& v) { o.visit(v); });
  read_word_options(file, "units", [&](OptionVisitor& v) { of_units.visit(v); });
  if (file.vocabulary.size() == 0) fail_file(file.path, "has no vocabulary, so it cannot read words");
  WordUnits units(file.vocabulary, of_units, file.path);
  // Checked before memory is allocated.
  const std::vector<ExpectedTensor> tables{{"mimick.units.weight", {units.size(), o.unit_size}},
                                           {"mimick.lstm.forward.weight_hh", {4 * o.states, o.states}},
                                           {"mimick.output.weight", {o.size, o.size}}};
  require_tensors(file.tensors, tables, file.path);
  return {std::move(units), o};
}

}  // namespace lexformer::detail
#endif
