// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lexformer/io/file.hpp"
#include "lexformer/words/word_tasks.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

std::string shown(const std::vector<ScoredWordPair>& pairs) {
  std::string out;
  for (const auto& p : pairs) out += cat(p.left, ' ', p.right, ' ', p.score, '\n');
  return out;
}
void refused(const std::string& text, const std::string& part) {
  expect_file_error([&] { parse_word_pairs(text, "f"); }, part);
}

}  // namespace

TEST_CASE("word pairs: with and without an index, more columns, CR LF, byte order mark") {
  const std::string expected = "tiger cat 7.35\nstock jaguar 0.9\n";
  CHECK(shown(parse_word_pairs("tiger\tcat\t7.35\nstock\tjaguar\t.9\n", "f")) == expected);
  CHECK(shown(parse_word_pairs("\xEF\xBB\xBFTiger\tCAT\t7.35\r\nstock\tJaguar\t0.90", "f")) == expected);
  CHECK(shown(parse_word_pairs("0\ttiger\tcat\t7.35\n1\tstock\tjaguar\t0.92e0\t5\n", "f")) == "tiger cat 7.35\nstock jaguar 0.92\n");
  // Lines may have different numbers of columns after the score, as in RareWord.
  CHECK(shown(parse_word_pairs("tiger\tcat\t7.35\t7\t8\nstock\tjaguar\t0.9\t1\n", "f")) == expected);
  // Words may be numbers and have spaces.
  CHECK(shown(parse_word_pairs("5\t7\t1\t2\n", "f")) == "5 7 1\n");
  CHECK(shown(parse_word_pairs("0\t\xC3\x84ta bar\t7\t-2\n", "f")) == "0 \xC3\xA4ta bar 7\n");
  CHECK(shown(parse_word_pairs("0\tnew york\tx\t-2\n", "f")) == "new york x -2\n");
}

TEST_CASE("word pairs: the forms of SimLex-999, WordSim-353, RG-65 and MEN; blank lines") {
  const std::string expected = "tiger cat 7.35\nstock jaguar 0.9\n";
  CHECK(shown(parse_word_pairs("word1\tword2\tPOS\tSimLex999\tmore\ntiger\tcat\tN\t7.35\t4\nstock\tjaguar\tN\t0.9\t1\n", "f")) == expected);
  CHECK(shown(parse_word_pairs("Word 1,Word 2,Human (mean)\ntiger,cat,7.35\n\nstock,jaguar,0.9\n", "f")) == expected);
  CHECK(shown(parse_word_pairs("tiger;cat;7.35\nstock;jaguar;0.9\n", "f")) == expected);
  CHECK(shown(parse_word_pairs("tiger-n cat-n 7.35\nstock-v jaguar-j  0.9\n", "f")) == expected);
  CHECK(shown(parse_word_pairs("tiger-n cat 7.35\n", "f")) == "tiger-n cat 7.35\n");
}

TEST_CASE("word pairs: what is refused") {
  refused("", "f: has no pairs of words");
  refused("tiger cat\n", "f: line 1: expected two words and a score, separated by tabs; found 2 columns");
  refused("a\tb\t1\nc\td\n", "f: line 2: expected two words and a score, separated by tabs; found 2 columns");
  refused("0\ta\tb\t1\n1\tc\td\n", "f: line 2: expected an index, two words and a score, separated by tabs; found 3 columns");
  refused("first\tsecond\tscore\na\tb\t1\n", "f: line 1: the score 'score' is no finite number");
  refused("word1\tword2\tscore\n", "f: has no pairs of words");
  refused("word1\tword2\tPOS\tscore\na\tb\tN\tx\n", "f: line 2: the score 'x' is no finite number");
  refused("a\tb\t1\nc\td\t1.5x\n", "f: line 2: the score '1.5x' is no finite number");
  refused("a\tb\tnan\n", "f: line 1: the score 'nan' is no finite number");
  refused("a\tb\t1e999\n", "is no finite number");
  refused("a\tb\t1\n\tb\t1\n", "f: line 2: a word is empty");
  refused("a\tb\t1\na\t\xFF\t1\n", "f: line 2: byte 3 is not UTF-8");
  expect_file_error([] { read_word_pairs("/nonexistent/pairs.txt"); }, "/nonexistent/pairs.txt");
}

TEST_CASE("categorized words: columns by name; rows without a word are left out") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    write_file_atomic(folder / "c.csv", text);
    std::string out;
    for (const auto& w : read_categorized_words(folder / "c.csv")) out += w.word + '/' + w.category + '\n';
    return out;
  };
  CHECK(read(",category,word\n0,Tool,Hammer\n1,Tool,\n2,\"sea, or land\",\"polar bear\"\n") == "hammer/Tool\npolar bear/sea, or land\n");
  CHECK(read("word,category\nhammer,tool\n") == "hammer/tool\n");
  expect_file_error([&] { read("0,tool,hammer\n"); }, "c.csv: line 1: there is no column");
  expect_file_error([&] { read(",category,word\n0,tool,hammer\n1,tool\n"); }, "c.csv: line 3: the row has 2 columns, expected 3");
  expect_file_error([&] { read(",category,word\n0,tool,h\xFFmmer\n"); }, "c.csv: line 2: byte 9 is not UTF-8");
  expect_file_error([&] { read(",category,word\n"); }, "c.csv: the table has no rows");
  expect_file_error([&] { read(",category,word\n0,tool,\n"); }, "c.csv: no row has a word");
}

TEST_CASE("misspellings: columns, and blocks of a correct word with its misspellings") {
  const auto parsed = [](const std::string& text) {
    std::string out;
    for (const auto& m : parse_misspellings(text, "f")) out += cat(m.misspelling, '/', m.correct, '\n');
    return out;
  };
  CHECK(parsed("Recieve\tReceive\nwich\twhich\t3\n") == "recieve/receive\nwich/which\n");
  CHECK(parsed("\xEF\xBB\xBF"
               "a lot\talot\r\n$x\ty") == "a lot/alot\n$x/y\n");
  CHECK(parsed("$Susan\nsusan\n$all_right\nalright 2\nall_rite\t1\n$?\nanetes 1\n$\xC3\x84ta\neta\n$none\n") ==
        "susan/susan\nalright/all right\nall rite/all right\neta/\xC3\xA4ta\n");
  const auto wrong = [](const std::string& text, const std::string& part) {
    expect_file_error([&] { parse_misspellings(text, "f"); }, part);
  };
  wrong("", "f: has no misspellings");
  wrong("$word\n", "f: has no misspellings");
  wrong("$?\nanetes 1\n", "f: has no misspellings");
  wrong("recieve receive\n", "f: line 1: expected a misspelling, the correct word and perhaps a count, separated by tabs; found 1 column");
  wrong("a\tb\n1\trecieve\treceive\t3\tx\n",
        "f: line 2: expected a misspelling, the correct word and perhaps a count, separated by tabs; found 5 columns");
  wrong("1\trecieve\treceive\n", "separated by tabs; found 3 columns, the third is 'receive'");
  wrong("a\tb\n\tb\n", "f: line 2: a word is empty");
  wrong("a\tb\nc\t\n", "f: line 2: a word is empty");
  wrong("a\tb\n\nc\td\n", "f: line 2: expected a misspelling");
  wrong("a\tm\xFCsli\n", "f: line 1: byte 4 is not UTF-8");
  wrong("$word\nwrod\n\nwod\n", "f: line 3: expected `$` and a word, or a misspelling; found an empty line");
  wrong("$\nwrod\n", "f: line 1: a word is empty");
  wrong("$word\nwrod wod\n", "f: line 2: expected a misspelling and a count, found 'wrod wod'");
  wrong("$word\nwrod 1 2\n", "f: line 2: expected a misspelling and a count");
  wrong("$two words\nwrod\n", "f: line 1: expected `$` and a word, found '$two words'");
  wrong("$word\nm\xFCsli\n", "f: line 2: byte 2 is not UTF-8");
  expect_file_error([] { read_misspellings("/nonexistent/words.dat"); }, "/nonexistent/words.dat");
}

TEST_CASE("misspellings as a table for the typo mode: by word, once each, single words alone") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    write_file_atomic(folder / "m.dat", text);
    return read_misspelling_table(folder / "m.dat");
  };
  const auto table = read("$Susan\nsusan\nsuzan\n$all_right\nalright 2\n$until\nuntill\nUntill 2\nun_til\n");
  CHECK(table.of_word == decltype(MisspellingTable::of_word){{"susan", {"suzan"}}, {"until", {"untill", "un til"}}});
  CHECK(table.source == cat(folder / "m.dat", ", crc32 ", crc32(read_file(folder / "m.dat"))));
  CHECK(read("untill\tuntil\n").of_word.at("until") == std::vector<std::string>{"untill"});
  expect_file_error([&] { read("$all_right\nalright\n"); }, "m.dat: has no misspelling of a single word");
  expect_file_error([&] { read("$until\nuntill no\n"); }, "m.dat: line 2: expected a misspelling and a count");
}
