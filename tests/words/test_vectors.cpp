// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/npy.hpp"
#include "lexformer/words/vectors.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

using WordList = std::vector<std::string>;
using Floats = std::vector<float>;

Floats row_of(const WordVectors& vectors, const std::string& word) {
  const auto row = vectors.find(word);
  REQUIRE_MESSAGE(row.has_value(), word);
  return {vectors.row(*row).begin(), vectors.row(*row).end()};
}
void refused(const std::string& text, const std::string& part) {
  expect_file_error([&] { parse_vectors(text, "f"); }, part);
}

}  // namespace

TEST_CASE("vectors: word2vec form, GloVe form, and what differs between writers, give the same") {
  for (const std::string text : {"2 3\nthe 1 -2 0.5\nof 3e-1 0 4\n",             // word2vec
                                 "the 1 -2 0.5\nof 3e-1 0 4\n",                  // GloVe
                                 "2 3\nthe 1 -2 0.5 \nof 3e-1 0 4 \n",           // word2vec's own program: a blank at the end
                                 "\xEF\xBB\xBFthe\t1\t-2\t.5\r\nof\t.3\t0\t4.",  // tabs, CR LF, byte order mark, no line feed at the end
                                 "2\t3\r\nthe  1 -2  0.500\r\nof 0.3 0 4\r\n"}) {
    CAPTURE(text);
    const auto vectors = parse_vectors(text, "f");
    CHECK(vectors.size() == 2);
    CHECK(vectors.dimension() == 3);
    CHECK(vectors.dropped() == 0);
    CHECK(vectors.words() == WordList{"the", "of"});
    CHECK(vectors.values().shape() == Shape{2, 3});
    CHECK(vectors.values().to_vector() == Floats{1, -2, 0.5f, 0.3f, 0, 4});
    CHECK(vectors.find("of") == 1);
    CHECK_FALSE(vectors.find("Of"));
    CHECK_FALSE(vectors.find(""));
  }
  // A word may be a number, and the first line is a header only if it has two whole numbers.
  CHECK(parse_vectors("1 2.0\n2 3\n", "f").words() == WordList{"1", "2"});
  CHECK(parse_vectors("7 1 2\n", "f").dimension() == 2);
  CHECK(WordVectors().size() == 0);
  CHECK(WordVectors().dimension() == 0);
}

TEST_CASE("vectors: words in lower case; the first of equal words stays") {
  const std::string text = "The 1\nTHE 2\n\xC3\x84hm 3\nthe 4\nof 5\n\xC3\xA4hm 6\n";
  const auto lower = parse_vectors(text, "f");
  CHECK(lower.words() == WordList{"the", "\xC3\xA4hm", "of"});
  CHECK(lower.values().to_vector() == Floats{1, 3, 5});
  CHECK(lower.dropped() == 3);
  CHECK(row_of(lower, "of") == Floats{5});
  CHECK(lower.nearest(Floats{1}, 9).size() == 3);
  const auto cased = parse_vectors(text + "of 7\n", "f", false);
  CHECK(cased.size() == 6);
  CHECK(cased.dropped() == 1);
  CHECK(row_of(cased, "THE") == Floats{2});
  CHECK(row_of(cased, "of") == Floats{5});
  // The header counts the rows of the file, not those that stay.
  CHECK(parse_vectors("3 1\na 1\nA 2\na 3\n", "f").dropped() == 2);
}

TEST_CASE("vectors: numbers at the ends of the range, and written so that they are read back exactly") {
  const auto vectors = parse_vectors("a 1e-45 3.4028234663852886e38 -1.17549435e-38 1e-60 -0 16777217\n", "f");
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(row_of(vectors, "a") == Floats{std::nextafter(0.0f, inf), std::nextafter(inf, 0.0f), -1.17549435e-38f, 0, 0, 16777216});
  CHECK(parse_vectors("a 1e-45\nb -3e38\n", "f").nearest(Floats{1e-45f}, 1)[0].cosine == doctest::Approx(1));

  const TemporaryFolder folder;
  const WordVectors own({"x", "B", "\xE2\x82\xAC"},
                        Tensor<float>::from({0.1f, -0.0f, 1.0f / 3, 2, 1e-45f, 123456792, 1e30f, 5, 0.5f}, {3, 3}), false);
  own.write(folder / "v.txt");
  CHECK(read_file(folder / "v.txt") == "3 3\nx 0.1 -0 0.33333334\nB 2 1e-45 123456792\n\xE2\x82\xAC 1e+30 5 0.5\n");
  const auto back = read_vectors(folder / "v.txt", {.lower_case = false});
  CHECK(back.words() == own.words());
  CHECK(back.values().to_vector() == own.values().to_vector());
  CHECK(std::signbit(back.row(0)[1]));
}

TEST_CASE("vectors: bad text is refused with file and line") {
  refused("", "f: has no word vectors");
  refused("\xEF\xBB\xBF", "f: has no word vectors");
  refused("0 50\n", "f: has no word vectors");
  refused("2 2\na 1 2\n", "f: line 1: the header says 2 vectors, the file has 1");
  refused("1 2\na 1 2\nb 3 4\n", "f: line 1: the header says 1 vectors, the file has 2");
  refused("1 0\na\n", "f: line 1: expected a word and its numbers");
  refused("word\n", "f: line 1: expected a word and its numbers");
  refused("\na 1\n", "f: line 1: expected a word and its numbers");
  refused("1 2\na 1 2 3\n", "f: line 2: expected 2 numbers after the word, found 3");
  refused("a 1 2\nb 1.5\n", "f: line 2: expected 2 numbers after the word, found 1");
  refused("a 1 2\nb 3 4\n\n", "f: line 3: expected a word and 2 numbers, found 0 fields");
  refused("2 2\na 1 2\nb x\n", "f: line 3: expected a word and 2 numbers, found 2 fields");
  refused("1 1000000000000000000\na 1\n", "f: line 2: expected a word and 1000000000000000000 numbers");
  for (const std::string number : {"nan", "inf", "-infinity", "1e39", "1e999", "-", "1,5", "1x", "0x1p3", "1\v"})
    refused("a 1 2\nb 1 " + number + "\n", "f: line 2: number 2 is '" + (number == "1\v" ? "1?" : number) + "', expected a finite number");
  refused("a 0 0\nb 0 -0\n", "f: all vectors are zero");
  refused("a 1 2\nb c d\n", "f: line 2: number 1 is 'c', expected a finite number");
  refused("a 1 2\nb 3 4 5\n", "f: line 2: expected 2 numbers after the word, found 3");  // no word with spaces
  refused("a 1 2\n 3 4 5\n", "f: line 2: the word is empty");
  refused("a 1 2\nb\xFF 3 4\n", "f: line 2: byte 2 is not UTF-8");
  refused("a 1 2\nb\rc 3 4\n", "f: line 2: the word 'b?c' has a space, a tab or a line break");
  expect_file_error([] { read_vectors("/no/such/file"); }, "/no/such/file: cannot be opened");

  // Of several bad lines the first is named, with any number of threads.
  std::string text;
  for (int i = 0; i < 4000; ++i) text += cat("w", i, i % 1000 == 700 ? " 0 x\n" : " 1 2\n");
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    refused(text, "f: line 701: number 2 is 'x'");
  }
  set_threads(0);
}

TEST_CASE("vectors: words with spaces and zero vectors are left out and counted") {
  const auto glove = parse_vectors("a 1 2\n. . . 3 4\nb 5 6\nat name@domain.com 7 8\nc 0 0\n", "f");
  CHECK(glove.words() == WordList{"a", "b"});
  CHECK(glove.values().to_vector() == Floats{1, 2, 5, 6});
  CHECK(glove.left_out() == 3);
  CHECK(glove.dropped() == 0);
  // Most of the first lines tell the dimension, and a header tells it in any case.
  CHECK(parse_vectors(". . 1 2\na 1 2\nb 3 4\n", "f").words() == WordList{"a", "b"});
  CHECK(parse_vectors("2 2\n. . 1 2\na 1 2\n", "f").left_out() == 1);
  // A zero vector does not take the place of a later one of the same word.
  CHECK(parse_vectors("a 0 0\nA 1 2\n", "f").values().to_vector() == Floats{1, 2});
}

TEST_CASE("vectors: the binary form of word2vec, with and without line feeds") {
  const auto bytes = [](const Floats& x) { return std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)); };
  const std::string a = "The " + bytes({1, 2}), b = "of " + bytes({3, 4}), zero = "</s> " + bytes({0, 0});
  for (const std::string end : {"", "\n"}) {
    const auto vectors = parse_binary_vectors("3 2\n" + zero + end + a + end + b + end, "f");
    CHECK(vectors.words() == WordList{"the", "of"});
    CHECK(vectors.values().to_vector() == Floats{1, 2, 3, 4});
    CHECK(vectors.left_out() == 1);
  }
  const TemporaryFolder folder;
  write_file_atomic(folder / "v.bin", "1 2\n" + a);
  CHECK(read_vectors(folder / "v.bin").words() == WordList{"the"});
  CHECK(parse_binary_vectors("2 2\n\xFF " + bytes({1, 2}) + a, "f").left_out() == 1);
  const auto bad = [](const std::string& text, const std::string& part) {
    expect_file_error([&] { parse_binary_vectors(text, "f"); }, part);
  };
  bad("the of\n",
      "f: is neither a model of fastText nor a binary file of word2vec: its first line is not how many vectors follow and their dimension");
  bad("", "f: is neither a model of fastText nor a binary file of word2vec");
  bad("9 2\n" + a, "f: the header says 9 vectors of 2 numbers, more than the file has");
  bad("1 4611686018427387905\n" + a, "more than the file has");
  bad("1 2\n" + a.substr(0, a.size() - 1), "f: ");
  bad("1 2\n" + a + b, "f: has 11 bytes after its end");
  bad("1 2\nThe " + bytes({1, std::nanf("")}), "f: row 1, 'the': a number is not finite");
}

TEST_CASE("vectors: .npy with a list of words") {
  const TemporaryFolder folder;
  const std::string npy = folder / "v.npy", list = folder / "words.txt";
  const auto read = [&] { return read_vectors(npy, {.lower_case = true, .word_list = list}); };
  save_npy(npy, Tensor<double>::from({1, 2, 3, 4, 5, 6}, {3, 2}));
  write_file_atomic(list, "The\r\nof\nTHE");
  CHECK(read().words() == WordList{"the", "of"});
  CHECK(read().dropped() == 1);
  CHECK(read().values().to_vector() == Floats{1, 2, 3, 4});

  expect_error(
      ErrorKind::usage, [&] { read_vectors(npy); }, "v.npy: an .npy file has no words; give a word list");
  expect_error(
      ErrorKind::usage, [&] { read_vectors(list, {.lower_case = true, .word_list = list}); }, "a word list is for .npy files only");
  write_file_atomic(list, "a\nb\n");
  expect_file_error([&] { read(); }, "words.txt: has 2 words, but");
  write_file_atomic(list, "a\n\nb\n");
  expect_file_error([&] { read(); }, "words.txt: line 2: the word is empty");
  write_file_atomic(list, "a\nnew york\nb\n");
  expect_file_error([&] { read(); }, "words.txt: line 2: the word 'new york' has a space");
  write_file_atomic(list, "a\nb\n\xC3(\n");
  expect_file_error([&] { read(); }, "words.txt: line 3: byte 1 is not UTF-8");
  write_file_atomic(list, "a\nb\nA\n");
  save_npy(npy, Tensor<float>::from({1, 2, 3, 4, 0, 0}, {3, 2}));  // also of a row that is left out
  CHECK(read().size() == 2);
  CHECK(read().left_out() == 1);
  save_npy(npy, Tensor<double>::from({1, 2, 1e300, 4, 5, 6}, {3, 2}));
  expect_file_error([&] { read(); }, "v.npy: row 2, 'b': a number is not finite");
  save_npy(npy, Tensor<float>::from({1, 2, 3}, {3}));
  expect_file_error([&] { read(); }, "expected (words, dimension)");
  save_npy(npy, Tensor<float>(Shape{3, 0}));
  expect_file_error([&] { read(); }, "expected (words, dimension)");
  save_npy(npy, Tensor<float>(Shape{0, 3}));
  write_file_atomic(list, "");
  expect_file_error([&] { read(); }, "v.npy: there are no word vectors");
  write_file_atomic(npy, "not an array");
  expect_file_error([&] { read(); }, "is no .npy file");
}

TEST_CASE("vectors: the whole words of a model's table") {
  const Vocabulary vocabulary(WordList{"[PAD]", "The", "##ing", "a", "the", "caf\xC3\xA9", "", "x1", "don't", "[CLS]", "of"});
  const auto table = [] {
    auto t = Tensor<float>::zeros({12, 2});  // a table may have more rows than the vocabulary
    for (const std::size_t i : {1u, 4u, 10u}) t.mutable_data()[2 * i + 1] = static_cast<float>(i);
    return t;
  }();
  const auto vectors = whole_word_vectors(vocabulary, table, "m.lxf");
  CHECK(vectors.words() == WordList{"the", "of"});
  CHECK(vectors.values().to_vector() == Floats{0, 1, 0, 10});
  CHECK(whole_word_vectors(vocabulary, table, "m.lxf", false).words() == WordList{"The", "the", "of"});

  expect_file_error([&] { whole_word_vectors(vocabulary, table.slice(0, 10), "m.lxf"); }, "m.lxf: the word table has shape");
  expect_file_error([&] { whole_word_vectors(vocabulary, table.reshape({24}), "m.lxf"); }, "m.lxf: the word table has shape");
  expect_file_error([&] { whole_word_vectors(Vocabulary(WordList{"[PAD]", "a"}), table, "m.lxf"); }, "m.lxf: there are no word vectors");
  expect_file_error([&] { whole_word_vectors(Vocabulary(WordList{"ab"}), table, "m.lxf"); }, "m.lxf: all vectors are zero");
}

TEST_CASE("vectors: those of a program") {
  const auto values = Tensor<float>::from({1, 2, 3, 4}, {2, 2});
  const WordVectors vectors({"A", "b"}, values);
  CHECK(vectors.words() == WordList{"a", "b"});
  CHECK(vectors.values().shares_storage(values));
  const auto fails = [](WordList words, const Tensor<float>& t, const std::string& part) {
    expect_error(
        ErrorKind::failure, [&] { WordVectors(std::move(words), t); }, "WordVectors: " + part);
  };
  fails({}, values, "there are no word vectors");
  fails({"a"}, values, "the vectors have shape (2, 2), expected (1, dimension)");
  fails({"a", "b"}, Tensor<float>(), "the vectors have shape");
  fails({"a", ""}, values, "word 2: the word is empty");
  fails({"a", "b c"}, values, "word 2: the word 'b c' has a space");
  fails({"a"}, Tensor<float>::zeros({1, 2}), "row 1, 'a': the vector is zero");
  fails({"a"}, Tensor<float>::from({1, std::nanf("")}, {1, 2}), "row 1, 'a': a number is not finite");
  expect_error(
      ErrorKind::failure, [&] { vectors.row(2); }, "row 2 is out of range; there are 2");
  const TemporaryFolder folder;
  expect_file_error([&] { vectors.write(folder / "none/v.txt"); }, "cannot be written");
}

TEST_CASE("vectors: nearest by cosine, ties by row, the same for any number of threads") {
  const auto vectors = parse_vectors("a 1 0\nb 0 2\nc 5 5\nd -3 0\ne 0.5 0\n", "f");
  const auto near = vectors.nearest(Floats{2, 0}, 4);
  REQUIRE(near.size() == 4);
  CHECK(std::vector<std::size_t>{near[0].row, near[1].row, near[2].row, near[3].row} == std::vector<std::size_t>{0, 4, 2, 1});
  CHECK(near[0].cosine == 1);
  CHECK(near[2].cosine == doctest::Approx(std::sqrt(0.5)).epsilon(1e-15));
  CHECK(near[3].cosine == 0);
  CHECK(vectors.nearest(Floats{2, 0}, 9).back().cosine == -1);
  CHECK(vectors.nearest(Floats{2, 0}, 0).empty());
  expect_error(
      ErrorKind::failure, [&] { vectors.nearest(Floats{1}, 1); }, "the query has 1 numbers, expected 2");
  expect_error(
      ErrorKind::failure,
      [&] {
        vectors.nearest(Floats{0, 0}, 1);
      },
      "the query is zero or not finite");
  expect_error(
      ErrorKind::failure,
      [&] {
        vectors.nearest(Floats{0, std::nanf("")}, 1);
      },
      "the query is zero or not finite");

  // 3,000 rows of 19 numbers, more than one block and one lane, against the definition.
  WordList words;
  Tensor<float> values(Shape{3000, 19});
  for (std::size_t i = 0; i < values.size(); ++i) values.mutable_data()[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  for (std::size_t i = 0; i < 3000; ++i) words.push_back(cat("w", i));
  const WordVectors many(words, values);
  const auto query = many.row(1234);
  const auto cosine = [&](std::size_t row) {
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t d = 0; d < 19; ++d) {
      const auto x = static_cast<double>(many.row(row)[d]), y = static_cast<double>(query[d]);
      xy += x * y, xx += x * x, yy += y * y;
    }
    return xy / std::sqrt(xx * yy);
  };
  std::vector<double> found;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    std::vector<double> cosines;
    double last = 2;
    for (const auto& n : many.nearest(query, 3000)) {
      CHECK(std::abs(n.cosine - cosine(n.row)) < 1e-14);
      CHECK(n.cosine <= last);
      cosines.push_back(last = n.cosine);
    }
    CHECK(many.nearest(query, 1)[0].row == 1234);
    if (found.empty()) found = cosines;
    CHECK(cosines == found);
  }
  set_threads(0);
}
