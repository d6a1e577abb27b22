// SPDX-License-Identifier: MIT
// The keys of the files of a HuggingFace or sentence-transformers folder. A key that is neither read nor known to be without an effect on
// an encoder is an error, and so is a value that cannot be honoured: a setting is never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// The keys of an object that lexformer does not honour. `section`: a name at the start of a line of detail::folder_keys.
std::vector<std::string> refused_keys(const Json& object, const std::string& section);

/// Whether a section exists.
bool has_keys(const std::string& section);

/// Errors (file): the value is not an object, or has one of refused_keys().
void check_keys(const Json& object, const std::string& section, const std::string& where);

/// Reads the JSON object in a file and checks its keys; an empty object if there is no such file.
JsonValue read_keys(const std::string& path, const std::string& section);

namespace detail {

/// Section, rule, keys. Rules: the key is used; it is free to have any value; or it may have one of these values, or null.
/// tools/convert/folder_keys.py has the same text.
// clang-format off
inline constexpr std::string_view folder_keys = R"(
config.json | used | model_type vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size max_position_embeddings
config.json | used | type_vocab_size embedding_size hidden_dropout_prob attention_probs_dropout_prob classifier_dropout layer_norm_eps
config.json | used | initializer_range position_embedding_type position_options lexformer is_decoder tie_word_embeddings problem_type
config.json | used | sentence_transformers sbert_ce_default_activation_function tokenizer_class id2label
config.json | "gelu" "gelu_python" "gelu_new" "gelu_fast" "gelu_pytorch_tanh" "quick_gelu" "relu" "silu" "swish" "tanh" | hidden_act
config.json | free | architectures _name_or_path name_or_path _commit_hash transformers_version torch_dtype dtype label2id num_labels
config.json | free | finetuning_task task_specific_params gradient_checkpointing use_cache output_attentions output_hidden_states
config.json | free | output_past return_dict torchscript chunk_size_feed_forward attn_implementation _attn_implementation
config.json | free | _attn_implementation_autoset pad_token_id bos_token_id eos_token_id sep_token_id cls_token_id mask_token_id
config.json | free | unk_token_id decoder_start_token_id model_max_length language directionality pooler_fc_size
config.json | free | pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type summary_activation
config.json | free | summary_first_dropout summary_last_dropout summary_type summary_use_proj summary_proj_to_labels generator_size
config.json | free | generator_hidden_size max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty
config.json | free | temperature top_k top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size
config.json | free | encoder_no_repeat_ngram_size bad_words_ids num_return_sequences output_scores return_dict_in_generate
config.json | free | forced_bos_token_id forced_eos_token_id remove_invalid_values exponential_decay_length_penalty suppress_tokens
config.json | free | begin_suppress_tokens prefix use_bfloat16 tf_legacy_loss cross_attention_hidden_size tie_encoder_decoder vocab_file
config.json | free | type pretrained_model_name_or_path
config.json | false | add_cross_attention is_encoder_decoder
config.json | {} [] | pruned_heads
config.json | null | quantization_config auto_map
tokenizer_config.json | used | tokenizer_class do_lower_case strip_accents tokenize_chinese_chars model_max_length max_len
tokenizer_config.json | used | unk_token cls_token sep_token pad_token mask_token *_token additional_special_tokens extra_special_tokens
tokenizer_config.json | used | added_tokens_decoder
tokenizer_config.json | free | name_or_path special_tokens_map_file tokenizer_file vocab_file processor_class backend is_local
tokenizer_config.json | free | local_files_only files_loaded use_fast from_slow model_input_names clean_up_tokenization_spaces
tokenizer_config.json | free | max_length stride truncation truncation_strategy padding pad_to_multiple_of pad_token_type_id
tokenizer_config.json | free | chat_template cache_dir revision trust_remote_code
tokenizer_config.json | free | pad_token_id bos_token_id eos_token_id sep_token_id cls_token_id mask_token_id unk_token_id
tokenizer_config.json | "right" | padding_side truncation_side
tokenizer_config.json | false | split_special_tokens add_bos_token add_eos_token add_prefix_space
tokenizer_config.json | true | do_basic_tokenize clean_text
tokenizer_config.json | [] | never_split init_inputs
tokenizer_config.json | 100 | max_input_chars_per_word
tokenizer_config.json | "##" | wordpieces_prefix
tokenizer_config.json | null | auto_map
special_tokens_map.json | used | *_token additional_special_tokens extra_special_tokens
added token | used | id content single_word lstrip rstrip normalized
added token | free | special
added token | "AddedToken" | __type
tokenizer.json | used | truncation padding added_tokens normalizer pre_tokenizer post_processor model
tokenizer.json | free | version decoder
tokenizer.json: truncation | "Right" | direction
tokenizer.json: truncation | "LongestFirst" | strategy
tokenizer.json: truncation | 0 | stride
tokenizer.json: truncation | free | max_length
tokenizer.json: padding | "Right" | direction
tokenizer.json: padding | free | strategy pad_to_multiple_of pad_id pad_type_id pad_token
tokenizer.json: normalizer | used | lowercase strip_accents handle_chinese_chars clean_text
tokenizer.json: normalizer | "BertNormalizer" | type
tokenizer.json: pre_tokenizer | "BertPreTokenizer" | type
tokenizer.json: post_processor | used | single pair special_tokens cls sep
tokenizer.json: post_processor | free | trim_offsets add_prefix_space
tokenizer.json: post_processor | "TemplateProcessing" "BertProcessing" "RobertaProcessing" | type
tokenizer.json: model | used | unk_token max_input_chars_per_word vocab
tokenizer.json: model | "WordPiece" | type
tokenizer.json: model | "##" | continuing_subword_prefix
tokenizer.json: Sequence | used | type normalizers pretokenizers processors
tokenizer.json: NFC | used | type
tokenizer.json: NFD | used | type
tokenizer.json: NFKC | used | type
tokenizer.json: NFKD | used | type
tokenizer.json: Lowercase | used | type
tokenizer.json: StripAccents | used | type
tokenizer.json: Strip | used | type strip_left strip_right
tokenizer.json: Replace | used | type pattern content
tokenizer.json: Prepend | used | type prepend
tokenizer.json: Precompiled | used | type precompiled_charsmap
tokenizer.json: BertNormalizer | used | type lowercase strip_accents handle_chinese_chars clean_text
tokenizer.json: ByteLevel | used | type add_prefix_space use_regex trim_offsets
tokenizer.json: Metaspace | used | type replacement prepend_scheme split add_prefix_space
tokenizer.json: Metaspace | free | str_rep
tokenizer.json: WhitespaceSplit | used | type
tokenizer.json: Whitespace | used | type
tokenizer.json: Digits | used | type individual_digits
tokenizer.json: Punctuation | used | type behavior
tokenizer.json: BertPreTokenizer | used | type
tokenizer.json: TemplateProcessing | used | type single pair special_tokens
tokenizer.json: BertProcessing | used | type sep cls
tokenizer.json: RobertaProcessing | used | type sep cls trim_offsets add_prefix_space
tokenizer.json: BPE | used | type vocab merges unk_token fuse_unk ignore_merges
tokenizer.json: BPE | "" | continuing_subword_prefix end_of_word_suffix
tokenizer.json: BPE | false | byte_fallback
tokenizer.json: BPE | null | dropout
tokenizer.json: Unigram | used | type vocab unk_id byte_fallback
tokenizer_config.json: pipeline | free | add_prefix_space trim_offsets errors sp_model_kwargs legacy do_lower_case keep_accents remove_space
tokenizer_config.json: pipeline | free | split_by_punct vocab_type add_bos_token add_eos_token clean_text strip_accents unk_id
sentence_bert_config.json | used | max_seq_length do_lower_case
sentence_bert_config.json | free | unpad_inputs
sentence_bert_config.json | "feature-extraction" "sequence-classification" | transformer_task
sentence_bert_config.json | {"text":{"method":"forward","method_output_name":"last_hidden_state"}} {"text":{"method":"forward","method_output_name":"logits"}} | modality_config
sentence_bert_config.json | "token_embeddings" "scores" | module_output_name
sentence_bert_config.json | {} | processing_kwargs model_args tokenizer_args config_args model_kwargs processor_kwargs config_kwargs
sentence_bert_config.json | null | query_length document_length query_expansion tokenizer_name_or_path
config_sentence_transformers.json | used | prompts default_prompt_name activation_fn
config_sentence_transformers.json | "cosine" "dot" "euclidean" "manhattan" | similarity_fn_name
config_sentence_transformers.json | free | __version__
config_sentence_transformers.json | "SentenceTransformer" "CrossEncoder" | model_type
config_sentence_transformers.json | null | truncate_dim
modules.json | used | path type
modules.json | free | idx name
modules.json | [] | kwargs
Pooling | used | pooling_mode pooling_mode_cls_token pooling_mode_mean_tokens pooling_mode_max_tokens
Pooling | used | pooling_mode_mean_sqrt_len_tokens pooling_mode_weightedmean_tokens pooling_mode_lasttoken
Pooling | free | word_embedding_dimension embedding_dimension include_prompt
Dense | used | activation_function bias
Dense | free | in_features out_features
Dense | "sentence_embedding" | module_input_name
Dense | "sentence_embedding" "scores" | module_output_name
Dense | false | use_residual
LayerNorm | free | dimension
Normalize | "sentence_embedding" | module_input_name module_output_name
Dropout | free | dropout
)";
// clang-format on

}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <map>
#include <optional>

#include "lexformer/io/architecture.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

/// The values that a key may have; nothing: any.
using KeyRule = std::optional<std::vector<Json>>;

LEXFORMER_INLINE std::vector<std::string_view> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

LEXFORMER_INLINE const std::map<std::string, std::map<std::string, KeyRule>>& key_rules() {
  static const auto rules = [] {
    std::map<std::string, std::map<std::string, KeyRule>> all;
    for (const std::string_view line : split_at(folder_keys, "\n")) {
      if (line.empty()) continue;
      const auto parts = split_at(line, " | ");
      KeyRule rule;
      if (parts[1] != "used" && parts[1] != "free") {
        rule.emplace();
        for (const std::string_view value : split_at(parts[1], " ")) rule->push_back(Json::parse(value));
      }
      for (const std::string_view key : split_at(parts[2], " ")) all[std::string(parts[0])][std::string(key)] = rule;
    }
    return all;
  }();
  return rules;
}

/// The rule of a key; null if it is not known.
LEXFORMER_INLINE const KeyRule* find_rule(const std::string& key, const std::string& section) {
  const auto& rules = key_rules().at(section);
  auto found = rules.find(key);
  if (found == rules.end() && key.ends_with("_token")) found = rules.find("*_token");
  return found == rules.end() ? nullptr : &found->second;
}

LEXFORMER_INLINE bool may_be(const KeyRule& rule, const Json& value) {
  if (!rule || value.is_null()) return true;
  for (const Json& one : *rule)
    if (one == value && one.is_boolean() == value.is_boolean() && one.is_number_float() == value.is_number_float()) return true;
  return false;
}

}  // namespace detail

LEXFORMER_INLINE std::vector<std::string> refused_keys(const Json& object, const std::string& section) {
  std::vector<std::string> refused;
  for (const auto& [key, value] : object.items())
    if (const auto* rule = detail::find_rule(key, section); rule == nullptr || !detail::may_be(*rule, value)) refused.push_back(key);
  return refused;
}

LEXFORMER_INLINE bool has_keys(const std::string& section) { return detail::key_rules().contains(section); }

LEXFORMER_INLINE void check_keys(const Json& object, const std::string& section, const std::string& where) {
  if (!object.is_object()) fail_file(where, "is ", object.type_name(), ", expected an object");
  const auto refused = refused_keys(object, section);
  if (refused.empty()) return;
  // An unsupported kind of tokenizer has keys of its own; its name says more.
  const std::string key = std::find(refused.begin(), refused.end(), "type") != refused.end() ? "type" : refused.front();
  const auto* rule = detail::find_rule(key, section);
  if (rule == nullptr)
    fail_file(where, "the key ", in_quotes(key), " is not known and may change the results; take it out of the file if it does not");
  std::vector<std::string> allowed;
  for (const Json& one : **rule) allowed.push_back(one.dump());
  const std::string models = section.starts_with("tokenizer.json: model") ? "; WordPiece, BPE and Unigram are" : "";
  fail_file(where, in_quotes(key), " is ", detail::shown(object.at(key)), ", which is not supported; expected ", join(allowed, " or "),
            models);
}

LEXFORMER_INLINE JsonValue read_keys(const std::string& path, const std::string& section) {
  if (!path_exists(path)) return JsonValue::object();
  JsonValue object{parse_json(read_file(path), path)};
  check_keys(object, section, path);
  return object;
}

}  // namespace lexformer
#endif
