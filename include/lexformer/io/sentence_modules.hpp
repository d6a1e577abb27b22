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
/// prompt.
SentenceModules read_sentence_modules(const std::filesystem::path& folder, TensorReadOptions options);

/// The most tokens of a text by the settings of sentence-transformers ("max_seq_length") or of the tokenizer ("model_max_length"); 0 if
/// neither says.
std::size_t read_text_length(const std::filesystem::path& transformer);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <string>

#include "lexformer/io/config.hpp"
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
  // Newer versions write "pooling_mode": "mean", older ones one flag per mode.
  std::string mode = get_string(pooling, "pooling_mode", here, "");
  for (const auto& [flag, value] : pooling.items())
    if (flag.starts_with("pooling_mode_") && value == true) mode += flag.substr(13);
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
  for (const char* key : {"module_input_name", "module_output_name"})
    if (get_string(config, key, here, "sentence_embedding") != "sentence_embedding")
      fail_file(here, "the Dense module does not go from sentence vector to sentence vector ('", key, "'), which is not supported");
  const std::string name = get_string(config, "activation_function", here), kind = name.substr(name.rfind('.') + 1);
  if (kind != "Tanh" && kind != "Identity" && kind != "ReLU" && kind != "GELU")
    fail_file(here, "the activation function ", in_quotes(name), " is not supported; Tanh, Identity, ReLU and GELU are");
  TensorFile found = TensorFile::read(weights, options);
  found.metadata.clear();
  if (!found.contains("linear.weight") || found.shape("linear.weight").rank() != 2)
    fail_file(weights, "there is no matrix 'linear.weight'");
  if (!found.contains("linear.bias"))  // "bias": false
    found.set("linear.bias", Tensor<float>::zeros({found.shape("linear.weight")[0]}));
  for (const char* part : {"weight", "bias"}) found.rename(cat("linear.", part), cat("lexformer.dense.", number, ".", part));
  tensors.merge(found);
  return kind == "Tanh" ? "tanh" : kind == "ReLU" ? "relu" : kind == "GELU" ? "gelu" : "identity";
}

/// Refuses a prompt that sentence-transformers puts before each text.
LEXFORMER_INLINE void check_no_prompt(const std::filesystem::path& folder) {
  const std::string file = (folder / "config_sentence_transformers.json").string();
  if (!path_exists(file)) return;
  const Json config = parse_json(read_file(file), file);
  const std::string name = get_string(config, "default_prompt_name", file, "");
  const Json* prompts = find_value(config, "prompts", false, file);
  if (!name.empty() && prompts != nullptr && !get_string(*prompts, name, file, "").empty())
    fail_file(file, "the default prompt ", in_quotes(name),
              " is not supported; set default_prompt_name to null and put the prompt before your texts");
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
    } else if (kind == "Normalize") {
      normalize = true;
    } else if (kind != "Dropout") {
      fail_file(file, "the module ", in_quotes(kind), " is not supported; Transformer, Pooling, Dense and Normalize are");
    }
  }
  if (!ours.contains("pooling")) return found;
  detail::check_no_prompt(folder);
  ours["normalize"] = normalize;
  if (!dense.empty()) ours["dense"] = std::move(dense);
  found.settings = ours;
  return found;
}

LEXFORMER_INLINE std::size_t read_text_length(const std::filesystem::path& transformer) {
  const auto read = [&](const char* name, const char* key) -> std::size_t {
    const std::string file = (transformer / name).string();
    if (!path_exists(file)) return 0;
    const Json config = parse_json(read_file(file), file);
    const Json* const value = detail::find_value(config, key, false, file);
    // transformers writes 10^30 for "any number".
    if (value == nullptr || !value->is_number() || value->get<double>() > 1u << 20) return 0;
    return get_size(config, key, 1, 1u << 20, file);
  };
  const std::size_t theirs = read("sentence_bert_config.json", "max_seq_length");
  return theirs != 0 ? theirs : read("tokenizer_config.json", "model_max_length");
}

}  // namespace lexformer
#endif
