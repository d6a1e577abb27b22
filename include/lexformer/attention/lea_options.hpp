// SPDX-License-Identifier: MIT
// The options of LEA (attention/lea.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/text/lexical.hpp"

namespace lexformer {

class OptionVisitor;

enum class LeaSharing { head, layer, model };             // one W^L per head of each layer, per layer, or for the model
enum class LeaRepresentation { scaled, plain, learned };  // l(s): sinusoids of 2 pi s, sinusoids of s, a learned row per level
enum class LeaAlpha { query, magnitude, constant };       // how alpha is set (attention/lea_alpha.hpp)
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
  LexicalOptions lexical{};              // Sim and w of eq. 6. Its `levels` and `same_column` are set from the options below
  LeaColumns columns = LeaColumns::any;  // for records as `COL name VAL value`; not in the paper
  LeaSharing sharing = LeaSharing::head;
  LeaRepresentation representation = LeaRepresentation::scaled;
  std::size_t dimension = 128;  // d_L, even
  std::size_t levels = 0;       // quantised similarity levels; 0 = exact values
  LeaAlpha alpha = LeaAlpha::query;
  double alpha_value = 1.0;     // alpha if it is LeaAlpha::constant
  std::size_t first_layer = 0;  // layers first_layer ... last_layer - 1 have the bias; both 0 = the second half
  std::size_t last_layer = 0;
  std::size_t every = 1;  // of these, the layers whose number it divides; in ModernBERT those that see whole texts

  /// Names of the features of a batch. With LeaColumns::same, all_words compares words of the same column alone.
  static constexpr const char* all_words = "lexical";
  static constexpr const char* column_words = "lexical_same_column";

  void visit(OptionVisitor& v);
  /// Makers of the features: the codes and levels of s_ij (text/lexical.hpp).
  std::vector<FeatureMaker> features() const;
};

/// Returns the options. Errors (usage): the dimension is 0 or odd; the learned representation has fewer than 2 levels.
const LeaOptions& check_lea_options(const LeaOptions& options);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/core/error.hpp"
#include "lexformer/core/options.hpp"

namespace lexformer {

LEXFORMER_INLINE void LeaOptions::visit(OptionVisitor& v) {
  v.choice("similarity", lexical.similarity, "word similarity measure");
  v.choice("words", lexical.words, "words that are compared: the tokenizer's, space-separated ones, or the larger of both");
  v.choice("columns", columns,
           "of records written as COL name VAL value: words of any columns meet, of the same column, or both as two biases");
  v.flag("within_sentences", lexical.self_attention, "also add the bias between words of the same text");
  v.size("levels", levels, 0, 65535, "number of levels that similarities are quantised to; 0 = exact")
      .only_if(levels != 1, "is 1, expected 0 (exact) or 2 to 65535");
  v.choice("sharing", sharing, "one projection per head, per layer, or for the model");
  v.choice("representation", representation, "of a similarity s: sinusoids of 2 pi s, of s, or a learned row per level");
  v.choice("alpha", alpha, "how alpha, the factor of the bias, is set");
  v.number("alpha_value", alpha_value, -1e30, 1e30, "alpha, if it is constant");
  v.size("dimension", dimension, 2, 65536, "of the lexical embedding; even");
  v.layers(first_layer, last_layer, "layers with the bias; the second half by default");
  v.size("every", every, 1, 256, "of these layers those whose number this divides, as the layers of ModernBERT that see whole texts");
}

LEXFORMER_INLINE std::vector<FeatureMaker> LeaOptions::features() const {
  LexicalOptions words = lexical;
  words.levels = static_cast<unsigned>(levels);
  words.same_column = columns == LeaColumns::same;
  std::vector<FeatureMaker> makers{lexical_feature(words, all_words)};
  words.same_column = true;
  if (columns == LeaColumns::both) makers.push_back(lexical_feature(words, column_words));
  return makers;
}

LEXFORMER_INLINE const LeaOptions& check_lea_options(const LeaOptions& o) {
  if (o.dimension == 0 || o.dimension % 2 != 0) fail_usage("lea", "the dimension must be even and not 0, got ", o.dimension);
  if (o.representation == LeaRepresentation::learned && o.levels < 2)
    fail_usage("lea",
               "the learned representation has one row for each level, so it needs quantised levels (for example 50), not exact ones");
  return o;
}

}  // namespace lexformer
#endif
