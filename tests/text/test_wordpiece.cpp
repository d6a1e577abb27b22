// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../reference/wordpiece_reference.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "support/cases.hpp"

using namespace lexformer;

namespace {

std::vector<std::string> words_of(const std::string& text, const TokenizerOptions& options) {
  std::vector<std::string> words;
  WordSplitter(options).split(text, 0, [&](std::span<const TextChar> word, bool) {
    words.emplace_back();
    for (const TextChar& c : word) append_utf8(words.back(), c.character);
  });
  return words;
}

const std::vector<std::string> small_vocabulary{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a",   "##a", "b",    "##b",
                                                "ab",    "##ab",  "abc",   "##c",   "hello",  "[",   "]",   "mask", "kanto",
                                                "##to",  "ka",    "##n",   "-",     "x",      "##x", "e",   "##e"};

void check_equal(const Encoding& a, const Encoding& b) {
  CHECK(a.ids == b.ids);
  CHECK(a.type_ids == b.type_ids);
  CHECK(a.word_ids == b.word_ids);
  CHECK(a.offsets == b.offsets);
  if (!b.texts.empty()) CHECK(reference::same_words(a, b));
}

}  // namespace

TEST_CASE("traps of normalisation: words as PyPI tokenizers 0.23.3 splits them") {
  struct Row {
    const char* title;
    std::string text;
    TokenizerOptions options;
    std::vector<std::string> words;
  };
  const std::vector<Row> rows{
      {"control characters are removed, VT FF NEL ZWSP soft hyphen too",
       "a\013b\014c\302\205d\342\200\213e\302\255f\357\273\277g\034h",
       {},
       {"abcdefgh"}},
      {"tab, line ends and all of Zs Zl Zp are spaces",
       "a\011b\012c\015d\302\240e\342\200\203f\342\200\250g\342\200\251h\343\200\200i\341\232\200j",
       {},
       {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}},
      {"unassigned code points and emoji are kept", "a\315\270b 😀👨\342\200\215👩", {}, {"a\315\270b", "😀👨👩"}},
      {"private use characters are removed", "a\356\200\200b\364\217\277\275c", {}, {"abc"}},
      {"Chinese is split, Kana and Hangul are not",
       "中文ひらカナ\355\225\234\352\265\255",
       {.strip_accents = false},
       {"中", "文", "ひらカナ\355\225\234\352\265\255"}},
      {"U+2B820 ... U+2B91F are not spaced",
       "\360\253\240\237\360\253\240\240\360\253\244\237\360\253\244\240",
       {},
       {"\360\253\240\237", "\360\253\240\240\360\253\244\237", "\360\253\244\240"}},
      {"compatibility ideograph: spaced, then decomposed", "a\360\257\240\200b", {}, {"a", "丽", "b"}},
      {"Hangul falls into jamo",
       "\355\225\234\352\265\255",
       {},
       {"\341\204\222\341\205\241\341\206\253\341\204\200\341\205\256\341\206\250"}},
      {"only Mn is stripped, not Mc and Me", "न\340\244\277 a\342\203\235 e\314\201 ü", {}, {"न\340\244\277", "a\342\203\235", "e", "u"}},
      {"lowercase per character: no final sigma", "ΟΔΟΣ", {}, {"οδοσ"}},
      {"dotted capital I", "İstanbul", {}, {"istanbul"}},
      {"dotted capital I, accents kept", "İstanbul", {.strip_accents = false}, {"i\314\207stanbul"}},
      {"capital sharp s, ligature", "Straẞe ﬁn", {}, {"straße", "ﬁn"}},
      {"accents are kept without strip_accents", "Kantō Über", {.strip_accents = false}, {"kantō", "über"}},
      {"accents go with strip_accents", "Kantō Über", {}, {"kanto", "uber"}},
      {"cased: neither lowered nor stripped", "Kantō Über", {.lowercase = false}, {"Kantō", "Über"}},
      {"cased, stripped", "Kantō Über", {.lowercase = false, .strip_accents = true}, {"Kanto", "Uber"}},
      {"ASCII symbols are punctuation", "a$b+c^d~e|f`g<h=i>j_k", {}, {"a", "$", "b", "+", "c", "^", "d", "~", "e", "|", "f",
                                                                      "`", "g", "<", "h", "=", "i", ">", "j", "_", "k"}},
      {"Unicode punctuation is, other symbols are not",
       "a—b…c«d»e 5€ © ×½",
       {},
       {"a", "—", "b", "…", "c", "«", "d", "»", "e", "5€", "©", "×½"}},
      {"marks newer than Unicode 8 stay, in canonical order",
       "a\360\235\205\245\340\243\224\360\235\205\255",
       {},
       {"a\360\235\205\245\360\235\205\255\340\243\224"}},
      {"punctuation newer than Unicode 8 does not split", "a⹃b⹂c", {}, {"a⹃b", "⹂", "c"}},
      {"capital letter of Unicode 16", "\341\262\211x\352\237\213", {}, {"\341\262\212xɤ"}},
      {"without clean_text: NEL and VT split, NUL stays",
       std::string("a\302\205b\013c\000d", 8),
       {.clean_text = false},
       {"a", "b", std::string("c\000d", 3)}},
      {"without chinese characters", "a中文b", {.handle_chinese_chars = false}, {"a中文b"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.title);
    CHECK(words_of(row.text, row.options) == row.words);
  }
}

TEST_CASE("ids, type ids, word ids, offsets and truncation of PyPI tokenizers 0.23.3") {
  struct Row {
    std::string left;
    std::optional<std::string> right;
    std::size_t max_length;
    bool match_special_tokens;
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> type_ids;
    std::vector<std::int32_t> word_ids;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> offsets;
  };
  const std::vector<Row> rows{
      {"hello[MASK]a",
       std::nullopt,
       64,
       true,
       {2, 13, 4, 5, 3},
       {0, 0, 0, 0, 0},
       {-1, 0, 1, 2, -1},
       {{0, 0}, {0, 5}, {5, 11}, {11, 12}, {0, 0}}},
      {"hello[MASK]a",
       std::nullopt,
       64,
       false,
       {2, 13, 14, 16, 15, 5, 3},
       {0, 0, 0, 0, 0, 0, 0},
       {-1, 0, 1, 2, 3, 4, -1},
       {{0, 0}, {0, 5}, {5, 6}, {6, 10}, {10, 11}, {11, 12}, {0, 0}}},
      {"[mask] [MASK][SEP]x",
       std::nullopt,
       64,
       true,
       {2, 14, 16, 15, 4, 3, 22, 3},
       {0, 0, 0, 0, 0, 0, 0, 0},
       {-1, 0, 1, 2, 3, 4, 5, -1},
       {{0, 0}, {0, 1}, {1, 5}, {5, 6}, {7, 13}, {13, 18}, {18, 19}, {0, 0}}},
      {"abab abcc abq",
       std::nullopt,
       64,
       true,
       {2, 9, 10, 11, 12, 1, 3},
       {0, 0, 0, 0, 0, 0, 0},
       {-1, 0, 0, 1, 1, 2, -1},
       {{0, 0}, {0, 2}, {2, 4}, {5, 8}, {8, 9}, {10, 13}, {0, 0}}},
      {"Kantō-Kanto",
       std::nullopt,
       64,
       true,
       {2, 17, 21, 17, 3},
       {0, 0, 0, 0, 0},
       {-1, 0, 1, 2, -1},
       {{0, 0}, {0, 5}, {5, 6}, {6, 11}, {0, 0}}},
      {"", std::nullopt, 64, true, {2, 3}, {0, 0}, {-1, -1}, {{0, 0}, {0, 0}}},
      {"", "", 3, true, {2, 3, 3}, {0, 0, 1}, {-1, -1, -1}, {{0, 0}, {0, 0}, {0, 0}}},
      {"ab ab ab ab ab",
       "x x x",
       9,
       true,
       {2, 9, 9, 9, 3, 22, 22, 22, 3},
       {0, 0, 0, 0, 0, 1, 1, 1, 1},
       {-1, 0, 1, 2, -1, 0, 1, 2, -1},
       {{0, 0}, {0, 2}, {3, 5}, {6, 8}, {0, 0}, {0, 1}, {2, 3}, {4, 5}, {0, 0}}},
      {"x x x",
       "ab ab ab ab ab",
       9,
       true,
       {2, 22, 22, 22, 3, 9, 9, 9, 3},
       {0, 0, 0, 0, 0, 1, 1, 1, 1},
       {-1, 0, 1, 2, -1, 0, 1, 2, -1},
       {{0, 0}, {0, 1}, {2, 3}, {4, 5}, {0, 0}, {0, 2}, {3, 5}, {6, 8}, {0, 0}}},
      {"a a a a",
       "x x x x",
       8,
       true,
       {2, 5, 5, 3, 22, 22, 22, 3},
       {0, 0, 0, 0, 1, 1, 1, 1},
       {-1, 0, 1, -1, 0, 1, 2, -1},
       {{0, 0}, {0, 1}, {2, 3}, {0, 0}, {0, 1}, {2, 3}, {4, 5}, {0, 0}}},
      {"a a a a",
       "x x x x",
       9,
       true,
       {2, 5, 5, 5, 3, 22, 22, 22, 3},
       {0, 0, 0, 0, 0, 1, 1, 1, 1},
       {-1, 0, 1, 2, -1, 0, 1, 2, -1},
       {{0, 0}, {0, 1}, {2, 3}, {4, 5}, {0, 0}, {0, 1}, {2, 3}, {4, 5}, {0, 0}}},
      {"a a a a a",
       "x x x x",
       8,
       true,
       {2, 5, 5, 5, 3, 22, 22, 3},
       {0, 0, 0, 0, 0, 1, 1, 1},
       {-1, 0, 1, 2, -1, 0, 1, -1},
       {{0, 0}, {0, 1}, {2, 3}, {4, 5}, {0, 0}, {0, 1}, {2, 3}, {0, 0}}},
      {"a a a a a",
       "x x x x",
       10,
       true,
       {2, 5, 5, 5, 5, 3, 22, 22, 22, 3},
       {0, 0, 0, 0, 0, 0, 1, 1, 1, 1},
       {-1, 0, 1, 2, 3, -1, 0, 1, 2, -1},
       {{0, 0}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 0}, {0, 1}, {2, 3}, {4, 5}, {0, 0}}},
      {"abab abab",
       "x",
       6,
       true,
       {2, 9, 10, 3, 22, 3},
       {0, 0, 0, 0, 1, 1},
       {-1, 0, 0, -1, 0, -1},
       {{0, 0}, {0, 2}, {2, 4}, {0, 0}, {0, 1}, {0, 0}}},
      {"a b", "", 4, true, {2, 5, 3, 3}, {0, 0, 0, 1}, {-1, 0, -1, -1}, {{0, 0}, {0, 1}, {0, 0}, {0, 0}}},
      {"", "a b", 4, true, {2, 3, 5, 3}, {0, 0, 1, 1}, {-1, -1, 0, -1}, {{0, 0}, {0, 0}, {0, 1}, {0, 0}}},
      {"a e\314\201 b",
       "É",
       64,
       true,
       {2, 5, 24, 7, 3, 24, 3},
       {0, 0, 0, 0, 0, 1, 1},
       {-1, 0, 1, 2, -1, 0, -1},
       {{0, 0}, {0, 1}, {2, 3}, {5, 6}, {0, 0}, {0, 1}, {0, 0}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.left);
    CAPTURE(row.max_length);
    const Tokenizer t(Vocabulary(small_vocabulary), {.match_special_tokens = row.match_special_tokens});
    check_equal(row.right ? t.encode_pair(row.left, *row.right, row.max_length) : t.encode(row.left, row.max_length),
                {row.ids, row.type_ids, row.word_ids, row.offsets});
  }
}

TEST_CASE("a word of 100 characters is 100 pieces, one of 101 is unknown") {
  const Tokenizer t(Vocabulary(small_vocabulary), {});
  std::string word;
  for (int i = 0; i < 100; ++i) word += "é";
  CHECK(t.encode(word, 1000).ids.size() == 102);
  CHECK(t.encode(word + "e", 1000).ids == std::vector<std::int32_t>{2, 1, 3});
  const Tokenizer longer(Vocabulary(small_vocabulary), {.max_word_chars = 101});
  CHECK(longer.encode(word + "e", 1000).ids.size() == 103);
  CHECK(t.encode(std::string(1000000, 'a'), 1000).ids == std::vector<std::int32_t>{2, 1, 3});
}

TEST_CASE("a vocabulary without the unknown token is refused") {
  CHECK_THROWS_WITH_AS(Tokenizer(Vocabulary({"[CLS]", "[SEP]", "a"}), {}),
                       "Tokenizer: the vocabulary (3 tokens) has no '[UNK]'; use the vocab.txt of a BERT model or set the names "
                       "of the special tokens",
                       Error);
  const Tokenizer other(Vocabulary({"<u>", "<s>", "</s>", "a"}), {.unk = "<u>", .cls = "<s>", .sep = "</s>"});
  CHECK(other.encode("a <s> b", 9).ids == std::vector<std::int32_t>{1, 3, 1, 0, 2});
}

TEST_CASE("of two special tokens that begin at one place the longer one counts") {
  const Tokenizer t(Vocabulary({"[U]", "[C]", "[S]", "[C]x", "x"}), {.unk = "[U]", .cls = "[C]", .sep = "[S]", .pad = "", .mask = "[C]x"});
  CHECK(t.encode("[C]x[C] x", 9).ids == std::vector<std::int32_t>{1, 3, 1, 4, 2});
}

TEST_CASE("places in a text have 32 bits") {
  const auto none = [](std::span<const TextChar>, bool) {};
  CHECK_THROWS_WITH_AS(WordSplitter(TokenizerOptions{}).split("ab", 0xFFFFFFFEu, none),
                       "WordSplitter: a text of 2 bytes is too long; split it", Error);
  CHECK(WordSplitter(TokenizerOptions{}).split("ab", 0xFFFFFFFDu, none) == 2);
}

TEST_CASE("max_length must leave room for the special tokens") {
  const Tokenizer t(Vocabulary(small_vocabulary), {});
  CHECK_THROWS_AS(t.encode("a", 1), Error);
  CHECK(t.encode("a", 2).size() == 2);
  CHECK_THROWS_AS(t.encode_pair("a", "b", 2), Error);
  CHECK(t.encode_pair("a", "b", 3).size() == 3);
}

namespace {

/// The words of an encoding, each as "text|whole text|characters begin-end|tokens first-last|type".
std::vector<std::string> words_in(const Encoding& e) {
  std::vector<std::string> out;
  for (const Word& w : e.words)
    out.push_back(cat(to_utf8(e.text(w)), '|', to_utf8(e.whole_text(w)), '|', w.begin, '-', w.end, '|', w.first, '-', w.last, '|',
                      static_cast<int>(w.type)));
  return out;
}
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("an encoding keeps its texts and each word's normalised text, unknown words too") {
  const Tokenizer t(Vocabulary(small_vocabulary), {});
  const Encoding e = t.encode_pair(" ÁBABC zz", "x-Kantō!", 64);  // [CLS] ab ##ab ##c [UNK] [SEP] x - kanto [UNK] [SEP]
  CHECK(e.texts == std::vector<std::string>{" ÁBABC zz", "x-Kantō!"});
  CHECK(words_in(e) == Words{"ababc|ababc|1-6|1-4|0", "zz|zz|7-9|4-5|0", "x|x-kanto!|0-1|6-7|1", "-|x-kanto!|1-2|7-8|1",
                             "kanto|x-kanto!|2-7|8-9|1", "!|x-kanto!|7-8|9-10|1"});
  for (std::size_t i = 0; i < e.size(); ++i) {
    CAPTURE(i);
    const Word* word = e.word_of(i);
    REQUIRE((word != nullptr) == (e.word_ids[i] >= 0));
    if (word != nullptr) CHECK((word->first <= i && i < word->last && word->type == e.type_ids[i]));
  }
  CHECK(e.word_of(3) == &e.words[0]);
  CHECK(e.word_of(11) == nullptr);
  CHECK(e.word_of(12) == nullptr);  // after the last token
  CHECK(Tokenizer(Vocabulary(small_vocabulary), {.lowercase = false}).encode("Á", 9).characters == U"Á");
}

TEST_CASE("words: special tokens in the text, ideographs, characters that are dropped, nothing but spaces") {
  const Tokenizer t(Vocabulary(small_vocabulary), {});
  CHECK(words_in(t.encode("a[MASK]b [ mask", 64)) ==
        Words{"a|a|0-1|1-2|0", "[MASK]|[MASK]|1-7|2-3|0", "b|b|7-8|3-4|0", "[|[|9-10|4-5|0", "mask|mask|11-15|5-6|0"});
  CHECK(words_in(Tokenizer(Vocabulary(small_vocabulary), {.match_special_tokens = false}).encode("a[MASK]", 64)) ==
        Words{"a|a[mask]|0-1|1-2|0", "[|a[mask]|1-2|2-3|0", "mask|a[mask]|2-6|3-4|0", "]|a[mask]|6-7|4-5|0"});
  CHECK(words_in(t.encode("a漢字b", 64)) == Words{"a|a|0-1|1-2|0", "漢|漢|1-2|2-3|0", "字|字|2-3|3-4|0", "b|b|3-4|4-5|0"});
  CHECK(words_in(t.encode("\u200ba\u200b-\xFFx\u00A0b", 64)) ==
        Words{"a|a-x|1-2|1-2|0", "-|a-x|3-4|2-3|0", "x|a-x|5-6|3-4|0", "b|b|7-8|4-5|0"});
  for (const char* nothing : {"", " \t ", "\u200b", "\xFF"}) {
    const Encoding e = t.encode_pair(nothing, nothing, 64);
    CHECK(e.ids == std::vector<std::int32_t>{2, 3, 3});
    CHECK(e.type_ids == std::vector<std::uint8_t>{0, 0, 1});
    CHECK(e.words.empty());
    CHECK(e.characters.empty());
    CHECK(e.texts == std::vector<std::string>{nothing, nothing});
    CHECK(e.word_of(0) == nullptr);
  }
  CHECK(Encoding{}.word_of(0) == nullptr);
}

TEST_CASE("words that truncation cuts keep their whole text; words without a token are left out") {
  const Tokenizer t(Vocabulary(small_vocabulary), {});
  CHECK(words_in(t.encode("a ababc-x b", 4)) == Words{"a|a|0-1|1-2|0", "ababc|ababc-x|2-7|2-3|0"});
  CHECK(t.encode("a ababc-x b", 4).characters == U"aababc-x");
  CHECK(t.encode("a ababc-x b", 4).texts[0] == "a ababc-x b");
  CHECK(t.encode("a b", 2).words.empty());
  CHECK(t.encode("a b", 2).characters.empty());
  // Room for three tokens: two of the longer text, one of the other.
  CHECK(words_in(t.encode_pair("ababc-x a", "b ababc!", 6)) == Words{"ababc|ababc-x|0-5|1-3|0", "b|b|0-1|4-5|1"});
  CHECK(words_in(t.encode_pair("b ababc!", "ababc-x a", 6)) == Words{"b|b|0-1|1-2|0", "ababc|ababc-x|0-5|3-5|1"});
  CHECK(words_in(t.encode_pair("ab", "a b", 4)) == Words{"a|a|0-1|2-3|1"});
  CHECK(words_in(t.encode_pair("ab", "a", 5)) == Words{"ab|ab|0-2|1-2|0", "a|a|0-1|3-4|1"});
  CHECK(t.encode_pair("a", "b", 3).words.empty());
}

TEST_CASE("law: random texts, invalid UTF-8 included: same as the naive tokenizer") {
  const std::vector<std::string> parts{"a",
                                       "b",
                                       "ab",
                                       "abc",
                                       "hello",
                                       "Kanto",
                                       "Kantō",
                                       "[MASK]",
                                       "[SEP]",
                                       "[",
                                       "]]",
                                       "[PA",
                                       " ",
                                       "\t",
                                       "\xC3",
                                       "é",
                                       "É",
                                       "İ",
                                       "x\u0301\u0327",
                                       "\u0327\u0301",
                                       "한국",
                                       "漢",
                                       "\U0002f800",
                                       "-",
                                       "e",
                                       "\u0345\u0344",
                                       "\U0001d165\u08d4\U0001d16d",
                                       "\u200b",
                                       "\xE3\x80",
                                       "😀",
                                       "\u0f73\u0f71",
                                       "ẞ",
                                       "\xFF",
                                       "…",
                                       std::string(1, '\0')};
  std::vector<std::string> vocabulary = small_vocabulary;
  for (const char* extra : {"ẞ", "ß", "##ß", "é", "##é", "漢", "İ", "i", "##\u0307", "##\U0001d165", "##\u08d4", "##\U0001d16d",
                            "a\U0001d165", "한", "##국", "\u1112", "##\u1161"})
    vocabulary.push_back(extra);
  RandomStream random(5, random_site::user);
  for (std::size_t n = 0; n < test::cases(4000); ++n) {
    TokenizerOptions options;
    options.lowercase = random.below(3) > 0;
    if (random.below(2) == 0) options.strip_accents = random.below(2) == 0;
    options.handle_chinese_chars = random.below(4) > 0;
    options.clean_text = random.below(4) > 0;
    options.match_special_tokens = random.below(4) > 0;
    options.max_word_chars = 12;
    const auto text = [&] {
      std::string out;
      for (std::size_t k = random.below(12); k > 0; --k) out += parts[random.below(parts.size())];
      return out;
    };
    const std::string left = text(), right = text();
    const std::string_view right_view = right;
    const std::size_t max_length = 3 + random.below(20);
    const Tokenizer fast(Vocabulary(vocabulary), options);
    const reference::WordPiece naive(vocabulary, options);
    CAPTURE(left);
    CAPTURE(right);
    CAPTURE(max_length);
    check_equal(fast.encode(left, max_length), naive.encode(left, nullptr, max_length));
    check_equal(fast.encode_pair(left, right, max_length), naive.encode(left, &right_view, max_length));
  }
}

TEST_CASE("law: word ids count up without gaps and offsets stay in the text") {
  RandomStream random(6, random_site::user);
  const Tokenizer t(Vocabulary(small_vocabulary), {});
  for (std::size_t n = 0; n < test::cases(2000); ++n) {
    std::string bytes;
    for (std::size_t k = random.below(60); k > 0; --k)
      bytes += static_cast<char>(random.below(3) > 0 ? "ab c-[]eé"[random.below(10)] : static_cast<int>(random.below(256)));
    const Encoding e = t.encode(bytes, 1000);
    REQUIRE(e.size() >= 2);
    REQUIRE((e.type_ids.size() == e.size() && e.word_ids.size() == e.size() && e.offsets.size() == e.size()));
    const std::size_t characters = to_utf32(bytes).size();
    for (std::size_t i = 1; i + 1 < e.size(); ++i) {
      REQUIRE(e.word_ids[i] - (i == 1 ? -1 : e.word_ids[i - 1]) <= 1);
      REQUIRE(e.word_ids[i] >= (i == 1 ? 0 : e.word_ids[i - 1]));
      REQUIRE(e.offsets[i].first < e.offsets[i].second);
      REQUIRE(e.offsets[i].second <= characters);
    }
  }
}

TEST_CASE("added tokens: found before the words, in the text as it is or in the normalized one, with their flags") {
  struct Row {
    AddedToken token;
    std::string text;
    std::vector<std::int32_t> ids;  // without [CLS] and [SEP]
    std::vector<std::pair<std::uint32_t, std::uint32_t>> offsets{};
  };
  // As PyPI tokenizers 0.23.3; id 26 is that of the token.
  const Row rows[] = {
      {{.content = "[COL]"}, "a [COL] b", {5, 26, 7}, {{0, 1}, {2, 7}, {8, 9}}},
      {{.content = "[COL]"}, "a [col] b", {5, 14, 1, 15, 7}},
      {{.content = "[COL]", .normalized = true}, "a [col] b", {5, 26, 7}, {{0, 1}, {2, 7}, {8, 9}}},
      {{.content = "[COL]", .lstrip = true}, "a  [COL] b", {5, 26, 7}, {{0, 1}, {1, 8}, {9, 10}}},
      {{.content = "[COL]", .rstrip = true}, "a [COL]\xC2\xA0 b", {5, 26, 7}, {{0, 1}, {2, 9}, {9, 10}}},
      {{.content = "[COL]", .lstrip = true, .rstrip = true, .normalized = true},
       "a [COL] [COL] b",
       {5, 26, 26, 7},
       {{0, 1}, {1, 8}, {8, 14}, {14, 15}}},
      {{.content = "bc", .single_word = true}, "abc bc abc", {11, 26, 11}},
      {{.content = "bc", .single_word = true},
       "\xC3\xA9"
       "bc",
       {24, 8, 12}},
      {{.content = "bc", .single_word = true, .piece = false}, "bc\xC2\xBD bc\xCC\x81", {26, 1, 7, 12}},  // a fraction, an accent
      {{.content = "bc"}, "abc", {5, 26}},
      {{.content = "BC", .normalized = true}, "abc bcBC", {5, 26, 26, 26}},
      {{.content = "ab c", .piece = false}, "ab c ab", {26, 9}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    auto words = small_vocabulary;
    words.push_back(row.token.content);
    const Tokenizer t(Vocabulary(words), {.added_tokens = {row.token}});
    auto expected = row.ids;
    expected.insert(expected.begin(), 2);
    expected.push_back(3);
    const auto e = t.encode(row.text, 64);
    CHECK(e.ids == expected);
    if (row.offsets.empty()) continue;
    CHECK(std::vector<std::pair<std::uint32_t, std::uint32_t>>(e.offsets.begin() + 1, e.offsets.end() - 1) == row.offsets);
  }
  // A token outside of the model's own vocabulary is no piece of words.
  auto words = small_vocabulary;
  words.push_back("hel");
  const AddedToken whole{.content = "hel", .single_word = true, .piece = false};
  CHECK(Tokenizer(Vocabulary(words), {.added_tokens = {whole}}).encode("hela hel", 9).ids == std::vector<std::int32_t>{2, 1, 26, 3});
  CHECK(Tokenizer(Vocabulary(words)).encode("hela", 9).ids == std::vector<std::int32_t>{2, 26, 6, 3});
  CHECK_THROWS_WITH(Tokenizer(Vocabulary(small_vocabulary), {.added_tokens = {whole}}), doctest::Contains("has no 'hel'"));
}

TEST_CASE("a tokenizer that adds not all of [CLS] and [SEP]") {
  using Ids = std::vector<std::int32_t>;
  const auto make = [](bool cls, bool sep, bool middle) {
    return Tokenizer(Vocabulary(small_vocabulary), {.add_cls = cls, .add_sep = sep, .add_middle_sep = middle});
  };
  CHECK(make(false, false, false).encode("a b", 9).ids == Ids{5, 7});
  CHECK(make(true, false, true).encode("a b", 9).ids == Ids{2, 5, 7});
  const auto pair = make(true, false, true).encode_pair("a b", "b", 9);
  CHECK(pair.ids == Ids{2, 5, 7, 3, 7});
  CHECK(pair.type_ids == std::vector<std::uint8_t>{0, 0, 0, 0, 1});
  CHECK(make(false, true, false).encode_pair("a b", "b", 9).ids == Ids{5, 7, 7, 3});
  CHECK(make(false, false, false).encode_pair("a b a", "b a b", 5).ids == Ids{5, 7, 7, 5, 7});
  CHECK(make(false, false, false).encode("a b a", 2).ids == Ids{5, 7});
  CHECK_THROWS_WITH(make(false, false, false).encode(" ", 9), doctest::Contains("a text has no tokens"));
  CHECK_THROWS_WITH(make(false, false, false).encode_pair("", " ", 9), doctest::Contains("a pair has no tokens"));
}
