// SPDX-License-Identifier: MIT
// Special and added tokens of a HuggingFace folder, with the ids that transformers 5 and its tokenizers give them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer::detail {

/// What the files of a folder say of its tokens.
struct TokenLists {
  std::map<std::string, std::optional<AddedToken>> named;  // "cls_token", ...; nothing: the file says null
  std::vector<AddedToken> extra;                           // further special tokens
  std::map<std::size_t, AddedToken> added;                 // with their ids
};

/// Reads tokenizer_config.json (`config`), special_tokens_map.json, added_tokens.json and the added tokens of tokenizer.json (`root`, or
/// null). Where `config` has added_tokens_decoder, the files of older versions do not count.
TokenLists read_token_lists(const std::filesystem::path& folder, const Json& config, const Json* root);

/// The added tokens of tokenizer.json by their ids.
std::map<std::size_t, AddedToken> added_tokens_of(const Json& root, const std::string& path);

/// Puts a token at its id. Errors (file): the token is empty or holds a line feed; another one has the id.
void put_token(std::vector<std::string>& tokens, const std::string& token, std::size_t id, const std::string& path);

/// The tokens of a vocabulary before any are added.
struct PlainVocabulary {
  std::vector<std::string> tokens;
  std::size_t count = 0;  // of different ones; the first added token gets this id
};

/// Adds all tokens: each has its id in the vocabulary, or the next one. Sets options.match_special_tokens and options.added_tokens.
/// first: tokens that come before the others. defaults: whether the special tokens that no file names have their usual names.
/// Errors (file): a file gives a token another id; the unknown token is not in the vocabulary.
Vocabulary add_tokens(PlainVocabulary vocabulary, const TokenLists& lists, const std::map<std::size_t, AddedToken>& first, bool defaults,
                      TokenizerOptions& options, const std::string& folder);

}  // namespace lexformer::detail

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer::detail {

/// A token: a text, or an object with its flags.
LEXFORMER_INLINE AddedToken parse_added_token(const Json& value, const std::string& path, bool normalized = false) {
  AddedToken token;
  if (value.is_object()) {
    check_keys(value, "added token", path + ": added token");
    if (value.contains("special")) normalized = value.at("special") != true;
    token.content = get_string(value, "content", path + ": added token");
    token.lstrip = get_bool(value, "lstrip", path, false);
    token.rstrip = get_bool(value, "rstrip", path, false);
    token.single_word = get_bool(value, "single_word", path, false);
    token.normalized = get_bool(value, "normalized", path, normalized);
  } else {
    if (!value.is_string()) fail_file(path, "the added token ", shown(value), " is not possible");
    token.content = value.get<std::string>();
    token.normalized = normalized;
  }
  if (token.content.empty() || token.content.find('\n') != token.content.npos)
    fail_file(path, "the added token ", in_quotes(token.content), " is not possible");
  return token;
}

LEXFORMER_INLINE std::map<std::size_t, AddedToken> added_tokens_of(const Json& root, const std::string& path) {
  std::map<std::size_t, AddedToken> added;
  const Json* list = find_value(root, "added_tokens", false, path);
  if (list == nullptr) return added;
  if (!list->is_array()) fail_file(path, "'added_tokens' is ", list->type_name(), ", expected an array");
  for (const Json& entry : *list) {
    const std::size_t id = get_size(entry, "id", 0, Vocabulary::max_size, path + ": added_tokens");
    if (!added.emplace(id, parse_added_token(entry, path, true)).second) fail_file(path, "two tokens have the id ", id);
  }
  return added;
}

LEXFORMER_INLINE void put_token(std::vector<std::string>& tokens, const std::string& token, std::size_t id, const std::string& path) {
  if (token.empty() || token.find('\n') != token.npos) fail_file(path, "the token with id ", id, " is empty or holds a line feed");
  if (id >= tokens.size()) tokens.resize(id + 1);
  if (!tokens[id].empty() && tokens[id] != token) fail_file(path, "two tokens have the id ", id);
  tokens[id] = token;
}

/// In the order in which transformers adds them.
inline constexpr std::array named_tokens{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

/// The values of the files, before they become tokens.
struct TokenValues {
  std::map<std::string, Json> named;
  Json extra = Json::array();  // or an object: names and tokens
  Json later = Json::array();  // further ones, which are not special where added_tokens.json is read
};

LEXFORMER_INLINE TokenValues token_values(const Json& config, const Json& old_map, bool decoder) {
  TokenValues values;
  for (const auto& [key, value] : config.items())
    if (key.ends_with("_token") && !value.is_boolean()) values.named[key] = value;
  const auto filled = [](const Json& object, const char* key) { return object.contains(key) && !object[key].empty(); };
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    if (filled(config, key) && config[key].is_object()) {
      for (const auto& [name, value] : config[key].items()) values.named[name] = value;
    } else if (filled(config, key)) {
      values.extra = config[key];
    }
  if (decoder) return values;
  for (const auto& [key, value] : old_map.items()) {
    if (key == "extra_special_tokens" && value.is_array() && values.extra.is_array()) {
      values.extra.insert(values.extra.end(), value.begin(), value.end());
    } else if (key == "extra_special_tokens") {
      values.extra = value.empty() ? Json::array() : value;
    } else if (key == "additional_special_tokens") {
      const bool given = config.contains("extra_special_tokens") || config.contains("additional_special_tokens");
      if (!given && !filled(old_map, "extra_special_tokens") && !value.empty()) values.later = value;
    } else {
      values.named[key] = value;
    }
  }
  return values;
}

LEXFORMER_INLINE TokenLists read_token_lists(const std::filesystem::path& folder, const Json& config, const Json* root) {
  const std::string path = (folder / "tokenizer_config.json").string(), listed = (folder / "added_tokens.json").string();
  const Json old_map = read_keys((folder / "special_tokens_map.json").string(), "special_tokens_map.json");
  const Json* decoder = find_value(config, "added_tokens_decoder", false, path);
  TokenValues values = token_values(config, old_map, decoder != nullptr);
  if (values.extra.is_object()) {
    for (const auto& [key, value] : values.extra.items()) values.named[key] = value;
    values.extra = Json::array();
  }
  for (const Json& value : {values.extra, values.later})
    if (!value.is_array()) fail_file(path, "the special tokens are ", shown(value), ", expected a list");

  TokenLists lists;
  for (const auto& [key, value] : values.named)
    lists.named[key] = value.is_null() ? std::nullopt : std::optional(parse_added_token(value, path));
  for (const Json& value : values.extra) lists.extra.push_back(parse_added_token(value, path));
  if (decoder != nullptr) {
    if (!decoder->is_object()) fail_file(path, "'added_tokens_decoder' is ", decoder->type_name(), ", expected an object");
    for (const auto& [id, value] : decoder->items()) {
      if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != id.npos)
        fail_file(path, "'added_tokens_decoder' has the key ", in_quotes(id), ", expected an id");
      lists.added[std::stoul(id)] = parse_added_token(value, path, true);
    }
  } else {
    std::set<std::string> special;
    for (const char* key : named_tokens)
      if (const auto found = lists.named.find(key); found != lists.named.end() && found->second) special.insert(found->second->content);
    for (const AddedToken& token : lists.extra) special.insert(token.content);
    if (path_exists(listed)) {  // of a tokenizer without tokenizer.json
      const Json tokens = parse_json(read_file(listed), listed);
      if (!tokens.is_object()) fail_file(listed, "expected a JSON object, found ", tokens.type_name());
      for (const auto& [token, id] : tokens.items())
        lists.added[get_size(tokens, token, 0, Vocabulary::max_size, listed)] =
            parse_added_token(Json(token), listed, !special.contains(token));
    }
    if (root != nullptr)
      for (auto& [id, token] : added_tokens_of(*root, (folder / "tokenizer.json").string())) lists.added[id] = std::move(token);
  }
  for (const Json& value : values.later) lists.extra.push_back(parse_added_token(value, path));
  for (auto& [key, token] : lists.named)
    for (const auto& [id, other] : lists.added)
      if (token && token->content == other.content) token = other;
  return lists;
}

LEXFORMER_INLINE bool is_plain(const AddedToken& t) { return !t.lstrip && !t.rstrip && !t.single_word && !t.normalized && t.piece; }

/// Gives tokens their ids.
class TokenIds {
 public:
  TokenIds(const PlainVocabulary& vocabulary, std::string folder) : after_(vocabulary.count), folder_(std::move(folder)) {
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i)
      if (!vocabulary.tokens[i].empty()) ids_[vocabulary.tokens[i]] = i;
  }
  bool knows(const std::string& token) const { return ids_.contains(token); }
  /// The tokens that were added.
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& [name, token] : added_) all.insert(name);
    return all;
  }
  void skip() { ++after_; }
  void add(AddedToken token, std::optional<std::size_t> id = {}) {
    const auto [place, is_new] = ids_.emplace(token.content, after_);
    if (is_new) {
      ++after_;
      new_.insert(token.content);
    }
    if (id && *id != place->second)
      fail_file(folder_, "the added token ", in_quotes(token.content), " has the id ", *id, " in one file, but its place is ",
                place->second, "; write the ids that follow the vocabulary");
    token.piece = !new_.contains(token.content);
    const std::string name = token.content;
    added_[name] = std::move(token);
  }
  /// In the order of their ids.
  std::vector<std::pair<std::size_t, AddedToken>> added() const {
    std::vector<std::pair<std::size_t, AddedToken>> all;
    for (const auto& [name, token] : added_) all.emplace_back(ids_.at(name), token);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return all;
  }

 private:
  std::map<std::string, std::size_t> ids_;
  std::map<std::string, AddedToken> added_;
  std::set<std::string> new_;
  std::size_t after_;
  std::string folder_;
};

/// Adds the special tokens that have a name, in the order of transformers.
LEXFORMER_INLINE void add_named_tokens(const TokenLists& lists, bool defaults, TokenIds& ids, const std::string& folder) {
  const auto& order = named_tokens;
  std::vector<std::string> keys(order.begin(), order.end());
  for (const auto& [key, token] : lists.named)
    if (std::find(order.begin(), order.end(), key) == order.end()) keys.push_back(key);
  const TokenizerOptions usual;
  const std::map<std::string, std::string> names{
      {"unk_token", usual.unk}, {"cls_token", usual.cls}, {"sep_token", usual.sep}, {"pad_token", usual.pad}, {"mask_token", usual.mask}};
  // One that is in another file counts; of those here the last, but for one that is like an earlier one.
  const auto before = ids.names();
  std::vector<AddedToken> seen;
  const auto known = [&](const AddedToken& token) {
    if (before.contains(token.content) || std::find(seen.begin(), seen.end(), token) != seen.end()) return true;
    seen.push_back(token);
    return false;
  };
  std::size_t own = 0;  // new tokens under names of the model's own
  for (const std::string& key : keys) {
    if (const auto found = lists.named.find(key); found != lists.named.end()) {
      const auto& token = found->second;
      if (!token || known(*token)) continue;
      if (std::find(order.begin(), order.end(), key) == order.end() && !ids.knows(token->content) && ++own == 2)
        fail_file(folder, in_quotes(key),
                  " and another special token follow the vocabulary in an unknown order; name their ids in 'added_tokens_decoder'");
      ids.add(*token);
    } else if (const auto name = names.find(key); defaults && name != names.end() && !known({.content = name->second})) {
      // transformers adds a missing one at the next id, for which there is seldom an embedding.
      if (ids.knows(name->second)) {
        ids.add({.content = name->second});
      } else {
        ids.skip();
      }
    }
  }
  for (const AddedToken& token : lists.extra)
    if (!known(token)) ids.add(token);
}

LEXFORMER_INLINE Vocabulary add_tokens(PlainVocabulary vocabulary, const TokenLists& lists, const std::map<std::size_t, AddedToken>& first,
                                       bool defaults, TokenizerOptions& options, const std::string& folder) {
  TokenIds ids(vocabulary, folder);
  for (const auto& [id, token] : first) ids.add(token, id);
  for (const auto& [id, token] : lists.added) ids.add(token, id);
  add_named_tokens(lists, defaults, ids, folder);

  const auto added = ids.added();
  const auto plain = [&](const std::string& name) {
    return std::any_of(added.begin(), added.end(), [&](const auto& item) { return item.second.content == name && is_plain(item.second); });
  };
  std::set<std::string> five;
  for (const std::string& name : {options.unk, options.cls, options.sep, options.pad, options.mask})
    if (ids.knows(name)) five.insert(name);
  options.match_special_tokens = std::all_of(five.begin(), five.end(), plain);
  for (const auto& [id, token] : added) {
    if (token.content == options.unk && !token.piece)
      fail_file(folder, "the token of unknown words, ", in_quotes(token.content),
                ", is not in the vocabulary, only among the added tokens");
    put_token(vocabulary.tokens, token.content, id, folder);
    if (!options.match_special_tokens || !five.contains(token.content)) options.added_tokens.push_back(token);
  }
  while (!vocabulary.tokens.empty() && vocabulary.tokens.back().empty()) vocabulary.tokens.pop_back();
  return Vocabulary(std::move(vocabulary.tokens));
}

}  // namespace lexformer::detail
#endif
