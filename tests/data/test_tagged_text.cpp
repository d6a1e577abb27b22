// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lexformer/data/tagged_text.hpp"
#include "lexformer/io/file.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

std::string shown_tags(const TaggedText& text) {
  std::string out;
  for (const auto& sentence : text.sentences) {
    for (std::size_t i = 0; i < sentence.words.size(); ++i)
      out += cat(i == 0 ? "" : " ", sentence.words[i], sentence.tags.empty() ? "" : "/" + sentence.tags[i]);
    out += '\n';
  }
  return out;
}
void refused_tags(const std::string& text, const std::string& part, const TaggedTextOptions& options = {}) {
  expect_file_error([&] { parse_tagged_text(text, "f", options); }, part);
}

}  // namespace

TEST_CASE("tagged text: columns, ends of sentences, what is left out") {
  const std::string expected = "Anna/B-PER Smith/I-PER sleeps/O\nOslo/B-creative-work\n";
  CHECK(shown_tags(parse_tagged_text("Anna\tB-PER\nSmith\tI-PER\nsleeps\tO\n\nOslo\tB-creative-work\n\n", "f")) == expected);
  // The four columns of CoNLL-2003, CR LF, a byte order mark, no line end at the end, -DOCSTART-, several empty lines, lines of white
  // space.
  CHECK(shown_tags(parse_tagged_text(
            "\xEF\xBB\xBF-DOCSTART- -X- -X- O\r\n\r\nAnna NNP B-NP B-PER\r\nSmith NNP  I-NP I-PER \r\nsleeps VB B-VP O\r\n"
            " -DOCSTART- -X- O O\r\nOslo NNP B-NP B-creative-work",
            "f")) == expected);
  CHECK(shown_tags(parse_tagged_text("\t\nAnna\tB-PER\nSmith\tI-PER\nsleeps\tO\n\t\n \nOslo\tx y\tB-creative-work\n\t", "f")) == expected);
  // With tabs, a word may have spaces.
  CHECK(shown_tags(parse_tagged_text("New York\tB-LOC\n", "f")) == "New York/B-LOC\n");
  const auto text = parse_tagged_text("a O\nb O\n\nc B-x\n", "f");
  CHECK(text.words == 3);
  CHECK(text.cut_sentences + text.cut_words == 0);
}

TEST_CASE("tagged text: IOBES and BILOU become BIO, comments are left out") {
  const std::string expected = "EU/B-ORG rejects/O\nPeter/B-PER Van/I-PER Dyke/I-PER\n";
  CHECK(shown_tags(parse_tagged_text("EU S-ORG\nrejects O\n\nPeter B-PER\nVan I-PER\nDyke E-PER\n", "f")) == expected);
  CHECK(shown_tags(parse_tagged_text("EU U-ORG\nrejects O\n\nPeter B-PER\nVan I-PER\nDyke L-PER\n", "f")) == expected);
  const std::string comments = "# sent_id = 1\n# id 7\tdomain=en\n# O\na O\n# = O\n";
  CHECK(shown_tags(parse_tagged_text(comments, "f")) == "#/O a/O #/O\n");
  CHECK(shown_tags(parse_tagged_text("# sent_id = 1\na\n# b = c\n", "f", {.tags = false})) == "a #\n");
}

TEST_CASE("tagged text without tags: the first column alone") {
  CHECK(shown_tags(parse_tagged_text("Anna\nSmith X-PER\n\nOslo\t\n", "f", {.tags = false})) == "Anna Smith\nOslo\n");
}

TEST_CASE("tagged text: long sentences are cut, and counted") {
  const auto text = parse_tagged_text("a O\nb O\nc O\nd O\n\ne O\nf O\ng O\n\nh B-x\ni I-x\n", "f", {.max_words = 2});
  CHECK(shown_tags(text) == "a/O b/O\ne/O f/O\nh/B-x i/I-x\n");
  CHECK(text.words == 6);
  CHECK(text.cut_sentences == 2);
  CHECK(text.cut_words == 3);
  // What is cut off must be right, too.
  refused_tags("a O\nb O\nc PER\n", "f: line 3: the tag 'PER' is not BIO", {.max_words = 2});
}

TEST_CASE("tagged text: what is refused") {
  for (const char* tag : {"X-PER", "B-", "I-", "B", "PER", "o", "b-PER", "BPER", "O-", "-", "B-P ER"})
    refused_tags(cat("Anna\tB-PER\n\nSmith\t", tag, "\n"), cat("f: line 3: the tag '", tag, "' is not BIO; expected O, B-TYPE or I-TYPE"));
  refused_tags("Anna\tB-PER\v\n", "is not BIO");
  refused_tags("Anna O\nSmith\n", "f: line 2: expected a word and its tag, separated by a tab or by spaces; found 'Smith'");
  refused_tags("Anna\tO\n\tO\n", "f: line 2: the word is empty");
  refused_tags("Anna\tO\nSmith\t\n", "f: line 2: the tag of 'Smith' is empty");
  refused_tags("\tO\n", "f: line 1: the word is empty", {.tags = false});
  refused_tags("Anna\tO\nSm\xFFth\tO\n", "f: line 2: byte 3 is not UTF-8");
  refused_tags("", "f: has no sentences; expected one word a line with its tag");
  refused_tags("\n\t\n-DOCSTART- O\n", "f: has no sentences; expected one word a line", {.tags = false});
  expect_file_error([] { read_tagged_text("/nonexistent/train.conll"); }, "/nonexistent/train.conll");
  const TemporaryFolder folder;
  write_file_atomic(folder / "a.conll", "Anna B-PER\nSmith I_PER\n");
  expect_file_error([&] { read_tagged_text(folder / "a.conll"); }, "a.conll: line 2: the tag 'I_PER' is not BIO");
}

TEST_CASE("tag_labels: O, then both tags of each type that occurs") {
  const auto text = parse_tagged_text("a I-b\nb B-B\nc O\n\nd I-a-1\n", "f");
  CHECK(tag_labels(text.sentences) == std::vector<std::string>{"O", "B-B", "I-B", "B-a-1", "I-a-1", "B-b", "I-b"});
  CHECK(tag_labels(parse_tagged_text("a O\n", "f").sentences) == std::vector<std::string>{"O"});
}
