// SPDX-License-Identifier: MIT
#include "lexformer/data/lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "../support/cases.hpp"
#include "lexformer/core/random.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

struct Line {
  std::string text;
  std::uint64_t end;  // where the next line begins
};

/// The definition, applied to the whole text.
std::vector<Line> naive_lines(const std::string& text, std::size_t limit) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t feed = std::min(text.find('\n', begin), text.size()), end = std::min(feed + 1, text.size());
    std::string line = text.substr(begin, std::min(feed - begin, limit));
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back({line, end});
    begin = end;
  }
  return lines;
}

void check_lines(const std::string& path, const std::string& text, std::size_t limit) {
  write_file_atomic(path, text);
  const auto expected = naive_lines(text, limit);
  LineReader reader(path, 0, limit);
  CHECK(reader.path() == path);
  std::string line = "what was there before";
  std::uint64_t begin = 0;
  for (const Line& e : expected) {
    REQUIRE(reader.offset() == begin);
    REQUIRE(reader.next(line));
    REQUIRE(line == e.text);
    begin = e.end;
  }
  for (int twice = 0; twice < 2; ++twice) {
    REQUIRE_FALSE(reader.next(line));
    REQUIRE(line.empty());
    REQUIRE(reader.offset() == text.size());
  }
  // Starting from the middle.
  const std::size_t half = expected.size() / 2;
  LineReader later(path, half == 0 ? 0 : expected[half - 1].end, limit);
  for (std::size_t i = half; i < expected.size(); ++i) {
    REQUIRE(later.next(line));
    REQUIRE(line == expected[i].text);
    REQUIRE(later.offset() == expected[i].end);
  }
  REQUIRE_FALSE(later.next(line));
}

}  // namespace

TEST_CASE("lines: with LF and CR LF, empty ones, the last one without an end, none at all") {
  const TemporaryFolder folder;
  for (const char* text : {"", "\n", "a", "a\n", "a\nb", "a\r\nb\r\n", "\n\n", "\r\n\r", "a\rb\n", "a\r\r\n"})
    check_lines(folder / "t.txt", text, 1u << 16);
}

TEST_CASE("lines: as by the definition, longer than the buffer and than the limit, too") {
  const TemporaryFolder folder;
  const std::size_t buffer = 1u << 16;
  for (const std::size_t n : {buffer - 2, buffer - 1, buffer, buffer + 1, 2 * buffer - 1, 2 * buffer, 5 * buffer})
    for (const char* end : {"", "\n", "\r\n"})
      for (const std::size_t limit : {std::size_t{10}, buffer, 3 * buffer})
        check_lines(folder / "t.txt", std::string(n, 'x') + end + "next" + end, limit);
  RandomStream random(5, random_site::user);
  for (std::size_t i = 0; i < test::cases(100); ++i) {
    std::string text(random.below(i % 10 == 0 ? 200000 : 50), 'a');
    const std::uint32_t rare = i % 10 == 0 ? 30000 : 5;
    for (char& c : text) c = "\n\rabc"[std::min<std::uint32_t>(4, static_cast<std::uint32_t>(random.below(rare)))];
    check_lines(folder / "t.txt", text, 1 + static_cast<std::size_t>(random.below(i % 2 == 0 ? 20 : 100000)));
  }
}

TEST_CASE("lines: 65,536 bytes of each unless told otherwise, and bytes that are no UTF-8 as they are") {
  const TemporaryFolder folder;
  const std::string foreign = "d2 \xff\xc3 a", text = "first\n" + std::string(800000, 'a') + "\n" + foreign + "\nlast";
  write_file_atomic(folder / "t.txt", text);
  LineReader reader(folder / "t.txt");
  std::string line;
  std::vector<std::size_t> sizes;
  std::vector<std::uint64_t> begins{0};
  for (; reader.next(line); begins.push_back(reader.offset())) sizes.push_back(line.size());
  CHECK(sizes == std::vector<std::size_t>{5, 65536, foreign.size(), 4});
  CHECK(begins.back() == text.size());
  LineReader later(folder / "t.txt", begins[2]);
  REQUIRE(later.next(line));
  CHECK(line == foreign);
}

TEST_CASE("lines: what cannot be read") {
  const TemporaryFolder folder;
  expect_file_error([&] { LineReader(folder / "none.txt"); }, "none.txt: cannot be opened: No such file");
  expect_file_error([&] { LineReader(folder.path.string()); }, "is no regular file; the text is read several times");
  write_file_atomic(folder / "t.txt", std::string("a\nb\0c\nd\n", 8));
  LineReader reader(folder / "t.txt");
  std::string line;
  REQUIRE(reader.next(line));
  expect_file_error([&] { reader.next(line); }, "t.txt: the line before byte 6 holds a zero byte; expected text in UTF-8");
}

TEST_CASE("a byte order mark is no part of the first line") {
  const std::string text =
      "\xEF\xBB\xBF"
      "a\r\n\xEF\xBB\xBF"
      "b";
  const std::vector<std::string> expected = {"a",
                                             "\xEF\xBB\xBF"
                                             "b"};
  const TemporaryFolder folder;
  write_file_atomic(folder / "a.txt", text);
  std::vector<std::string> file, stream;
  std::string line;
  for (LineReader reader(folder / "a.txt"); reader.next(line);) file.push_back(line);
  std::istringstream in(text);
  for (StreamLines reader(in); reader.next(line);) stream.push_back(cat(line));
  CHECK(file == expected);
  CHECK(stream == expected);
  const auto views = detail::split_lines(text);
  CHECK(std::vector<std::string>(views.begin(), views.end()) == expected);
  LineReader later(folder / "a.txt", 6);  // a mark elsewhere is text
  CHECK(later.next(line));
  CHECK(line == expected[1]);
}
