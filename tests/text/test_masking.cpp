// SPDX-License-Identifier: MIT
#include "lexformer/text/masking.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/error_message.hpp"

using namespace lexformer;
using test::error_message;

namespace {

/// Words a0 ... a39 have one piece; b, c, d, e and f have 2, 3, 4, 5 and 6 pieces, none of them shared.
const Tokenizer& tokenizer() {
  static const Tokenizer instance = [] {
    std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ""};
    for (int i = 0; i < 40; ++i) tokens.push_back(cat("a", i));
    for (const char* letter : {"b", "c", "d", "e", "f"}) {
      tokens.emplace_back(letter);
      for (int i = 1; i < 6; ++i) tokens.push_back(cat("##", letter, i));
    }
    return Tokenizer(Vocabulary(tokens));
  }();
  return instance;
}

std::string word(char letter, int pieces) {
  std::string text(1, letter);
  for (int i = 1; i < pieces; ++i) text += cat(letter, i);
  return text;
}

/// `words` words of all lengths in random order.
std::string random_text(std::size_t words, std::uint32_t number) {
  RandomStream random(3, random_site::user, number);
  std::string text;
  for (std::size_t i = 0; i < words; ++i) {
    const auto kind = random.below(8);
    text += (kind < 4 ? cat("a", random.below(40)) : word(static_cast<char>('b' + kind - 4), static_cast<int>(kind - 2))) + " ";
  }
  return text;
}

std::set<std::int32_t> chosen(const MaskedTokens& masked) { return {masked.positions.begin(), masked.positions.end()}; }

}  // namespace

TEST_CASE("masking: the budget is met, and never exceeded") {
  const Masker masker(tokenizer());
  for (std::uint32_t i = 0; i < 500; ++i) {
    const auto e = tokenizer().encode(random_text(10 + i % 60, i), 512);
    const auto masked = masker(e, masking_stream(1, 0, i));
    const auto budget = static_cast<std::size_t>(std::nearbyint(0.15 * static_cast<double>(e.size())));
    CHECK(masked.positions.size() == budget);  // a word of one piece is always left
    CHECK(masked.labels.size() == masked.positions.size());
    CHECK(masked.ids.size() == e.size());
    CHECK(std::is_sorted(masked.positions.begin(), masked.positions.end()));
    CHECK(chosen(masked).size() == masked.positions.size());
    std::size_t k = 0;
    for (std::size_t p = 0; p < e.size(); ++p) {
      if (k < masked.positions.size() && masked.positions[k] == static_cast<std::int32_t>(p))
        CHECK(masked.labels[k++] == e.ids[p]);
      else
        CHECK(masked.ids[p] == e.ids[p]);
    }
  }
  const Masker few(tokenizer(), {.max_predictions = 3});
  CHECK(few(tokenizer().encode(random_text(100, 1), 512), masking_stream(1, 0, 0)).positions.size() == 3);
}

TEST_CASE("masking: a word of up to four pieces is chosen whole or not at all, a longer one piece by piece") {
  const Masker masker(tokenizer(), {.probability = 0.3});
  std::size_t whole = 0, parts = 0;
  for (std::uint32_t i = 0; i < 400; ++i) {
    const auto e = tokenizer().encode_pair(random_text(12, i), random_text(12, i + 1000), 512);
    const auto positions = chosen(masker(e, masking_stream(5, 2, i)));
    std::map<std::pair<int, int>, std::pair<std::size_t, std::size_t>> words;  // (type, word) -> pieces, chosen pieces
    for (std::size_t p = 0; p < e.size(); ++p) {
      auto& [pieces, taken] = words[{e.type_ids[p], e.word_ids[p]}];
      ++pieces;
      if (positions.contains(static_cast<std::int32_t>(p))) ++taken;
    }
    for (const auto& [name, counts] : words) {
      const auto [pieces, taken] = counts;
      if (name.second < 0) {
        CHECK(taken == 0);
      } else if (pieces <= 4) {
        CHECK((taken == 0 || taken == pieces));
        whole += pieces > 1 && taken > 0 ? 1u : 0u;
      } else {
        parts += taken > 0 && taken < pieces ? 1u : 0u;
      }
    }
  }
  CHECK(whole > 500);
  CHECK(parts > 100);
}

TEST_CASE("masking: eight of ten pieces become [MASK], one another token, one stays; each word is as likely as the next") {
  const Masker masker(tokenizer());
  std::string text;
  for (int i = 0; i < 38; ++i) text += cat("a", i, " ");
  const auto e = tokenizer().encode(text, 512);  // 40 tokens: 6 are chosen
  const auto mask = *tokenizer().vocabulary().id("[MASK]");
  std::size_t masks = 0, kept = 0, total = 0;
  std::map<std::int32_t, std::size_t> others, places;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto masked = masker(e, masking_stream(9, 1, i));
    for (std::size_t k = 0; k < masked.positions.size(); ++k) {
      const auto now = masked.ids[static_cast<std::size_t>(masked.positions[k])];
      ++total;
      ++places[masked.positions[k]];
      if (now == mask)
        ++masks;
      else if (now == masked.labels[k])
        ++kept;
      else
        ++others[now];
    }
  }
  REQUIRE(total == 30000);
  // Bounds of five standard deviations. One of the 70 ordinary tokens is the original token.
  CHECK(std::abs(static_cast<double>(masks) - 24000.0) < 5 * std::sqrt(30000 * 0.8 * 0.2));
  CHECK(std::abs(static_cast<double>(kept) - 3000.0 * (1 + 1.0 / 70)) < 5 * std::sqrt(30000 * 0.1 * 0.9));
  CHECK(others.size() == 70);
  for (const auto& [id, count] : others) {
    CHECK(id > 5);  // neither a special token nor the gap in the ids
    CHECK(std::abs(static_cast<double>(count) - 3000.0 / 70) < 5 * std::sqrt(3000.0 / 70));
  }
  CHECK(places.size() == 38);
  for (const auto& place : places) CHECK(std::abs(static_cast<double>(place.second) - 30000.0 / 38) < 5 * std::sqrt(30000.0 / 38));
}

TEST_CASE("masking: a function of seed, epoch and sequence") {
  const Masker masker(tokenizer());
  const auto e = tokenizer().encode(random_text(80, 4), 512);
  const auto same = [&](std::uint64_t seed, std::uint32_t epoch, std::uint32_t sequence) {
    const auto a = masker(e, masking_stream(1, 2, 3)), b = masker(e, masking_stream(seed, epoch, sequence));
    return a.ids == b.ids && a.positions == b.positions && a.labels == b.labels;
  };
  CHECK(same(1, 2, 3));
  CHECK_FALSE(same(2, 2, 3));
  CHECK_FALSE(same(1, 3, 3));
  CHECK_FALSE(same(1, 2, 4));
}

TEST_CASE("masking: special tokens of the text and unknown words stay") {
  const Masker masker(tokenizer(), {.probability = 1.0});
  const auto e = tokenizer().encode("a1 [MASK] a2 zzz [SEP] a3", 512);
  for (std::uint32_t i = 0; i < 50; ++i) CHECK(masker(e, masking_stream(1, 0, i)).positions == std::vector<std::int32_t>{1, 3, 6});
  const Masker none(tokenizer(), {.mask_share = 0.0, .random_share = 0.0});
  CHECK(none(e, masking_stream(1, 0, 0)).ids == e.ids);
}

TEST_CASE("masking: short sequences") {
  const Masker masker(tokenizer());
  const auto count = [&](const std::string& text, std::uint32_t sequence = 0) {
    return masker(tokenizer().encode(text, 512), masking_stream(1, 0, sequence)).positions.size();
  };
  CHECK(count("") == 0);
  CHECK(count("zzz") == 0);
  CHECK(count("a1") == 1);
  CHECK(count(word('c', 3)) == 0);             // three pieces exceed the budget of one token
  CHECK(count(word('f', 6)) == 1);             // pieces of a word of six are chosen individually
  CHECK(count(word('d', 4) + " a1", 7) == 1);  // the long word is skipped in any order
}

TEST_CASE("masking: what cannot be") {
  CHECK(error_message([] { Masker(tokenizer(), {.probability = 0.0}); }) ==
        "Masker: the share of masked tokens is 0, expected more than 0 and at most 1");
  CHECK(error_message([] { Masker(tokenizer(), {.mask_share = 0.8, .random_share = 0.3}); }).starts_with("Masker: mask_share is 0.8"));
  const Tokenizer no_mask(Vocabulary({"[UNK]", "[CLS]", "[SEP]", "a"})), no_words(Vocabulary({"[UNK]", "[CLS]", "[SEP]", "[MASK]"}));
  CHECK(error_message([&] { Masker{no_mask}; }) == "Masker: the vocabulary (4 tokens) has no '[MASK]'");
  CHECK(error_message([&] { Masker{no_words}; }) == "Masker: the vocabulary has special tokens only");
  Encoding foreign = tokenizer().encode("a1", 512);
  foreign.ids[1] = 1000;
  CHECK(error_message([&] { Masker{tokenizer()}(foreign, masking_stream(1, 0, 0)); }) ==
        "Masker: token 1 has the id 1000, but the vocabulary has 76 tokens");
}
