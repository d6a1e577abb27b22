// SPDX-License-Identifier: MIT
// The tokenizer against its naive twin: any settings, vocabulary and two texts give the same tokens.
#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "lexformer/text/lexical.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "reference/wordpiece_reference.hpp"

using namespace lexformer;

namespace {

constexpr std::string_view pieces =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nab\nabc\n##a\n##b\n##c\n##bc\n##abc\n.\n-\n[\n]\n##.\ncafe\ncaf\xC3\xA9\n##\xC3\xA9\n"
    "\xE4\xB8\xAD\n##\xE4\xB8\xAD\n\xC3\x9F\ni\n##i\xCC\x87\n##\xCC\x87\n\xEF\xBF\xBD\n1\n##1\n##12\n";

/// A token as in a tokenizer.json: valid UTF-8. U+FFFD is removed, because in a text it also stands for invalid bytes.
std::string clean(std::string_view token) {
  std::string out;
  for (const char32_t c : to_utf32(token))
    if (c != replacement_character) append_utf8(out, c);
  return out;
}

/// The built-in vocabulary or one from the input; the input may also choose the special tokens.
Vocabulary read_vocabulary(fuzz::Input& in, TokenizerOptions& options) {
  const auto kind = in.below(4);
  if (kind == 0) return Vocabulary::from_vocab_txt(pieces);
  const std::string text(in.until('\0'));
  auto tokens = Vocabulary::from_vocab_txt(kind == 1 ? std::string(pieces) + text : text).tokens();
  if (kind == 3 && tokens.size() >= 3) {
    options.unk = clean(tokens[0]);
    options.cls = clean(tokens[1]);
    options.mask = clean(tokens[2]);
  }
  for (const auto& token : {options.unk, options.cls, options.sep}) tokens.push_back(token);
  return Vocabulary(tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  TokenizerOptions options;
  options.lowercase = !in.flag();
  if (const auto strip = in.below(3); strip != 0) options.strip_accents = strip == 1;
  options.handle_chinese_chars = !in.flag();
  options.clean_text = !in.flag();
  options.match_special_tokens = !in.flag();
  constexpr unsigned lengths[] = {12, 1, 2, 5, 100};  // mostly short: the twin's time is cubic in the length
  options.max_word_chars = lengths[in.below(5)];
  const std::size_t max_length = 3 + in.below(256);
  const Vocabulary vocabulary = read_vocabulary(in, options);
  const std::string_view left = in.until('\0'), right = in.rest;

  std::optional<Tokenizer> tokenizer;
  if (!fuzz::accepts([&] { tokenizer.emplace(vocabulary, options); })) return 0;
  const reference::WordPiece twin(vocabulary.tokens(), options);
  const auto compare = [](const Encoding& found, const Encoding& expected) {
    fuzz::require(found.ids == expected.ids, "ids differ from the twin's");
    fuzz::require(found.type_ids == expected.type_ids, "type ids differ from the twin's");
    fuzz::require(found.word_ids == expected.word_ids, "word ids differ from the twin's");
    fuzz::require(found.offsets == expected.offsets, "offsets differ from the twin's");
    fuzz::require(reference::same_words(found, expected), "words differ from the twin's");
  };
  compare(tokenizer->encode(left, max_length), twin.encode(left, nullptr, max_length));
  const Encoding pair = tokenizer->encode_pair(left, right, max_length);
  compare(pair, twin.encode(left, &right, max_length));

  const auto matrix = [&](LexicalWords words) { return lexical_matrix(pair, {.words = words}); };
  const auto split = matrix(LexicalWords::tokenizer), whole = matrix(LexicalWords::whitespace), both = matrix(LexicalWords::both);
  for (std::size_t i = 0; i < both.code.size(); ++i)
    fuzz::require(both.level[both.code[i]] == std::max(split.level[split.code[i]], whole.level[whole.code[i]]),
                  "a similarity is not the larger of both kinds of words");
  return 0;
}
