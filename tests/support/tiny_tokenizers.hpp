// SPDX-License-Identifier: MIT
// Small files tokenizer.json in the forms of RoBERTa and XLM-R.
#pragma once

#include <string>
#include <vector>

#include "lexformer/io/json.hpp"
#include "lexformer/text/pieces.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer::test {

inline Json added_token(const std::string& content, std::size_t id, bool lstrip = false) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", lstrip},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

inline Json tokenizer_file(Json model, Json normalizer, Json split, Json processor, std::size_t mask) {
  Json added = Json::array();
  for (const char* name : {"<s>", "<pad>", "</s>", "<unk>"}) added.push_back(added_token(name, added.size()));
  added.push_back(added_token("<mask>", mask, true));
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(split)},
          {"post_processor", std::move(processor)},
          {"decoder", nullptr},
          {"model", std::move(model)}};
}

/// Byte-level BPE of 274 tokens and <mask>.
inline Json tiny_roberta() {
  std::vector<std::u32string> letters;
  for (char32_t c = 0; c < 0x180; ++c)  // in the order of the alphabet
    for (unsigned byte = 0; byte < 256; ++byte)
      if (byte_character(static_cast<unsigned char>(byte)) == c) letters.emplace_back(1, c);
  const std::vector<std::string> merges{"Ġ s",   "o n",     "on y",     "Ġs ony", "c a", "m e", "r a",
                                        "ca me", "came ra", "Ġ camera", "Ġ -",    "5 5", "Ã ¼", "Ġ Ġ"};
  Json vocabulary = Json::object();
  for (const char* name : {"<s>", "<pad>", "</s>", "<unk>"}) vocabulary[name] = vocabulary.size();
  for (const auto& letter : letters) vocabulary[to_utf8(letter)] = vocabulary.size();
  for (std::string merge : merges) vocabulary[merge.erase(merge.find(' '), 1)] = vocabulary.size();
  Json model{{"type", "BPE"},
             {"dropout", nullptr},
             {"unk_token", nullptr},
             {"continuing_subword_prefix", ""},
             {"end_of_word_suffix", ""},
             {"fuse_unk", false},
             {"byte_fallback", false},
             {"vocab", vocabulary},
             {"merges", merges}};
  const Json split{{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  const Json around{
      {"type", "RobertaProcessing"}, {"sep", {"</s>", 2}}, {"cls", {"<s>", 0}}, {"trim_offsets", true}, {"add_prefix_space", true}};
  return tokenizer_file(std::move(model), nullptr, split, around, vocabulary.size());
}

/// Unigram of 16 tokens.
inline Json tiny_xlmr() {
  const Json pieces = Json::parse(R"([["<s>",0],["<pad>",0],["</s>",0],["<unk>",0],["▁sony",-3],["▁",-2.5],["camera",-4],["▁camera",-4.5],
    ["s",-5],["o",-5.5],["n",-5.1],["y",-5.2],["-",-3.3],["55",-4],["5",-3],["<mask>",0]])");
  const Json normalizer = Json::parse(R"({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]})");
  const Json split = Json::parse(R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}]})");
  const auto special = [](const char* name) { return Json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
  const auto text = [](const char* name) { return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}}; };
  Json around{{"type", "TemplateProcessing"},
              {"single", {special("<s>"), text("A"), special("</s>")}},
              {"pair", {special("<s>"), text("A"), special("</s>"), special("</s>"), text("B"), special("</s>")}},
              {"special_tokens", Json::object()}};
  around["special_tokens"]["<s>"] = {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}};
  around["special_tokens"]["</s>"] = {{"id", "</s>"}, {"ids", {2}}, {"tokens", {"</s>"}}};
  return tokenizer_file({{"type", "Unigram"}, {"unk_id", 3}, {"vocab", pieces}}, normalizer, split, around, 15);
}

}  // namespace lexformer::test
