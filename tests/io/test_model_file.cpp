// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lexformer/io/json.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/io/tensor_check.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
namespace fs = std::filesystem;

namespace {
const std::vector<std::string> file_words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "caf\xC3\xA9"};

TensorFile tiny_tensors(const std::string& prefix, const std::string& weight) {
  TensorFile tensors;
  tensors.set(prefix + "embeddings.word_embeddings.weight", Tensor<float>::from({1, 2, 3, 4, 5, 6, 7, 8}, {8, 1}));
  tensors.set(prefix + "embeddings.LayerNorm." + weight, Tensor<float>::from({1.0f}));
  tensors.set(prefix + "encoder.layer.0.attention.self.query.weight", Tensor<float>::from({0.5f}, {1, 1}));
  return tensors;
}
void write(const std::string& path, const std::string& text) { write_file_atomic(path, text); }

/// A HuggingFace folder with a vocabulary of `file_words`.
struct TinyFolder : TemporaryFolder {
  TinyFolder() {
    write(*this / "config.json", R"({"model_type": "bert", "hidden_size": 1, "vocab_size": 8})");
    std::string vocab;
    for (const auto& word : file_words) vocab += word + "\r\n";
    write(*this / "vocab.txt", vocab);
    write(*this / "tokenizer_config.json",
          R"({"do_lower_case": false, "tokenizer_class": "BertTokenizer", "mask_token": {"content": "[MASK]"}})");
    TensorFile tensors = tiny_tensors("", "gamma");
    tensors.metadata["format"] = "pt";
    tensors.write(*this / "model.safetensors");
  }
  void refused(const std::string& file, const std::string& text, const std::string& part) const {
    const bool there = fs::exists(*this / file);
    const std::string old = there ? read_file(*this / file) : "";
    write(*this / file, text);
    expect_file_error([&] { ModelFile::open(path.string()); }, part);
    expect_file_error([&] { ModelFile::open(path.string()); }, path.string());
    if (there) {
      write(*this / file, old);
    } else {
      fs::remove(*this / file);
    }
  }
};

Json tokenizer_json_of(const std::vector<std::string>& tokens) {
  Json root = parse_json(R"({"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 50, "vocab": {}},
      "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": false, "strip_accents": true, "lowercase": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "added_tokens": [{"id": 4, "content": "[MASK]", "special": true}]})",
                         "test");
  for (std::size_t i = 0; i < tokens.size(); ++i) root["model"]["vocab"][tokens[i]] = i;
  return root;
}
}  // namespace

TEST_CASE("ModelFile: what is saved is opened, and saved again gives the same bytes") {
  const TemporaryFolder folder;
  ModelFile model;
  model.config = parse_json(R"({"model_type": "bert", "layer_norm_eps": 1e-12, "lexformer": {"pooling": "mean"}})", "c");
  model.vocabulary = Vocabulary(file_words);
  model.tokenizer.lowercase = false;
  model.tokenizer.strip_accents = true;
  model.tokenizer.match_special_tokens = false;
  model.tokenizer.max_word_chars = 64;
  model.tokenizer.add_sep = false;
  model.tokenizer.added_tokens = {{.content = "a", .lstrip = true}, {.content = "[MASK]", .normalized = true, .piece = false}};
  model.metadata["lexformer.seed"] = "7";
  model.tensors = tiny_tensors("bert.", "weight");
  model.save(folder / "a.lxf");

  const ModelFile back = ModelFile::open(folder / "a.lxf");
  CHECK(back.config == model.config);
  CHECK(back.vocabulary.tokens() == file_words);
  CHECK_FALSE(back.tokenizer.lowercase);
  CHECK(back.tokenizer.strip_accents == true);
  CHECK_FALSE(back.tokenizer.match_special_tokens);
  CHECK(back.tokenizer.max_word_chars == 64);
  CHECK(back.tokenizer.handle_chinese_chars);
  CHECK(back.tokenizer.added_tokens == model.tokenizer.added_tokens);
  CHECK(back.tokenizer.add_cls);
  CHECK_FALSE(back.tokenizer.add_sep);
  CHECK(back.tokenizer.add_middle_sep);
  CHECK(back.metadata == model.metadata);
  CHECK(back.tensors.names() == model.tensors.names());
  back.save(folder / "model.lxf");
  CHECK(read_file(folder / "a.lxf") == read_file(folder / "model.lxf"));
  CHECK(back.bytes() == read_file(folder / "a.lxf"));
  CHECK(ModelFile::parse(model.bytes(), "memory").bytes() == back.bytes());
  CHECK(ModelFile::open(folder.path.string()).metadata == model.metadata);  // a training checkpoint: the folder that contains model.lxf
  CHECK(make_tokenizer(back).encode("ab [MASK]", 10).ids == std::vector<std::int32_t>{2, 5, 1, 4});

  ModelFile bare;
  bare.tensors = tiny_tensors("bert.", "weight");
  bare.save(folder / "bare.lxf");
  bare = ModelFile::open(folder / "bare.lxf");
  CHECK(bare.vocabulary.size() == 0);
  expect_file_error([&] { make_tokenizer(bare); }, "bare.lxf: the model has no vocabulary");
}

TEST_CASE("ModelFile: texts of a .lxf file that do not fit") {
  const TemporaryFolder folder;
  ModelFile model;
  model.vocabulary = Vocabulary(file_words);
  model.tensors = tiny_tensors("bert.", "weight");
  model.save(folder / "a.lxf");
  const TensorFile good = TensorFile::read(folder / "a.lxf");
  const auto refused = [&](const std::string& key, const std::optional<std::string>& text, const std::string& part) {
    TensorFile bad = good;
    bad.metadata.erase(key);
    if (text) bad.metadata[key] = *text;
    bad.write(folder / "b.lxf");
    expect_file_error([&] { ModelFile::open(folder / "b.lxf"); }, "b.lxf: " + part);
  };
  refused("lexformer.format", {}, "is a safetensors file without lexformer.format");
  refused("lexformer.format", "2", "has format version '2', this program reads version 1");
  refused("lexformer.config", {}, "lexformer.config is missing");
  refused("lexformer.config", "{", "lexformer.config: not JSON");
  refused("lexformer.config", "[]", "lexformer.config is no JSON object");
  refused("lexformer.config", "{\"vocab_size\":7}", "the vocabulary has 8 tokens, the config allows 7");
  refused("lexformer.config", "{\"vocab_size\":-8}", "config: 'vocab_size' is -8");
  refused("lexformer.vocab", good.metadata.at("lexformer.vocab") + "x\n", "lexformer.vocab does not fit its checksum");
  refused("lexformer.vocab_crc32", {}, "lexformer.vocab does not fit its checksum");
  refused("lexformer.tokenizer", {}, "lexformer.tokenizer: the key 'do_lower_case' is missing");
  Json flags = parse_json(good.metadata.at("lexformer.tokenizer"), "x");
  flags["new_flag"] = true;
  refused("lexformer.tokenizer", flags.dump(), "lexformer.tokenizer: has 12 keys, 11 are known");
  flags.erase("new_flag");
  flags["max_input_chars_per_word"] = 1u;
  CHECK(parse_tokenizer_json(flags, "x").max_word_chars == 1);
  flags["max_input_chars_per_word"] = 0u;
  refused("lexformer.tokenizer", flags.dump(), "lexformer.tokenizer: 'max_input_chars_per_word' is 0, expected a whole number from 1");
  flags["max_input_chars_per_word"] = 100u;
  flags["added_tokens"] = 1u;
  refused("lexformer.tokenizer", flags.dump(), "lexformer.tokenizer: 'added_tokens' is number, expected an array");
  flags["added_tokens"] = parse_json(R"([{"content": "x", "lstrip": 0}])", "");
  refused("lexformer.tokenizer", flags.dump(), "lexformer.tokenizer: 'lstrip' is 0, expected true or false");
  AddedToken other{.content = "none"};
  flags["added_tokens"] = tokenizer_json({.added_tokens = {other}})["added_tokens"];
  refused("lexformer.tokenizer", flags.dump(), "the vocabulary of 8 tokens has no 'none'");
  flags.erase("added_tokens");
  flags["cls_token"] = "<s>";
  refused("lexformer.tokenizer", flags.dump(), "the vocabulary of 8 tokens has no '<s>'");
  expect_file_error([] { parse_vocabulary_text(std::string(Vocabulary::max_size + 1, '\n'), "memory"); },
                    "memory: has more than 1048576 tokens");
  CHECK(ModelFile::parse(read_file(folder / "a.lxf"), "memory").vocabulary.tokens() == file_words);
  expect_file_error([&] { ModelFile::parse("", "memory"); }, "memory: has 0 bytes");
  expect_file_error([&] { ModelFile::open(folder / "none.lxf"); }, "none.lxf: cannot be opened");
  write(folder / "empty.lxf", "");
  expect_file_error([&] { ModelFile::open(folder / "empty.lxf"); }, "empty.lxf: has 0 bytes");
}

TEST_CASE("ModelFile: a HuggingFace folder as it is") {
  const TinyFolder folder;
  ModelFile model = ModelFile::open(folder.path.string());
  CHECK(model.vocabulary.tokens() == file_words);
  CHECK_FALSE(model.tokenizer.lowercase);
  CHECK(model.tokenizer.max_word_chars == 100);
  CHECK(model.tensors.names() == tiny_tensors("bert.", "weight").names());
  CHECK(model.tensors.metadata.empty());  // the metadata of the original writer do not apply to the new file

  // tokenizer.json has priority over vocab.txt. How a text is split: tokenizer_config.json for a tokenizer of BERT, else tokenizer.json.
  write(folder / "tokenizer.json", tokenizer_json_of({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "q"}).dump());
  model = ModelFile::open(folder.path.string());
  CHECK(model.vocabulary.size() == 6);
  CHECK(model.vocabulary.id("q") == 5);
  CHECK(model.tokenizer.max_word_chars == 100);
  CHECK_FALSE(model.tokenizer.strip_accents.has_value());
  CHECK(model.tokenizer.handle_chinese_chars);
  CHECK_FALSE(model.tokenizer.lowercase);
  write(folder / "tokenizer_config.json", R"({"do_lower_case": false, "tokenizer_class": "PreTrainedTokenizerFast"})");
  model = ModelFile::open(folder.path.string());
  CHECK(model.tokenizer.max_word_chars == 50);
  CHECK(model.tokenizer.strip_accents == true);
  CHECK_FALSE(model.tokenizer.handle_chinese_chars);
  CHECK(model.tokenizer.lowercase);
  CHECK_FALSE(model.tokenizer.add_cls);  // there is no post_processor
  CHECK_FALSE(model.tokenizer.match_special_tokens);
  CHECK(model.tokenizer.added_tokens == std::vector<AddedToken>{{.content = "[MASK]"}});
  const auto bad_tokenizer = [&](const char* pointer, const Json& value, const std::string& part) {
    Json root = tokenizer_json_of(file_words);
    root[Json::json_pointer(pointer)] = value;
    folder.refused("tokenizer.json", root.dump(), "tokenizer.json: " + part);
  };
  bad_tokenizer("/model/type", "BPE", "model: 'continuing_subword_prefix' is '##', which is not supported; expected \"\"");
  Json foreign = tokenizer_json_of(file_words);  // like GPT-2's
  foreign["model"]["type"] = "BPE";
  foreign["normalizer"] = nullptr;
  folder.refused("tokenizer.json", foreign.dump(), "tokenizer.json: model: 'continuing_subword_prefix' is '##'");
  bad_tokenizer("/model/continuing_subword_prefix", "@@", "model: 'continuing_subword_prefix' is '@@', which is not supported");
  bad_tokenizer("/model/vocab/a", 6, "two tokens have the id 6");
  bad_tokenizer("/model/vocab/a", -1, "vocab: 'a' is -1");
  bad_tokenizer("/model/vocab/a", 1099511627776, "vocab: 'a' is 1099511627776");
  bad_tokenizer("/model/vocab/a", 4194304, "vocab: 'a' is 4194304");  // a small file that requests much memory

  bad_tokenizer("/model/vocab", Json::array(), "'vocab' is array, expected an object");
  bad_tokenizer("/model/vocab/", 9, "the token with id 9 is empty or holds a line feed");
  bad_tokenizer("/model/vocab/a\nb", 9, "the token with id 9 is empty or holds a line feed");
  bad_tokenizer("/model/max_input_chars_per_word", 0, "model: 'max_input_chars_per_word' is 0, expected a whole number from 1");
  Json one = tokenizer_json_of(file_words);
  one["model"]["max_input_chars_per_word"] = 1;
  write(folder / "tokenizer.json", one.dump());
  CHECK(ModelFile::open(folder.path.string()).tokenizer.max_word_chars == 1);
  bad_tokenizer("/added_tokens", Json::object(), "'added_tokens' is object, expected an array");
  bad_tokenizer("/normalizer/strip_accents", 1, "normalizer: 'strip_accents' is 1, expected true or false");
  bad_tokenizer("/normalizer/type", "Sequence", "normalizer: 'type' is 'Sequence'");
  bad_tokenizer("/normalizer/nfc", true, "normalizer: the key 'nfc' is not known and may change the results");
  bad_tokenizer("/pre_tokenizer", nullptr, "'pre_tokenizer' is null");
  bad_tokenizer("/pre_tokenizer/type", "Metaspace", "pre_tokenizer: 'type' is 'Metaspace'");
  bad_tokenizer("/added_tokens", parse_json(R"([{"id": 4, "content": "a"}, {"id": 4, "content": "b"}])", ""), "two tokens have the id 4");
  Json moved = tokenizer_json_of(file_words);
  moved["added_tokens"][0]["content"] = "[COL]";
  folder.refused("tokenizer.json", moved.dump(), "the added token '[COL]' has the id 4 in one file, but its place is 8");
  fs::remove(folder / "tokenizer.json");
  write(folder / "tokenizer_config.json", "{}");

  folder.refused("config.json", R"({"model_type": "t5"})", "config.json: 'model_type' is 't5', which is not supported; lexformer reads");
  folder.refused("config.json", R"({"model_type": 3})", "config.json: 'model_type' is 3, expected a text");
  folder.refused("config.json", "", "config.json: not JSON");
  folder.refused("config.json", R"({"model_type": "bert", "is_decoder": true})", "only encoders are supported");
  folder.refused("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})", "'tokenizer_class' is 'RobertaTokenizer'");
  folder.refused("tokenizer_config.json", R"({"do_basic_tokenize": false})", "'do_basic_tokenize' is false");
  folder.refused("tokenizer_config.json", R"({"added_tokens_decoder": {"9": {"content": "[COL]"}}})",
                 "the added token '[COL]' has the id 9 in one file, but its place is 8");
  folder.refused("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "[COL]"}}})",
                 "'added_tokens_decoder' has the key 'x', expected an id");
  write(folder / "added_tokens.json", R"({"[MASK]": 4})");
  ModelFile::open(folder.path.string());
  folder.refused("added_tokens.json", R"({"[COL]": 8})", "the vocabulary has 9 tokens, the config allows 8");
  fs::remove(folder / "added_tokens.json");
  folder.refused("vocab.txt", "[PAD]\n[CLS]\n", "the vocabulary of 2 tokens has no '[UNK]'");
  folder.refused("vocab.txt", "", "the vocabulary of 0 tokens has no '[UNK]'");
  folder.refused("model.safetensors", "", "model.safetensors: has 0 bytes");
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
                    page = "\n<!DOCTYPE html>\n<html></html>\n";
  for (const char* file : {"model.safetensors", "vocab.txt", "config.json"}) {
    folder.refused(file, pointer, std::string(file) + ": is a pointer of Git LFS and not the file itself; fetch it: git lfs pull");
    folder.refused(file, page, std::string(file) + ": is a page of HTML and not the file itself");
  }
  folder.refused("adapter_config.json", "{}", "has an adapter (adapter_config.json)");

  fs::rename(folder / "vocab.txt", folder / "v");
  folder.refused("tokenizer.model", "x", "tokenizer.model: this kind of tokenizer is not supported");
  folder.refused("spiece.model", "x", "spiece.model: there is no tokenizer.json beside it; tools/convert_hf.py makes one from this file");
  expect_file_error([&] { ModelFile::open(folder.path.string()); }, "neither vocab.txt nor tokenizer.json");
  fs::rename(folder / "v", folder / "vocab.txt");
  fs::remove(folder / "model.safetensors");
  folder.refused("pytorch_model.bin", "x", "convert them with tools/convert_hf.py");
  expect_file_error([&] { ModelFile::open(folder.path.string()); }, "there is neither model.safetensors nor");
}

TEST_CASE("ModelFile: shards, buffers, tied and doubled tensors, pooling") {
  const TinyFolder folder;
  fs::remove(folder / "model.safetensors");
  TensorFile first = tiny_tensors("bert.", "weight"), second;
  first.set("bert.embeddings.position_ids", Tensor<std::int64_t>::from({0, 1}));
  second.set("cls.predictions.bias", Tensor<float>::from({1.0f}));
  second.set("cls.predictions.decoder.bias", Tensor<float>::from({1.0f}));
  second.set("cls.predictions.decoder.weight", Tensor<float>::from({1.0f}));
  const auto write_index = [&] {
    Json index = {{"weight_map", Json::object()}};
    for (const auto& name : first.names()) index["weight_map"][name] = "one.safetensors";
    for (const auto& name : second.names()) index["weight_map"][name] = "two.safetensors";
    first.write(folder / "one.safetensors");
    second.write(folder / "two.safetensors");
    write(folder / "model.safetensors.index.json", index.dump());
    return index;
  };
  write_index();
  auto expected = tiny_tensors("bert.", "weight").names();
  expected.push_back("cls.predictions.bias");
  CHECK(ModelFile::open(folder.path.string()).tensors.names() == expected);

  second.erase("cls.predictions.bias");
  write(folder / "config.json", R"({"model_type": "bert", "tie_word_embeddings": false})");
  Json index = write_index();
  expected.push_back("cls.predictions.decoder.weight");
  CHECK(ModelFile::open(folder.path.string()).tensors.names() == expected);

  const auto bad_index = [&](const std::string& name, const Json& shard, const std::string& part) {
    Json bad = index;
    bad["weight_map"][name] = shard;
    folder.refused("model.safetensors.index.json", bad.dump(), part);
  };
  bad_index("new", "two.safetensors", "tensor 'new' is in none of the files");
  bad_index("cls.predictions.decoder.bias", "one.safetensors", "does not place tensor 'cls.predictions.decoder.bias' in 'two.safetensors'");
  bad_index("new", "", "'' is no plain file name");
  bad_index("new", ".two.safetensors", "'.two.safetensors' is no plain file name");
  folder.refused("model.safetensors.index.json", R"({"weight_map": []})", "'weight_map' is array, expected an object");
  bad_index("new", "../two.safetensors", "'../two.safetensors' is no plain file name");
  bad_index("new", 1, "'new' is 1, expected a text");
  bad_index("new", "three.safetensors", "three.safetensors: cannot be opened");

  write(folder / "modules.json",
        R"([{"path": "", "type": "a.Transformer"}, {"path": "1_Pooling", "type": "a.Pooling"}, {"path": "2", "type": "a.Normalize"}])");
  fs::create_directory(folder / "1_Pooling");
  const std::string pooling = "1_Pooling/config.json";
  write(folder / pooling, R"({"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true, "include_prompt": true})");
  CHECK(ModelFile::open(folder.path.string()).config["lexformer"] == parse_json(R"({"pooling": "mean", "normalize": true})", ""));
  write(folder / pooling, R"({"pooling_mode": "cls"})");
  CHECK(ModelFile::open(folder.path.string()).config["lexformer"]["pooling"] == "cls");
  folder.refused(pooling, R"({"pooling_mode_lasttoken": true})", "pooling 'lasttoken' is not supported; mean, cls and max are");
  folder.refused("modules.json", R"([{"path": "../x", "type": "a.Pooling"}])", "'../x' is no plain folder name");

  // The transformer is in a subfolder, and its config is so old that it has no model type.
  write(folder / pooling, R"({"pooling_mode": "mean"})");
  write(folder / "config.json", R"({"tie_word_embeddings": false})");
  fs::create_directory(folder / "0_Transformer");
  for (const char* name :
       {"config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors.index.json", "one.safetensors", "two.safetensors"})
    fs::rename(folder / name, folder / ("0_Transformer/" + std::string(name)));
  write(folder / "modules.json", R"([{"path": "0_Transformer", "type": "a.Transformer"}, {"path": "1_Pooling", "type": "a.Pooling"}])");
  const auto model = ModelFile::open(folder.path.string());
  CHECK(model.tensors.names() == expected);
  CHECK(model.config["model_type"] == "bert");
  CHECK(model.config["lexformer"]["pooling"] == "mean");
  folder.refused("modules.json", R"([{"path": "../x", "type": "a.Transformer"}])", "'../x' is no plain folder name");
}

TEST_CASE("ModelFile: the modules of a sentence-transformers folder") {
  const TinyFolder folder;
  const auto settings = [&] { return ModelFile::open(folder.path.string()).config["lexformer"]; };
  for (const char* name : {"1_Pooling", "2_Dense", "3_Dense"}) fs::create_directory(folder / name);
  const auto modules = [](const std::vector<std::string>& kinds) {
    Json all = Json::array();
    for (std::size_t i = 0; i < kinds.size(); ++i)
      all.push_back({{"path", i == 0 ? "" : cat(i, "_", kinds[i])}, {"type", "sentence_transformers.models." + kinds[i]}});
    return all.dump();
  };
  write(folder / "modules.json", modules({"Transformer", "Pooling", "Dense", "Dense", "Normalize", "Dropout"}));
  write(folder / "1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  write(folder / "2_Dense/config.json", R"({"activation_function": "torch.nn.modules.activation.Tanh", "in_features": 1})");
  const std::string last = "3_Dense/config.json", identity = R"({"activation_function": "torch.nn.modules.linear.Identity"})";
  write(folder / last, identity);
  TensorFile first, second;
  first.set("linear.weight", Tensor<float>::from({1, 2}, {2, 1}));
  first.set("linear.bias", Tensor<float>::from({3, 4}, {2}));
  second.set("linear.weight", Tensor<float>::from({5, 6}, {1, 2}));  // "bias": false
  first.write(folder / "2_Dense/model.safetensors");
  second.write(folder / "3_Dense/model.safetensors");
  CHECK(settings() == parse_json(R"({"pooling": "max", "normalize": true, "dense": ["tanh", "identity"]})", ""));
  const auto tensors = ModelFile::open(folder.path.string()).tensors;
  CHECK(tensors.get<float>("lexformer.dense.0.bias").to_vector() == std::vector<float>{3, 4});
  CHECK(tensors.get<float>("lexformer.dense.1.weight").to_vector() == std::vector<float>{5, 6});
  CHECK(tensors.get<float>("lexformer.dense.1.bias").to_vector() == std::vector<float>{0});

  // The length of texts: sentence-transformers' own setting before that of the tokenizer, where 10^30 says nothing.
  write(folder / "tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  CHECK_FALSE(settings().contains("max_length"));
  write(folder / "tokenizer_config.json", R"({"model_max_length": 128})");
  CHECK(settings()["max_length"] == 128u);
  write(folder / "sentence_bert_config.json", R"({"max_seq_length": 64})");
  CHECK(settings()["max_length"] == 64u);

  folder.refused(last, R"({"activation_function": "x.Softmax"})", "'x.Softmax' is not supported; Tanh, Identity, ReLU, GELU and SiLU are");
  folder.refused(last, R"({"activation_function": "x.Tanh", "module_output_name": "token_embeddings"})",
                 "'module_output_name' is 'token_embeddings', which is not supported; expected \"sentence_embedding\"");
  folder.refused("2_Dense/config.json", R"({"activation_function": "x.Tanh", "bias": false})",
                 "'bias' is false, but the weights have a bias");
  write(folder / last, identity);
  first.erase("linear.weight");
  first.write(folder / "2_Dense/model.safetensors");
  expect_file_error([&] { ModelFile::open(folder.path.string()); }, "there is no matrix 'linear.weight'");
  folder.refused("modules.json", modules({"Transformer", "Pooling", "Normalize", "Dense"}), "is not between Pooling and Normalize");
  folder.refused("modules.json", modules({"Transformer", "Pooling", "WordWeights"}), "the module 'WordWeights' is not supported");
  write(folder / "modules.json", modules({"Transformer", "Pooling"}));
  folder.refused("config_sentence_transformers.json", R"({"default_prompt_name": "query", "prompts": {"query": "find: "}})",
                 "the default prompt 'query' is not supported");
  write(folder / "config_sentence_transformers.json", R"({"default_prompt_name": null, "prompts": {"query": "find: "}})");
  CHECK(settings()["pooling"] == "max");
  folder.refused("config_sentence_transformers.json", R"({"default_prompt_name": "query", "prompts": {}})", "'prompts' has no such prompt");
  CHECK_FALSE(settings().contains("similarity"));
  write(folder / "config_sentence_transformers.json", R"({"similarity_fn_name": "dot"})");
  CHECK(settings()["similarity"] == "dot");
  // Lower case before the tokenizer, which alone decides about accents.
  write(folder / "tokenizer_config.json", R"({"do_lower_case": false})");
  write(folder / "sentence_bert_config.json", R"({"do_lower_case": true})");
  const TokenizerOptions lower = ModelFile::open(folder.path.string()).tokenizer;
  CHECK(lower.lowercase);
  CHECK(lower.strip_accents == false);
}

TEST_CASE("ModelFile: the modules of a cross-encoder of sentence-transformers") {
  const TinyFolder folder;
  const std::vector<std::string> whole{"2_Dense", "3_LayerNorm", "4_Dense"};
  const auto modules = [](std::vector<std::string> places) {
    Json all = Json::array();
    places.insert(places.begin(), {"", "1_Pooling"});
    for (const std::string& place : places)
      all.push_back({{"path", place}, {"type", "x." + (place.empty() ? "Transformer" : place.substr(2))}});
    return all.dump();
  };
  for (const std::string place : {"1_Pooling", "2_Dense", "3_LayerNorm", "4_Dense", "5_Normalize"}) fs::create_directory(folder / place);
  const std::string gelu = R"({"activation_function": "torch.nn.modules.activation.GELU", "bias": false})",
                    scores = R"({"activation_function": "torch.nn.modules.linear.Identity", "module_output_name": "scores"})";
  write(folder / "modules.json", modules(whole));
  write(folder / "1_Pooling/config.json", R"({"pooling_mode": "cls"})");
  write(folder / "2_Dense/config.json", gelu);
  write(folder / "3_LayerNorm/config.json", R"({"dimension": 1})");
  write(folder / "4_Dense/config.json", scores);
  const auto put = [&](const std::string& place, const std::string& layer, const Tensor<float>& weight, float bias) {
    TensorFile tensors;
    tensors.set(layer + ".weight", weight);
    if (bias != 0) tensors.set(layer + ".bias", Tensor<float>::full({weight.dim(0)}, bias));
    tensors.write(folder / (place + "/model.safetensors"));
  };
  put("2_Dense", "linear", Tensor<float>::from({2}, {1, 1}), 0);
  put("3_LayerNorm", "norm", Tensor<float>::from({3.0f}), 4);
  put("4_Dense", "linear", Tensor<float>::from({5}, {1, 1}), 6);
  const auto settings = [&] { return ModelFile::open(folder.path.string()).config["lexformer"]; };
  Json expected =
      parse_json(R"({"head": "modules", "modules": {"pooling": "cls", "dense": "gelu", "norm": true}, "labels": 1, "task": "regression",
                                 "max_length": 512, "activation": "sigmoid"})",
                 "");
  CHECK(settings() == expected);
  const auto tensors = ModelFile::open(folder.path.string()).tensors;
  const std::pair<const char*, float> values[] = {{"dense.weight", 2}, {"dense.bias", 0}, {"norm.weight", 3},
                                                  {"norm.bias", 4},    {"out.weight", 5}, {"out.bias", 6}};
  for (const auto& [name, value] : values) CHECK(tensors.get<float>(cat("lexformer.head.", name)).to_vector() == std::vector<float>{value});
  write(folder / "config_sentence_transformers.json",
        R"({"activation_fn": "torch.nn.modules.linear.Identity", "model_type": "CrossEncoder"})");
  write(folder / "tokenizer_config.json", R"({"model_max_length": 9})");
  expected["activation"] = "identity";
  expected["max_length"] = 9u;
  CHECK(settings() == expected);
  // Without the LayerNorm, and with the last Dense alone.
  write(folder / "modules.json", modules({"2_Dense", "4_Dense"}));
  CHECK(settings()["modules"] == parse_json(R"({"pooling": "cls", "dense": "gelu", "norm": false})", ""));
  write(folder / "modules.json", modules({"4_Dense"}));
  CHECK(settings()["modules"] == parse_json(R"({"pooling": "cls", "norm": false})", ""));
  put("4_Dense", "linear", Tensor<float>::from({5, 6, 7}, {3, 1}), 6);
  CHECK(settings()["task"] == "classification");
  CHECK(settings()["labels"] == 3u);

  const auto refused = [&](std::vector<std::string> places, const std::string& message) {
    folder.refused("modules.json", modules(std::move(places)), message);
  };
  refused({"4_Dense", "2_Dense"}, "the module '2_Dense' is after the one whose 'module_output_name' is 'scores'");
  refused({"3_LayerNorm", "4_Dense"}, "the module '3_LayerNorm' is LayerNorm, which is not supported in this place");
  refused({"2_Dense", "2_Dense", "4_Dense"}, "the module '2_Dense' is Dense, which is not supported in this place");
  refused({"2_Dense", "5_Normalize", "4_Dense"}, "the module '5_Normalize' is Normalize, which is not supported in this place");
  refused({"2_Dense", "3_LayerNorm"}, "is LayerNorm, which is supported before the Dense of a cross-encoder's scores alone");
  write(folder / "modules.json", modules(whole));
  folder.refused("4_Dense/config.json", R"({"activation_function": "x.Tanh", "module_output_name": "scores"})",
                 "the module '4_Dense' gives scores by the 'activation_function' tanh, expected Identity");
  write(folder / "4_Dense/config.json", scores);
  folder.refused("2_Dense/config.json", R"({"activation_function": "x.GELU", "use_residual": true})", "'use_residual' is true");
  write(folder / "2_Dense/config.json", gelu);
  put("3_LayerNorm", "norm", Tensor<float>::from({3.0f}), 0);
  expect_file_error([&] { ModelFile::open(folder.path.string()); }, "there is no 'norm.bias'");
  put("3_LayerNorm", "norm", Tensor<float>::from({3.0f}), 4);
  put("2_Dense", "linear", Tensor<float>::from({2, 3}, {2, 1}), 0);
  expect_file_error([&] { ModelFile::open(folder.path.string()); }, "the module '2_Dense' makes of 'in_features' 1 the 'out_features' 2");
}

TEST_CASE("ModelFile: names within a wrapper") {
  const TinyFolder folder;
  const auto names = [&](const std::string& prefix, bool other) {
    TensorFile tensors = tiny_tensors(prefix, "weight");
    if (other) tensors.set("loss.weight", Tensor<float>::from({1.0f}));
    tensors.write(folder / "model.safetensors");
    return ModelFile::open(folder.path.string()).tensors.names();
  };
  const auto expected = tiny_tensors("bert.", "weight").names();
  for (const char* prefix : {"module.", "module.bert.", "model.module.bert.", "_orig_mod.bert.", "0.auto_model."})
    CHECK(names(prefix, false) == expected);
  CHECK(names("model.bert.", true).back() == "loss.weight");
  CHECK(names("model.bert.", true).size() == expected.size() + 1);
  CHECK(names("mine.bert.", true).back().starts_with("mine.bert."));
  // "distilbert." ends with "bert.", the prefix of another family.
  for (const std::string wrapper : {"", "module."})
    CHECK(detail::wrapper_prefix({wrapper + "distilbert.embeddings.word_embeddings.weight"}, find_architecture("distilbert", "")) ==
          wrapper);
}

TEST_CASE("ModelFile: names of each family within a wrapper") {
  for (const Architecture& a : architectures())
    for (const std::string wrapper : {"", "module.", "_orig_mod.", "model.", "module._orig_mod.", "mine."})
      for (const std::string_view prefix : {a.prefix, std::string_view()}) {
        CAPTURE(cat(a.model_type, ": ", wrapper, prefix));
        const bool same = wrapper == a.prefix && prefix.empty();  // "model." is also the prefix of ModernBERT
        const std::vector<std::string> names{cat(wrapper, prefix, word_tensor(a)), cat(wrapper, "classifier.weight")};
        CHECK(detail::wrapper_prefix(names, a) == (same ? "" : wrapper));
        TensorFile tensors;
        for (const std::string& name : names) tensors.set(name, Tensor<float>::from({1.0f}, {1, 1}));
        detail::normalize_names(tensors, a, true, 1);
        CHECK(tensors.contains(cat(a.prefix, "embeddings.word_embeddings.weight")));
        CHECK(tensors.contains("classifier.weight"));
      }
}

TEST_CASE("ModelFile: vocabulary and tokenizer as texts") {
  CHECK(parse_vocabulary_text("a\n\nb\n", "w").tokens() == std::vector<std::string>{"a", "", "b"});
  expect_file_error([] { parse_vocabulary_text("a\nb", "w"); }, "w: the last token does not end with a line feed");
  const TinyFolder folder;
  write(folder / "tokenizer_config.json",
        R"({"do_lower_case": true, "strip_accents": false, "tokenize_chinese_chars": false, "cls_token": "a", "tokenizer_class": null})");
  CHECK(ModelFile::open(folder.path.string()).tokenizer.added_tokens.empty());
  TokenizerOptions options = ModelFile::open(folder.path.string()).tokenizer;
  CHECK(options.lowercase);
  CHECK(options.strip_accents == false);
  CHECK_FALSE(options.handle_chinese_chars);
  CHECK(options.cls == "a");
  CHECK(options.sep == "[SEP]");
  write(folder / "tokenizer_config.json", R"({"strip_accents": null})");
  options = ModelFile::open(folder.path.string()).tokenizer;
  CHECK(options.lowercase);
  CHECK_FALSE(options.strip_accents.has_value());
}

TEST_CASE("ModelFile: the tensors of an Electra generator, and of a model whose output layer is tied") {
  const TinyFolder folder;
  write(folder / "config.json", R"({"model_type": "electra", "vocab_size": 8})");
  TensorFile tensors = tiny_tensors("", "weight");
  tensors.set("generator_lm_head.weight", Tensor<float>::from({1.0f}));
  tensors.set("embeddings_project.weight", Tensor<float>::from({1.0f}));
  tensors.set("pooler.dense.weight", Tensor<float>::from({1.0f}));
  tensors.set("embeddings.LayerNorm.beta", Tensor<float>::from({1.0f}));
  tensors.set("embeddings.token_type_ids", Tensor<std::int64_t>::from({0}));
  tensors.write(folder / "model.safetensors");
  auto expected = tiny_tensors("electra.", "weight").names();
  for (const char* name : {"electra.embeddings_project.weight", "electra.pooler.dense.weight", "electra.embeddings.LayerNorm.bias"})
    expected.push_back(name);
  std::sort(expected.begin(), expected.end());
  CHECK(ModelFile::open(folder.path.string()).tensors.names() == expected);
  // A folder with pooling but without a transformer module.
  write(folder / "modules.json", R"([{"path": "", "type": "a.Normalize"}])");
  CHECK_FALSE(ModelFile::open(folder.path.string()).config->contains("lexformer"));
}

TEST_CASE("require_tensors: one message for all that does not fit, with the nearest name") {
  const TensorFile file = tiny_tensors("bert.", "gamma");
  const std::string norm = "bert.embeddings.LayerNorm.", words_name = "bert.embeddings.word_embeddings.weight";
  const std::string query = "bert.encoder.layer.0.attention.self.query.weight";
  std::vector<ExpectedTensor> expected = {{words_name, {8, 1}}, {norm + "gamma", {1}}, {query, {1, 1}}};
  CHECK_NOTHROW(require_tensors(file, expected, "x.lxf"));
  expected[1].name = norm + "weight";
  expected[2].shape = {2, 2};
  const auto report = compare_tensors(file, expected);
  CHECK(report.missing == std::vector<std::string>{norm + "weight"});
  CHECK(report.unexpected == std::vector<std::string>{norm + "gamma"});
  expect_file_error([&] { require_tensors(file, expected, "x.lxf"); }, "x.lxf: the config does not fit the tensors: '" + query +
                                                                           "' has shape (1, 1), expected (2, 2). '" + norm +
                                                                           "weight' is missing; the file has '" + norm + "gamma'");
  for (int i = 0; i < 5; ++i) expected.push_back({cat("zzzz", i), {1}});
  expect_file_error([&] { require_tensors(file, expected, "x.lxf"); }, "'zzzz0' is missing. And 4 more");
}

TEST_CASE("ModelFile: what is given in place of a model") {
  const TemporaryFolder folder;
  const auto refused = [](const std::string& path, const std::string& part) { expect_file_error([&] { ModelFile::open(path); }, part); };
  refused("sentence-transformers/all-MiniLM-L6-v2",
          "all-MiniLM-L6-v2: cannot be opened: No such file or directory, neither file nor folder; "
          "nothing is downloaded: for a model of a hub fetch its files and name their folder");
  refused(folder / "none.lxf", "none.lxf: cannot be opened: No such file");
  refused(folder.path.string(), "holds no model: there is neither model.lxf nor a HuggingFace model's config.json");
  write(folder / "tr.tsv", "left\tright\tlabel\na\tb\t1\n");
  refused(folder / "tr.tsv", "tr.tsv: is a text, perhaps a table, and no model");
  write(folder / "zeros.lxf", "");
  fs::resize_file(folder / "zeros.lxf", 40ull << 30);  // a sparse file; 4 GB took 30 s
  refused(folder / "zeros.lxf", "the header does not begin with '{'");
  if (fs::exists("/dev/zero")) refused("/dev/zero", "/dev/zero: the header does not begin with '{'");
  fs::create_symlink(folder / "loop", folder / "loop");
  refused(folder / "loop", "loop: cannot be opened: Too many levels");
  refused(folder / std::string(300, 'x'), "cannot be opened: File name too long");
}

TEST_CASE("ModelFile: the activation of a CrossEncoder of sentence-transformers") {
  const TinyFolder folder;
  const auto activation = [&](std::size_t labels, const std::string& more) {
    TensorFile tensors = tiny_tensors("bert.", "weight");
    if (labels != 0) tensors.set("classifier.weight", Tensor<float>::from(std::vector<float>(labels), {labels, 1}));
    tensors.write(folder / "model.safetensors");
    write(folder / "config.json", R"({"model_type": "bert", "vocab_size": 8)" + more + "}");
    const Json config = ModelFile::open(folder.path.string()).config;
    return config.contains("lexformer") ? config["lexformer"].dump() : "";
  };
  const std::string identity = R"("torch.nn.modules.linear.Identity")", sigmoid = R"("torch.nn.modules.activation.Sigmoid")";
  const std::string old = R"(, "sbert_ce_default_activation_function": )", now = R"(, "sentence_transformers": {"activation_fn": )";
  CHECK(activation(1, "") == "");
  CHECK(activation(1, R"(, "sentence_transformers": {"version": "5.0"})") == R"({"activation":"sigmoid"})");
  CHECK(activation(3, R"(, "sentence_transformers": {"version": "5.0"})") == "");
  CHECK(activation(1, now + identity + "}") == R"({"activation":"identity"})");
  CHECK(activation(1, now + sigmoid + "}") == R"({"activation":"sigmoid"})");
  CHECK(activation(1, old + identity) == R"({"activation":"identity"})");
  CHECK(activation(2, old + sigmoid) == R"({"activation":"sigmoid"})");
  CHECK(activation(1, old + sigmoid + now + identity + "}") == R"({"activation":"identity"})");
  CHECK(activation(0, old + R"("torch.nn.Tanh")") == "");  // an encoder without head has no logits
  expect_file_error([&] { activation(1, old + R"("torch.nn.Tanh")"); }, "'torch.nn.Tanh' is not supported; Sigmoid and Identity are");
  expect_file_error([&] { activation(1, R"(, "sentence_transformers": 5)"); }, "expected a JSON object, found number");
  // Version 6 has a file of its own for it. The tokenizer's length is that of a pair.
  write(folder / "tokenizer_config.json", R"({"model_max_length": 9})");
  CHECK(activation(3, R"(, "sentence_transformers": {"version": "5.0"})") == R"({"max_length":9})");
  write(folder / "config_sentence_transformers.json", R"({"activation_fn": )" + identity + R"(, "model_type": "CrossEncoder"})");
  CHECK(activation(1, "") == R"({"activation":"identity","max_length":9})");
  CHECK(activation(1, now + sigmoid + "}") == R"({"activation":"identity","max_length":9})");
  CHECK(activation(0, "") == "");
}
