// SPDX-License-Identifier: MIT
// A WordNet of two dozen synsets, written as the files of a database.
#pragma once

#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/io/file.hpp"
#include "support/expect_error.hpp"

namespace lexformer::test {

struct TinyPointer {
  std::string symbol, target;  // the target is named by its first lemma and its type, "dog n"
  std::string lemmas = "0000";
};
struct TinySynset {
  char type;
  std::vector<std::string> lemmas;
  std::vector<TinyPointer> pointers{};
};

/// Hypernyms upwards:
///   entity <- organism <- animal <- dog, cat, hamster       run, city, Paris (2) -> entity      thing: alone
///   entity <- animal      entity <- pet <- dog, hamster      city <- Paris (1), an instance
///   pet <- loop3 <- loop2 <- loop1 <- anomaly -> entity      area <- zoo -> entity <- area
///   move <- run <- jog    move <- walk    think
/// and hot ! cold and cool, cold ! hot, cool ! warm and hot, warm ! cool, torrid a satellite of hot; quickly ! slowly.
inline std::vector<TinySynset> tiny_synsets() {
  return {{'n', {"entity"}},
          {'n', {"organism"}, {{"@", "entity n"}}},
          {'n', {"animal", "beast"}, {{"@", "entity n"}, {"@", "organism n"}, {"~", "dog n"}}},
          {'n', {"pet"}, {{"@", "entity n"}}},
          {'n', {"dog", "Canis_familiaris"}, {{"@", "animal n"}, {"@", "pet n"}}},
          {'n', {"cat"}, {{"@", "animal n"}}},
          {'n', {"hamster"}, {{"@", "pet n"}, {"@", "animal n"}}},
          {'n', {"city"}, {{"@", "entity n"}, {"~i", "Paris n"}}},
          {'n', {"Paris", "City_of_Light"}, {{"@i", "city n"}}},
          {'n', {"genus_Paris", "Paris"}, {{"@", "entity n"}}},
          {'n', {"run"}, {{"@", "entity n"}, {"+", "run v", "0101"}}},
          {'n', {"loop3"}, {{"@", "pet n"}}},
          {'n', {"loop2"}, {{"@", "loop3 n"}}},
          {'n', {"loop1"}, {{"@", "loop2 n"}}},
          {'n', {"anomaly"}, {{"@", "loop1 n"}, {"@", "entity n"}}},
          {'n', {"thing"}},
          {'n', {"zoo"}, {{"@", "entity n"}, {"@", "area n"}}},
          {'n', {"area"}, {{"@", "entity n"}}},
          {'v', {"move"}},
          {'v', {"run"}, {{"@", "move v"}}},
          {'v', {"walk"}, {{"@", "move v"}}},
          {'v', {"jog"}, {{"@", "run v"}}},
          {'v', {"think"}},
          {'a', {"hot"}, {{"!", "cold a", "0101"}, {"!", "cool a", "0101"}}},
          {'s', {"torrid(p)"}, {{"&", "hot a"}}},
          {'a', {"cold", "Cold_(of_air)"}, {{"!", "hot a", "0101"}}},
          {'a', {"cool"}, {{"!", "warm a", "0101"}, {"!", "hot a", "0101"}}},
          {'a', {"warm"}, {{"!", "cool a", "0101"}}},
          {'r', {"quickly"}, {{"!", "slow r", "0102"}}},
          {'r', {"slow", "slowly"}, {{"!", "quickly r", "0201"}}}};
}

inline std::string tiny_file_of(char type) { return type == 'n' ? "noun" : type == 'v' ? "verb" : type == 'r' ? "adv" : "adj"; }

/// Writes the twelve files. The index lists the senses in the order of the synsets.
inline void write_tiny_wordnet(const TemporaryFolder& folder, const std::vector<TinySynset>& synsets = tiny_synsets()) {
  const std::string licence = "  1 A text that every file starts with.\n  2 Its second line.\n";
  std::map<std::string, std::string> data, offsets, index, exceptions;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> senses;
  // Offsets have eight digits, so the first pass, without those of the pointers, has the lengths of the second.
  for (int pass = 0; pass < 2; ++pass) {
    for (const char* name : {"noun", "verb", "adj", "adv"}) data[name] = index[name] = licence, exceptions[name] = "";
    senses.clear();
    for (const TinySynset& synset : synsets) {
      const std::string name = tiny_file_of(synset.type);
      char offset[9], count[4];
      std::snprintf(offset, sizeof offset, "%08u", static_cast<unsigned>(data[name].size()) % 100000000u);
      offsets[synset.lemmas[0] + ' ' + synset.type] = offset;
      std::string line = std::string(offset) + " 03 " + synset.type + " 0" + std::to_string(synset.lemmas.size());
      for (const std::string& lemma : synset.lemmas) {
        line += ' ' + lemma + " 0";
        std::string key = lemma.substr(0, lemma.ends_with(')') ? lemma.rfind('(') : lemma.size());
        for (char& c : key) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        senses[name][key].push_back(offset);
      }
      std::snprintf(count, sizeof count, "%03u", static_cast<unsigned>(synset.pointers.size()) % 1000u);
      line += ' ' + std::string(count);
      for (const TinyPointer& pointer : synset.pointers) {
        const std::string target = pass == 0 ? "00000000" : offsets.at(pointer.target);
        line += ' ' + pointer.symbol + ' ' + target + ' ' + pointer.target.back() + ' ' + pointer.lemmas;
      }
      data[name] += line + (synset.type == 'v' ? " 01 + 02 00" : "") + " | a gloss; \"with an example\"  \n";
    }
  }
  for (const auto& [name, lemmas] : senses)
    for (const auto& [lemma, list] : lemmas)
      index[name] += cat(lemma, ' ',
                         name == "noun"   ? 'n'
                         : name == "verb" ? 'v'
                         : name == "adv"  ? 'r'
                                          : 'a',
                         ' ', list.size(), " 2 @ ~ ", list.size(), " 0 ", join(list, " "), "  \n");
  exceptions["noun"] = "doggies dog cat nowhere\nparises nowhere\n";
  exceptions["verb"] = "walks jog\nwalks run\n";
  exceptions["adj"] = "hotter hot\n";
  for (const char* name : {"noun", "verb", "adj", "adv"}) {
    write_file_atomic(folder / cat("data.", name), data[name]);
    write_file_atomic(folder / cat("index.", name), index[name]);
    write_file_atomic(folder / cat(name, ".exc"), exceptions[name]);
  }
}

/// The id of a synset, found by its name: dog.n.01.
template <class WordNet>
typename WordNet::Id synset_named(const WordNet& wordnet, const std::string& name) {
  for (typename WordNet::Id id = 0; id < wordnet.size(); ++id)
    if (wordnet.name(id) == name) return id;
  throw std::runtime_error("no synset " + name);
}

}  // namespace lexformer::test
