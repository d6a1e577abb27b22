// SPDX-License-Identifier: MIT
#include "lexformer/data/text_stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

/// Documents "d<number> a a a ..." with distinct texts.
std::string document(std::size_t number, std::size_t words = 9) {
  std::string text = cat("d", number);
  for (std::size_t i = 1; i < words; ++i) text += " a";
  return text;
}

const Tokenizer& document_tokenizer() {
  static const Tokenizer instance = [] {
    std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"};
    for (int i = 0; i < 1000; ++i) tokens.push_back(cat("d", i));
    return Tokenizer(Vocabulary(tokens));
  }();
  return instance;
}

/// Three files of 37, 0 and 50 documents, with short documents, an empty line and all kinds of line ends.
struct Corpus {
  TemporaryFolder folder;
  std::vector<std::string> files;

  Corpus() {
    std::string first, last;
    for (std::size_t i = 0; i < 37; ++i)
      first += document(i, 8 + i % 5) + (i % 3 == 0 ? "\r\n" : "\n") + (i % 4 == 0 ? "too short\n\n" : "");
    for (std::size_t i = 37; i < 87; ++i) last += document(i, 8 + i % 7) + (i < 86 ? "\n" : "");  // the last line has no end
    for (const auto& text : {first, std::string(), last}) {
      files.push_back(folder / cat("text-", files.size()));
      write_file_atomic(files.back(), text);
    }
  }
};

/// The numbers of the documents.
std::vector<int> numbers(const std::vector<Encoding>& documents) {
  std::vector<int> out;
  for (const auto& e : documents) out.push_back(e.ids[1] - 6);
  return out;
}

/// The documents of an epoch in training order; -1 ends a batch.
std::vector<int> epoch_of(const TextStream& stream, BatchPlan plan, std::size_t first_block = 0) {
  std::vector<int> out;
  for (std::size_t b = first_block; b < stream.blocks(); ++b) {
    const auto block = stream.read(b, document_tokenizer(), plan);
    const auto all = numbers(block.documents);
    for (const auto& rows : block.batches) {
      for (const std::size_t row : rows) out.push_back(all[row]);
      out.push_back(-1);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("text stream: every document comes once in an epoch, those that are held out never") {
  const Corpus corpus;
  for (const std::size_t block : {5u, 16u, 1000u}) {
    for (const std::size_t held_out : {0u, 2u, 10u}) {
      CAPTURE(block);
      CAPTURE(held_out);
      const TextStream stream(corpus.files, {.block = block, .held_out = held_out});
      CHECK(stream.documents() + stream.held_out() == 87);
      CHECK(stream.dropped() == 20);  // ten short documents and ten empty lines
      const auto trained = epoch_of(stream, {.size = 4, .seed = 1});
      CHECK(std::count(trained.begin(), trained.end(), -1) == static_cast<std::ptrdiff_t>(stream.batches(4)));
      auto all = numbers(stream.read_held_out(1000, document_tokenizer()));
      CHECK(all.size() == stream.held_out());
      for (const int number : all) CHECK(number % static_cast<int>(held_out) == static_cast<int>(held_out) - 1);
      for (const int number : trained)
        if (number >= 0) all.push_back(number);
      std::sort(all.begin(), all.end());
      REQUIRE(all.size() == 87);
      for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<int>(i));
    }
  }
  const TextStream stream(corpus.files, {.held_out = 10});
  CHECK(numbers(stream.read_held_out(3, document_tokenizer())) == std::vector<int>{9, 19, 29});
}

TEST_CASE("text stream: the order depends on seed, epoch and block, and on nothing else") {
  const Corpus corpus;
  const TextStream stream(corpus.files, {.block = 20, .held_out = 0});
  REQUIRE(stream.blocks() == 5);
  const auto order = epoch_of(stream, {.size = 4, .seed = 1, .epoch = 2});
  CHECK(order == epoch_of(TextStream(corpus.files, {.block = 20, .held_out = 0}), {.size = 4, .seed = 1, .epoch = 2}));
  CHECK(order != epoch_of(stream, {.size = 4, .seed = 2, .epoch = 2}));
  CHECK(order != epoch_of(stream, {.size = 4, .seed = 1, .epoch = 3}));
  // A run that resumes at a block does not read the blocks before it.
  const auto rest = epoch_of(stream, {.size = 4, .seed = 1, .epoch = 2}, 3);
  CHECK(std::equal(rest.rbegin(), rest.rend(), order.rbegin()));
  // Two blocks with equal lengths are shuffled differently.
  const TemporaryFolder folder;
  std::string text;
  for (std::size_t i = 0; i < 40; ++i) text += document(i) + "\n";
  write_file_atomic(folder / "even.txt", text);
  const TextStream even({folder / "even.txt"}, {.block = 20, .held_out = 0});
  CHECK(even.read(0, document_tokenizer(), {.size = 4}).batches != even.read(1, document_tokenizer(), {.size = 4}).batches);
  CHECK(even.read(1, document_tokenizer(), {.size = 4}).first == 20);
  for (const int threads : {1, 2, 5}) {
    set_threads(threads);
    CHECK(order == epoch_of(stream, {.size = 4, .seed = 1, .epoch = 2}));
  }
  set_threads(0);
}

TEST_CASE("text stream: documents in a batch have similar lengths, and are cut at max_length") {
  const TemporaryFolder folder;
  std::string text;
  for (std::size_t i = 0; i < 200; ++i) text += document(i, 8 + (i * 37) % 100) + "\n";
  write_file_atomic(folder / "t.txt", text);
  const TextStream stream({folder / "t.txt"}, {.max_length = 64, .held_out = 0});
  const auto block = stream.read(0, document_tokenizer(), {.size = 10, .seed = 3});
  std::size_t spread = 0;
  for (const auto& rows : block.batches) {
    std::size_t shortest = 1000, longest = 0;
    for (const std::size_t row : rows) {
      const std::size_t n = block.documents[row].size();
      CHECK(n <= 64);
      CHECK(n == std::min<std::size_t>(64, 10 + (row * 37) % 100));
      shortest = std::min(shortest, n);
      longest = std::max(longest, n);
    }
    spread += longest - shortest;
  }
  CHECK(spread / block.batches.size() < 20);
}

TEST_CASE("text stream: lines of any length and bytes that are no UTF-8") {
  const TemporaryFolder folder;
  std::string text = document(1) + "\n";
  for (std::size_t i = 0; i < 400000; ++i) text += "a ";  // more than one buffer
  text += "\n" + document(2) + " \xff\xc3 a\n" + document(3);
  write_file_atomic(folder / "t.txt", text);
  const TextStream stream({folder / "t.txt"}, {.max_length = 20, .held_out = 0});
  CHECK(stream.documents() == 4);
  const auto block = stream.read(0, document_tokenizer(), {});
  CHECK(block.documents[1].size() == 20);
  CHECK(block.documents[2].size() == 12);  // invalid UTF-8 becomes U+FFFD, which the tokenizer removes
}

TEST_CASE("text stream: words are what stands between white space of any kind") {
  CHECK(has_words("", 0));
  CHECK_FALSE(has_words(" \t ", 1));
  CHECK(
      has_words("a b-c\xc2\xa0"
                "d\xe3\x80\x80"
                "e",
                4));
  CHECK_FALSE(
      has_words("a b-c\xc2\xa0"
                "d\xe3\x80\x80"
                "e",
                5));
}

TEST_CASE("text stream: what cannot be read or trained on") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::string& message, const TextStreamOptions& options = {}) {
    write_file_atomic(folder / "t.txt", text);
    expect_file_error([&] { TextStream({folder / "t.txt"}, options); }, (folder / "t.txt") + ": " + message);
  };
  refused("", "holds no document to train on: of 0 lines 0 have 8 words or more");
  refused("a b\nc\n", "holds no document to train on: of 2 lines 0 have 8 words or more; expected one document a line");
  refused(std::string("a b c d e f g\0h i\n", 18), "the line before byte 18 holds a zero byte; expected text in UTF-8");
  expect_file_error([&] { TextStream({folder / "none.txt"}); }, "none.txt: cannot be opened: No such file");
  expect_file_error([&] { TextStream({folder.path.string()}); }, "is no regular file");
  expect_error(
      ErrorKind::usage, [&] { TextStream({folder / "t.txt"}, {.held_out = 1}); }, "if every document is held out");
  expect_error(
      ErrorKind::usage, [&] { TextStream({folder / "t.txt"}, {.block = 0}); }, "a block has at least one document");
  write_file_atomic(folder / "t.txt", document(1) + "\n" + document(2) + "\n");
  const TextStream stream({folder / "t.txt"}, {.held_out = 0});
  const auto before = stream.describe();
  CHECK(before.starts_with("2 documents, 0 held out, crc32 "));
  expect_error(
      ErrorKind::failure, [&] { stream.read(1, document_tokenizer(), {}); }, "there is no block 1; there are 1");
  write_file_atomic(folder / "t.txt", document(1) + "\n");
  expect_file_error([&] { stream.read(0, document_tokenizer(), {}); }, "was changed while it was read");
  write_file_atomic(folder / "t.txt", document(1) + "\n" + document(3) + "\n");
  CHECK(TextStream({folder / "t.txt"}, {.held_out = 0}).describe() != before);
}
