// SPDX-License-Identifier: MIT
// The modules of a sentence-transformers folder: where the encoder is, and how its token vectors become the vector of a text or the scores
// of a pair.
#pragma once

#include <filesystem>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/io/safetensors.hpp"

namespace lexformer {

struct SentenceModules {
  std::filesystem::path transformer;  // the folder of config, tokenizer and weights
  JsonValue settings;  // the keys of "lexformer" (docs/format.md): pooling, normalize, dense; of scores head, modules; null without pooling
  TensorFile tensors;  // of the Dense modules: lexformer.dense.I.weight (out, in) and .bias (out); of scores lexformer.head.*
};

/// Reads modules.json of a folder; without one, the folder is the encoder's and has nothing else. Modules: Transformer, Pooling,
/// any number of Dense, Normalize, in this order; Dropout has no effect. If a Dense gives "scores", it is the last module, and one other
/// Dense and a LayerNorm may be before it (Head::modules). Errors: another module, order, pooling or activation; a default prompt; a key
/// that is not honoured.
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
#include <vector>

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

/// A module behind the pooling.
struct LaterModule {
  std::string kind, name, activation{};  // Dense, LayerNorm or Normalize; the folder's name; of a Dense
  bool scores = false;                   // whether this Dense gives them
  TensorFile tensors{};                  // weight and bias

  /// Adds the tensors under another name.
  void move_to(const std::string& layer, TensorFile& target) {
    for (const std::string& part : tensors.names()) tensors.rename(part, cat(layer, ".", part));
    target.merge(tensors);
  }
};

/// Reads `layer`.weight, which has `rank` axes, and `layer`.bias, which may be missing: then it is 0.
LEXFORMER_INLINE TensorFile read_layer(const std::filesystem::path& folder, const std::string& layer, std::size_t rank,
                                       TensorReadOptions options) {
  const std::string weights = (folder / "model.safetensors").string(), weight = layer + ".weight", bias = layer + ".bias";
  TensorFile found = TensorFile::read(weights, options);
  found.metadata.clear();
  if (!found.contains(weight) || found.shape(weight).rank() != rank)
    fail_file(weights, "there is no ", rank == 2 ? "matrix " : "vector ", in_quotes(weight));
  if (found.size() != (found.contains(bias) ? 2 : 1))
    fail_file(weights, "it has other tensors than ", in_quotes(weight), " and ", in_quotes(bias));
  found.rename(weight, "weight");
  if (found.contains(bias)) found.rename(bias, "bias");
  return found;
}

LEXFORMER_INLINE LaterModule read_dense(const std::filesystem::path& folder, TensorReadOptions options) {
  const std::string here = (folder / "config.json").string();
  const Json config = parse_json(read_file(here), here);
  check_keys(config, "Dense", here);
  const std::string name = get_string(config, "activation_function", here), kind = name.substr(name.rfind('.') + 1);
  constexpr std::pair<const char*, const char*> activations[] = {
      {"Tanh", "tanh"}, {"Identity", "identity"}, {"ReLU", "relu"}, {"GELU", "gelu"}, {"SiLU", "silu"}};
  const auto activation = std::find_if(std::begin(activations), std::end(activations), [&](const auto& a) { return a.first == kind; });
  if (activation == std::end(activations))
    fail_file(here, "the activation function ", in_quotes(name), " is not supported; Tanh, Identity, ReLU, GELU and SiLU are");
  LaterModule found{"Dense", folder.filename().string(), activation->second, get_string(config, "module_output_name", here, "") == "scores",
                    read_layer(folder, "linear", 2, options)};
  if (found.tensors.contains("bias") && !get_bool(config, "bias", here, true))
    fail_file(here, "'bias' is false, but the weights have a bias");
  if (!found.tensors.contains("bias")) found.tensors.set("bias", Tensor<float>::zeros({found.tensors.shape("weight")[0]}));
  return found;
}

LEXFORMER_INLINE LaterModule read_layer_norm(const std::filesystem::path& folder, TensorReadOptions options) {
  read_keys((folder / "config.json").string(), "LayerNorm");
  LaterModule found{"LayerNorm", folder.filename().string(), "", false, read_layer(folder, "norm", 1, options)};
  if (!found.tensors.contains("bias")) fail_file((folder / "model.safetensors").string(), "there is no 'norm.bias'");
  return found;
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

/// Makes of [Dense, [LayerNorm]], Dense, of which the last gives scores, the head of a cross-encoder. Errors: any other list.
LEXFORMER_INLINE Json make_score_head(std::vector<LaterModule>& modules, const std::string& pooling, const std::string& file,
                                      TensorFile& tensors) {
  const auto refuse = [&](const LaterModule& m, auto&&... why) {
    fail_file(file, "the module ", in_quotes(m.name), " ", why...,
              "; scores come from the modules Pooling, Dense, LayerNorm, Dense, of which the first Dense and the LayerNorm may be missing");
  };
  LaterModule& last = modules.back();
  if (!last.scores) refuse(last, "is after the one whose 'module_output_name' is 'scores'");
  if (last.activation != "identity") refuse(last, "gives scores by the 'activation_function' ", last.activation, ", expected Identity");
  Json head = Json::object();
  head["pooling"] = pooling;
  head["norm"] = false;
  for (std::size_t i = 0; i + 1 < modules.size(); ++i) {
    LaterModule& m = modules[i];
    if (m.kind != (i == 0 ? "Dense" : "LayerNorm") || i > 1 || m.scores) refuse(m, "is ", m.kind, ", which is not supported in this place");
    const Shape shape = m.tensors.shape("weight");
    if (i == 0 && shape[0] != shape[1])
      refuse(m, "makes of 'in_features' ", shape[1], " the 'out_features' ", shape[0], ", expected as many");
    if (i == 0) head["dense"] = m.activation;
    if (i == 1) head["norm"] = true;
    m.move_to(i == 0 ? "lexformer.head.dense" : "lexformer.head.norm", tensors);
  }
  last.move_to("lexformer.head.out", tensors);
  Json ours = Json::object();
  ours["head"] = "modules";
  ours["modules"] = std::move(head);
  return ours;
}

/// Makes of any number of Dense, and Normalize, what follows the pooling of a sentence encoder.
LEXFORMER_INLINE Json make_sentence_settings(std::vector<LaterModule>& modules, const std::string& pooling, const std::string& file,
                                             TensorFile& tensors) {
  Json dense = Json::array();
  bool normalize = false;
  for (LaterModule& m : modules) {
    if (m.kind == "LayerNorm")
      fail_file(file, "the module ", in_quotes(m.name),
                " is LayerNorm, which is supported before the Dense of a cross-encoder's scores alone");
    if (m.kind == "Dense" && normalize) fail_file(file, "a Dense module is not between Pooling and Normalize, which is not supported");
    normalize = normalize || m.kind == "Normalize";
    if (m.kind != "Dense") continue;
    m.move_to(cat("lexformer.dense.", dense.size()), tensors);
    dense.push_back(m.activation);
  }
  Json ours = Json::object();
  ours["pooling"] = pooling;
  ours["normalize"] = normalize;
  if (!dense.empty()) ours["dense"] = std::move(dense);
  return ours;
}

}  // namespace detail

LEXFORMER_INLINE SentenceModules read_sentence_modules(const std::filesystem::path& folder, TensorReadOptions options) {
  SentenceModules found;
  found.transformer = folder;
  const std::string file = (folder / "modules.json").string();
  if (!path_exists(file)) return found;
  std::string pooling;
  std::vector<detail::LaterModule> later;
  bool scores = false;
  const Json modules = parse_json(read_file(file), file);
  for (const Json& module : modules) {
    check_keys(module, "modules.json", file);
    const std::string type = get_string(module, "type", file), kind = type.substr(type.rfind('.') + 1);
    const auto place = detail::module_folder(folder, module, file);
    if (kind == "Transformer") {
      found.transformer = place;
    } else if (kind == "Pooling") {
      pooling = detail::read_pooling_mode(place);
    } else if (kind == "Dense" || kind == "LayerNorm") {
      if (pooling.empty()) fail_file(file, "a ", kind, " module is before Pooling, which is not supported");
      later.push_back(kind == "Dense" ? detail::read_dense(place, options) : detail::read_layer_norm(place, options));
      scores = scores || later.back().scores;
    } else if (kind == "Normalize" || kind == "Dropout") {
      if (place != folder) read_keys((place / "config.json").string(), kind);
      if (kind == "Normalize") later.push_back({kind, place.filename().string()});
    } else {
      fail_file(file, "the module ", in_quotes(kind), " is not supported; Transformer, Pooling, Dense, LayerNorm and Normalize are");
    }
  }
  if (pooling.empty()) return found;
  const std::string similarity = detail::read_sentence_config(folder);
  Json ours = scores ? detail::make_score_head(later, pooling, file, found.tensors)
                     : detail::make_sentence_settings(later, pooling, file, found.tensors);
  if (similarity != "cosine" && !scores) ours["similarity"] = similarity;
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
