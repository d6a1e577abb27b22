// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lexformer/knowledge/conllu.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

/// `1 dogs 2 nsubj` as a line of 10 columns.
std::string word(int index, const std::string& form, int head, const std::string& relation, const std::string& misc = "_") {
  std::ostringstream line;
  line << index << '\t' << form << "\t_\t_\t_\t_\t" << head << '\t' << relation << "\t_\t" << misc << '\n';
  return line.str();
}
DependencyTable parse(const std::string& text) {
  std::istringstream in(text);
  DependencyTable table;
  parse_conllu(in, "f", table);
  return table;
}
const DependencyTrees& found(const DependencyTable& table, const std::string& text) {
  REQUIRE_MESSAGE(table.find(text) != nullptr, text);
  return *table.find(text);
}

}  // namespace

TEST_CASE("conllu: sentences without newdoc are texts; forms joined by spaces") {
  const auto table = parse(word(1, "Dogs", 2, "nsubj") + word(2, "run", 0, "root", "SpaceAfter=No") + word(3, ".", 2, "punct") + "\n" +
                           "# sent_id = 2\r\n# text = Cats sleep\r\n" + word(1, "Cats", 2, "nsubj") + word(2, "sleep", 0, "root"));
  CHECK(table.size() == 2);
  const auto& dogs = found(table, "Dogs run.");
  CHECK(dogs.words[0] == DependencyWord{"Dogs", "Dogs", "nsubj", 1, {0, 4}});
  CHECK(dogs.words[2] == DependencyWord{".", ".", "punct", 1, {8, 9}});
  CHECK(dogs.words[1].head == -1);
  CHECK(found(table, "Cats sleep").sentences == std::vector<std::size_t>{0});
}

TEST_CASE("conllu: a text of several sentences is a forest; its characters are a comment") {
  const std::string sentences =
      "# text = A b\n" + word(1, "A", 0, "root") + word(2, "b", 1, "obj") + "\n# text = C\n" + word(1, "C", 0, "root");
  const auto table = parse("# newdoc id = 7\n" + sentences + "\n# newdoc\n# document =  A, b  = C \n" + sentences);
  CHECK(table.size() == 2);
  const auto& joined = found(table, "A b C");
  CHECK(joined.sentences == std::vector<std::size_t>{0, 2});
  CHECK(joined.words[2].head == -1);
  CHECK(found(table, " A, b  = C ").words[2].characters == std::pair{9u, 10u});
}

TEST_CASE("conllu: empty nodes are skipped; parts of a token have their own characters; positions are characters, not bytes") {
  const auto table =
      parse("# text = \xC3\xA4hm don't go\n" + word(1, "\xC3\xA4hm", 4, "discourse") + "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n" +
            word(2, "do", 4, "aux") + word(3, "n't", 4, "neg") + word(4, "go", 0, "root") + "4.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n");
  const auto& trees = found(table, "\xC3\xA4hm don't go");
  CHECK(trees.words.size() == 4);
  CHECK(trees.words[2].characters == std::pair{6u, 9u});
  CHECK(trees.word_at(0) == 0);
  CHECK(trees.word_at(3) == -1);
  CHECK(trees.word_at(4) == 1);
  CHECK(trees.word_at(8) == 2);
  CHECK(trees.word_at(11) == 3);
  CHECK(trees.word_at(12) == -1);
}

TEST_CASE("conllu: words of a multiword token have its characters, unless the text has them one by one") {
  const std::string du = "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n";
  const std::string words = word(1, "Il", 2, "nsubj") + word(2, "parle", 0, "root") + du + word(3, "de", 5, "case") +
                            word(4, "le", 5, "det") + word(5, "livre", 2, "obl");
  for (const std::string comment : {"# text = Il parle du livre\n", ""}) {  // without it the text is that of the tokens
    const auto table = parse(comment + words);
    const auto& trees = found(table, "Il parle du livre");
    REQUIRE(trees.words.size() == 5);
    CHECK(trees.words[2].characters == std::pair{9u, 11u});
    CHECK(trees.words[3].characters == std::pair{9u, 11u});
    CHECK(trees.words[4].characters == std::pair{12u, 17u});
    CHECK(trees.words[3].form == "le");
    std::ostringstream out;
    write_conllu(out, trees);
    CHECK(out.str().find(du) != std::string::npos);
    CHECK(found(parse(out.str()), trees.text) == trees);
  }
  const auto refused = [](const std::string& text, const std::string& message) { expect_file_error([&] { parse(text); }, message); };
  refused(du + word(1, "a", 0, "root"), "f: line 1: the multiword token is 3-4, expected 1 and the index of a later word");
  refused("1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + word(1, "a", 0, "root"), "the sentence ends within the multiword token 'ab'");
  refused("1-1\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + word(1, "a", 0, "root"), "f: line 1: the multiword token is 1-1, expected 1");
  refused("1-2\t\t_\t_\t_\t_\t_\t_\t_\t_\n" + word(1, "a", 0, "root") + word(2, "b", 1, "x"), "f: line 1: the form (column 2) is empty");
}

TEST_CASE("conllu: a text without words leaves nothing to the next; a byte order mark is skipped") {
  const auto table = parse("\xEF\xBB\xBF# newdoc\n# document = A\n# text = A\n# newdoc\n" + word(1, "b", 0, "root"));
  CHECK(table.size() == 1);
  CHECK(found(table, "b").words.size() == 1);
}

TEST_CASE("conllu: what is written is read again") {
  const auto table = parse("# newdoc\n# document = One two.  Three \n" + word(1, "One", 2, "det") + word(2, "two", 0, "root") +
                           word(3, ".", 2, "punct") + "\n" + word(1, "Three", 0, "root"));
  const auto& trees = found(table, "One two.  Three ");
  std::ostringstream out;
  write_conllu(out, trees);
  CHECK(found(parse(out.str()), trees.text) == trees);
  DependencyTrees broken = trees;
  broken.text = "a\nb";
  expect_error(
      ErrorKind::failure, [&] { write_conllu(out, broken); }, "has a line break");
}

TEST_CASE("conllu: malformed files, with file and line") {
  const auto refused = [](const std::string& text, const std::string& message) { expect_file_error([&] { parse(text); }, message); };
  const std::string two = word(1, "a", 2, "x") + word(2, "b", 0, "root");
  refused(two + "\n" + "1\ta\t_\t_\t_\t_\t0\troot\t_\n", "f: line 4: expected 10 columns separated by tabs, found 9");
  refused("one\ta\t_\t_\t_\t_\t0\troot\t_\t_\n", "f: line 1: the index (column 1) is 'one', expected a number");
  refused("1\t\xC3\x28\t_\t_\t_\t_\t0\troot\t_\t_\n", "f: line 1: byte 3 is not UTF-8");
  refused(word(2, "a", 0, "root"), "f: line 1: the index of the word is 2, expected 1");
  refused("1\ta\t_\t_\t_\t_\t_\troot\t_\t_\n", "f: line 1: the head (column 7) is '_', expected a number");
  refused("1\ta\t_\t_\t_\t_\t99999999999999999999999\troot\t_\t_\n", "f: line 1: the head (column 7) is '99999999999999999999999'");
  refused("1\t\t_\t_\t_\t_\t0\troot\t_\t_\n", "f: line 1: the form (column 2) is empty");
  refused(two + "\n" + word(1, "a", 2, "x") + word(2, "b", 1, "x"), "f: line 4: the sentence has 0 roots");
  refused(word(1, "a", 7, "x") + word(2, "b", 0, "root"), "f: line 1: the head of word 1 is 7");
  refused("# text = a c\n" + two, "f: line 3: the word 'b' is not in the rest of the text 'a c'");
  refused("# text = b a\n" + two, "f: line 3: the word 'b' is not in the rest of the text 'b a'");
  refused("# text = a b\n" + two + "\n# text = a b\n" + word(1, "a", 0, "root") + word(2, "b", 1, "x"),
          "f: line 6: the text 'a b' already has a different tree");
}

TEST_CASE("conllu: files that cannot be read") {
  const TemporaryFolder folder;
  const std::string missing = folder / "none.conllu", empty = folder / "empty.conllu";
  expect_file_error([&] { read_conllu({missing}); }, "none.conllu: cannot be opened: No such file");
  std::ofstream(empty) << "# nothing\n";
  expect_file_error([&] { read_conllu({empty}); }, "contains no dependency tree");
  expect_file_error([&] { read_conllu({folder.path.string()}); }, "cannot be read");
}
