// SPDX-License-Identifier: MIT
#include "lexformer/words/word_units.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

const std::vector<std::string> unit_tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[SUB]", "!",    "a",    "b",
                                           "c",     "e",     "f",     "ab",    "##a",    "##c",   "##bc", "cafe", "\xE4\xBD\xA0"};

std::string spelled(const WordUnits& units, std::string_view word) { return join(units.tokens(word), " "); }

WordUnits of_mode(UnitMode mode) { return WordUnits(Vocabulary(unit_tokens), {.mode = mode}); }

}  // namespace

TEST_CASE("a word is [CLS] letters [SUB] pieces [SEP], letters alone, or pieces alone") {
  const WordUnits mixed = of_mode(UnitMode::mixed), characters = of_mode(UnitMode::characters), pieces = of_mode(UnitMode::pieces);
  CHECK(spelled(mixed, "abcc") == "[CLS] a b c c [SUB] ab ##c ##c [SEP]");
  CHECK(spelled(characters, "abcc") == "[CLS] a b c c [SEP]");
  CHECK(spelled(pieces, "abcc") == "[CLS] ab ##c ##c [SEP]");
  CHECK(mixed.ids("abcc") == std::vector<std::int32_t>{2, 7, 8, 9, 9, 5, 12, 14, 14, 3});
  CHECK(mixed.ids("a") == std::vector<std::int32_t>{2, 7, 5, 7, 3});  // a letter and a piece of the same text are the same row
  CHECK(mixed.size() == unit_tokens.size());
  CHECK(mixed.pad_id() == 0);
  CHECK(parse_name<UnitMode>("characters", "units") == UnitMode::characters);
  CHECK(WordUnits(Vocabulary(unit_tokens)).options().mode == UnitMode::mixed);
}

TEST_CASE("the word is normalized and split as by BERT's tokenizer") {
  const WordUnits units = of_mode(UnitMode::mixed);
  CHECK(spelled(units, "ABcc") == spelled(units, "abcc"));
  CHECK(spelled(units, "CAF\xC3\x89") == "[CLS] c a f e [SUB] cafe [SEP]");
  CHECK(spelled(units, "ab!bc") == "[CLS] a b ! b c [SUB] ab ! b ##c [SEP]");  // the part after ! starts without ##
  CHECK(spelled(units, " a  b\n") == "[CLS] a b [SUB] a b [SEP]");
  CHECK(spelled(units, "a\xE4\xBD\xA0") == "[CLS] a \xE4\xBD\xA0 [SUB] a \xE4\xBD\xA0 [SEP]");
  // Text that looks like a special token is text.
  CHECK(spelled(units, "[SUB]") == "[CLS] [UNK] [UNK] [UNK] b [UNK] [SUB] [UNK] [UNK] [UNK] [SEP]");
  CHECK(spelled(units, "[SEP]") == "[CLS] [UNK] [UNK] e [UNK] [UNK] [SUB] [UNK] [UNK] [UNK] [SEP]");
}

TEST_CASE("letters and pieces that the vocabulary lacks are unknown") {
  const WordUnits units = of_mode(UnitMode::mixed);
  CHECK(spelled(units, "axb") == "[CLS] a [UNK] b [SUB] [UNK] [SEP]");
  CHECK(spelled(units, "cb!a") == "[CLS] c b ! a [SUB] [UNK] ! a [SEP]");  // only the part without pieces
  CHECK(spelled(of_mode(UnitMode::pieces), "axb") == "[CLS] [UNK] [SEP]");
}

TEST_CASE("a word of more than 100 letters, or of none, is [CLS] [UNK] [SEP] in each mode") {
  const std::string longest = "a" + std::string(99, 'c');
  for (const UnitMode mode : {UnitMode::mixed, UnitMode::characters, UnitMode::pieces}) {
    const WordUnits units = of_mode(mode);
    for (const std::string& word :
         {longest + "c", std::string(51, 'a') + "!" + std::string(49, 'a'), std::string(1 << 20, 'c'), std::string(), std::string(" \t"),
          std::string(1, '\0'), std::string("\xCC\x81"), std::string("\xFF\xC3")})
      CHECK(spelled(units, word) == "[CLS] [UNK] [SEP]");
    CHECK(units.ids(longest).size() == (mode == UnitMode::mixed ? WordUnits::max_units : 102));
  }
}

TEST_CASE("invalid UTF-8 in a word is removed") {
  const WordUnits units = of_mode(UnitMode::mixed);
  for (const char* word : {"\xFF"
                           "ab",
                           "a\x80"
                           "b",
                           "ab\xC3", "ab\xED\xA0\x80", "ab\xEF\xBF\xBD"})
    CHECK(spelled(units, word) == spelled(units, "ab"));
}

TEST_CASE("a vocabulary without one of the special tokens of LOVE is refused") {
  for (const std::string token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]"}) {
    std::vector<std::string> tokens = unit_tokens;
    std::erase(tokens, token);
    expect_file_error([&] { WordUnits(Vocabulary(tokens), {}, "v.txt"); },
                      "v.txt: the vocabulary (17 tokens) has no '" + token +
                          "'; expected [PAD], [UNK], [CLS], [SEP], [SUB]; tools/make_love_vocab.py makes a vocabulary for LOVE");
  }
  std::vector<std::string> tokens = unit_tokens;
  std::erase(tokens, "[MASK]");  // LOVE does not use it
  CHECK(spelled(WordUnits(Vocabulary(tokens)), "ab") == spelled(of_mode(UnitMode::mixed), "ab"));
}

TEST_CASE("with buckets the special tokens keep rows of their own, and the others share the rest evenly") {
  const std::set<std::string> special{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]"};
  for (const std::size_t buckets : {std::size_t{1}, std::size_t{4}, std::size_t{13}, std::size_t{40}}) {
    std::vector<std::string> tokens = unit_tokens;
    if (buckets == 4) std::reverse(tokens.begin(), tokens.end());  // special tokens need not come first
    const WordUnits units(Vocabulary(tokens), {.buckets = buckets});
    CHECK(units.size() == 5 + buckets);
    CHECK(units.pad_id() == 0);
    CHECK(units.tokens("abcc") == of_mode(UnitMode::mixed).tokens("abcc"));
    const auto ids = units.ids("abx");  // [CLS] a b [UNK] [SUB] [UNK] [SEP]
    CHECK(ids[0] == 2);
    CHECK(ids[3] == 1);
    CHECK(ids[4] == 4);
    CHECK(ids[6] == 3);
    std::vector<int> used(units.size());
    for (const std::string& token : tokens)
      if (!special.contains(token) && !token.starts_with("[") && !token.starts_with("##")) {
        const auto row = static_cast<std::size_t>(units.ids(token)[units.ids(token).size() - 2]);
        CHECK((row >= 5 && row < units.size()));
        ++used[row];
      }
    // The 9 tokens asked, of 13 in all, in rows of at most ceil(13 / buckets).
    for (const int count : used) CHECK(count <= (buckets == 1 ? 9 : buckets == 4 ? 4 : 1));
  }
  expect_error(
      ErrorKind::usage, [] { WordUnits(Vocabulary(unit_tokens), {.buckets = Vocabulary::max_size + 1}); }, "buckets is 1048577");
}

TEST_CASE("the released vocabulary splits words as in the paper") {
  const char* shared = std::getenv("LEXFORMER_SHARED");
  const std::string path = std::string(shared != nullptr ? shared : LEXFORMER_SOURCE_DIR "/../shared") + "/data/love-vocab/vocab.txt";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no data/love-vocab/vocab.txt");
    return;
  }
  const WordUnits pieces(Vocabulary::load_vocab_txt(path), {.mode = UnitMode::pieces}), mixed(Vocabulary::load_vocab_txt(path));
  CHECK(spelled(pieces, "mispselling") == "[CLS] mi ##sp ##sell ##ing [SEP]");
  CHECK(spelled(pieces, "misspelling") == "[CLS] miss ##pel ##ling [SEP]");
  CHECK(spelled(pieces, "this") == "[CLS] thi ##s [SEP]");
  CHECK(spelled(mixed, "misspelling") == "[CLS] m i s s p e l l i n g [SUB] miss ##pel ##ling [SEP]");
  CHECK(mixed.size() == 21257);
  CHECK(300 * mixed.size() == 6377100);  // the paper's number of parameters of the table
  CHECK(mixed.ids("a").front() == 2);
  CHECK(mixed.ids("a")[2] == 5);
  CHECK(WordUnits(Vocabulary::load_vocab_txt(path), {.buckets = 20000}).size() == 20005);
}
