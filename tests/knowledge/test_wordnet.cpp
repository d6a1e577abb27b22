// SPDX-License-Identifier: MIT
#include "lexformer/knowledge/wordnet.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/expect_error.hpp"
#include "support/tiny_wordnet.hpp"

using namespace lexformer;
using test::synset_named;
using test::TinySynset;
using test::write_tiny_wordnet;

namespace {

using Words = std::vector<std::string>;

Words names(const WordNet& wordnet, const std::string& word) {
  Words out;
  for (const auto id : wordnet.synsets(word)) out.push_back(wordnet.name(id));
  return out;
}

/// Replaces the first `from` of a file.
void edit(const TemporaryFolder& folder, const std::string& name, const std::string& from, const std::string& to) {
  std::string text = read_file(folder / name);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  write_file_atomic(folder / name, text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("WordNet: base forms by exception lists and detachment rules") {
  const TemporaryFolder folder;
  write_tiny_wordnet(folder);
  const auto wordnet = WordNet::load(folder.path);
  const auto forms = [&](const std::string& word, PartOfSpeech part) { return wordnet->base_forms(word, part); };
  CHECK(forms("dog", PartOfSpeech::noun) == Words{"dog"});
  CHECK(forms("Dogs", PartOfSpeech::noun) == Words{"dog"});
  CHECK(forms("cities", PartOfSpeech::noun) == Words{"city"});
  CHECK(forms("doggies", PartOfSpeech::noun) == Words{"dog", "cat"});  // the list holds a third word, which the index does not have
  CHECK(forms("parises", PartOfSpeech::noun).empty());                 // in the list, so no rule is tried
  CHECK(forms("moves", PartOfSpeech::verb) == Words{"move"});          // by two rules, once
  CHECK(forms("moving", PartOfSpeech::verb) == Words{"move"});
  CHECK(forms("walked", PartOfSpeech::verb) == Words{"walk"});
  CHECK(forms("walks", PartOfSpeech::verb) == Words{"run"});  // the last entry of two, and not the rule
  CHECK(forms("hotter", PartOfSpeech::adjective) == Words{"hot"});
  CHECK(forms("coolest", PartOfSpeech::adjective) == Words{"cool"});
  CHECK(forms("dogs", PartOfSpeech::verb).empty());
  CHECK(forms("", PartOfSpeech::noun).empty());
  CHECK(forms("s", PartOfSpeech::noun).empty());
  CHECK(forms("quickly", PartOfSpeech::adverb) == Words{"quickly"});
}

TEST_CASE("WordNet: synsets, lemmas, antonyms, ancestors and depths") {
  const TemporaryFolder folder;
  write_tiny_wordnet(folder);
  const auto wordnet = WordNet::load(folder.path);
  CHECK(wordnet->size() == test::tiny_synsets().size());
  CHECK(names(*wordnet, "runs") == Words{"run.n.01", "run.v.01"});
  CHECK(names(*wordnet, "PARIS") == Words{"paris.n.01", "genus_paris.n.01"});
  CHECK(names(*wordnet, "torrid") == Words{"torrid.s.01"});
  CHECK(names(*wordnet, "doggies") == Words{"dog.n.01", "cat.n.01"});
  CHECK(names(*wordnet, "xyzzy").empty());

  const auto lemmas = [&](const std::string& name) {
    const auto list = wordnet->lemmas(synset_named(*wordnet, name));
    return Words(list.begin(), list.end());
  };
  CHECK(lemmas("dog.n.01") == Words{"dog", "Canis_familiaris"});
  CHECK(lemmas("torrid.s.01") == Words{"torrid"});
  CHECK(lemmas("cold.a.01") == Words{"cold", "Cold_"});

  const auto antonyms = [&](const std::string& name, std::size_t lemma) {
    const auto list = wordnet->antonyms(synset_named(*wordnet, name), lemma);
    return Words(list.begin(), list.end());
  };
  CHECK(antonyms("hot.a.01", 0) == Words{"cold", "cool"});
  CHECK(antonyms("quickly.r.01", 0) == Words{"slowly"});
  CHECK(antonyms("slow.r.01", 0).empty());
  CHECK(antonyms("slow.r.01", 1) == Words{"quickly"});
  CHECK_THROWS_WITH_AS(antonyms("slow.r.01", 2), "WordNet: lemma 2 is out of range; slow.r.01 has 2", Error);

  const auto ancestors = [&](const std::string& name) {
    std::map<std::string, unsigned> out;
    for (const auto& ancestor : wordnet->ancestors(synset_named(*wordnet, name))) out[wordnet->name(ancestor.synset)] = ancestor.distance;
    return out;
  };
  CHECK(ancestors("entity.n.01") == std::map<std::string, unsigned>{{"entity.n.01", 0}});
  CHECK(ancestors("dog.n.01") ==
        std::map<std::string, unsigned>{{"dog.n.01", 0}, {"animal.n.01", 1}, {"pet.n.01", 1}, {"organism.n.01", 2}, {"entity.n.01", 2}});
  CHECK(ancestors("paris.n.01") == std::map<std::string, unsigned>{{"paris.n.01", 0}, {"city.n.01", 1}, {"entity.n.01", 2}});
  CHECK(ancestors("hot.a.01").size() == 1);

  const auto depths = [&](const std::string& name) {
    const auto id = synset_named(*wordnet, name);
    return std::pair(wordnet->min_depth(id), wordnet->max_depth(id));
  };
  CHECK(depths("entity.n.01") == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(depths("animal.n.01") == std::pair<std::size_t, std::size_t>(1, 2));
  CHECK(depths("dog.n.01") == std::pair<std::size_t, std::size_t>(2, 3));
  CHECK(depths("anomaly.n.01") == std::pair<std::size_t, std::size_t>(1, 5));
  CHECK_THROWS_WITH_AS(wordnet->name(1000), "WordNet: synset 1000 is out of range; there are 30", Error);
}

TEST_CASE("WordNet: Wu-Palmer similarities by hand") {
  const TemporaryFolder folder;
  write_tiny_wordnet(folder);
  const auto wordnet = WordNet::load(folder.path);
  const auto wup = [&](const std::string& a, const std::string& b) {
    return wordnet->wup_similarity(synset_named(*wordnet, a), synset_named(*wordnet, b));
  };
  CHECK(*wup("dog.n.01", "dog.n.01") == 1.0);                                 // c = dog
  CHECK(*wup("dog.n.01", "cat.n.01") == doctest::Approx(6.0 / 8));            // c = animal, D = 3, L = 1 + 1
  CHECK(*wup("dog.n.01", "pet.n.01") == doctest::Approx(4.0 / 5));            // c = pet, D = 2, L = 1 + 0
  CHECK(*wup("dog.n.01", "hamster.n.01") == doctest::Approx(6.0 / 8));        // c = animal, whose name is before pet
  CHECK(*wup("paris.n.01", "dog.n.01") == doctest::Approx(2.0 / 6));          // c = entity, D = 1, L = 2 + 2
  CHECK(*wup("paris.n.01", "genus_paris.n.01") == doctest::Approx(2.0 / 5));  // c = entity, L = 2 + 1
  CHECK(*wup("anomaly.n.01", "pet.n.01") == doctest::Approx(4.0 / 6));        // c = pet; over entity in 2 steps, not in 4
  CHECK(*wup("anomaly.n.01", "anomaly.n.01") == doctest::Approx(10.0 / 12));  // c = loop1, whose min_depth is 4
  CHECK(*wup("zoo.n.01", "zoo.n.01") == 1.0);                                 // c = zoo itself, although area is before it
  CHECK_FALSE(wup("dog.n.01", "thing.n.01").has_value());
  CHECK(*wup("thing.n.01", "thing.n.01") == 1.0);
  CHECK(*wup("jog.v.01", "run.v.01") == doctest::Approx(4.0 / 5));   // c = run, D = 2, L = 1 + 0
  CHECK(*wup("run.v.01", "walk.v.01") == doctest::Approx(2.0 / 6));  // c = the root, D = 1, L = 2 + 2: it is before move
  CHECK(*wup("run.v.01", "think.v.01") == doctest::Approx(2.0 / 5));
  CHECK(*wup("move.v.01", "run.v.01") == doctest::Approx(2.0 / 3));  // c = move, the first of both
  CHECK(*wup("run.v.01", "move.v.01") == doctest::Approx(2.0 / 5));  // c = the root
  CHECK(*wup("dog.n.01", "run.v.01") == doctest::Approx(2.0 / 7));   // the root is 3 above dog, 2 above run
  CHECK(*wup("hot.a.01", "cold.a.01") == doctest::Approx(2.0 / 4));
  CHECK(*wup("hot.a.01", "hot.a.01") == 1.0);
  CHECK_THROWS_AS(wordnet->wup_similarity(0, 30), Error);
}

TEST_CASE("WordNet: missing files") {
  const TemporaryFolder folder;
  const auto load = [&] { WordNet::load(folder.path); };
  expect_error(
      ErrorKind::usage, [&] { WordNet::load(folder.path / "nowhere"); },
      "nowhere/data.noun: is missing; give the folder of WordNet 3.0: Debian's package wordnet-base installs it in /usr/share/wordnet");
  for (const char* name : {"data.noun", "data.adv", "index.verb", "adj.exc"}) {
    write_tiny_wordnet(folder);
    std::filesystem::remove(folder / name);
    expect_error(ErrorKind::usage, load, cat(name, ": is missing; give the folder"));
  }
}

TEST_CASE("WordNet: broken lines are named by file and line") {
  const TemporaryFolder folder;
  const auto broken = [&](const std::string& file, const std::string& from, const std::string& to, const std::string& message) {
    write_tiny_wordnet(folder);
    edit(folder, file, from, to);
    expect_file_error([&] { WordNet::load(folder.path); }, message);
  };
  broken("data.noun", " | a gloss", "", "data.noun: line 3: has no | before the gloss");
  broken("data.noun", "entity 0", "entity  0", "data.noun: line 4: starts at byte 123 of the file, but says 122; was the file edited?");
  broken("data.noun", "03 n 01 entity", "03 v 01 entity", "data.noun: line 3: 'v' is not a type of synset of this file");
  broken("data.adj", "03 s", "03 as", "data.adj: line 4: 'as' is not a type of synset of this file");
  broken("data.noun", "01 entity", "00 entity", "data.noun: line 3: has no lemma");
  broken("data.noun", "01 entity", "xy entity", "data.noun: line 3: expected a hexadecimal number, found 'xy'");
  broken("data.noun", "01 entity", "ff entity", "data.noun: line 3: ends too early");
  broken("data.noun", "organism 0 001", "organism 0 0x1", "data.noun: line 4: expected a number, found '0x1'");
  broken("data.noun", "organism 0 001", "organism 0 002", "data.noun: line 4: ends too early");
  broken("data.noun", "@ 00000061 n", "@ 00000061 x", "data.noun: line 4: 'x' is not a part of speech");
  broken("data.noun", "@ 00000061 n", "@ 00000062 n", "data.noun: line 4: there is no synset at byte 62 of data.noun");
  broken("data.noun", "n 0000", "n 000", "data.noun: line 4: expected four hexadecimal digits, found '000'");
  broken("data.adj", "0101", "0301", "data.adj: line 3: an antonym goes from lemma 3 of 1 to lemma 1 of 2");
  broken("data.adj", "0101", "0103", "data.adj: line 3: an antonym goes from lemma 1 of 1 to lemma 3 of 2");
  broken("data.adj", "0101", "0100", "data.adj: line 3: an antonym goes from lemma 1 of 1 to lemma 0 of 2");
  broken("index.noun", "anomaly n", "anomaly v", "index.noun: line 4: 'v' is not the part of speech of this file");
  broken("index.noun", "anomaly n 1", "anomaly n 2", "index.noun: line 4: has 2 synsets, but 1 senses");
  broken("index.noun", "anomaly n 1 2", "anomaly n 1 9", "index.noun: line 4: ends too early");
  broken("index.noun", "1 0 0", "1 0 9", "index.noun: line 3: there is no synset at byte 9");
  broken("index.noun", "anomaly n", "anomalies n", "the index does not list this synset under its first lemma, 'anomaly'");
  broken("index.noun", "anomaly n", "\nanomaly n", "index.noun: line 4: ends too early");
  broken("noun.exc", "parises nowhere", "parises", "noun.exc: line 2: ends too early");
}

TEST_CASE("WordNet: hypernyms that form a cycle or a long chain") {
  const TemporaryFolder folder;
  write_tiny_wordnet(folder, {{'n', {"a"}, {{"@", "b n"}}}, {'n', {"b"}, {{"@", "c n"}}}, {'n', {"c"}, {{"@", "b n"}}}});
  expect_file_error([&] { WordNet::load(folder.path); }, "data.noun: line 5: the hypernyms form a cycle");
  write_tiny_wordnet(folder, {{'v', {"a"}, {{"@", "a v"}}}});
  expect_file_error([&] { WordNet::load(folder.path); }, "data.verb: line 3: the hypernyms form a cycle");

  std::vector<TinySynset> chain{{'n', {"w0"}}};
  const auto add = [&] { chain.push_back({'n', {cat('w', chain.size())}, {{"@", cat('w', chain.size() - 1, " n")}}}); };
  while (chain.size() < 256) add();
  write_tiny_wordnet(folder, chain);
  CHECK(WordNet::load(folder.path)->max_depth(255) == 255);
  add();
  write_tiny_wordnet(folder, chain);
  expect_file_error([&] { WordNet::load(folder.path); }, "data.noun: line 259: has a chain of more than 255 hypernyms");
}
