// SPDX-License-Identifier: MIT
// The words that `match --words` shows: different ones that LEA sees as alike.
#pragma once

#include <iomanip>
#include <lexformer/io/config.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/models/bert_config.hpp>
#include <lexformer/text/word_pairs.hpp>

#include "program.hpp"

namespace program {

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
inline std::string words_text(const std::vector<lx::WordPair>& pairs) {
  std::string text;
  for (const auto& pair : pairs) text += lx::cat(text.empty() ? "" : "; ", pair.left, "~", pair.right);
  return text;
}

/// [{"left": "sonny", "right": "sony", "similarity": 0.8}], the similarity with four digits.
inline std::string words_json(const std::vector<lx::WordPair>& pairs) {
  StringWriter text;
  text << std::setprecision(4) << '[';
  for (const auto& pair : pairs)
    text << (&pair == pairs.data() ? "" : ",") << "{\"left\":" << lx::Json(pair.left).dump() << ",\"right\":" << lx::Json(pair.right).dump()
         << ",\"similarity\":" << pair.similarity << '}';
  text << ']';
  return text.str();
}

}  // namespace program
