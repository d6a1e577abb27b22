// SPDX-License-Identifier: MIT
// The words that `match --words` shows: how LEA compares them, and how they are written.
#pragma once

#include <iomanip>
#include <lexformer/io/config.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/models/bert_config.hpp>
#include <lexformer/text/word_pairs.hpp>

#include "cli/program.hpp"

namespace program {

struct ShownWords {
  lx::WordPair words;
  std::optional<double> attention{};
};

/// The different words that LEA sees as the most similar.
inline std::vector<ShownWords> similar_words(const lx::Encoding& encoding, const lx::LexicalOptions& options, std::size_t most) {
  std::vector<ShownWords> shown;
  for (auto& pair : lx::word_pairs(encoding, options, most)) shown.push_back({std::move(pair)});
  return shown;
}

/// How a model with LEA compares words; for one without, LEA's defaults.
inline lx::LexicalOptions lexical_options(const lx::BertConfig& config) {
  lx::LexicalOptions options;
  for (const auto& term : config.attention) {
    if (term.name != "lea") continue;
    const lx::Json json = lx::parse_json(term.options, "lea");
    options.similarity = lx::get_name<lx::Similarity>(json, "similarity", "lea", options.similarity);
    options.words = lx::get_name<lx::LexicalWords>(json, "words", "lea", options.words);
  }
  return options;
}

/// "sonny~sony; 16gb~16-gb".
inline std::string words_text(const std::vector<ShownWords>& pairs) {
  std::string text;
  for (const auto& pair : pairs) text += lx::cat(text.empty() ? "" : "; ", pair.words.left, "~", pair.words.right);
  return text;
}

/// [{"left": "sonny", "right": "sony", "similarity": 0.8}], numbers with four digits.
inline std::string words_json(const std::vector<ShownWords>& pairs) {
  StringWriter text;
  text << std::setprecision(4) << '[';
  for (const auto& pair : pairs) {
    text << (&pair == pairs.data() ? "" : ",") << "{\"left\":" << lx::Json(pair.words.left).dump()
         << ",\"right\":" << lx::Json(pair.words.right).dump() << ",\"similarity\":" << pair.words.similarity;
    if (pair.attention) text << ",\"attention\":" << *pair.attention;
    text << '}';
  }
  text << ']';
  return text.str();
}

}  // namespace program
