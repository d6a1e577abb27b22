// SPDX-License-Identifier: MIT
// Reads a tokenizer from a HuggingFace folder, and converts its vocabulary and settings to and from the texts in a .lxf file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/words.hpp"

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

/// Stores a text in the metadata of a .lxf file, and its checksum under KEY_crc32.
void write_checked(std::string text, const std::string& key, std::map<std::string, std::string>& metadata);
/// Takes both out of the metadata; empty if there is no such text. Errors (file): the checksum is missing or does not fit.
std::optional<std::string> take_checked(std::map<std::string, std::string>& metadata, const std::string& key, const std::string& where);

/// Stores a vocabulary as text in the metadata of a .lxf file, and the checksum of the text under KEY_crc32.
void write_vocabulary(const Vocabulary& vocabulary, const std::string& key, std::map<std::string, std::string>& metadata);
/// Reads it; empty if there is none. Errors (file): the checksum is missing or does not fit; the text is not a vocabulary.
std::optional<Vocabulary> read_vocabulary(std::map<std::string, std::string> metadata, const std::string& key, const std::string& where);

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
#include "lexformer/io/token_pipeline_file.hpp"

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
  const std::string kind = get_string(*processor, "type", where);
  if (kind != "TemplateProcessing") {  // BertProcessing or RobertaProcessing
    options.add_cls = options.add_sep = options.add_middle_sep = true;
    options.two_middle_seps = kind == "RobertaProcessing";
    options.right_type = options.two_middle_seps ? 0 : 1;
    options.cls = first_text(*processor, "cls", where);
    options.sep = first_text(*processor, "sep", where);
    return;
  }
  const auto single = parse_template(*processor, "single", where), pair = parse_template(*processor, "pair", where);
  std::string cls, sep;
  const auto special = [](const std::vector<TemplatePart>& parts, std::size_t i, std::size_t type) {
    return i < parts.size() && parts[i].special && parts[i].type == type;
  };
  options.add_cls = special(single, 0, 0);
  const std::size_t after_text = options.add_cls ? 2 : 1;
  if (options.add_cls) cls = single[0].id;
  options.add_sep = special(single, after_text, 0);
  if (options.add_sep) sep = single.back().id;
  options.add_middle_sep = special(pair, after_text, 0);
  options.two_middle_seps = options.add_middle_sep && special(pair, after_text + 1, 0);
  if (options.add_middle_sep && sep.empty()) sep = pair[after_text].id;
  const std::size_t middle = (options.add_middle_sep ? 1u : 0u) + (options.two_middle_seps ? 1u : 0u);
  const std::size_t right = after_text + middle < pair.size() && pair[after_text + middle].type == 0 ? 0 : 1;
  options.right_type = static_cast<std::uint8_t>(right);
  std::vector<TemplatePart> expected, expected_pair;
  if (options.add_cls) expected.push_back({true, cls, 0});
  expected.push_back({false, "A", 0});
  expected_pair = expected;
  if (options.add_sep) expected.push_back({true, sep, 0});
  expected_pair.insert(expected_pair.end(), middle, {true, sep, 0});
  expected_pair.push_back({false, "B", right});
  if (options.add_sep) expected_pair.push_back({true, sep, right});
  if (single != expected || pair != expected_pair)
    fail_file(where, "the template is not [CLS] A [SEP] and [CLS] A [SEP] B [SEP], with or without [CLS] and each [SEP]");
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
  if (path_exists(folder / "tokenizer.model"))
    fail_file((folder / "tokenizer.model").string(),
              "this kind of tokenizer is not supported; BERT's, RoBERTa's, XLM-R's and DeBERTa's are");
  for (const char* foreign : {"spiece.model", "spm.model", "sentencepiece.bpe.model", "merges.txt"})
    if (path_exists(folder / foreign))
      fail_file((folder / foreign).string(), "there is no tokenizer.json beside it; tools/convert_hf.py makes one from this file");
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
  // MPNet's class builds what its tokenizer.json says.
  for (const char* general : {"PreTrainedTokenizerFast", "TokenizersBackend", "MPNetTokenizer", "MPNetTokenizerFast"})
    if (name == general) {
      if (!path_exists(folder / "tokenizer.json"))
        fail_file(folder.string(), "'tokenizer_class' is ", in_quotes(name), ", which needs tokenizer.json");
      return true;
    }
  for (const char* known : {"", "BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast", "DistilBertTokenizer",
                            "DistilBertTokenizerFast"})
    if (name == known) return false;
  fail_file(path, "'tokenizer_class' is ", in_quotes(name), ", which is not supported; ", supported_models());
}

/// Reads the tokenizer of a folder whose tokenizer.json says how texts are split. The files beside it only name its special tokens.
LEXFORMER_INLINE TokenizerFile read_token_pipeline(const std::filesystem::path& folder, const Json& root, std::string text) {
  const std::string file = (folder / "tokenizer.json").string(), path = (folder / "tokenizer_config.json").string();
  const Json config = path_exists(path) ? parse_json(read_file(path), path) : Json::object();
  if (!config.is_object()) fail_file(path, "is ", config.type_name(), ", expected an object");
  const auto unknown = refused_keys(config, "tokenizer_config.json: pipeline");
  for (const std::string& key : refused_keys(config, "tokenizer_config.json"))
    if (std::find(unknown.begin(), unknown.end(), key) != unknown.end())
      fail_file(path, in_quotes(key), " is ", shown(config.at(key)), ", which is not supported");
  TokenPipelineFile found = parse_token_pipeline(root, std::move(text), file);
  if (find_value(config, "add_prefix_space", false, path) != nullptr)
    found.pipeline->check_prefix_space(get_bool(config, "add_prefix_space", path), path);

  TokenizerFile out{std::move(found.vocabulary), {}};
  out.options.pipeline = std::move(found.pipeline);
  out.options.unk = found.unk;
  out.options.cls = found.cls;
  out.options.sep = found.sep;
  const TokenLists lists = read_token_lists(folder, config, &root);
  for (const auto& [key, name] : special_tokens(out.options)) {
    const auto token = lists.named.find(key);
    const bool known = name->empty() || key == std::string_view("pad_token") || key == std::string_view("mask_token");
    if (known) *name = token != lists.named.end() && token->second ? token->second->content : "";
  }
  const auto check = [&](const std::string& token, std::optional<std::size_t> id) {
    const auto place = out.vocabulary.id(token);
    if (!place || (id && *id != static_cast<std::size_t>(*place)))
      fail_file(folder.string(), "the token ", in_quotes(token), id ? cat(" with the id ", *id) : "",
                " is not in tokenizer.json, which says how texts are split; save the tokenizer again with its added tokens");
  };
  for (const auto& [key, token] : lists.named)
    if (token) check(token->content, {});
  for (const AddedToken& token : lists.extra) check(token.content, {});
  for (const auto& [id, token] : lists.added) check(token.content, id);
  return out;
}

}  // namespace detail

LEXFORMER_INLINE TokenizerFile read_tokenizer(const std::filesystem::path& folder) {
  TokenizerFile out;
  TokenizerOptions& options = out.options;
  const std::string file = (folder / "tokenizer.json").string(), path = (folder / "tokenizer_config.json").string();
  Json root;
  std::string text;
  if (path_exists(file)) {
    text = read_file(file);
    root = parse_json(text, file, tokenizer_limits);
    if (is_token_pipeline(root)) return detail::read_token_pipeline(folder, root, std::move(text));
  }
  const Json config = read_keys(path, "tokenizer_config.json");
  const bool whole = detail::is_general_tokenizer(folder, config);
  detail::PlainVocabulary vocabulary;
  if (!root.is_null()) {
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

LEXFORMER_INLINE void write_checked(std::string text, const std::string& key, std::map<std::string, std::string>& metadata) {
  metadata[key + "_crc32"] = std::to_string(crc32(text));
  metadata[key] = std::move(text);
}
LEXFORMER_INLINE std::optional<std::string> take_checked(std::map<std::string, std::string>& metadata, const std::string& key,
                                                         const std::string& where) {
  auto text = metadata.extract(key), sum = metadata.extract(key + "_crc32");
  if (text.empty()) return std::nullopt;
  if (sum.empty() || sum.mapped() != std::to_string(crc32(text.mapped())))
    fail_file(where, key, " does not fit its checksum; the file is damaged");
  return std::move(text.mapped());
}

LEXFORMER_INLINE void write_vocabulary(const Vocabulary& vocabulary, const std::string& key, std::map<std::string, std::string>& metadata) {
  write_checked(vocabulary_text(vocabulary), key, metadata);
}
LEXFORMER_INLINE std::optional<Vocabulary> read_vocabulary(std::map<std::string, std::string> metadata, const std::string& key,
                                                           const std::string& where) {
  const auto text = take_checked(metadata, key, where);
  return text ? std::optional(parse_vocabulary_text(*text, where + ": " + key)) : std::nullopt;
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
  if (options.two_middle_seps) out["two_middle_seps"] = true;
  if (options.right_type != 1) out["right_type"] = options.right_type;
  if (options.pair_form != PairForm::plain) out["pair_form"] = name_of(options.pair_form);
  if (!options.pair_separator.empty()) out["pair_separator"] = options.pair_separator;
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
  options.two_middle_seps = get_bool(json, "two_middle_seps", where, false);
  options.right_type = static_cast<std::uint8_t>(get_size(json, "right_type", 0, 1, where, 1));
  options.pair_form = get_name<PairForm>(json, "pair_form", where, PairForm::plain);
  options.pair_separator = get_string(json, "pair_separator", where, "");
  for (const char* key : {"two_middle_seps", "right_type", "pair_form", "pair_separator"}) known += json.contains(key) ? 1u : 0u;
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
