// SPDX-License-Identifier: MIT
// The modules of a sentence-transformers folder: where the encoder is, and how its token vectors become the vector of a text.
#pragma once

#include <filesystem>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/io/safetensors.hpp"

namespace lexformer {

struct SentenceModules {
  std::filesystem::path transformer;  // the folder of config, tokenizer and weights
  JsonValue settings;                 // the keys of "lexformer" (docs/format.md): pooling, normalize, dense; null without pooling
  TensorFile tensors;                 // of the Dense modules: lexformer.dense.I.weight (out, in) and .bias (out)
};

/// Reads modules.json of a folder; without one, the folder is the encoder's and has nothing else. Modules: Transformer, Pooling,
/// any number of Dense, Normalize, in this order; Dropout has no effect. Errors: another module, order, pooling or activation; a default
/// prompt; a key that is not honoured.
SentenceModules read_sentence_modules(const std::filesystem::path& folder, TensorReadOptions options);

/// Whether sentence-transformers puts texts into lower case before the tokenizer, which may be one of cased text.
bool lowers_texts(const std::filesystem::path& transformer);

/// The most tokens of a text by the settings of sentence-transformers ("max_seq_length") or of the tokenizer ("model_max_length"); 0 if
/// neither says.
std::size_t read_text_length(const std::filesystem::path& transformer);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "lexformer/io/config.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

/// The folder of an entry in modules.json; its path may be "", the folder itself.
LEXFORMER_INLINE std::filesystem::path module_folder(const std::filesystem::path& folder, const Json& module, const std::string& file) {
  const std::string name = get_string(module, "path", file);
  if (name.empty()) return folder;
  if (name[0] == '.' || name.find('/') != name.npos) fail_file(file, in_quotes(name), " is no plain folder name");
  return folder / name;
}

LEXFORMER_INLINE std::string read_pooling_mode(const std::filesystem::path& folder) {
  const std::string here = (folder / "config.json").string();
  const Json pooling = parse_json(read_file(here), here);
  check_keys(pooling, "Pooling", here);
  // Newer versions write "pooling_mode": "mean", older ones one flag per mode; without any it is the mean.
  std::string flags;
  for (const auto& [flag, value] : pooling.items())
    if (flag.starts_with("pooling_mode_") && get_bool(pooling, flag, here, false)) flags += (flags.empty() ? "" : "+") + flag.substr(13);
  std::string mode = get_string(pooling, "pooling_mode", here, flags.empty() ? "mean" : flags);
  if (mode == "mean_tokens") mode = "mean";
  if (mode == "cls_token") mode = "cls";
  if (mode == "max_tokens") mode = "max";
  if (mode != "mean" && mode != "cls" && mode != "max")
    fail_file(here, "pooling ", in_quotes(mode), " is not supported; mean, cls and max are");
  return mode;
}

/// Adds the tensors of a Dense module under its number; returns its activation.
LEXFORMER_INLINE std::string read_dense(const std::filesystem::path& folder, std::size_t number, TensorReadOptions options,
                                        TensorFile& tensors) {
  const std::string here = (folder / "config.json").string(), weights = (folder / "model.safetensors").string();
  const Json config = parse_json(read_file(here), here);
  check_keys(config, "Dense", here);
  const std::string name = get_string(config, "activation_function", here), kind = name.substr(name.rfind('.') + 1);
  constexpr std::pair<const char*, const char*> activations[] = {
      {"Tanh", "tanh"}, {"Identity", "identity"}, {"ReLU", "relu"}, {"GELU", "gelu"}, {"SiLU", "silu"}};
  const auto activation = std::find_if(std::begin(activations), std::end(activations), [&](const auto& a) { return a.first == kind; });
  if (activation == std::end(activations))
    fail_file(here, "the activation function ", in_quotes(name), " is not supported; Tanh, Identity, ReLU, GELU and SiLU are");
  TensorFile found = TensorFile::read(weights, options);
  found.metadata.clear();
  if (!found.contains("linear.weight") || found.shape("linear.weight").rank() != 2)
    fail_file(weights, "there is no matrix 'linear.weight'");
  if (found.contains("linear.bias") && !get_bool(config, "bias", here, true))
    fail_file(here, "'bias' is false, but the weights have a bias");
  if (found.size() != (found.contains("linear.bias") ? 2 : 1))
    fail_file(weights, "it has other tensors than 'linear.weight' and 'linear.bias'");
  if (!found.contains("linear.bias"))  // "bias": false
    found.set("linear.bias", Tensor<float>::zeros({found.shape("linear.weight")[0]}));
  for (const char* part : {"weight", "bias"}) found.rename(cat("linear.", part), cat("lexformer.dense.", number, ".", part));
  tensors.merge(found);
  return activation->second;
}

/// The name of the similarity. Refuses a prompt that sentence-transformers puts before each text.
LEXFORMER_INLINE std::string read_sentence_config(const std::filesystem::path& folder) {
  const std::string file = (folder / "config_sentence_transformers.json").string();
  const Json config = read_keys(file, "config_sentence_transformers.json");
  const std::string name = get_string(config, "default_prompt_name", file, "");
  const Json* prompts = find_value(config, "prompts", false, file);
  if (!name.empty()) {
    if (prompts == nullptr || find_value(*prompts, name, false, file) == nullptr)
      fail_file(file, "'default_prompt_name' is ", in_quotes(name), ", but 'prompts' has no such prompt");
    if (!get_string(*prompts, name, file).empty())
      fail_file(file, "the default prompt ", in_quotes(name),
                " is not supported; set default_prompt_name to null and put the prompt before your texts");
  }
  return get_string(config, "similarity_fn_name", file, "cosine");
}

/// The file of a transformer's settings of sentence-transformers; its name in most folders if there is none.
LEXFORMER_INLINE std::string transformer_settings(const std::filesystem::path& folder) {
  for (const char* name : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"})
    if (const auto file = folder / cat("sentence_", name, "_config.json"); path_exists(file)) return file.string();
  return (folder / "sentence_bert_config.json").string();
}

}  // namespace detail

LEXFORMER_INLINE SentenceModules read_sentence_modules(const std::filesystem::path& folder, TensorReadOptions options) {
  SentenceModules found;
  found.transformer = folder;
  const std::string file = (folder / "modules.json").string();
  if (!path_exists(file)) return found;
  Json ours = Json::object();
  Json dense = Json::array();
  bool normalize = false;
  const Json modules = parse_json(read_file(file), file);
  for (const Json& module : modules) {
    check_keys(module, "modules.json", file);
    const std::string type = get_string(module, "type", file), kind = type.substr(type.rfind('.') + 1);
    const auto place = detail::module_folder(folder, module, file);
    if (kind == "Transformer") {
      found.transformer = place;
    } else if (kind == "Pooling") {
      ours["pooling"] = detail::read_pooling_mode(place);
    } else if (kind == "Dense") {
      if (!ours.contains("pooling") || normalize)
        fail_file(file, "a Dense module is not between Pooling and Normalize, which is not supported");
      dense.push_back(detail::read_dense(place, dense.size(), options, found.tensors));
    } else if (kind == "Normalize" || kind == "Dropout") {
      if (place != folder) read_keys((place / "config.json").string(), kind);
      normalize = normalize || kind == "Normalize";
    } else {
      fail_file(file, "the module ", in_quotes(kind), " is not supported; Transformer, Pooling, Dense and Normalize are");
    }
  }
  if (!ours.contains("pooling")) return found;
  if (const std::string similarity = detail::read_sentence_config(folder); similarity != "cosine") ours["similarity"] = similarity;
  ours["normalize"] = normalize;
  if (!dense.empty()) ours["dense"] = std::move(dense);
  found.settings = ours;
  return found;
}

LEXFORMER_INLINE bool lowers_texts(const std::filesystem::path& transformer) {
  const std::string file = detail::transformer_settings(transformer);
  return get_bool(read_keys(file, "sentence_bert_config.json"), "do_lower_case", file, false);
}

LEXFORMER_INLINE std::size_t read_text_length(const std::filesystem::path& transformer) {
  const auto read = [](const std::string& file, const char* section, std::initializer_list<const char*> keys) -> std::size_t {
    const Json config = read_keys(file, section);
    for (const char* key : keys) {
      const Json* const value = detail::find_value(config, key, false, file);
      if (value == nullptr) continue;
      // transformers writes 10^30 for "any number".
      return value->is_number() && value->get<double>() > 1u << 20 ? 0 : get_size(config, key, 1, 1u << 20, file);
    }
    return 0;
  };
  const std::size_t theirs = read(detail::transformer_settings(transformer), "sentence_bert_config.json", {"max_seq_length"});
  return theirs != 0 ? theirs
                     : read((transformer / "tokenizer_config.json").string(), "tokenizer_config.json", {"model_max_length", "max_len"});
}

}  // namespace lexformer
#endif
