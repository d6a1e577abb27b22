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

/// Reads the tokenizer of a HuggingFace folder: tokenizer.json or vocab.txt, and tokenizer_config.json if it exists.
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

/// Parses HuggingFace's tokenizer.json.
TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& path);
/// Parses tokenizer_config.json, whose settings override tokenizer.json, as in transformers.
void parse_tokenizer_config(std::string_view text, const std::string& path, TokenizerOptions& options);

}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "lexformer/io/architecture.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
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

/// Errors: a token that was added to the vocabulary is none of the special tokens. Others would have to be found in a text before it is
/// split into words.
LEXFORMER_INLINE void check_added(const std::string& token, TokenizerOptions options, const std::string& path) {
  for (const auto& special : special_tokens(options))
    if (*special.second == token) return;
  fail_file(path, "added token ", in_quotes(token), " is not supported; only [UNK], [CLS], [SEP], [PAD] and [MASK] are");
}

/// Throws unless the value is null or one of the words.
LEXFORMER_INLINE void require_one_of(const Json& object, const char* key, std::initializer_list<const char*> words,
                                     const std::string& where) {
  const std::string found = get_string(object, key, where, "");
  if (found.empty()) return;
  for (const char* word : words)
    if (found == word) return;
  fail_file(where, in_quotes(key), " is ", in_quotes(found), ", which is not supported; ", supported_models());
}

LEXFORMER_INLINE void read_strip_accents(const Json& object, TokenizerOptions& options, const std::string& where) {
  options.strip_accents.reset();  // null: same as lowercase
  if (!object["strip_accents"].is_null()) options.strip_accents = get_bool(object, "strip_accents", where);
}

LEXFORMER_INLINE TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& path) {
  const Json root = parse_json(text, path);
  const auto section = [&](const char* key) -> const Json& {
    const Json* value = find_value(root, key, true, path);
    if (!value->is_object()) fail_file(path, in_quotes(key), " is ", value->type_name(), ", expected an object; ", supported_models());
    return *value;
  };
  TokenizerFile out;
  const Json& model = section("model");
  require_one_of(model, "type", {"WordPiece"}, path + ": model");  // checked first, so that the error names an unsupported tokenizer
  const Json& normalizer = section("normalizer");
  require_one_of(normalizer, "type", {"BertNormalizer"}, path + ": normalizer");
  require_one_of(section("pre_tokenizer"), "type", {"BertPreTokenizer"}, path + ": pre_tokenizer");
  if (get_string(model, "continuing_subword_prefix", path) != "##") fail_file(path, "'continuing_subword_prefix' is not '##'");
  out.options.unk = get_string(model, "unk_token", path, "[UNK]");
  out.options.max_word_chars = static_cast<unsigned>(get_size(model, "max_input_chars_per_word", 1, 100000, path, 100));
  out.options.lowercase = get_bool(normalizer, "lowercase", path, true);
  out.options.handle_chinese_chars = get_bool(normalizer, "handle_chinese_chars", path, true);
  out.options.clean_text = get_bool(normalizer, "clean_text", path, true);
  if (normalizer.contains("strip_accents")) read_strip_accents(normalizer, out.options, path);

  // Ids may have gaps, but a file of a few bytes must not request millions of ids.
  const std::size_t last = std::min(Vocabulary::max_size, text.size());
  std::vector<std::string> tokens;
  const auto put = [&](const std::string& token, std::size_t id) {
    if (token.empty() || token.find('\n') != token.npos) fail_file(path, "the token with id ", id, " is empty or holds a line feed");
    if (id >= tokens.size()) tokens.resize(id + 1);
    if (!tokens[id].empty() && tokens[id] != token) fail_file(path, "two tokens have the id ", id);
    tokens[id] = token;
  };
  const Json* vocabulary = find_value(model, "vocab", true, path);
  if (!vocabulary->is_object()) fail_file(path, "'vocab' is ", vocabulary->type_name(), ", expected an object");
  for (const auto& [token, id] : vocabulary->items()) put(token, get_size(*vocabulary, token, 0, last, path + ": vocab"));
  if (const Json* added = find_value(root, "added_tokens", false, path)) {
    if (!added->is_array()) fail_file(path, "'added_tokens' is ", added->type_name(), ", expected an array");
    for (const Json& entry : *added) {
      const std::string token = get_string(entry, "content", path + ": added_tokens");
      check_added(token, out.options, path);
      put(token, get_size(entry, "id", 0, last, path + ": added_tokens"));
    }
  }
  out.vocabulary = Vocabulary(std::move(tokens));
  return out;
}

LEXFORMER_INLINE void parse_tokenizer_config(std::string_view text, const std::string& path, TokenizerOptions& options) {
  const Json config = parse_json(text, path);
  require_one_of(
      config, "tokenizer_class",
      {"BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"},
      path);
  if (!get_bool(config, "do_basic_tokenize", path, true)) fail_file(path, "'do_basic_tokenize' is false, which is not supported");
  options.lowercase = get_bool(config, "do_lower_case", path, options.lowercase);
  options.handle_chinese_chars = get_bool(config, "tokenize_chinese_chars", path, options.handle_chinese_chars);
  if (config.contains("strip_accents")) read_strip_accents(config, options, path);
  for (const auto& [key, token] : special_tokens(options)) {
    const Json* value = find_value(config, key, false, path);
    if (value == nullptr) continue;
    *token = value->is_object() ? get_string(*value, "content", path) : get_string(config, key, path);  // object: an "AddedToken"
  }
  if (const Json* added = find_value(config, "added_tokens_decoder", false, path)) {
    if (!added->is_object()) fail_file(path, "'added_tokens_decoder' is ", added->type_name(), ", expected an object");
    for (const auto& [id, entry] : added->items()) check_added(get_string(entry, "content", path), options, path);
  }
}

}  // namespace detail

LEXFORMER_INLINE TokenizerFile read_tokenizer(const std::filesystem::path& folder) {
  TokenizerFile out;
  const std::string file = (folder / "tokenizer.json").string(), config = (folder / "tokenizer_config.json").string();
  if (path_exists(file)) {
    out = detail::parse_tokenizer_file(read_file(file), file);
  } else if (path_exists(folder / "vocab.txt")) {
    out.vocabulary = Vocabulary::from_vocab_txt(read_file((folder / "vocab.txt").string(), 64u << 20));
  } else {
    for (const char* foreign : {"spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "merges.txt"})
      if (path_exists(folder / foreign))
        fail_file((folder / foreign).string(), "this kind of tokenizer is not supported; ", supported_models());
    fail_file(folder.string(), "there is neither vocab.txt nor tokenizer.json in this folder");
  }
  if (path_exists(config)) detail::parse_tokenizer_config(read_file(config), config, out.options);
  if (const std::string added = (folder / "added_tokens.json").string(); path_exists(added)) {  // of a tokenizer without tokenizer.json
    const Json tokens = parse_json(read_file(added), added);
    if (!tokens.is_object()) fail_file(added, "expected a JSON object, found ", tokens.type_name());
    for (const auto& [token, id] : tokens.items()) detail::check_added(token, out.options, added);
  }
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
  return out;
}
LEXFORMER_INLINE TokenizerOptions parse_tokenizer_json(const Json& json, const std::string& where) {
  TokenizerOptions options;
  const std::size_t known = tokenizer_json(options).size();
  options.lowercase = get_bool(json, "do_lower_case", where);
  detail::find_value(json, "strip_accents", true, where);
  detail::read_strip_accents(json, options, where);
  options.handle_chinese_chars = get_bool(json, "tokenize_chinese_chars", where);
  options.clean_text = get_bool(json, "clean_text", where);
  options.max_word_chars = static_cast<unsigned>(get_size(json, "max_input_chars_per_word", 1, 100000, where));
  options.match_special_tokens = get_bool(json, "match_special_tokens", where);
  for (const auto& [key, text] : detail::special_tokens(options)) *text = get_string(json, key, where);
  if (json.size() != known) fail_file(where, "has ", json.size(), " keys, ", known, " are known; a newer version may have written it");
  return options;
}

}  // namespace lexformer
#endif
