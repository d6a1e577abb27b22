# SPDX-License-Identifier: MIT
"""The keys of the files of a folder, and what each may be."""

import collections
import json
import os

from .errors import check, shown
from .families import SUPPORTED, translations
from .json_values import dump_json, read_json

# The keys of the files of a folder: used ones, those without an effect on an encoder, and those that may have only the values named
# (or null). Any other key is an error. The same text as in io/folder_keys.hpp.
FOLDER_KEYS = """\
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
"""


def parse_folder_keys():
    sections = collections.defaultdict(dict)
    for line in FOLDER_KEYS.splitlines():
        section, rule, keys = line.split(" | ")
        rule = None if rule in ("used", "free") else [json.loads(value) for value in rule.split()]
        sections[section].update(dict.fromkeys(keys.split(), rule))
    return sections


SECTIONS = parse_folder_keys()


def check_config_keys(config, family, path):
    """check_keys() of a config.json, with the names of the family."""
    rules = dict(SECTIONS["config.json"])
    moved = {theirs: rules.pop(canonical, None) for canonical, theirs in translations(family.keys)}
    rules.update({key: rule for key, rule in moved.items() if key})
    rules.update(dict.fromkeys(family.free_keys.split()))
    check_keys(config, "config.json", path, rules)


def check_keys(value, section, path, rules=None):
    """Refuses a key that lexformer neither reads nor knows to be without effect, and a value that it cannot honour."""
    check(isinstance(value, dict), path, "is %s, expected an object" % shown(value))
    rules = rules or SECTIONS[section]
    for key, item in sorted(value.items(), key=lambda pair: (pair[0] != "type", pair[0])):
        name = "*_token" if key not in rules and key.endswith("_token") else key
        check(name in rules, path, "the key %s is not known and may change the results; take it out of the file if it does not" % shown(key))
        allowed = rules[name]
        check(allowed is None or item is None or any(item == one and type(item) is type(one) for one in allowed), path,
              "%r is %s, which is not supported; expected %s%s" % (
                  key, dump_json(item) if isinstance(item, (bool, int, float)) else shown(item), " or ".join(map(dump_json, allowed or ())),
                  "; " + SUPPORTED if section.startswith("tokenizer.json") else ""))


def read_keys(path, section, missing=None):
    """The JSON object in a file, with the keys of a section of FOLDER_KEYS; `missing` if there is no such file and it is given."""
    if missing is not None and not os.path.exists(path):
        return missing
    value = read_json(path)
    check_keys(value, section, path)
    return value
