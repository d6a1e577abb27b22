// SPDX-License-Identifier: MIT
// A model on disk: one .lxf file (docs/format.md), or an unmodified HuggingFace folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/io/architecture.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/io/safetensors.hpp"
#include "lexformer/io/tokenizer_file.hpp"
#include "lexformer/text/tokenizer.hpp"

namespace lexformer {

struct ModelFile {
  JsonValue config = JsonValue::object();  // HuggingFace's config.json; lexformer's keys are under "lexformer"
  Vocabulary vocabulary;                   // empty if the model has none
  TokenizerOptions tokenizer;
  std::map<std::string, std::string> metadata;  // other texts, e.g. "lexformer.source_sha256"
  TensorFile tensors;                           // under HuggingFace's names with prefix "bert." or "electra."
  std::string path = "ModelFile";               // for messages

  /// Opens a .lxf file, a folder that contains model.lxf, or a HuggingFace folder of a bert or electra model: config.json, vocab.txt or
  /// tokenizer.json, tokenizer_config.json, model.safetensors or model.safetensors.index.json; a sentence-transformers folder too.
  static ModelFile open(const std::string& path, TensorReadOptions options = {});
  /// Reads the bytes of a .lxf file, from bytes() or embedded in a program; `where` names them in messages.
  static ModelFile parse(std::string bytes, const std::string& where, TensorReadOptions options = {});

  /// The text under this key of `metadata`, "" if there is none.
  std::string text(const std::string& key) const {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  }

  /// The key "model_type" of the config; old configs of BERT lack it.
  std::string model_type() const;

  /// Writes a .lxf file atomically.
  void save(const std::string& file) const;
  /// The bytes that save() writes.
  std::string bytes() const;

 private:
  TensorFile as_tensors(const std::string& where) const;
  static ModelFile open_folder(const std::filesystem::path& folder, TensorReadOptions options);
  void read_cross_encoder(const std::filesystem::path& folder, const std::string& file, bool modules);
  void check_vocabulary() const;
};

/// Returns f(), which makes what the settings of a file describe. A setting that it refuses is an error of the file, whose name begins the
/// message: nobody gave it as an option.
template <class F>
decltype(auto) with_stored_settings(const std::string& path, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    const bool of_setting = e.kind() == ErrorKind::usage || e.kind() == ErrorKind::failure;
    if (!of_setting) throw;
    const std::string message = e.what();
    throw Error(ErrorKind::file, message.starts_with(path) ? message : cat(path, ": config: ", message));
  }
}

/// Makes the tokenizer of a model. Errors: the model has no vocabulary.
Tokenizer make_tokenizer(const ModelFile& model);

namespace detail {

/// What a wrapper put before the names and the prefix of the family, e.g. "module." of DataParallel, "_orig_mod." of torch.compile or
/// "model." of Lightning; empty if nothing or not the same.
std::string wrapper_prefix(const std::vector<std::string>& names, const Architecture& architecture);

/// Gives HuggingFace checkpoints of any age, origin and family the same names, without what a wrapper put before them: BERT's after
/// the family's prefix, LayerNorm.weight for LayerNorm.gamma, LayerNorm.bias for LayerNorm.beta. Removes buffers and duplicates. heads: of
/// attention.
void normalize_names(TensorFile& tensors, const Architecture& architecture, bool tied, std::size_t heads);

}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/io/config.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/sentence_modules.hpp"
#include "lexformer/io/token_pipeline_file.hpp"
#include "lexformer/version.hpp"

namespace lexformer {

LEXFORMER_INLINE std::string ModelFile::model_type() const { return get_string(config, "model_type", path + ": config", "bert"); }

namespace detail {

LEXFORMER_INLINE std::string wrapper_prefix(const std::vector<std::string>& names, const Architecture& architecture) {
  const std::string word = word_tensor(architecture);
  std::set<std::string> found;
  const auto take_off = [](std::string& name, std::string_view end) {  // of whole parts between dots
    const std::size_t rest = name.size() - std::min(name.size(), end.size());
    const bool has = name.ends_with(end) && (rest == 0 || name[rest - 1] == '.');
    if (has) name.resize(rest);
    return has;
  };
  for (std::string name : names) {
    if (!take_off(name, word)) continue;
    take_off(name, architecture.prefix);
    found.insert(std::move(name));
  }
  if (found.size() != 1) return "";
  std::string_view rest = *found.begin();
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view known : {"module.", "model.", "_orig_mod."})
      if (rest.starts_with(known)) {
        rest.remove_prefix(known.size());
        more = true;
      }
  }
  const bool all = std::all_of(names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(*found.begin()); });
  return rest.empty() || all ? *found.begin() : "";
}

/// The rows of heads of width d in the order 0, d / 2, 1, d / 2 + 1, ...
LEXFORMER_INLINE std::vector<std::size_t> paired_rows(std::size_t rows, std::size_t heads) {
  std::vector<std::size_t> order;
  const std::size_t d = heads == 0 ? 0 : rows / heads;
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t t = 0; t < d / 2; ++t) order.insert(order.end(), {h * d + t, h * d + t + d / 2});
  return order;
}

/// Gives a tensor its canonical names and form.
LEXFORMER_INLINE void rename_tensor(TensorFile& tensors, const std::string& old, CanonicalTensor to, std::string_view prefix,
                                    std::size_t heads) {
  for (std::string& name : to.names)
    for (const char* part : {"embeddings.", "embeddings_project.", "encoder.", "pooler."})
      if (name.starts_with(part)) {
        name.insert(0, prefix);
        break;
      }
  const bool matrix = tensors.shape(old).rank() == 2;
  if (to.names.size() == 1 && to.names[0] != old) tensors.rename(old, to.names[0]);
  if (to.transposed && matrix) tensors.transpose(to.names.size() == 1 ? to.names[0] : old);
  if (to.names.size() > 1) tensors.split(old, to.names);
  for (std::size_t i = 0; to.rotary && i < std::min<std::size_t>(2, to.names.size()); ++i)  // q and k
    tensors.permute_rows(to.names[i], paired_rows(tensors.shape(to.names[i])[0], heads));
}

LEXFORMER_INLINE void normalize_names(TensorFile& tensors, const Architecture& architecture, bool tied, std::size_t heads) {
  const std::string wrapper = wrapper_prefix(tensors.names(), architecture);
  for (const std::string& old : tensors.names()) {
    std::string name = old.starts_with(wrapper) ? old.substr(wrapper.size()) : old;
    if (name.ends_with(".position_ids") || name.ends_with(".token_type_ids")) {
      tensors.erase(old);
      continue;
    }
    if (name.ends_with("LayerNorm.gamma")) name.replace(name.size() - 5, 5, "weight");
    if (name.ends_with("LayerNorm.beta")) name.replace(name.size() - 4, 4, "bias");
    if (name.starts_with(architecture.prefix)) name.erase(0, architecture.prefix.size());
    bool buffer = false;
    each_word(architecture.buffers, [&](std::string_view end) { buffer = buffer || name.ends_with(end); });
    if (buffer) {
      tensors.erase(old);
      continue;
    }
    rename_tensor(tensors, old, canonical_tensor(architecture, name), architecture.prefix, heads);
  }
  // The weight of the output layer of a masked language model is the word embedding, unless the config disables it.
  if (tied) {
    tensors.erase("cls.predictions.decoder.weight");
    tensors.erase("generator_lm_head.weight");
  }
  if (tensors.contains("cls.predictions.decoder.bias")) {
    if (tensors.contains("cls.predictions.bias")) {
      tensors.erase("cls.predictions.decoder.bias");
    } else {
      tensors.rename("cls.predictions.decoder.bias", "cls.predictions.bias");
    }
  }
}

/// Reads the weights of a folder: one file, or the shards listed in an index.
LEXFORMER_INLINE TensorFile read_weights(const std::filesystem::path& folder, TensorReadOptions options) {
  if (path_exists(folder / "model.safetensors")) return TensorFile::read((folder / "model.safetensors").string(), options);
  const std::string index = (folder / "model.safetensors.index.json").string();
  if (!path_exists(index)) {
    if (path_exists(folder / "pytorch_model.bin") || path_exists(folder / "pytorch_model.bin.index.json"))
      fail_file(folder.string(), "the weights are a pickle (pytorch_model.bin); convert them with tools/convert_hf.py");
    fail_file(folder.string(), "there is neither model.safetensors nor model.safetensors.index.json in this folder");
  }
  const Json root = parse_json(read_file(index), index);
  const Json* map = find_value(root, "weight_map", true, index);
  if (!map->is_object()) fail_file(index, "'weight_map' is ", map->type_name(), ", expected an object");
  std::set<std::string> shards;
  for (const auto& [name, shard] : map->items()) {
    const std::string file = get_string(*map, name, index);
    if (file.empty() || file[0] == '.' || file.find('/') != file.npos) fail_file(index, in_quotes(file), " is no plain file name");
    shards.insert(file);
  }
  TensorFile all;
  for (const std::string& file : shards) {
    const TensorFile part = TensorFile::read((folder / file).string(), options);
    for (const std::string& name : part.names())
      if (!map->contains(name) || (*map)[name] != file)
        fail_file(index, "does not place tensor ", in_quotes(name), " in ", in_quotes(file));
    all.merge(part);
  }
  for (const auto& [name, shard] : map->items())
    if (!all.contains(name)) fail_file(index, "tensor ", in_quotes(name), " is in none of the files");
  return all;
}

}  // namespace detail

LEXFORMER_INLINE ModelFile ModelFile::open(const std::string& path, TensorReadOptions options) {
  if (!path_exists(path))
    fail_file(path, "cannot be opened: ", detail::system_message(ENOENT), ", neither file nor folder",
              path.ends_with(".lxf") ? "" : "; nothing is downloaded: for a model of a hub fetch its files and name their folder");
  const std::string inside = (std::filesystem::path(path) / "model.lxf").string();
  const bool folder = is_folder(path);
  if (folder && !path_exists(inside)) return open_folder(path, options);
  const std::string& file = folder ? inside : path;
  return parse(TensorFile::read_bytes(file), file, options);
}

LEXFORMER_INLINE ModelFile ModelFile::parse(std::string bytes, const std::string& where, TensorReadOptions options) {
  ModelFile model;
  model.path = where;
  model.tensors = TensorFile::parse(std::move(bytes), where, options);
  auto texts = std::exchange(model.tensors.metadata, {});
  const auto take = [&](const char* key) {
    auto node = texts.extract(key);
    return node.empty() ? std::optional<std::string>() : std::optional(std::move(node.mapped()));
  };
  const auto version = take("lexformer.format");
  if (!version) fail_file(where, "is a safetensors file without lexformer.format; open its folder, or use tools/convert_hf.py");
  if (*version != "1") fail_file(where, "has format version ", in_quotes(*version), ", this program reads version 1");
  const auto config = take("lexformer.config");
  if (!config) fail_file(where, "lexformer.config is missing");
  model.config = parse_json(*config, where + ": lexformer.config");
  if (!model.config->is_object()) fail_file(where, "lexformer.config is no JSON object");
  const auto take_options = [&] {
    const std::string here = where + ": lexformer.tokenizer";
    return parse_tokenizer_json(parse_json(take("lexformer.tokenizer").value_or("{}"), here), here);
  };
  if (auto json = take_checked(texts, "lexformer.tokenizer_json", where)) {
    const std::string at = where + ": lexformer.tokenizer_json";
    const Json root = parse_json(*json, at, tokenizer_limits);
    TokenPipelineFile found = parse_token_pipeline(root, std::move(*json), at);
    model.vocabulary = std::move(found.vocabulary);
    model.tokenizer = take_options();
    model.tokenizer.pipeline = std::move(found.pipeline);
    model.check_vocabulary();
  } else if (const auto vocabulary = take_checked(texts, "lexformer.vocab", where)) {
    model.vocabulary = parse_vocabulary_text(*vocabulary, where + ": lexformer.vocab");
    model.tokenizer = take_options();
    model.check_vocabulary();
  }
  for (const char* key : {"format", "lexformer.version", "lexformer.crc32"}) texts.erase(key);  // save() writes these
  model.metadata = std::move(texts);
  return model;
}

LEXFORMER_INLINE ModelFile ModelFile::open_folder(const std::filesystem::path& folder, TensorReadOptions options) {
  ModelFile model;
  model.path = folder.string();
  SentenceModules modules = read_sentence_modules(folder, options);
  const auto& inner = modules.transformer;
  const std::string file = (inner / "config.json").string();
  if (!path_exists(file)) fail_file(folder.string(), "holds no model: there is neither model.lxf nor a HuggingFace model's config.json");
  const std::string text = read_file(file);
  check_placeholder(text, file);
  model.config = parse_json(text, file);
  if (path_exists(inner / "adapter_config.json"))
    fail_file(inner.string(), "has an adapter (adapter_config.json), which is not supported; merge it into the weights first");
  const std::string type = get_string(model.config, "model_type", file, "bert");  // old configs lack the key
  const Architecture& architecture = find_architecture(type, file);
  if (get_bool(model.config, "is_decoder", file, false)) fail_file(file, "'is_decoder' is true; only encoders are supported");
  model.config["model_type"] = type;
  TokenizerFile tokenizer = read_tokenizer(inner);
  model.vocabulary = std::move(tokenizer.vocabulary);
  model.tokenizer = std::move(tokenizer.options);
  if (path_exists(folder / "modules.json") && lowers_texts(inner) && !model.tokenizer.lowercase) {
    model.tokenizer.lowercase = true;  // before the rest, which decides by itself about accents
    model.tokenizer.strip_accents = model.tokenizer.strip_accents.value_or(false);
  }
  model.check_vocabulary();
  model.tensors = detail::read_weights(inner, options);
  model.tensors.metadata.clear();
  detail::normalize_names(
      model.tensors, architecture, get_bool(model.config, "tie_word_embeddings", file, true),
      get_size(model.config, config_key(architecture, "num_attention_heads"), 1, 1024, file, architecture.num_attention_heads));
  if (modules.settings->is_object()) {
    model.tensors.merge(modules.tensors);
    Json& ours = model.config["lexformer"];
    if (!ours.is_object()) ours = Json::object();
    for (const char* key : {"dense", "max_length", "similarity"}) ours.erase(key);
    ours.update(modules.settings);
    if (const std::size_t length = read_text_length(inner); length != 0) ours["max_length"] = length;
  }
  model.read_cross_encoder(folder, file, modules.settings->is_object() && modules.settings->contains("head"));
  return model;
}

/// Reads what sentence-transformers says of a CrossEncoder: the activation on the logits (by default the sigmoid for one label and none for
/// more) and the most tokens of a pair. Stores them as "lexformer": {"activation": "sigmoid" or "identity", "max_length": tokens}; other
/// models get no such keys. modules: the scores come from modules of their own; then the keys "labels" and "task" are stored as well.
LEXFORMER_INLINE void ModelFile::read_cross_encoder(const std::filesystem::path& folder, const std::string& file, bool modules) {
  const std::string_view out = find_architecture(config["model_type"].get<std::string>(), file).head_out;
  const std::string head = cat(modules ? "lexformer.head.out" : out, ".weight");
  if (!tensors.contains(head) || tensors.shape(head).rank() != 2) return;
  const Json* theirs = detail::find_value(config, "sentence_transformers", false, file);
  std::string where = file, name = get_string(config, "sbert_ce_default_activation_function", file, "");  // versions before 4
  if (theirs != nullptr) name = get_string(*theirs, "activation_fn", file + ": sentence_transformers", name);
  if (const std::string own = (folder / "config_sentence_transformers.json").string(); path_exists(own)) {  // version 6
    const Json json = read_keys(own, "config_sentence_transformers.json");
    if (const std::string found = get_string(json, "activation_fn", own, ""); !found.empty()) {
      name = found;
      where = own;
    }
  }
  if (name.empty() && theirs == nullptr && !modules) return;
  Json said = Json::object();
  if (modules) {
    said["labels"] = tensors.shape(head)[0];
    said["task"] = tensors.shape(head)[0] == 1 ? "regression" : "classification";
    said["max_length"] = 512u;  // unless the folder says more
  }
  if (!name.empty() || tensors.shape(head)[0] == 1) {
    const std::string kind = name.empty() ? "Sigmoid" : name.substr(name.rfind('.') + 1);
    if (kind != "Sigmoid" && kind != "Identity")
      fail_file(where, "the activation function ", in_quotes(name), " is not supported; Sigmoid and Identity are");
    said["activation"] = kind == "Sigmoid" ? "sigmoid" : "identity";
  }
  if (const std::size_t length = read_text_length(std::filesystem::path(file).parent_path()); length != 0) said["max_length"] = length;
  if (said.empty()) return;
  Json& ours = config["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  ours.update(said);
}

LEXFORMER_INLINE void ModelFile::check_vocabulary() const {
  std::vector<std::string> needed;
  if (!tokenizer.pipeline) needed = {tokenizer.unk, tokenizer.cls, tokenizer.sep};  // a pipeline was checked when it was read
  for (const AddedToken& token : tokenizer.added_tokens) needed.push_back(token.content);
  for (const std::string& token : needed)
    if (!vocabulary.id(token)) fail_file(path, "the vocabulary of ", vocabulary.size(), " tokens has no ", in_quotes(token));
  const std::size_t rows = get_size(config, "vocab_size", 1, 1u << 24, path + ": config", vocabulary.size());
  if (vocabulary.size() > rows)
    fail_file(path, "the vocabulary has ", vocabulary.size(), " tokens, the config allows ", rows, " ('vocab_size')");
}

LEXFORMER_INLINE void ModelFile::save(const std::string& file) const { as_tensors(file).write(file); }

LEXFORMER_INLINE std::string ModelFile::bytes() const { return as_tensors(path).to_bytes(path); }

/// All of the model as the tensors and metadata of a .lxf file.
LEXFORMER_INLINE TensorFile ModelFile::as_tensors(const std::string& where) const {
  TensorFile out = tensors;
  out.metadata = metadata;
  out.metadata["lexformer.format"] = "1";
  out.metadata["lexformer.version"] = LEXFORMER_VERSION;
  out.metadata["lexformer.config"] = dump_json(config, where);
  if (tokenizer.pipeline) {
    write_checked(tokenizer.pipeline->json(), "lexformer.tokenizer_json", out.metadata);
  } else if (vocabulary.size() != 0) {
    write_vocabulary(vocabulary, "lexformer.vocab", out.metadata);
  }
  if (tokenizer.pipeline || vocabulary.size() != 0) out.metadata["lexformer.tokenizer"] = dump_json(tokenizer_json(tokenizer), where);
  return out;
}

LEXFORMER_INLINE Tokenizer make_tokenizer(const ModelFile& model) {
  if (model.vocabulary.size() == 0) fail_file(model.path, "the model has no vocabulary, so it cannot read text");
  return Tokenizer(model.vocabulary, model.tokenizer);
}

}  // namespace lexformer
#endif
