// SPDX-License-Identifier: MIT
// Reads a tokenizer.json whose model is byte-level BPE or Unigram. What it asks for and lexformer does not do is an error that names it.
#pragma once

#include <memory>
#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/text/token_pipeline.hpp"

namespace lexformer {

/// A tokenizer.json, its whole vocabulary (added tokens included), and the names of its special tokens.
struct TokenPipelineFile {
  std::shared_ptr<const TokenPipeline> pipeline;
  Vocabulary vocabulary;
  std::string unk, cls, sep;  // empty: none; of the template
};

/// Whether a tokenizer.json has a model that TokenPipeline runs.
bool is_token_pipeline(const Json& root);

/// Reads it. `text`: the file; `where`: its name. Errors (file): a part, a key or a value is not supported, or does not fit the others.
TokenPipelineFile parse_token_pipeline(const Json& root, std::string text, const std::string& where);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexformer/core/hash.hpp"
#include "lexformer/io/added_tokens.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

/// The kind of a part of a tokenizer.json, whose keys are then known.
LEXFORMER_INLINE std::string part_type(const Json& part, const std::string& where) {
  if (!part.is_object()) fail_file(where, "is ", part.type_name(), ", expected an object");
  std::string type = get_string(part, "type", where);
  const std::string section = "tokenizer.json: " + type;
  if (!has_keys(section)) fail_file(where, "'type' is ", in_quotes(type), ", which is not supported");
  check_keys(part, section, cat(where, ": ", type));
  return type;
}

/// Calls use(part, type, where) for a part, or for each part of a sequence.
template <class Use>
void each_part(const Json* part, const char* list, const std::string& where, const Use& use, std::size_t depth = 0) {
  if (part == nullptr || part->is_null()) return;
  const std::string type = part_type(*part, where);
  if (type != "Sequence") return use(*part, type, cat(where, ": ", type));
  if (depth == 8) fail_file(where, "has more than 8 sequences within each other");
  const Json* parts = find_value(*part, list, true, where);
  if (!parts->is_array()) fail_file(where, in_quotes(list), " is ", parts->type_name(), ", expected an array");
  for (const Json& one : *parts) each_part(&one, list, where, use, depth + 1);
}

LEXFORMER_INLINE std::string from_base64(const std::string& text, const std::string& where) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0, count = 0;  // the last `count` of `bits` are not written yet
  for (const char c : text) {
    if (c == '=') break;
    const auto value = letters.find(c);
    if (value == letters.npos) fail_file(where, "is not in base 64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

LEXFORMER_INLINE Normalizer parse_replace(const Json& part, const std::string& where) {
  const Json* pattern = find_value(part, "pattern", true, where);
  if (!pattern->is_object() || pattern->size() != 1 || !pattern->begin()->is_string())
    fail_file(where, "'pattern' is ", shown(*pattern), ", expected {\"String\": ...} or {\"Regex\": ...}");
  const std::string kind = pattern->begin().key(), text = pattern->begin()->get<std::string>();
  if (kind != "String" && kind != "Regex") fail_file(where, "'pattern' is ", shown(*pattern), ", expected a String or a Regex");
  return normalizers::Replace(text, kind == "Regex", get_string(part, "content", where), where);
}

LEXFORMER_INLINE Normalizer parse_normalizer(const Json& part, const std::string& type, const std::string& where) {
  if (type == "NFC") return normalizers::Unicode{UnicodeForm::nfc};
  if (type == "NFD") return normalizers::Unicode{UnicodeForm::nfd};
  if (type == "NFKC") return normalizers::Unicode{UnicodeForm::nfkc};
  if (type == "NFKD") return normalizers::Unicode{UnicodeForm::nfkd};
  if (type == "Lowercase") return normalizers::Lowercase{};
  if (type == "StripAccents") return normalizers::StripAccents{};
  if (type == "Strip") return normalizers::Strip{get_bool(part, "strip_left", where), get_bool(part, "strip_right", where)};
  if (type == "Replace") return parse_replace(part, where);
  if (type == "Prepend") return normalizers::Prepend(get_string(part, "prepend", where), where);
  if (type == "Precompiled") {
    const std::string key = cat(where, ": precompiled_charsmap");
    return normalizers::Precompiled{
        std::make_shared<const PrecompiledMap>(from_base64(get_string(part, "precompiled_charsmap", where), key), key)};
  }
  if (type == "BertNormalizer") {
    normalizers::Bert bert{
        get_bool(part, "clean_text", where), get_bool(part, "handle_chinese_chars", where), {}, get_bool(part, "lowercase", where)};
    if (find_value(part, "strip_accents", false, where) != nullptr) bert.strip_accents = get_bool(part, "strip_accents", where);
    return bert;
  }
  fail_file(where, "is not a normalizer");
}

LEXFORMER_INLINE PreTokenizer parse_metaspace(const Json& part, const std::string& where) {
  PreTokenizer out{.kind = PreTokenizer::Kind::metaspace};
  const std::u32string sign = to_utf32(get_string(part, "replacement", where));
  if (sign.size() != 1) fail_file(where, "'replacement' has ", sign.size(), " characters, expected 1");
  out.replacement = sign[0];
  out.split = get_bool(part, "split", where, true);
  const bool prefix = get_bool(part, "add_prefix_space", where, true);  // of versions before 0.15
  const std::string scheme = get_string(part, "prepend_scheme", where, prefix ? "always" : "never");
  using Prepend = PreTokenizer::Prepend;
  if (scheme == "always")
    out.prepend_scheme = Prepend::always;
  else if (scheme == "first")
    out.prepend_scheme = Prepend::first;
  else if (scheme == "never")
    out.prepend_scheme = Prepend::never;
  else
    fail_file(where, "'prepend_scheme' is ", in_quotes(scheme), ", expected always, first or never");
  return out;
}

LEXFORMER_INLINE PreTokenizer parse_pre_tokenizer(const Json& part, const std::string& type, const std::string& where) {
  using Kind = PreTokenizer::Kind;
  if (type == "ByteLevel") {
    PreTokenizer out{.kind = Kind::byte_level};
    out.add_prefix_space = get_bool(part, "add_prefix_space", where);
    out.use_regex = get_bool(part, "use_regex", where, true);
    return out;
  }
  if (type == "Metaspace") return parse_metaspace(part, where);
  if (type == "WhitespaceSplit") return {.kind = Kind::whitespace_split};
  if (type == "Whitespace") return {.kind = Kind::whitespace};
  if (type == "BertPreTokenizer") return {.kind = Kind::bert};
  if (type == "Digits") {
    PreTokenizer out{.kind = Kind::digits};
    out.individual_digits = get_bool(part, "individual_digits", where);
    return out;
  }
  if (type == "Punctuation") {
    PreTokenizer out{.kind = Kind::punctuation};
    const std::string name = get_string(part, "behavior", where, "Isolated");
    constexpr std::array<std::pair<std::string_view, SplitBehaviour>, 5> names{
        {{"Isolated", SplitBehaviour::isolated},
         {"Removed", SplitBehaviour::removed},
         {"MergedWithPrevious", SplitBehaviour::merged_with_previous},
         {"MergedWithNext", SplitBehaviour::merged_with_next},
         {"Contiguous", SplitBehaviour::contiguous}}};
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& item) { return item.first == name; });
    if (found == names.end()) fail_file(where, "'behavior' is ", in_quotes(name), ", which is not supported");
    out.behaviour = found->second;
    return out;
  }
  fail_file(where, "is not a pre-tokenizer");
}

/// Puts a token at its id. Tokens of a tokenizer.json may hold a line feed.
LEXFORMER_INLINE void put_any_token(std::vector<std::string>& tokens, const std::string& token, std::size_t id, const std::string& where) {
  if (token.empty()) fail_file(where, "the token with the id ", id, " is empty");
  if (id >= tokens.size()) tokens.resize(id + 1);
  if (!tokens[id].empty() && tokens[id] != token)
    fail_file(where, "two tokens have the id ", id, ": ", in_quotes(tokens[id]), " and ", in_quotes(token));
  tokens[id] = token;
}

/// The two parts of a merge: "a b" or ["a", "b"].
LEXFORMER_INLINE std::pair<std::string, std::string> parse_merge(const Json& merge, const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const auto space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos) fail_file(where, shown(merge), " is not a merge of two parts");
  return {text.substr(0, space), text.substr(space + 1)};
}

LEXFORMER_INLINE ByteBpe parse_bpe(const Json& model, std::size_t most, std::vector<std::string>& tokens, std::string& unk,
                                   const std::string& where) {
  check_keys(model, "tokenizer.json: BPE", where);
  const Json* list = find_value(model, "vocab", true, where);
  if (!list->is_object()) fail_file(where, "'vocab' is ", list->type_name(), ", expected an object");
  std::unordered_map<std::string, std::int32_t, SeededHash> ids;
  for (const auto& [token, id] : list->items()) {
    const std::size_t number = get_size(*list, token, 0, most, where + ": vocab");
    put_any_token(tokens, token, number, where);
    ids.emplace(token, static_cast<std::int32_t>(number));
  }
  const auto id_of = [&](const std::string& token, const Json& merge) {
    const auto found = ids.find(token);
    if (found == ids.end())
      fail_file(where, "the merge ", shown(merge), " needs the token ", in_quotes(token), ", which is not in 'vocab'");
    return found->second;
  };
  std::vector<ByteBpe::Merge> merges;
  const Json* rules = find_value(model, "merges", true, where);
  if (!rules->is_array()) fail_file(where, "'merges' is ", rules->type_name(), ", expected an array");
  for (const Json& rule : *rules) {
    const auto [left, right] = parse_merge(rule, where + ": merges");
    merges.push_back({id_of(left, rule), id_of(right, rule)});
    id_of(left + right, rule);
  }
  ByteBpeOptions options;
  unk = get_string(model, "unk_token", where, "");
  if (!unk.empty()) options.unk = id_of(unk, Json(unk));
  options.fuse_unk = get_bool(model, "fuse_unk", where, false);
  options.ignore_merges = get_bool(model, "ignore_merges", where, false);
  return ByteBpe(Vocabulary(tokens), merges, options);
}

LEXFORMER_INLINE Unigram parse_unigram(const Json& model, std::vector<std::string>& tokens, std::string& unk, const std::string& where) {
  check_keys(model, "tokenizer.json: Unigram", where);
  const Json* list = find_value(model, "vocab", true, where);
  if (!list->is_array()) fail_file(where, "'vocab' is ", list->type_name(), ", expected an array of tokens with scores");
  if (list->empty()) fail_file(where, "'vocab' has no tokens");
  if (list->size() > Vocabulary::max_size) fail_file(where, "has more than ", Vocabulary::max_size, " tokens");
  std::vector<double> scores;
  for (const Json& item : *list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number())
      fail_file(where + ": vocab", shown(item), " is not a token with its score");
    tokens.push_back(item[0].get<std::string>());
    scores.push_back(item[1].get<double>());
  }
  const std::size_t id = get_size(model, "unk_id", 0, tokens.size() - 1, where);
  unk = tokens[id];
  return Unigram(Vocabulary(tokens), std::move(scores), static_cast<std::int32_t>(id), get_bool(model, "byte_fallback", where, false));
}

LEXFORMER_INLINE void parse_special(const Json& item, const Json& processor, std::vector<TokenTemplate::Special>& to,
                                    const std::string& where) {
  const Json* names = find_value(processor, "special_tokens", true, where);
  const std::string name = get_string(item, "id", where);
  const Json* entry = names->is_object() ? find_value(*names, name, true, where + ": special_tokens") : nullptr;
  if (entry == nullptr || !entry->is_object() || !entry->contains("ids") || !(*entry)["ids"].is_array())
    fail_file(where, "the special token ", in_quotes(name), " has no ids");
  const auto type = static_cast<std::uint8_t>(get_size(item, "type_id", 0, 255, where));
  for (const Json& id : (*entry)["ids"]) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= Vocabulary::max_size)
      fail_file(where, shown(id), " is not the id of a token");
    to.push_back({static_cast<std::int32_t>(id.get<std::uint64_t>()), type});
  }
}

/// A template of tokenizer.json: special tokens, A, special tokens, and for a pair B and special tokens.
LEXFORMER_INLINE TokenTemplate parse_pipeline_template(const Json& processor, const char* key, std::size_t texts,
                                                       const std::string& where) {
  const Json* list = find_value(processor, key, true, where);
  if (!list->is_array()) fail_file(where, in_quotes(key), " is ", list->type_name(), ", expected an array");
  TokenTemplate out;
  std::vector<TokenTemplate::Special>* const places[] = {&out.before, texts == 2 ? &out.between : &out.after, &out.after};
  std::size_t seen = 0;
  for (const Json& part : *list) {
    if (!part.is_object() || part.size() != 1) fail_file(where, in_quotes(key), " holds ", shown(part), ", expected a token or a text");
    const std::string kind = part.begin().key();
    const Json& item = *part.begin();
    if (kind == "SpecialToken") {
      parse_special(item, processor, *places[seen], where);
      continue;
    }
    const std::string text = get_string(item, "id", where);
    if (kind != "Sequence" || seen == texts || text != (seen == 0 ? "A" : "B"))
      fail_file(where, in_quotes(key), " has ", shown(part), " in a place that is not supported; expected A, and in a pair A before B");
    (seen++ == 0 ? out.left_type : out.right_type) = static_cast<std::uint8_t>(get_size(item, "type_id", 0, 255, where));
  }
  if (seen != texts) fail_file(where, in_quotes(key), " has ", seen, " texts, expected ", texts);
  return out;
}

LEXFORMER_INLINE TokenTemplate::Special parse_token_pair(const Json& processor, const char* key, const std::string& where) {
  const Json* pair = find_value(processor, key, true, where);
  if (!pair->is_array() || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_number_unsigned() ||
      (*pair)[1].get<std::uint64_t>() >= Vocabulary::max_size)
    fail_file(where, in_quotes(key), " is ", shown(*pair), ", expected a token with its id");
  return {static_cast<std::int32_t>((*pair)[1].get<std::uint64_t>()), 0};
}

LEXFORMER_INLINE void parse_processor(const Json& part, const std::string& type, TokenPipelineParts& out, const std::string& where) {
  if (type == "TemplateProcessing") {
    out.single = parse_pipeline_template(part, "single", 1, where);
    out.pair = parse_pipeline_template(part, "pair", 2, where);
    return;
  }
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    const bool trims = get_bool(part, "trim_offsets", where, true);
    if (trims) out.trim = get_bool(part, "add_prefix_space", where, true);
    if (type == "ByteLevel") return;
  } else if (type != "BertProcessing") {
    fail_file(where, "is not a post-processor");
  }
  const TokenTemplate::Special cls = parse_token_pair(part, "cls", where), sep = parse_token_pair(part, "sep", where);
  const bool bert = type == "BertProcessing";
  out.single = {.before = {cls}, .after = {sep}};
  out.pair = {.before = {cls}, .between = {sep}, .after = {sep}};
  if (!bert) out.pair.between.push_back(sep);
  if (bert) out.pair.after[0].type = out.pair.right_type = 1;
}

}  // namespace detail

LEXFORMER_INLINE bool is_token_pipeline(const Json& root) {
  if (!root.is_object() || !root.contains("model") || !root["model"].is_object()) return false;
  const Json& model = root["model"];
  if (model.contains("type")) return model["type"] == "BPE" || model["type"] == "Unigram";
  return model.contains("merges") || (model.contains("vocab") && model["vocab"].is_array());  // of old versions
}

LEXFORMER_INLINE TokenPipelineFile parse_token_pipeline(const Json& root, std::string text, const std::string& where) {
  check_keys(root, "tokenizer.json", where);
  for (const char* key : {"truncation", "padding"})
    if (const Json* part = detail::find_value(root, key, false, where))
      check_keys(*part, cat("tokenizer.json: ", key), cat(where, ": ", key));
  TokenPipelineFile out;
  std::vector<std::string> tokens;
  const Json& model = *detail::find_value(root, "model", true, where);
  const std::string here = where + ": model";
  const bool bpe = model.contains("type") ? model["type"] == "BPE" : model.contains("merges");
  const std::size_t most = std::min(Vocabulary::max_size, text.size());  // a file of a few bytes must not request millions of ids
  TokenPipelineParts parts;
  if (bpe)
    parts.bpe = std::make_shared<const ByteBpe>(detail::parse_bpe(model, most, tokens, out.unk, here));
  else
    parts.unigram = std::make_shared<const Unigram>(detail::parse_unigram(model, tokens, out.unk, here));
  parts.pair.right_type = 1;  // without a template
  detail::each_part(detail::find_value(root, "normalizer", false, where), "normalizers", where + ": normalizer",
                    [&](const Json& part, const std::string& type, const std::string& at) {
                      parts.normalizers.push_back(detail::parse_normalizer(part, type, at));
                    });
  detail::each_part(detail::find_value(root, "pre_tokenizer", false, where), "pretokenizers", where + ": pre_tokenizer",
                    [&](const Json& part, const std::string& type, const std::string& at) {
                      parts.pre_tokenizers.push_back(detail::parse_pre_tokenizer(part, type, at));
                    });
  detail::each_part(
      detail::find_value(root, "post_processor", false, where), "processors", where + ": post_processor",
      [&](const Json& part, const std::string& type, const std::string& at) { detail::parse_processor(part, type, parts, at); });
  const Vocabulary plain(tokens);
  std::size_t next = model.at("vocab").size();  // the library gives this id to a new token, whatever the file says
  std::set<std::string> contents;
  for (auto& [id, token] : detail::added_tokens_of(root, where)) {
    if (!contents.insert(token.content).second) fail_file(where + ": added_tokens", "two tokens are ", in_quotes(token.content));
    const auto known = plain.id(token.content);
    const std::size_t place = known ? static_cast<std::size_t>(*known) : next++;
    if (id != place)
      fail_file(where + ": added_tokens", in_quotes(token.content), " has the id ", id, ", but its place is ", place,
                known ? ", where 'vocab' has it" : "; new tokens follow the vocabulary without a gap");
    detail::put_any_token(tokens, token.content, id, where + ": added_tokens");
    parts.added.emplace_back(std::move(token), static_cast<std::int32_t>(id));
  }
  for (const TokenTemplate* around : {&parts.single, &parts.pair})
    for (const auto* list : {&around->before, &around->between, &around->after})
      for (const auto& token : *list)
        if (static_cast<std::size_t>(token.id) >= tokens.size())
          fail_file(where + ": post_processor", "the id ", token.id, " is not in the vocabulary of ", tokens.size(), " tokens");
  const auto name = [&](const std::vector<TokenTemplate::Special>& list, bool last) {
    return list.empty() ? std::string() : tokens[static_cast<std::size_t>((last ? list.back() : list.front()).id)];
  };
  out.cls = name(parts.single.before, false);
  out.sep = name(parts.single.after, true);
  parts.json = std::move(text);
  out.vocabulary = Vocabulary(std::move(tokens));
  out.pipeline = std::make_shared<const TokenPipeline>(std::move(parts));
  return out;
}

}  // namespace lexformer
#endif
