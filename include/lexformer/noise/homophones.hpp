// SPDX-License-Identifier: MIT
// Noise: words that sound alike.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/words.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Groups of common English words that sound alike in most accents, or are often taken for each other (than, then). No word is in two
/// groups. The list is our own.
const std::vector<std::vector<std::string_view>>& homophone_groups();

/// Replaces a word by another one of its group, all equally likely, in the case of the word (in_case_of); punctuation around it stays. A
/// word of no group stays.
std::string homophone_noise(const std::string& word, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>

namespace lexformer {

namespace detail {
inline constexpr std::array<std::string_view, 3> homophone_rows[] = {
    {"ad", "add"},
    {"air", "heir"},
    {"aisle", "isle", "i'll"},
    {"allowed", "aloud"},
    {"altar", "alter"},
    {"ant", "aunt"},
    {"affect", "effect"},
    {"accept", "except"},
    {"ate", "eight"},
    {"ball", "bawl"},
    {"band", "banned"},
    {"bare", "bear"},
    {"base", "bass"},
    {"be", "bee"},
    {"beach", "beech"},
    {"beat", "beet"},
    {"berry", "bury"},
    {"billed", "build"},
    {"blew", "blue"},
    {"board", "bored"},
    {"bolder", "boulder"},
    {"bough", "bow"},
    {"brake", "break"},
    {"bread", "bred"},
    {"buy", "by", "bye"},
    {"capital", "capitol"},
    {"ceiling", "sealing"},
    {"cell", "sell"},
    {"cellar", "seller"},
    {"cent", "scent", "sent"},
    {"cereal", "serial"},
    {"cheap", "cheep"},
    {"chews", "choose"},
    {"chord", "cord", "cored"},
    {"chute", "shoot"},
    {"cite", "sight", "site"},
    {"clause", "claws"},
    {"close", "clothes"},
    {"coarse", "course"},
    {"complement", "compliment"},
    {"council", "counsel"},
    {"creak", "creek"},
    {"crews", "cruise"},
    {"currant", "current"},
    {"days", "daze"},
    {"dear", "deer"},
    {"desert", "dessert"},
    {"dew", "do", "due"},
    {"die", "dye"},
    {"discreet", "discrete"},
    {"draft", "draught"},
    {"dual", "duel"},
    {"ensure", "insure"},
    {"eye", "i", "aye"},
    {"fair", "fare"},
    {"feat", "feet"},
    {"find", "fined"},
    {"fir", "fur"},
    {"flair", "flare"},
    {"flea", "flee"},
    {"flew", "flu", "flue"},
    {"flour", "flower"},
    {"for", "four", "fore"},
    {"foreword", "forward"},
    {"fort", "fought"},
    {"forth", "fourth"},
    {"foul", "fowl"},
    {"gate", "gait"},
    {"grate", "great"},
    {"grease", "greece"},
    {"groan", "grown"},
    {"guessed", "guest"},
    {"hail", "hale"},
    {"hair", "hare"},
    {"hall", "haul"},
    {"hear", "here"},
    {"heal", "heel"},
    {"hi", "high"},
    {"higher", "hire"},
    {"him", "hymn"},
    {"hole", "whole"},
    {"holy", "wholly"},
    {"hour", "our"},
    {"idle", "idol"},
    {"in", "inn"},
    {"its", "it's"},
    {"key", "quay"},
    {"knead", "need"},
    {"knew", "new"},
    {"knight", "night"},
    {"knot", "not"},
    {"know", "no"},
    {"knows", "nose"},
    {"lead", "led"},
    {"lessen", "lesson"},
    {"licence", "license"},
    {"lightening", "lightning"},
    {"load", "lode"},
    {"loan", "lone"},
    {"loose", "lose"},
    {"made", "maid"},
    {"mail", "male"},
    {"main", "mane"},
    {"maize", "maze"},
    {"meat", "meet"},
    {"medal", "meddle", "metal"},
    {"might", "mite"},
    {"mined", "mind"},
    {"miner", "minor"},
    {"missed", "mist"},
    {"morning", "mourning"},
    {"muscle", "mussel"},
    {"none", "nun"},
    {"oar", "or", "ore"},
    {"of", "off"},
    {"one", "won"},
    {"pail", "pale"},
    {"pain", "pane"},
    {"pair", "pear", "pare"},
    {"passed", "past"},
    {"patience", "patients"},
    {"pause", "paws"},
    {"peace", "piece"},
    {"peak", "peek"},
    {"pedal", "peddle"},
    {"peer", "pier"},
    {"plain", "plane"},
    {"pole", "poll"},
    {"poor", "pore", "pour"},
    {"practice", "practise"},
    {"presence", "presents"},
    {"principal", "principle"},
    {"profit", "prophet"},
    {"quiet", "quite"},
    {"rain", "reign", "rein"},
    {"raise", "rays"},
    {"rap", "wrap"},
    {"read", "reed"},
    {"real", "reel"},
    {"right", "rite", "write"},
    {"ring", "wring"},
    {"road", "rode", "rowed"},
    {"role", "roll"},
    {"root", "route"},
    {"rose", "rows"},
    {"rye", "wry"},
    {"sail", "sale"},
    {"scene", "seen"},
    {"sea", "see"},
    {"seam", "seem"},
    {"seas", "sees", "seize"},
    {"sew", "so", "sow"},
    {"shear", "sheer"},
    {"side", "sighed"},
    {"slay", "sleigh"},
    {"soar", "sore"},
    {"sole", "soul"},
    {"some", "sum"},
    {"son", "sun"},
    {"stair", "stare"},
    {"stake", "steak"},
    {"stationary", "stationery"},
    {"steal", "steel"},
    {"straight", "strait"},
    {"suite", "sweet"},
    {"tail", "tale"},
    {"tea", "tee"},
    {"team", "teem"},
    {"than", "then"},
    {"their", "there", "they're"},
    {"threw", "through"},
    {"throne", "thrown"},
    {"tide", "tied"},
    {"time", "thyme"},
    {"tire", "tyre"},
    {"to", "too", "two"},
    {"toe", "tow"},
    {"told", "tolled"},
    {"vain", "vane", "vein"},
    {"vary", "very"},
    {"wail", "whale"},
    {"waist", "waste"},
    {"wait", "weight"},
    {"war", "wore"},
    {"ware", "wear", "where"},
    {"warn", "worn"},
    {"way", "weigh"},
    {"we", "wee"},
    {"weak", "week"},
    {"weather", "whether"},
    {"were", "we're"},
    {"which", "witch"},
    {"whine", "wine"},
    {"who's", "whose"},
    {"wood", "would"},
    {"yoke", "yolk"},
    {"your", "you're"},
};
}  // namespace detail

LEXFORMER_INLINE const std::vector<std::vector<std::string_view>>& homophone_groups() {
  static const auto groups = [] {
    std::vector<std::vector<std::string_view>> all;
    for (const auto& row : detail::homophone_rows) all.emplace_back(row.begin(), std::find(row.begin(), row.end(), ""));
    return all;
  }();
  return groups;
}

LEXFORMER_INLINE std::string homophone_noise(const std::string& word, RandomStream& random) {
  static const auto places = [] {  // group and place within it, of each word
    std::map<std::string_view, std::pair<std::size_t, std::size_t>> all;
    for (std::size_t g = 0; g < homophone_groups().size(); ++g)
      for (std::size_t k = 0; k < homophone_groups()[g].size(); ++k) all.emplace(homophone_groups()[g][k], std::pair(g, k));
    return all;
  }();
  const auto [before, core, after] = word_parts(word);
  const auto found = places.find(lower_case(core));
  if (found == places.end()) return word;
  const auto& group = homophone_groups()[found->second.first];
  const auto step = 1 + static_cast<std::size_t>(random.below(group.size() - 1));
  return cat(before, in_case_of(group[(found->second.second + step) % group.size()], core), after);
}

}  // namespace lexformer
#endif
