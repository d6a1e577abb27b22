// SPDX-License-Identifier: MIT
// Reads a WordPiece vocabulary and its settings from a HuggingFace folder, and converts them to and from the texts in a .lxf file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/text/wordpiece.hpp"

namespace lexformer {

struct TokenizerFile {
  Vocabulary vocabulary;
  TokenizerOptions options;
};

/// Reads the tokenizer of a HuggingFace folder: tokenizer.json or vocab.txt, and the files beside it, as transformers 5. For a tokenizer of
/// BERT, tokenizer.json gives the vocabulary and the added tokens, and tokenizer_config.json how a text is split; for the general classes
/// (PreTrainedTokenizerFast) tokenizer.json says all of it. Errors (file): a setting that is not honoured.
TokenizerFile read_tokenizer(const std::filesystem::path& folder);

/// A vocabulary as text: each token followed by a line feed; an empty line is an id without a token.
std::string vocabulary_text(const Vocabulary& vocabulary);
Vocabulary parse_vocabulary_text(std::string_view text, const std::string& where);

/// Stores a vocabulary as text in the metadata of a .lxf file, and the checksum of the text under KEY_crc32.
void write_vocabulary(const Vocabulary& vocabulary, const std::string& key, std::map<std::string, std::string>& metadata);
/// Reads it; empty if there is none. Errors (file): the checksum is missing or does not fit; the text is not a vocabulary.
std::optional<Vocabulary> read_vocabulary(const std::map<std::string, std::string>& metadata, const std::string& key,
                                          const std::string& where);

/// The text `lexformer.tokenizer` of a .lxf file: HuggingFace's keys, all of which are always present.
Json tokenizer_json(TokenizerOptions options);
TokenizerOptions parse_tokenizer_json(const Json& json, const std::string& where);

namespace detail {
struct PlainVocabulary;  // io/added_tokens.hpp
/// Reads the vocabulary of a tokenizer.json (`bytes`: of the file) and, if it says all by itself (`whole`), its settings.
PlainVocabulary parse_tokenizer_file(const Json& root, std::size_t bytes, bool whole, TokenizerOptions& options, const std::string& path);
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "lexformer/io/added_tokens.hpp"
#include "lexformer/io/architecture.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

LEXFORMER_INLINE std::array<std::pair<const char*, std::string*>, 5> special_tokens(TokenizerOptions& options) {
  return {{{"unk_token", &options.unk},
           {"cls_token", &options.cls},
           {"sep_token", &options.sep},
           {"pad_token", &options.pad},
           {"mask_token", &options.mask}}};
}

LEXFORMER_INLINE void read_strip_accents(const Json& object, TokenizerOptions& options, const std::string& where) {
  options.strip_accents.reset();  // null: same as lowercase
  if (!object["strip_accents"].is_null()) options.strip_accents = get_bool(object, "strip_accents", where);
}

/// A part of a template in tokenizer.json: a special token or a text, and its type.
struct TemplatePart {
  bool special;
  std::string id;
  std::size_t type;
  bool operator==(const TemplatePart&) const = default;
};

LEXFORMER_INLINE std::vector<TemplatePart> parse_template(const Json& processor, const char* key, const std::string& where) {
  const Json* list = find_value(processor, key, true, where);
  if (!list->is_array()) fail_file(where, in_quotes(key), " is ", list->type_name(), ", expected an array");
  std::vector<TemplatePart> parts;
  for (const Json& item : *list)
    for (const auto& [kind, part] : item.items())
      parts.push_back({kind == "SpecialToken", get_string(part, "id", where), get_size(part, "type_id", 0, 255, where)});
  return parts;
}

LEXFORMER_INLINE std::string first_text(const Json& processor, const char* key, const std::string& where) {
  const Json* pair = find_value(processor, key, true, where);
  if (!pair->is_array() || pair->empty() || !(*pair)[0].is_string()) fail_file(where, in_quotes(key), " is not a token with its id");
  return (*pair)[0].get<std::string>();
}

/// Reads which special tokens are put around the texts, and their names. A pair and a text must have the same.
LEXFORMER_INLINE void read_template(const Json* processor, TokenizerOptions& options, const std::string& where) {
  options.add_cls = options.add_sep = options.add_middle_sep = false;
  if (processor == nullptr) return;
  if (get_string(*processor, "type", where) == "BertProcessing") {
    options.add_cls = options.add_sep = options.add_middle_sep = true;
    options.cls = first_text(*processor, "cls", where);
    options.sep = first_text(*processor, "sep", where);
    return;
  }
  const auto single = parse_template(*processor, "single", where), pair = parse_template(*processor, "pair", where);
  const TemplatePart text{false, "A", 0}, other{false, "B", 1};
  std::string cls, sep;
  const auto special = [](const std::vector<TemplatePart>& parts, std::size_t i, std::size_t type) {
    return i < parts.size() && parts[i].special && parts[i].type == type;
  };
  options.add_cls = special(single, 0, 0);
  if (options.add_cls) cls = single[0].id;
  options.add_sep = special(single, options.add_cls ? 2 : 1, 0);
  if (options.add_sep) sep = single.back().id;
  options.add_middle_sep = special(pair, options.add_cls ? 2 : 1, 0);
  if (options.add_middle_sep && sep.empty()) sep = pair[options.add_cls ? 2 : 1].id;
  std::vector<TemplatePart> expected, expected_pair;
  if (options.add_cls) expected.push_back({true, cls, 0});
  expected.push_back(text);
  expected_pair = expected;
  if (options.add_sep) expected.push_back({true, sep, 0});
  if (options.add_middle_sep) expected_pair.push_back({true, sep, 0});
  expected_pair.push_back(other);
  if (options.add_sep) expected_pair.push_back({true, sep, 1});
  if (single != expected || pair != expected_pair)
    fail_file(where, "the template is not BERT's, [CLS] A [SEP] and [CLS] A [SEP] B [SEP], with or without [CLS] and each [SEP]");
  const Json* tokens = find_value(*processor, "special_tokens", false, where);
  for (const auto& [name, option] : {std::pair{cls, &options.cls}, {sep, &options.sep}}) {
    if (name.empty()) continue;
    const Json* entry = tokens == nullptr ? nullptr : find_value(*tokens, name, false, where);
    if (entry == nullptr || !entry->is_object() || entry->value("tokens", Json()) != Json::array({name}))
      fail_file(where, "the special token ", in_quotes(name), " does not stand for itself");
    *option = name;
  }
}

/// A part of tokenizer.json, whose keys are known; null if the file has none.
LEXFORMER_INLINE const Json* find_part(const Json& root, const std::string& key, const std::string& path) {
  const Json* part = find_value(root, key, false, path);
  const std::string where = path + ": " + key;
  if (part == nullptr) return nullptr;
  check_keys(*part, "tokenizer.json: " + key, where);
  const bool typed = key != "model" && key != "truncation" && key != "padding";
  if (typed && !part->contains("type")) fail_file(where, "'type' is missing; ", supported_models());
  return part;
}

/// Reads the settings of a tokenizer.json that says all by itself.
LEXFORMER_INLINE void read_tokenizer_settings(const Json& model, const Json* normalizer, TokenizerOptions& options,
                                              const std::string& path) {
  options.unk = get_string(model, "unk_token", path + ": model", "[UNK]");
  options.max_word_chars = static_cast<unsigned>(get_size(model, "max_input_chars_per_word", 1, 100000, path + ": model", 100));
  const std::string where = path + ": normalizer";
  const auto flag = [&](const char* key) { return normalizer != nullptr && get_bool(*normalizer, key, where, true); };
  options.lowercase = flag("lowercase");
  options.handle_chinese_chars = flag("handle_chinese_chars");
  options.clean_text = flag("clean_text");
  if (normalizer != nullptr && normalizer->contains("strip_accents")) read_strip_accents(*normalizer, options, where);
}

LEXFORMER_INLINE PlainVocabulary parse_tokenizer_file(const Json& root, std::size_t bytes, bool whole, TokenizerOptions& options,
                                                      const std::string& path) {
  const Json* model = find_part(root, "model", path);  // checked first, so that the error names an unsupported tokenizer
  if (model == nullptr) fail_file(path, "'model' is missing; ", supported_models());
  for (const char* key : {"truncation", "padding"}) find_part(root, key, path);
  const Json *normalizer = find_part(root, "normalizer", path), *split = find_part(root, "pre_tokenizer", path);
  const Json* processor = find_part(root, "post_processor", path);
  if (get_string(*model, "continuing_subword_prefix", path, "") != "##")
    fail_file(path + ": model", "'continuing_subword_prefix' is not '##'");
  get_size(*model, "max_input_chars_per_word", 1, 100000, path + ": model", 100);
  if (whole) {
    if (split == nullptr) fail_file(path, "'pre_tokenizer' is null, expected BertPreTokenizer; ", supported_models());
    read_tokenizer_settings(*model, normalizer, options, path);
    read_template(processor, options, path + ": post_processor");
  }
  PlainVocabulary out;
  const Json* vocabulary = find_value(*model, "vocab", true, path);
  if (!vocabulary->is_object()) fail_file(path, "'vocab' is ", vocabulary->type_name(), ", expected an object");
  // Ids may have gaps, but a file of a few bytes must not request millions of ids.
  const std::size_t last = std::min(Vocabulary::max_size, bytes);
  for (const auto& [token, id] : vocabulary->items())
    put_token(out.tokens, token, get_size(*vocabulary, token, 0, last, path + ": vocab"), path);
  out.count = vocabulary->size();
  return out;
}

LEXFORMER_INLINE PlainVocabulary read_vocab_txt(const std::filesystem::path& folder) {
  const std::string path = (folder / "vocab.txt").string();
  if (path_exists(path)) {
    const std::string text = read_file(path, 64u << 20);
    check_placeholder(text, path);
    Vocabulary::check_utf8(text, path);
    std::vector<std::string> tokens = Vocabulary::from_vocab_txt(text).tokens();
    const std::size_t count = std::set<std::string>(tokens.begin(), tokens.end()).size();
    return {std::move(tokens), count};
  }
  for (const char* foreign : {"spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "merges.txt"})
    if (path_exists(folder / foreign))
      fail_file((folder / foreign).string(), "this kind of tokenizer is not supported; ", supported_models());
  fail_file(folder.string(), "there is neither vocab.txt nor tokenizer.json in this folder");
}

/// Whether the class of the tokenizer, in tokenizer_config.json or config.json, is a general one rather than one of BERT.
LEXFORMER_INLINE bool is_general_tokenizer(const std::filesystem::path& folder, const Json& config) {
  std::string path = (folder / "tokenizer_config.json").string();
  std::string name = get_string(config, "tokenizer_class", path, "");
  const std::string older = (folder / "config.json").string();
  if (name.empty() && path_exists(older)) {
    path = older;
    name = get_string(parse_json(read_file(older), older), "tokenizer_class", older, "");
  }
  for (const char* general : {"PreTrainedTokenizerFast", "TokenizersBackend"})
    if (name == general) {
      if (!path_exists(folder / "tokenizer.json"))
        fail_file(folder.string(), "'tokenizer_class' is ", in_quotes(name), ", which needs tokenizer.json");
      return true;
    }
  for (const char* known : {"", "BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast"})
    if (name == known) return false;
  fail_file(path, "'tokenizer_class' is ", in_quotes(name), ", which is not supported; ", supported_models());
}

}  // namespace detail

LEXFORMER_INLINE TokenizerFile read_tokenizer(const std::filesystem::path& folder) {
  TokenizerFile out;
  TokenizerOptions& options = out.options;
  const std::string file = (folder / "tokenizer.json").string(), path = (folder / "tokenizer_config.json").string();
  const Json config = read_keys(path, "tokenizer_config.json");
  const bool whole = detail::is_general_tokenizer(folder, config);
  detail::PlainVocabulary vocabulary;
  Json root;
  if (path_exists(file)) {
    const std::string text = read_file(file);
    root = parse_json(text, file);
    check_keys(root, "tokenizer.json", file);
    vocabulary = detail::parse_tokenizer_file(root, text.size(), whole, options, file);
  } else {
    vocabulary = detail::read_vocab_txt(folder);
  }
  if (!whole) {
    options.lowercase = get_bool(config, "do_lower_case", path, true);
    options.handle_chinese_chars = get_bool(config, "tokenize_chinese_chars", path, true);
    if (config.contains("strip_accents")) detail::read_strip_accents(config, options, path);
  }
  const Json* const tokens = root.is_null() ? nullptr : &root;
  const detail::TokenLists lists = detail::read_token_lists(folder, config, tokens);
  for (const auto& [key, name] : detail::special_tokens(options)) {
    const auto found = lists.named.find(key);
    const bool in_template = whole && key != std::string_view("pad_token") && key != std::string_view("mask_token");
    if (in_template || found == lists.named.end()) continue;
    if (found->second) *name = found->second->content;
    if (key == std::string_view("unk_token") && !found->second) fail_file(folder.string(), "'unk_token' is null, expected a token");
  }
  const auto first = whole ? detail::added_tokens_of(root, file) : std::map<std::size_t, AddedToken>();
  out.vocabulary = detail::add_tokens(std::move(vocabulary), lists, first, !whole, options, folder.string());
  return out;
}

LEXFORMER_INLINE std::string vocabulary_text(const Vocabulary& vocabulary) {
  std::string text;
  for (const std::string& token : vocabulary.tokens()) text += token + '\n';
  return text;
}
LEXFORMER_INLINE Vocabulary parse_vocabulary_text(std::string_view text, const std::string& where) {
  if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) > Vocabulary::max_size)
    fail_file(where, "has more than ", Vocabulary::max_size, " tokens");
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == text.npos) fail_file(where, "the last token does not end with a line feed");
    tokens.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return Vocabulary(std::move(tokens));
}

LEXFORMER_INLINE void write_vocabulary(const Vocabulary& vocabulary, const std::string& key, std::map<std::string, std::string>& metadata) {
  std::string text = vocabulary_text(vocabulary);
  metadata[key + "_crc32"] = std::to_string(crc32(text));
  metadata[key] = std::move(text);
}

LEXFORMER_INLINE std::optional<Vocabulary> read_vocabulary(const std::map<std::string, std::string>& metadata, const std::string& key,
                                                           const std::string& where) {
  const auto text = metadata.find(key), sum = metadata.find(key + "_crc32");
  if (text == metadata.end()) return std::nullopt;
  if (sum == metadata.end() || sum->second != std::to_string(crc32(text->second)))
    fail_file(where, key, " does not fit its checksum; the file is damaged");
  return parse_vocabulary_text(text->second, where + ": " + key);
}

LEXFORMER_INLINE Json tokenizer_json(TokenizerOptions options) {
  Json out = Json::object();  // filled key by key: nlohmann/json 3.11.2 leaks in a braced list when memory runs out
  out["do_lower_case"] = options.lowercase;
  out["strip_accents"] = nullptr;
  out["tokenize_chinese_chars"] = options.handle_chinese_chars;
  out["clean_text"] = options.clean_text;
  out["max_input_chars_per_word"] = options.max_word_chars;
  out["match_special_tokens"] = options.match_special_tokens;
  if (options.strip_accents) out["strip_accents"] = *options.strip_accents;
  for (const auto& [key, text] : detail::special_tokens(options)) out[key] = *text;
  // Written if they are not as usual; a reader that does not know a key refuses the file.
  if (!options.add_cls) out["add_cls"] = false;
  if (!options.add_sep) out["add_sep"] = false;
  if (!options.add_middle_sep) out["add_middle_sep"] = false;
  for (const AddedToken& token : options.added_tokens) {
    Json entry = Json::object();
    entry["content"] = token.content;
    entry["lstrip"] = token.lstrip;
    entry["rstrip"] = token.rstrip;
    entry["single_word"] = token.single_word;
    entry["normalized"] = token.normalized;
    entry["piece"] = token.piece;
    out["added_tokens"].push_back(std::move(entry));
  }
  return out;
}
LEXFORMER_INLINE TokenizerOptions parse_tokenizer_json(const Json& json, const std::string& where) {
  TokenizerOptions options;
  std::size_t known = tokenizer_json(options).size();
  options.lowercase = get_bool(json, "do_lower_case", where);
  detail::find_value(json, "strip_accents", true, where);
  detail::read_strip_accents(json, options, where);
  options.handle_chinese_chars = get_bool(json, "tokenize_chinese_chars", where);
  options.clean_text = get_bool(json, "clean_text", where);
  options.max_word_chars = static_cast<unsigned>(get_size(json, "max_input_chars_per_word", 1, 100000, where));
  options.match_special_tokens = get_bool(json, "match_special_tokens", where);
  for (const auto& [key, text] : detail::special_tokens(options)) *text = get_string(json, key, where);
  for (const auto& [key, flag] :
       {std::pair{"add_cls", &options.add_cls}, {"add_sep", &options.add_sep}, {"add_middle_sep", &options.add_middle_sep}}) {
    *flag = get_bool(json, key, where, true);
    if (json.contains(key)) ++known;
  }
  if (const Json* added = detail::find_value(json, "added_tokens", false, where)) {
    ++known;
    if (!added->is_array()) fail_file(where, "'added_tokens' is ", added->type_name(), ", expected an array");
    for (const Json& entry : *added) {
      AddedToken token{.content = get_string(entry, "content", where)};
      for (const auto& [key, flag] : {std::pair{"lstrip", &token.lstrip},
                                      {"rstrip", &token.rstrip},
                                      {"single_word", &token.single_word},
                                      {"normalized", &token.normalized},
                                      {"piece", &token.piece}})
        *flag = get_bool(entry, key, where);
      options.added_tokens.push_back(std::move(token));
    }
  }
  if (json.size() != known) fail_file(where, "has ", json.size(), " keys, ", known, " are known; a newer version may have written it");
  return options;
}

}  // namespace lexformer
#endif
