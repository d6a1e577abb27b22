// SPDX-License-Identifier: MIT
#include "lexformer/text/vocabulary.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "support/expect_error.hpp"

using namespace lexformer;

TEST_CASE("vocab.txt: line number = id, white space at the end is no part of a token, the last of equal tokens counts") {
  const Vocabulary v = Vocabulary::from_vocab_txt("[PAD]\r\n[UNK]  \n[CLS]\t\n[SEP]\xC2\xA0\xE3\x80\x80\na\n\nb c\na");
  CHECK(v.size() == 8);
  CHECK(v.id("[UNK]") == 1);
  CHECK(v.id("[CLS]") == 2);
  CHECK(v.id("[SEP]") == 3);
  CHECK(v.id("a") == 7);
  CHECK(v.id("b c") == 6);
  CHECK(v.token(5).empty());
  CHECK_FALSE(v.id(""));
  CHECK_FALSE(v.id("A"));
  CHECK_THROWS_WITH_AS(v.token(8), "Vocabulary: id 8 is out of range; the vocabulary has 8 tokens", Error);
  CHECK_THROWS_AS(v.token(-1), Error);
  CHECK(Vocabulary::from_vocab_txt("a\n").size() == 1);
  CHECK(Vocabulary::from_vocab_txt("").size() == 0);
  CHECK(Vocabulary::from_vocab_txt("").longest() == 0);
  CHECK(v.longest() == 5);
  const TemporaryFolder folder;
  const std::string path = folder / "vocab.txt";
  std::ofstream(path, std::ios::binary) << "a\r\nb";
  CHECK(Vocabulary::load_vocab_txt(path).tokens() == std::vector<std::string>{"a", "b"});
  std::string text;
  std::vector<std::string> tokens;
  for (int i = 0; i < 20000; ++i) text += tokens.emplace_back("token" + std::to_string(i)) + "\n";
  std::ofstream(path, std::ios::binary) << text;  // larger than the read buffer
  CHECK(Vocabulary::load_vocab_txt(path).tokens() == tokens);
  std::ofstream(path, std::ios::binary) << "";
  expect_file_error([&] { Vocabulary::load_vocab_txt(path); }, path + ": the vocabulary is empty; expected one token per line");
  std::ofstream(path, std::ios::binary) << "a\nb\nc\xC3\nd\n";
  expect_file_error([&] { Vocabulary::load_vocab_txt(path); }, path + ": line 3: the token is not UTF-8");
  expect_file_error([&] { Vocabulary::load_vocab_txt(folder / "none"); }, "none: cannot open the vocabulary");
  expect_file_error([&] { Vocabulary::load_vocab_txt(folder.path.string()); }, "cannot read the vocabulary");
}

TEST_CASE("a vocab.txt of very many lines is refused before memory is taken for them") {
  CHECK(Vocabulary::from_vocab_txt(std::string(1000, '\n')).size() == 1000);
  CHECK_THROWS_WITH_AS(Vocabulary::from_vocab_txt(std::string(Vocabulary::max_size + 1, '\n')),
                       doctest::Contains("Vocabulary: more than 1048576 lines"), Error);
}

TEST_CASE("every token of a large vocabulary is found, others are not") {
  std::vector<std::string> tokens;
  for (int i = 0; i < 100000; ++i) tokens.push_back(std::to_string(i));
  const Vocabulary v(tokens);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (v.id(tokens[i]) != static_cast<std::int32_t>(i) || v.id(tokens[i] + "x")) ++wrong;
  CHECK(wrong == 0);
}

TEST_CASE("a vocabulary of tokens that collide under FNV-1a is as fast as any other") {
  // Tokens whose 64-bit FNV-1a hashes (used by an earlier version) agree in the bits that select a slot of 2^17.
  std::vector<std::string> tokens;
  for (std::uint64_t i = 0; tokens.size() < 4000; ++i) {
    const std::string token = std::to_string(i);
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (const char c : token) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    if (((hash ^ (hash >> 32)) & 0xFFF) == 0) tokens.push_back(token);
  }
  std::size_t same = 0;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const auto slot = [&](const std::string& token) {
      const std::uint64_t hash = Vocabulary::hash_append(Vocabulary::hash_start, token);
      return (hash ^ (hash >> 32)) & 0xFFF;
    };
    same += slot(tokens[i]) == slot(tokens[0]) ? 1u : 0u;
  }
  CHECK(same < 40);  // of 4000 in 4096 slots; without a hash key, all of them
  const Vocabulary v(tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) REQUIRE(v.id(tokens[i]) == static_cast<std::int32_t>(i));
}

TEST_CASE("a vocabulary that was moved from has no tokens") {
  Vocabulary from({"[UNK]", "a"});
  const Vocabulary to = std::move(from);
  CHECK(to.id("a") == 1);
  CHECK(!from.id("a"));  // NOLINT(bugprone-use-after-move)
  CHECK(from.size() == 0);
}
