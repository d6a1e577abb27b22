// SPDX-License-Identifier: MIT
// fastText's .bin files: the vectors that fasttext prints (tests/oracles/make_golden_fasttext.py), n-grams, damaged files.
#include "lexformer/words/fasttext.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iomanip>
#include <limits>
#include <sstream>

#include "lexformer/io/file.hpp"
#include "support/expect_error.hpp"

#ifndef LEXFORMER_SOURCE_DIR
#define LEXFORMER_SOURCE_DIR "."
#endif

using namespace lexformer;

namespace {

const std::string golden_fasttext = LEXFORMER_SOURCE_DIR "/tests/golden/fasttext";

template <class Number>
std::string bytes_of(Number x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

/// A model of the words `ab` and `b` with 3 rows of n-grams of 2 to 3 characters; row r of the table is (r, r / 2).
struct TinyFastText {
  std::int32_t version = 12, dim = 2, kind = 2, bucket = 3, minn = 2, maxn = 3, entries = 2, words = 2, labels = 0;
  std::int64_t pruned = -1, columns = 2;
  std::string second = "b";
  signed char second_kind = 0;
  char quantized = 0;
  float first = 0;

  std::string bytes() const {
    std::string out = "\xBA\x16\x4F\x2F" + bytes_of(version);
    for (const std::int32_t option : {dim, 5, 1, 1, 5, 1, 2, kind, bucket, minn, maxn, 100}) out += bytes_of(option);
    out += bytes_of(1e-4);
    for (const std::int32_t size : {entries, words, labels}) out += bytes_of(size);
    out += bytes_of(std::int64_t{9}) + bytes_of(pruned);
    for (const auto& [word, of] : {std::pair{std::string("ab"), static_cast<signed char>(0)}, {second, second_kind}})
      out += word + '\0' + bytes_of(std::int64_t{4}) + bytes_of(of);
    out += quantized + bytes_of(std::int64_t{5}) + bytes_of(columns);
    for (int r = 0; r < 5; ++r) out += bytes_of(r == 0 ? first : static_cast<float>(r)) + bytes_of(static_cast<float>(r) / 2);
    out += '\0' + bytes_of(std::int64_t{2}) + bytes_of(std::int64_t{2});
    return out + std::string(4 * sizeof(float), '\0');
  }
  FastText model() const { return FastText::parse(bytes(), "tiny.bin"); }
};

}  // namespace

TEST_CASE("FastText: known and unknown words have the vectors that fasttext prints") {
  const auto model = FastText::load(golden_fasttext + ".bin");
  CHECK(model.size() == 4);
  CHECK(model.buckets() == 60);
  std::istringstream printed(read_file(golden_fasttext + ".txt"));
  std::size_t known = 0, words = 0;
  for (std::string line; std::getline(printed, line); ++words) {
    const std::string word = line.substr(0, line.find(' '));
    const auto vector = model.vectors(std::vector{word});
    std::ostringstream ours;
    ours << word << std::setprecision(5);
    for (const float x : vector.span()) ours << ' ' << x;
    CHECK(ours.str() == line);
    known += std::find(model.words().begin(), model.words().end(), word) != model.words().end() ? 1u : 0u;
  }
  CHECK(words == 23);
  CHECK(known == 9);
  const auto all = model.known(false);
  CHECK(all.words() == model.words());
  const auto of_cat = model.vectors(std::vector<std::string>{"cat"});
  const auto row = all.row(all.find("cat").value());
  CHECK(std::equal(row.begin(), row.end(), of_cat.span().begin()));
  CHECK(all.size() - model.known().size() == model.known().dropped());  // lower case may make words equal
  CHECK(model.known().find("café"));
  CHECK(model.checksum() == crc32(read_file(golden_fasttext + ".bin")));
}

TEST_CASE("FastText: n-grams, and words without any") {
  const auto model = TinyFastText{}.model();
  CHECK(model.rows("ab").size() == 1 + 5);  // itself; <a ab b> <ab ab>
  CHECK(model.rows("ab")[0] == 0);
  CHECK(model.rows("a").size() == 3);  // <a a> <a>
  CHECK(model.rows("ä").size() == 3);  // a character, not a byte

  CHECK(model.rows("").size() == 1);
  CHECK(model.rows("</s>").empty());
  CHECK(model.vectors(std::vector<std::string>{"</s>"}).at(0, 1) == 0);
  CHECK(TinyFastText{.minn = 1}.model().rows("a").size() == 4);  // a, but neither < nor >
  CHECK(TinyFastText{.maxn = 0}.model().rows("ab").size() == 1);
  CHECK(TinyFastText{.maxn = 0}.model().rows("xy").empty());
  CHECK(TinyFastText{.version = 11, .bucket = 3}.model().longest() == 3);
  const auto copy = [] {
    return std::vector{TinyFastText{}.model(), TinyFastText{.maxn = 2}.model()};
  }();  // copies do not point to originals
  CHECK(copy[1].rows("b") == TinyFastText{.maxn = 2}.model().rows("b"));
}

TEST_CASE("FastText: every file that is cut off is refused, and so is what it cannot be") {
  for (const std::string& bytes : {read_file(golden_fasttext + ".bin"), TinyFastText{}.bytes()})
    for (std::size_t n = 0; n < bytes.size(); n += n < 800 || n + 40 > bytes.size() ? 1u : 13u)
      expect_error(
          ErrorKind::file, [&] { FastText::parse(bytes.substr(0, n), "x.bin"); }, n < 4 ? "is no fastText model" : "is cut off in");
  const auto refused = [](const TinyFastText& tiny, const std::string& message) {
    expect_error(
        ErrorKind::file, [&] { tiny.model(); }, message);
  };
  refused({.version = 13}, "has version 13 of fastText's format, expected 11 or 12");
  refused({.dim = 0}, "the size of the vectors (dim) is 0, expected 1 to 65536");
  refused({.dim = 3}, "the table is (5, 2), expected (5, 3)");
  refused({.bucket = -1}, "(bucket) is -1");
  refused({.bucket = 0}, "no rows for them (bucket is 0)");
  refused({.bucket = 4}, "the table is (5, 2), expected (6, 2)");
  refused({.minn = -2}, "(minn) is -2");
  refused({.maxn = 2000}, "(maxn) is 2000");
  refused({.entries = 3}, "has 3 entries in the dictionary, but 2 words and 0 labels");
  refused({.entries = 1 << 30, .words = 1 << 30}, "is cut off in the dictionary");
  refused({.entries = -1, .words = -1}, "-1 words");
  refused({.pruned = 0}, "is pruned");
  refused({.columns = -1}, "the table is (5, -1)");
  refused({.second = "ab"}, "has the word 'ab' twice");
  refused({.second_kind = 1}, "entry 2 of the dictionary is of kind 1, expected 0, a word");
  refused({.quantized = 1}, "is quantized; only models of full precision are read");
  refused({.first = std::numeric_limits<float>::infinity()}, "row 1 of the table: a number is not finite");
  expect_error(
      ErrorKind::file, [] { FastText::parse(TinyFastText{}.bytes() + "x", "x.bin"); }, "has 1 bytes after its end");
  expect_error(
      ErrorKind::file, [] { TinyFastText{.second = "\xFF"}.model().known(); }, "is not UTF-8");
  expect_error(
      ErrorKind::file, [] { FastText::load(golden_fasttext + ".txt"); }, "does not begin with the bytes ba 16 4f 2f");
}
