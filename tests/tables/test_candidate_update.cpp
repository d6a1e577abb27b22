// SPDX-License-Identifier: MIT
// Candidates after some texts have changed: the search for what may differ against the search for everything.
#include "lexformer/tables/candidate_update.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"

using namespace lexformer;

namespace {

using TextList = std::vector<std::string>;

std::string random_text(RandomStream& random) {
  const TextList words = {"Sony", "bravia", "TV", "WH-1000XM4", "headphones", "40\"", "kit", "black", "x", "dht-fs5"};
  std::string text;
  for (std::size_t k = random.below(6); k > 0; --k) {
    std::string word = words[random.below(10)];
    if (random.below(2) == 0) word.insert(word.begin() + 1, static_cast<char>('a' + random.below(26)));
    text += word + ' ';
  }
  return text;
}

/// A value of a key; 0: it is missing.
std::uint32_t random_key(RandomStream& random) { return static_cast<std::uint32_t>(random.below(5)); }

/// A list after changes: `earlier` has the place that each text had, or gone_text for a new one, or a changed one or key.
struct Changed {
  TextList texts;
  KeyValues keys;
  std::vector<std::uint32_t> earlier;

  Changed(const TextList& before, const KeyValues& keys_before, std::size_t changes, RandomStream& random)
      : texts(before), keys(keys_before) {
    for (std::uint32_t i = 0; i < texts.size(); ++i) earlier.push_back(i);
    for (std::size_t k = 0; k < changes; ++k) {
      const auto at = static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint32_t>(texts.size())));
      switch (random.below(4)) {
        case 0:
          texts.erase(texts.begin() + at);
          keys.erase(keys.begin() + at);
          earlier.erase(earlier.begin() + at);
          break;
        case 1:
          texts.insert(texts.begin() + at, random_text(random));
          keys.insert(keys.begin() + at, random_key(random));
          earlier.insert(earlier.begin() + at, gone_text);
          break;
        case 2:
          keys[static_cast<std::size_t>(at)] = random_key(random);
          earlier[static_cast<std::size_t>(at)] = gone_text;
          break;
        default:
          texts[static_cast<std::size_t>(at)] += random.below(2) == 0 ? " new" : random_text(random);
          earlier[static_cast<std::size_t>(at)] = gone_text;
      }
    }
  }
  std::vector<std::uint8_t> changed() const {
    std::vector<std::uint8_t> out;
    for (const auto place : earlier) out.push_back(place == gone_text ? 1 : 0);
    return out;
  }
  std::uint32_t today(std::uint32_t place) const {
    const auto found = std::find(earlier.begin(), earlier.end(), place);
    return found == earlier.end() ? gone_text : static_cast<std::uint32_t>(found - earlier.begin());
  }
};

/// keyed: with the keys. first: the number of the first value.
CandidateSearch search(const Changed& left, const Changed& right, bool one, BlockingOptions options, bool keyed, std::uint32_t first) {
  KeyValues keys = left.keys;
  if (!one) keys.insert(keys.end(), right.keys.begin(), right.keys.end());
  for (auto& key : keys) key = key == 0 ? 0 : 1 + (key + first) % 5;
  if (keyed) options.keys.keys = {keys};
  return one ? CandidateSearch(left.texts, options) : CandidateSearch(left.texts, right.texts, options);
}

std::vector<Candidate> all_pairs(const Changed& left, const Changed& right, bool one) {
  std::vector<Candidate> all;
  for (std::uint32_t i = 0; i < left.texts.size(); ++i)
    for (std::uint32_t j = one ? i + 1 : 0; j < (one ? left : right).texts.size(); ++j) all.push_back({i, j, 0});
  return all;
}

/// Changes two lists night after night. Returns the number of candidates of all nights.
std::size_t check_nights(RandomStream& random, bool one, BlockingOptions options, bool keyed) {
  Changed left({}, {}, 0, random), right = left;
  for (auto* side : {&left, &right})
    for (int i = 0; i < (side == &left ? 60 : 90); ++i) {
      side->texts.push_back(random_text(random));
      side->keys.push_back(random_key(random));
    }
  const auto earlier = search(left, right, one, options, keyed, 0);
  const auto first = earlier.find();
  auto standing = first;
  for (const auto& vectors : earlier.vectors()) options.frames.push_back(vectors.frame());
  auto sides = candidate_sides(earlier, standing);
  std::size_t pairs = 0;
  for (const std::uint32_t changes : {0u, 1u, 6u, 40u}) {
    const Changed a(left.texts, left.keys, changes, random), b(right.texts, right.keys, changes, random);
    std::vector<StandingCandidate> kept;
    for (std::size_t i = 0; i < standing.size(); ++i)
      kept.push_back({a.today(standing[i].left), one ? a.today(standing[i].right) : b.today(standing[i].right), sides[i]});
    const auto today = search(a, b, one, options, keyed, changes);
    const auto expected = today.find();
    const auto found = update_candidates(today, kept, a.changed(), b.changed());
    CHECK(found == expected);
    if (changes == 0) CHECK(found == first);
    pairs += found.size();
    left = a;
    right = b;
    standing = merge_candidates(found, all_pairs(left, right, one));  // also those that are no candidates by their texts
    sides = candidate_sides(today, standing);
  }
  return pairs;
}

}  // namespace

TEST_CASE("update_candidates: as a search for everything by the same frames, night after night") {
  RandomStream random(3, random_site::share);
  std::size_t pairs = 0;
  for (const bool one : {false, true})
    for (const Blocking blocking : {Blocking::ngrams, Blocking::tokens, Blocking::all, Blocking::none})
      for (const std::size_t top : {1u, 4u, 200u}) {
        const BlockingOptions options{.blocking = blocking, .top = top};
        pairs += check_nights(random, one, options, false);
        BlockingOptions keyed = options;
        for (const bool missing_agrees : {true, false}) {
          keyed.keys.missing_agrees = missing_agrees;
          pairs += check_nights(random, one, keyed, true);
        }
      }
  CHECK(pairs > 10000);
}

TEST_CASE("update_candidates: what the standing candidates have is not searched again") {
  const TextList left = {"red lamp", "green lamp", "blue chair"}, right = {"red lamps", "green lamp", "chair"};
  const CandidateSearch whole(left, right, {.top = 1});
  const std::vector<std::uint8_t> none(3, 0), last = {0, 0, 1};
  CHECK(update_candidates(whole, {}, none, none).empty());
  const auto found = update_candidates(whole, {}, last, none);  // its own best partner, and itself as the only partner of the others
  std::set<std::size_t> lefts;
  for (const Candidate& c : found) lefts.insert(c.left);
  CHECK(lefts == std::set<std::size_t>{2});
  CHECK_THROWS_AS(update_candidates(whole, {}, none, std::vector<std::uint8_t>(2, 0)), Error);
}

TEST_CASE("TextVectors: a frame gives vectors of other texts the same weights") {
  const TextList before = {"red lamp", "green lamp", "blue chair", "red chair with a long back"}, after = {"red lamp", "violet lamp"};
  const std::vector<std::string> notes = {"x y", "", "z", "x"}, fewer = {"x y", "q"};
  const TextColumns columns{{{before, {}}, {notes, {}, 0.5}}, 0}, later{{{after, {}}, {fewer, {}, 0.5}}, 0};
  const TextVectors earlier(columns, {3});
  const auto frame = earlier.frame();
  CHECK(frame.texts == 4);
  CHECK(frame.limit > 0);
  const TextVectors same(columns, {3}, &frame), other(later, {3}, &frame), own(later, {3});
  const auto weights = [](const TextVectors& vectors, std::size_t text) {
    std::vector<std::pair<std::uint64_t, float>> all;
    for (const auto& c : vectors[text]) all.emplace_back(vectors.key(c.feature), c.weight);
    return all;
  };
  for (std::size_t i = 0; i < 4; ++i) CHECK(weights(same, i) == weights(earlier, i));
  CHECK(weights(other, 0) == weights(earlier, 0));
  CHECK(weights(own, 0) != weights(earlier, 0));
}
