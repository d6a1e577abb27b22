// SPDX-License-Identifier: MIT
// LOVE, learning out-of-vocabulary embeddings (Chen et al., "Imputing Out-of-Vocabulary Embeddings with LOVE Makes Language Models Robust
// with Little Cost", ACL 2022). It learns to map the letters and pieces of a word to the vector that a table of embeddings has for it:
//   v_w = phi(zeta(w))                                  the vector of a word w, known or not                (eq. 2)
//   X_bar = SA(PA(X)) W^O                               phi: self-attention over positional attention       (eq. 4)
//   PA(X) = softmax(P P^T / sqrt(d)) X W^V              P: sinusoids of the positions                       (eq. 5)
//   l_cl = -log(e^(u.u+ / tau) / (e^(u.u+ / tau) + sum e^(u.u- / tau)))    loss of v_w and its target u_w   (eq. 3)
//
//   paper                         here
//   zeta, section 4.1             words/word_units.hpp: WordUnits, [CLS] letters [SUB] pieces [SEP] (Figure A1: [SUB] before each piece)
//   V, the embeddings of units    LoveEncoder::table (words/love_encoder.hpp)
//   PA, SA, W^V, W^O              words/love_pam.hpp: LovePam
//   other phi of Table 5          words/love_attention.hpp, love_cnn.hpp, love_rnn.hpp
//   losses, eq. 1, 3, 6 to 8      words/love_loss.hpp
//   section 4.4                   noise/word_edit.hpp: augmentations; words/love_batches.hpp: synonyms, hard negatives
//   sections 4.6, 5.6             words/love_plug.hpp: LOVE in the place of BERT's embeddings of split words, or mixed into them (eq. 9,
//   10)
//
// LoveOptions::structure and scale follow the authors' code where the paper differs (love_pam.hpp). word_units.hpp, word_edit.hpp and
// love_loss.hpp say where defaults follow neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "lexformer/io/model_file.hpp"
#include "lexformer/io/options.hpp"
#include "lexformer/words/love_encoder.hpp"
#include "lexformer/words/word_model.hpp"
#include "lexformer/words/word_units.hpp"

namespace lexformer {

namespace detail {
/// Writes the options of a LOVE model as "love" and "units" into a JSON object.
void write_love_options(const LoveOptions& options, const WordUnitOptions& units, Json& into);
void write_love_options(const LoveOptions& options, const WordUnitOptions& units, ModelFile& file);
/// Reads them. Errors (file): an option is unknown, out of range or does not fit another or the vocabulary; the options ask for more
/// weights than the tensors have.
std::pair<WordUnits, LoveOptions> read_love_options(const Json& from, const Vocabulary& vocabulary, const TensorFile& tensors,
                                                    const std::string& where);
/// The same for a file that holds a LOVE model. Errors (file): it holds another kind of model, or has no vocabulary.
std::pair<WordUnits, LoveOptions> read_love_options(const ModelFile& file);
}  // namespace detail

/// A vocabulary of letters and pieces with an encoder.
template <class T = float, class Dev = Cpu>
class Love : public WordModel<Love<T, Dev>, T, Dev> {
 public:
  /// A new model. options.rows and options.pad are set from the units. Errors: as LoveEncoder.
  Love(const WordUnits& units, LoveOptions options, std::uint64_t seed)
      : units_(units), encoder_(fitted(std::move(options), units), seed) {}
  /// Errors (file): the file holds another kind of model; an option or a tensor is missing or has another size.
  explicit Love(const ModelFile& file) : Love(detail::read_love_options(file)) { this->restore_all(file); }
  /// A model whose parameters are loaded later; they have no values yet.
  static Love blank(const WordUnits& units, const LoveOptions& options) { return Love({units, options}); }

  const WordUnits& units() const { return units_; }
  const LoveOptions& options() const { return encoder_.options; }
  const LoveEncoder<T, Dev>& encoder() const { return encoder_; }
  LoveEncoder<T, Dev>& encoder() { return encoder_; }
  void visit(ParameterVisitor<T, Dev>& v) { v("love", encoder_); }

  /// Computes the vectors of B words, each scaled to length 1: (B, D). Errors: there are no words.
  Var<T, Dev> operator()(std::span<const std::string> words, const ForwardOptions& forward = {}) const {
    const auto ids = detail::units_of(words, [&](const std::string& word) { return units_.ids(word); });
    return encoder_(Indices<std::int32_t, Dev>(ids.first), ids.second, forward);
  }
  void write_settings(ModelFile& file) const {
    detail::write_love_options(options(), units_.options(), file);
    file.vocabulary = units_.vocabulary();
  }

 private:
  static LoveOptions fitted(LoveOptions options, const WordUnits& units) {
    options.rows = units.size();
    options.pad = static_cast<std::size_t>(units.pad_id());
    return options;
  }
  explicit Love(std::pair<WordUnits, LoveOptions> parts) : units_(std::move(parts.first)), encoder_(parts.second) {}

  WordUnits units_;
  LoveEncoder<T, Dev> encoder_;
};

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_LOVE(word, T)            \
  word template class LovePam<T, Cpu>;     \
  word template class LoveEncoder<T, Cpu>; \
  word template class Love<T, Cpu>;
#if defined(LEXFORMER_COMPILED)
LEXFORMER_LOVE(extern, float)
#endif

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE void write_love_options(const LoveOptions& options, const WordUnitOptions& units, Json& into) {
  into["love"] = options_json([o = options](OptionVisitor& v) mutable { o.visit(v); });
  into["units"] = options_json([o = units](OptionVisitor& v) mutable { o.visit(v); });
}

LEXFORMER_INLINE void write_love_options(const LoveOptions& options, const WordUnitOptions& units, ModelFile& file) {
  file.config["model_type"] = "love";
  write_love_options(options, units, file.config["lexformer"] = Json::object());
}

LEXFORMER_INLINE std::pair<WordUnits, LoveOptions> read_love_options(const Json& from, const Vocabulary& vocabulary,
                                                                     const TensorFile& tensors, const std::string& where) {
  LoveOptions options;
  WordUnitOptions of_units;
  const auto read = [&](const char* key, auto& into) {
    const Json* found = find_value(from, key, true, where);
    read_options(found->dump(), where + ": " + key, [&](OptionVisitor& v) { into.visit(v); });
  };
  read("love", options);
  read("units", of_units);
  WordUnits units(vocabulary, of_units, where);
  options.rows = units.size();
  options.pad = static_cast<std::size_t>(units.pad_id());
  try {
    check_love_options(options);
  } catch (const Error& e) {
    fail_file(where, e.what());
  }
  // Compared before memory is allocated.
  const double weights = love_table_weights(options) + love_weights(options);
  double held = 0;
  for (const std::string& name : tensors.names()) held += static_cast<double>(tensors.shape(name).size());
  if (weights > held)
    fail_file(where, "LOVE's options ask for at least ", static_cast<std::uint64_t>(weights), " weights, the file has ",
              static_cast<std::uint64_t>(held));
  return {std::move(units), options};
}

LEXFORMER_INLINE std::pair<WordUnits, LoveOptions> read_love_options(const ModelFile& file) {
  const std::string where = file.path + ": config";
  if (const std::string type = file.model_type(); type != "love")
    fail_file(file.path, "is not a LOVE model: its model_type is ", in_quotes(type));
  if (file.vocabulary.size() == 0) fail_file(file.path, "has no vocabulary, so it cannot read words");
  return read_love_options(*find_value(file.config, "lexformer", true, where), file.vocabulary, file.tensors, where + ": lexformer");
}

}  // namespace lexformer::detail
#endif
