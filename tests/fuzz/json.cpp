// SPDX-License-Identifier: MIT
// JSON and what is read from it: settings of models, tokenizers and runs. Accepted input is unchanged after writing.
#include "lexformer/io/json.hpp"
#include "fuzz/fuzz.hpp"
#include "lexformer/io/added_tokens.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/token_pipeline_file.hpp"
#include "lexformer/io/tokenizer_file.hpp"
#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/models/transformer_config.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "lexformer/train/state.hpp"

using namespace lexformer;

namespace {

void check_json(std::string_view text) {
  const Json json = parse_json(text, "input", {.depth = 8});
  const std::string written = dump_json(json, "input");
  const Json again = parse_json(written, "again");
  fuzz::require(again == json, "JSON is not the same after writing");
  fuzz::require(dump_json(again, "again") == written, "JSON is not written the same twice");
}

/// parse(write(parse(json))) must be written in the same way as parse(json).
template <class Parse>
void check_settings(std::string_view text, Parse parse) {
  const Json first = to_json(parse(parse_json(text, "input"), "input"));
  fuzz::require(to_json(parse(first, "again")) == first, "settings are not the same after writing");
}

void check_tokenizer(std::string_view text) {
  const Json root = parse_json(text, "input");
  TokenizerFile file;
  auto plain = detail::parse_tokenizer_file(root, text.size(), true, file.options, "input");
  const auto added = detail::added_tokens_of(root, "input");
  file.vocabulary = detail::add_tokens(std::move(plain), {}, added, false, file.options, "input");
  const Vocabulary again = parse_vocabulary_text(vocabulary_text(file.vocabulary), "again");
  fuzz::require(again.tokens() == file.vocabulary.tokens(), "a vocabulary is not the same after writing");
  Tokenizer(file.vocabulary, file.options).encode("a caf\xC3\xA9 [MASK]", 8);
}

void check_pipeline(std::string_view text) {
  const Json root = parse_json(text, "input");
  TokenPipelineFile file = parse_token_pipeline(root, std::string(text), "input");
  TokenizerOptions options;
  options.pipeline = file.pipeline;
  const Tokenizer tokenizer(std::move(file.vocabulary), options);
  const std::string sample = "So\xCC\x88ny  <mask> \xEF\xBC\xA1\xE3\x8E\x8F\xED\x95\x9C-55\xF0\x9F\x91\x8D\n caf\xC3\xA9's";
  const Encoding e = tokenizer.encode_pair(sample, "a", 100);
  for (std::size_t i = 0; i < e.size(); ++i) {
    fuzz::require(e.offsets[i].first <= e.offsets[i].second && e.offsets[i].second <= sample.size(), "a token is outside of its text");
    fuzz::require(e.ids[i] >= 0 && static_cast<std::size_t>(e.ids[i]) < tokenizer.vocabulary().size(), "an id is not in the vocabulary");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const auto kind = in.below(8);
  const std::string_view text = in.rest;
  fuzz::accepts([&] {
    if (kind == 0) check_json(text);
    if (kind == 1) parse_transformer_config(parse_json(text, "input"), "input");
    if (kind == 2) check_settings(text, parse_cross_encoder_options);
    if (kind == 3) check_settings(text, parse_trainer_state);
    if (kind == 4) check_tokenizer(text);
    if (kind == 5) {
      const Json config = parse_json(text, "input");
      check_keys(config, "tokenizer_config.json", "input");
      TokenizerOptions options;
      detail::add_tokens({{"[UNK]", "a"}, 2}, detail::read_token_lists("none", config, nullptr), {}, true, options, "input");
    }
    if (kind == 6) {
      const TokenizerOptions options = parse_tokenizer_json(parse_json(text, "input"), "input");
      const Json written = tokenizer_json(options);
      fuzz::require(tokenizer_json(parse_tokenizer_json(written, "again")) == written, "settings are not the same after writing");
    }
    if (kind == 7) check_pipeline(text);
  });
  return 0;
}
