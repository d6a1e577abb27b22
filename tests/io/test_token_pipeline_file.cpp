// SPDX-License-Identifier: MIT
// Files tokenizer.json with byte-level BPE and Unigram: tokens as PyPI tokenizers 0.23.3 gives them (tests/oracles/check_pipeline.py
// compares many more), the words of tokens, folders, and what is refused.
#include "lexformer/io/token_pipeline_file.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "lexformer/io/model_file.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "support/expect_error.hpp"
#include "support/tiny_tokenizers.hpp"

using namespace lexformer;

namespace {

using Ids = std::vector<std::int32_t>;
using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Tokenizer make(const Json& file) {
  TokenPipelineFile found = parse_token_pipeline(Json::parse(file.dump()), file.dump(), "tokenizer.json");
  TokenizerOptions options;
  options.unk = found.unk;
  options.cls = found.cls;
  options.sep = found.sep;
  options.pipeline = found.pipeline;
  return Tokenizer(std::move(found.vocabulary), options);
}

/// The text of the word of each token; "-" for none.
std::vector<std::string> words_of(const Encoding& e) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const Word* const word = e.word_of(i);
    all.push_back(word == nullptr ? "-" : to_utf8(e.text(*word)));
    if (word != nullptr) CHECK(e.word_ids[i] >= 0);
  }
  return all;
}

}  // namespace

TEST_CASE("byte-level BPE in the form of RoBERTa") {
  const Tokenizer tokenizer = make(test::tiny_roberta());
  const auto one = tokenizer.encode("Sony camera-55", 20);
  CHECK(one.ids == Ids{0, 224, 54, 262, 269, 16, 271, 2});
  CHECK(one.offsets == Places{{0, 0}, {0, 0}, {0, 1}, {1, 4}, {5, 11}, {11, 12}, {12, 14}, {0, 0}});
  CHECK(words_of(one) == std::vector<std::string>{"-", "sony", "sony", "sony", "camera", "-", "55", "-"});
  CHECK(to_utf8(one.whole_text(one.words.back())) == "camera-55");
  CHECK(one.words.size() == 4);

  const auto two = tokenizer.encode_pair("sony <mask> ü.", "a\u00a0camera's  55", 20);
  CHECK(two.ids == Ids{0, 263, 274, 224, 272, 17, 2, 2, 224, 68, 130, 258, 268, 10, 86, 224, 224, 271, 2});
  CHECK(two.type_ids == std::vector<std::uint8_t>(19, 0));
  CHECK(two.text_ids == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(two.offsets == Places{{0, 0},
                              {0, 4},
                              {5, 11},
                              {12, 12},
                              {12, 13},
                              {13, 14},
                              {0, 0},
                              {0, 0},
                              {0, 0},
                              {0, 1},
                              {1, 2},
                              {1, 2},
                              {2, 8},
                              {8, 9},
                              {9, 10},
                              {11, 11},
                              {12, 12},
                              {12, 14},
                              {0, 0}});
  CHECK(words_of(two) == std::vector<std::string>{"-", "sony", "<mask>", "u", "u", ".", "-", "-", "a", "a", "camera", "camera", "camera",
                                                  "'", "s", "55", "55", "55", "-"});
  CHECK(tokenizer.added(1) == 2);
  CHECK(tokenizer.added(2) == 4);
  CHECK(tokenizer.types(2) == 1);
  CHECK(tokenizer.encode_pair("sony sony", "camera camera camera", 7).ids == Ids{0, 263, 2, 2, 269, 269, 2});
  expect_error(
      ErrorKind::usage, [&] { tokenizer.encode_pair("a", "b", 3); }, "max_length is 3, but the special tokens alone take 4");
  expect_error(
      ErrorKind::usage, [&] { Tokenizer(tokenizer).keep_whole({}); }, "whole words can be kept by WordPiece only");
}

TEST_CASE("Unigram in the form of XLM-R") {
  const Tokenizer tokenizer = make(test::tiny_xlmr());
  const auto one = tokenizer.encode("Sony  camera-55", 20);
  CHECK(one.ids == Ids{0, 4, 7, 12, 13, 2});
  CHECK(one.offsets == Places{{0, 0}, {0, 4}, {6, 12}, {12, 13}, {13, 15}, {0, 0}});
  CHECK(words_of(one) == std::vector<std::string>{"-", "sony", "camera", "-", "55", "-"});
  const auto two = tokenizer.encode_pair("ｓｏｎｙ <mask>xq", "camera 555", 20);
  CHECK(two.ids == Ids{0, 4, 15, 5, 3, 2, 2, 7, 5, 14, 13, 2});
  CHECK(two.offsets == Places{{0, 0}, {0, 4}, {4, 11}, {11, 12}, {11, 13}, {0, 0}, {0, 0}, {0, 6}, {7, 8}, {7, 8}, {8, 10}, {0, 0}});
  CHECK(words_of(two) == std::vector<std::string>{"-", "ｓｏｎｙ", " <mask>", "xq", "xq", "-", "-", "camera", "555", "555", "555", "-"});
}

TEST_CASE("a word without a token of its own is left out, a token of white space alone belongs to the next word") {
  Json file = test::tiny_roberta();
  for (const char* token : {"..", "..."}) file["model"]["vocab"][token] = file["model"]["vocab"].size();
  file["model"]["merges"].push_back(". .");
  file["model"]["merges"].push_back(".. .");
  file["added_tokens"][4]["id"] = file["model"]["vocab"].size();
  const Tokenizer tokenizer = make(file);
  const auto e = tokenizer.encode("a...  b \n", 20);
  CHECK(words_of(e) == std::vector<std::string>{"-", "a", "a", ".", "b", "b", "b", "-", "-", "-"});
  CHECK(e.words.size() == 3);
  CHECK(to_utf8(e.whole_text(e.words[0])) == "a...");
}

TEST_CASE("a folder with such a tokenizer.json, and a .lxf file") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const Json& json) { std::ofstream(folder.path / name) << json.dump(); };
  write("tokenizer.json", test::tiny_roberta());
  write("tokenizer_config.json", {{"tokenizer_class", "RobertaTokenizerFast"},
                                  {"cls_token", "<s>"},
                                  {"pad_token", "<pad>"},
                                  {"mask_token", {{"content", "<mask>"}, {"lstrip", true}}},
                                  {"add_prefix_space", true},
                                  {"trim_offsets", true},
                                  {"errors", "replace"}});
  const auto read = [&] { return read_tokenizer(folder.path); };
  auto found = read();
  CHECK(found.options.cls == "<s>");
  CHECK(found.options.sep == "</s>");
  CHECK(found.options.mask == "<mask>");
  CHECK(found.options.pad == "<pad>");
  CHECK(found.vocabulary.id("<mask>") == 274);

  ModelFile model;
  model.path = "x";
  model.config = Json{{"model_type", "roberta"}, {"vocab_size", 275}};
  model.vocabulary = found.vocabulary;
  model.tokenizer = found.options;
  const auto again = ModelFile::parse(model.bytes(), "x.lxf");
  CHECK(again.tokenizer.pipeline->json() == found.options.pipeline->json());
  CHECK(again.tokenizer.mask == "<mask>");
  CHECK(again.vocabulary.tokens() == found.vocabulary.tokens());
  CHECK(again.bytes() == model.bytes());
  CHECK(make_tokenizer(again).encode("sony", 9).ids == Ids{0, 263, 2});
  auto damaged = model;
  damaged.metadata["lexformer.tokenizer_json_crc32"] = "1";
  CHECK(ModelFile::parse(damaged.bytes(), "x.lxf").vocabulary.size() == 275);  // save() writes the sum itself

  write("tokenizer_config.json", {{"add_prefix_space", false}});
  expect_file_error(read, "'add_prefix_space' is false, but tokenizer.json has true");
  write("tokenizer_config.json", {{"mask_token", "[MASK]"}});
  expect_file_error(read, "the token '[MASK]' is not in tokenizer.json");
  write("tokenizer_config.json", {{"added_tokens_decoder", {{"9", {{"content", "<mask>"}}}}}});
  expect_file_error(read, "the token '<mask>' with the id 9 is not in tokenizer.json");
  write("tokenizer_config.json", {{"new_setting", 1}});
  expect_file_error(read, "'new_setting' is 1, which is not supported");
}

TEST_CASE("what a tokenizer.json asks for and lexformer does not do is refused by name") {
  const auto refused = [](Json file, const char* pointer, const Json& value, const std::string& message) {
    file[Json::json_pointer(pointer)] = value;
    CAPTURE(pointer);
    expect_file_error([&] { parse_token_pipeline(Json::parse(file.dump()), file.dump(), "tokenizer.json"); }, message);
  };
  const Json bpe = test::tiny_roberta(), unigram = test::tiny_xlmr();
  refused(bpe, "/model/dropout", 0.1, "model: 'dropout' is 0.1");
  refused(bpe, "/model/continuing_subword_prefix", "##", "model: 'continuing_subword_prefix' is '##'");
  refused(bpe, "/model/end_of_word_suffix", "</w>", "model: 'end_of_word_suffix' is '</w>'");
  refused(bpe, "/model/byte_fallback", true, "model: 'byte_fallback' is true");
  refused(bpe, "/model/new", 1, "model: the key 'new' is not known");
  refused(bpe, "/model/merges/0", "a q", "the merge 'a q' needs the token 'aq', which is not in 'vocab'");
  refused(bpe, "/model/merges/0", "a b c", "is not a merge of two parts");
  refused(bpe, "/model/merges/0", Json::array({"a", 1}), "is not a merge of two parts");
  refused(bpe, "/model/unk_token", "nothing", "needs the token 'nothing'");
  refused(bpe, "/model/vocab/a", -1, "vocab: 'a' is -1");
  refused(bpe, "/model/vocab/a", 5, "two tokens have the id 5");
  refused(bpe, "/model/vocab/", 5, "model: the token with the id 5 is empty");
  Json twice = bpe["added_tokens"][4];
  twice["id"] = 275u;
  refused(bpe, "/added_tokens/-", twice, "added_tokens: two tokens are '<mask>'");
  refused(bpe, "/pre_tokenizer/type", "Split", "pre_tokenizer: 'type' is 'Split', which is not supported");
  refused(bpe, "/pre_tokenizer/type", "NFC", "pre_tokenizer: NFC: ");
  refused(bpe, "/pre_tokenizer/new", 1, "pre_tokenizer: ByteLevel: the key 'new' is not known");
  refused(bpe, "/normalizer", Json{{"type", "Nmt"}}, "normalizer: 'type' is 'Nmt', which is not supported");
  refused(bpe, "/post_processor/cls", "x", "'cls' is 'x', expected a token with its id");
  refused(bpe, "/post_processor/cls/1", 4000, "the id 4000 is not in the vocabulary of 275 tokens");
  refused(bpe, "/added_tokens/4/id", 280, "'<mask>' has the id 280, but its place is 274; new tokens follow the vocabulary");
  refused(bpe, "/added_tokens/0/id", 7, "'<s>' has the id 7, but its place is 0, where 'vocab' has it");
  refused(bpe, "/truncation", Json{{"direction", "Left"}}, "truncation: 'direction' is 'Left'");
  refused(unigram, "/model/unk_id", nullptr, "'unk_id' is null");
  refused(unigram, "/model/unk_id", 16, "'unk_id' is 16");
  refused(unigram, "/model/vocab", Json::array(), "'vocab' has no tokens");
  refused(unigram, "/model/vocab/4", "x", "is not a token with its score");
  refused(unigram, "/normalizer/normalizers/2/pattern", Json{{"Regex", "a+"}}, "a+");
  refused(unigram, "/normalizer/normalizers/0", Json{{"type", "Precompiled"}, {"precompiled_charsmap", "%%"}}, "is not in base 64");
  refused(unigram, "/normalizer/normalizers/0", Json{{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}}, "precompiled_charsmap");
  refused(unigram, "/pre_tokenizer/pretokenizers/1/prepend_scheme", "last", "'prepend_scheme' is 'last', expected always, first or never");
  refused(unigram, "/pre_tokenizer/pretokenizers/1/replacement", "__", "'replacement' has 2 characters, expected 1");
  refused(unigram, "/post_processor/pair/1", unigram["post_processor"]["pair"][4], "in a place that is not supported");
  refused(unigram, "/post_processor/special_tokens", Json::object(), "special_tokens");
  Json deep{{"type", "NFC"}};
  for (int i = 0; i < 20; ++i) deep = {{"type", "Sequence"}, {"normalizers", {deep}}};
  refused(unigram, "/normalizer", deep, "has more than 8 sequences within each other");
}
