// SPDX-License-Identifier: MIT
#include "lexformer/tables/blocking.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/tables/text_vectors.hpp"
#include "lexformer/text/unicode.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

using TextList = std::vector<std::string>;

TextList features(const std::string& text, std::size_t n) {
  TextList out;
  for (const auto& feature : TextFeatures{n}.of(text)) out.push_back(to_utf8(feature));
  return out;
}

/// TextList of words with typos; some are empty, some equal, some with features that no other has.
TextList random_texts(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed, random_site::share);
  const TextList words = {"Sony", "bravia", "TV", "WH-1000XM4", "caf\xC3\xA9", "headphones", "40\"", "kit", "&", "black", "x", "dht-fs5"};
  TextList texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text;
    for (std::size_t k = random.below(7); k > 0; --k) {
      std::string word = words[random.below(static_cast<std::uint32_t>(words.size()))];
      if (random.below(3) == 0)
        word.insert(word.begin() + static_cast<std::ptrdiff_t>(random.below(2)), static_cast<char>('a' + random.below(26)));
      text += word + ' ';
    }
    texts.push_back(i % 17 == 16 ? texts[i / 2] : text);
  }
  return texts;
}

/// The definition: all cosines in double, from maps of features.
struct Twin {
  std::vector<std::map<std::u32string, double>> left, right;
  std::vector<std::vector<double>> cosines;
  std::vector<std::size_t> left_kind, right_kind;  // the first text with an equal vector: these have equal cosines to the last bit
  bool one;

  /// keys: pairs that do not agree have the cosine 0.
  Twin(const TextList& a, const TextList& b, bool one_list, std::size_t n, const BlockingKeys& keys = {}) : one(one_list) {
    std::map<std::u32string, double> frequency;
    double texts = 0;
    const auto count = [&](const TextList& list, auto& vectors) {
      for (const auto& text : list) {
        std::map<std::u32string, double> counts;
        for (const auto& feature : TextFeatures{n}.of(text)) counts[feature] += 1;
        for (const auto& [feature, tf] : counts) frequency[feature] += 1;
        vectors.push_back(counts);
        texts += 1;
      }
    };
    count(a, left);
    if (!one) count(b, right);
    for (auto* list : {&left, &right})
      for (auto& counts : *list) {
        double squares = 0;
        for (auto& [feature, x] : counts) {
          x = (1 + std::log(x)) * (1 + std::log((1 + texts) / (1 + frequency[feature])));
          squares += x * x;
        }
        for (auto& [feature, x] : counts) x /= std::sqrt(squares);
      }
    if (one) right = left;
    for (const auto& text : left) {
      cosines.emplace_back();
      for (const auto& other : right) {
        double sum = 0;
        for (const auto& [feature, x] : text)
          if (const auto found = other.find(feature); found != other.end()) sum += x * found->second;
        const std::size_t i = cosines.size() - 1, j = cosines.back().size();
        cosines.back().push_back(keys.agree(i, one ? j : left.size() + j) ? sum : 0);
      }
    }
    const auto kinds = [](const auto& all, auto& kind) {
      for (const auto& text : all) kind.push_back(static_cast<std::size_t>(std::find(all.begin(), all.end(), text) - all.begin()));
    };
    kinds(left, left_kind);
    kinds(right, right_kind);
  }
  double cosine(std::size_t i, std::size_t j) const { return cosines[i][j]; }
  /// Whether j is surely, or possibly (up to rounding), among the k best of i.
  enum Place { out, close, in };
  Place place(std::size_t i, std::size_t j, std::size_t k, bool from_left) const {
    const double score = from_left ? cosine(i, j) : cosine(j, i);
    if (score <= 0) return out;
    std::size_t better = 0, close_to = 0;
    for (std::size_t o = 0; o < (from_left ? right : left).size(); ++o) {
      if (o == j || (one && o == i)) continue;
      const double other = from_left ? cosine(i, o) : cosine(o, i);
      if (other <= 0) continue;
      const bool same = from_left ? right_kind[o] == right_kind[j] : left_kind[o] == left_kind[j];
      if (same ? o < j : other > score + 1e-6)
        ++better;
      else if (!same && other > score - 1e-6)
        ++close_to;
    }
    return better >= k ? out : better + close_to >= k ? close : in;
  }
};

void check_against_twin(const TextList& a, const TextList& b, bool one, std::size_t n, std::size_t top, const BlockingKeys& keys = {}) {
  const Twin twin(a, b, one, n, keys);
  const BlockingOptions options{.blocking = n == 0 ? Blocking::tokens : Blocking::ngrams, .n = n == 0 ? 3 : n, .top = top, .keys = keys};
  const auto found = one ? CandidateSearch(a, options).find() : CandidateSearch(a, b, options).find();
  std::map<std::pair<std::size_t, std::size_t>, double> scores;
  for (const auto& c : found) scores[{c.left, c.right}] = static_cast<double>(c.score);
  REQUIRE(scores.size() == found.size());
  std::size_t decided = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = one ? i + 1 : 0; j < b.size(); ++j) {
      const auto x = twin.place(i, j, top, true), y = one ? twin.place(j, i, top, true) : twin.place(j, i, top, false);
      const auto it = scores.find({i, j});
      if (it != scores.end()) CHECK(it->second == doctest::Approx(twin.cosine(i, j)).epsilon(1e-5));
      if (x != Twin::in && y != Twin::in && (x == Twin::close || y == Twin::close)) continue;
      ++decided;
      CHECK((it != scores.end()) == (x == Twin::in || y == Twin::in));
    }
  CHECK(decided > a.size() * b.size() / 3);
}

}  // namespace

TEST_CASE("features: n-grams within words without punctuation, tokens and joined model numbers") {
  CHECK(features("WH-1000 a", 3) == TextList{" wh", "wh1", "h10", "100", "000", "00 ", " a "});
  CHECK(features("a", 4) == TextList{" a "});
  CHECK(features("ab", 1) == TextList{" ", "a", "b", " "});
  CHECK(features("Caf\xC3\x89 & _\n", 3) == TextList{" ca", "caf", "afe", "fe "});
  CHECK(features("\xC4\xB0x", 3) == TextList{" ix", "ix "});
  CHECK(features("WH-1000XM4 sony, (40\")", 0) == TextList{"wh", "1000xm4", "wh1000xm4", "sony", "40"});
  CHECK(features("-- \"", 0).empty());
  CHECK(features("", 3).empty());
}

TEST_CASE("keys of features: all different") {
  std::set<std::uint64_t> keys;
  const std::vector<std::u32string> texts = {U"a",   U" a",   U"a ", U" a ", U"abc", U"abcd", U"\U0010FFFF\U0010FFFF\U0010FFFF",
                                             U"cba", U"dcba", U"b"};
  for (const auto& text : texts) keys.insert(TextFeatures::key(text));
  CHECK(keys.size() == texts.size());
}

TEST_CASE("vectors have length 1, or 0; rare features come first") {
  const TextList a = {"sony tv", "sony", ""}, b = {"sony sony radio"};
  const TextVectors v(a, b, {0});
  CHECK(v.features() == 3);
  CHECK(v[2].empty());
  for (const std::size_t t : std::vector<std::size_t>{0, 1, 3}) {
    double squares = 0;
    for (const auto& c : v[t]) squares += static_cast<double>(c.weight) * static_cast<double>(c.weight);
    CHECK(squares == doctest::Approx(1));
  }
  CHECK(v.key(v[1][0].feature) == TextFeatures::key(U"sony"));
  CHECK(v[1][0].feature == 2);  // in three of four texts
  const double radio = 1 + std::log(5.0 / 2), sony = (1 + std::log(2.0)) * (1 + std::log(5.0 / 4));
  CHECK(static_cast<double>(v[3][1].weight) == doctest::Approx(sony / std::hypot(radio, sony)));
  CHECK(static_cast<double>(v.cosine(1, 3)) == doctest::Approx(sony / std::hypot(radio, sony)));
}

TEST_CASE("cosines are those of scikit-learn's TfidfVectorizer (tests/oracles/make_golden_blocking.py)") {
  std::ifstream in(LEXFORMER_SOURCE_DIR "/tests/golden/blocking.txt");
  std::string line;
  REQUIRE(std::getline(in, line));
  TextList texts(static_cast<std::size_t>(std::stoul(line)));
  for (std::string& text : texts) REQUIRE(std::getline(in, text));
  std::size_t compared = 0;
  for (std::size_t n = 0; in >> n;) {
    const TextVectors v(texts, {}, {n});
    for (std::size_t i = 0; i < texts.size(); ++i)
      for (std::size_t j = 0; j < texts.size(); ++j) {
        double expected = 0;
        REQUIRE((in >> expected).good());
        CHECK(std::abs(static_cast<double>(v.cosine(i, j)) - expected) < 1e-6);
        compared += expected > 0 && expected < 0.999 ? 1 : 0;
      }
  }
  CHECK(compared > 100);
}

TEST_CASE("the candidates are those of all cosines: two lists, one list, ties, empty texts, several indexes") {
  check_against_twin(random_texts(90, 1), random_texts(70, 2), false, 3, 3);
  check_against_twin(random_texts(40, 3), random_texts(300, 4), false, 2, 5);  // 300 texts: two indexes
  check_against_twin(random_texts(60, 5), random_texts(60, 6), false, 0, 4);
  check_against_twin(random_texts(30, 5), random_texts(20, 6), false, 5, 100);
  const auto one = random_texts(280, 7);
  check_against_twin(one, one, true, 3, 2);
  TextList repeated, shuffled;  // many equal texts, in different orders
  for (std::size_t i = 0; i < 120; ++i) repeated.push_back(one[i % 9]), shuffled.push_back(one[(i * 7) % 13]);
  check_against_twin(repeated, shuffled, false, 3, 5);
  check_against_twin(repeated, repeated, true, 3, 5);
  check_against_twin(shuffled, shuffled, true, 3, 11);
  CHECK(CandidateSearch(TextList{}, TextList{"a"}, {}).find().empty());
  CHECK(CandidateSearch(TextList{"a"}, TextList{}, {}).find().empty());
  CHECK(CandidateSearch(TextList{"", "."}, TextList{"", "a"}, {}).find().empty());
  const TextList same(20, "equal texts");
  const auto tied = CandidateSearch(same, TextList{"equal texts"}, {.top = 2}).find();
  CHECK(tied.size() == 20);  // each left text has one candidate
  const auto within = CandidateSearch(same, {.top = 1}).find();
  CHECK(within.size() == 19);  // the first text is the best of all others, the second is that of the first
  for (const auto& c : within) CHECK(c.left == 0);
}

TEST_CASE("with keys the candidates are those of all pairs that agree: two lists, one list, missing values, several keys and indexes") {
  const auto a = random_texts(400, 21), b = random_texts(700, 22);
  RandomStream random(5, random_site::share);
  const auto values = [&](std::uint32_t most, std::size_t texts) {
    KeyValues key;
    for (std::size_t i = 0; i < texts; ++i)  // 0 and 1 are frequent
      key.push_back(static_cast<std::uint32_t>(random.below(random.below(3) == 0 ? 2 : most)));
    return key;
  };
  for (const bool missing_agrees : {false, true})
    for (const std::size_t count : {1u, 2u}) {
      BlockingKeys two{{}, missing_agrees}, one{{}, missing_agrees};
      for (std::size_t k = 0; k < count; ++k) {
        two.keys.push_back(values(k == 0 ? 40 : 3, a.size() + b.size()));
        one.keys.push_back(values(k == 0 ? 40 : 3, b.size()));
      }
      check_against_twin(a, b, false, 3, 3, two);
      check_against_twin(b, b, true, 3, 3, one);
      std::size_t agree = 0, agree_within = 0;
      for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < b.size(); ++j) agree += two.agree(i, a.size() + j) ? 1u : 0u;
      for (std::size_t i = 0; i < b.size(); ++i)
        for (std::size_t j = i + 1; j < b.size(); ++j) agree_within += one.agree(i, j) ? 1u : 0u;
      const auto all = CandidateSearch(a, b, {.blocking = Blocking::none, .keys = two}).find();
      CHECK(all.size() == agree);
      CHECK(CandidateSearch(b, {.blocking = Blocking::none, .keys = one}).find().size() == agree_within);
      CHECK(std::is_sorted(all.begin(), all.end(),
                           [](const Candidate& x, const Candidate& y) { return std::pair(x.left, x.right) < std::pair(y.left, y.right); }));
      const CandidateSearch search(a, b, {.top = 3, .keys = two});
      for (const auto& c : search.find()) {
        CHECK(two.agree(c.left, a.size() + c.right));
        CHECK(search.score(c.left, c.right) == c.score);
        const auto reason = search.explain(c.left, c.right).at(0);
        CHECK((reason.left_rank <= 3 || reason.right_rank <= 3));
        CHECK(reason.left_rank > 0);
      }
    }
  const BlockingKeys apart{{KeyValues{1, 2}}};
  const TextList tv = {"sony tv"};
  const CandidateSearch search(tv, tv, {.keys = apart});
  CHECK(search.find().empty());
  CHECK(search.explain(0, 0).at(0).score == 1);
  CHECK(search.explain(0, 0).at(0).left_rank == 0);
  CHECK(CandidateSearch(tv, tv, {.keys = {{KeyValues{0, 2}}}}).find().size() == 1);
  CHECK(CandidateSearch(tv, tv, {.keys = {{KeyValues{0, 0}}, false}}).find().empty());
  expect_error(
      ErrorKind::usage, [&] { CandidateSearch(a, b, {.keys = apart}); }, "a key has one value for each text");
}

TEST_CASE("the same candidates for any number of threads, in order") {
  const auto a = random_texts(500, 8), b = random_texts(900, 9);
  BlockingKeys keys{{KeyValues()}};
  for (std::uint32_t i = 0; i < a.size() + b.size(); ++i) keys.keys[0].push_back(i % 5);
  std::vector<std::vector<Candidate>> found;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    found.push_back(CandidateSearch(a, b, {.blocking = Blocking::all, .top = 4}).find());
    found.push_back(CandidateSearch(b, {.top = 4}).find());
    found.push_back(CandidateSearch(a, b, {.top = 4, .keys = keys}).find());
  }
  set_threads(0);
  CHECK(found[0].size() > 3 * b.size());
  for (std::size_t k = 3; k < found.size(); ++k) CHECK(found[k] == found[k - 3]);
  for (const auto& list : {found[0], found[1]})
    for (std::size_t i = 1; i < list.size(); ++i) {
      const auto &x = list[i - 1], &y = list[i];
      CHECK((x.left < y.left || (x.left == y.left && (x.score > y.score || (x.score == y.score && x.right < y.right)))));
    }
  for (const auto& c : found[1]) CHECK(c.left < c.right);
}

TEST_CASE("all: both kinds, with the larger cosine; none: all pairs") {
  const auto a = random_texts(50, 10), b = random_texts(60, 11);
  std::map<std::pair<std::uint32_t, std::uint32_t>, float> expected;
  for (const auto kind : {Blocking::ngrams, Blocking::tokens})
    for (const auto& c : CandidateSearch(a, b, {.blocking = kind, .top = 3}).find()) {
      float& score = expected[{c.left, c.right}];
      score = std::max(score, c.score);
    }
  const CandidateSearch both(a, b, {.blocking = Blocking::all, .top = 3});
  const auto found = both.find();
  CHECK(found.size() == expected.size());
  for (const auto& c : found) CHECK(c.score >= expected.at({c.left, c.right}));
  CHECK(both.explain(found[0].left, found[0].right).size() == 2);
  CHECK(CandidateSearch(a, b, {.blocking = Blocking::none}).find().size() == 3000);
  CHECK(CandidateSearch(a, {.blocking = Blocking::none}).find().size() == 50 * 49 / 2);
  CHECK(CandidateSearch(a, b, {}).pairs() == 3000);
  CHECK(CandidateSearch(a, {}).pairs() == 50 * 49 / 2);
  const TextList many(40000, "x");
  expect_error(
      ErrorKind::usage, [&] { CandidateSearch(many, many, {.blocking = Blocking::none}).find(); }, "more than 2^28; use ngrams");
  expect_error(
      ErrorKind::usage, [&] { CandidateSearch(a, b, {.top = 0}); }, "1 candidate or more");
  expect_error(
      ErrorKind::usage, [&] { CandidateSearch(a, b, {.n = 0}); }, "1 character or more");
}

TEST_CASE("scores are 1 for equal texts, however their cosine is rounded, and less than 1 for others") {
  TextList texts = random_texts(300, 14);
  texts.emplace_back("apple iphone");
  texts.push_back(texts.back());
  TextList long_text(2);
  for (std::size_t i = 0; i < 4000; ++i) long_text[0] += cat("w", i * i, " ");
  long_text[1] = long_text[0] + "w";  // another text with nearly the same vector
  texts.insert(texts.end(), long_text.begin(), long_text.end());
  for (const auto kind : {Blocking::ngrams, Blocking::tokens, Blocking::all}) {
    const BlockingOptions options{.blocking = kind, .top = 400};
    const CandidateSearch one(texts, options), two(texts, texts, options);
    std::size_t equal = 0;
    const auto same = [&](const Candidate& c, std::size_t n) {
      const auto x = features(texts[c.left], n), y = features(texts[c.right], n);
      return std::set<std::string>(x.begin(), x.end()) == std::set<std::string>(y.begin(), y.end());
    };
    for (const auto* search : {&one, &two})
      for (const auto& c : search->find()) {
        if (texts[c.left] == texts[c.right]) {
          CHECK(c.score == 1);
          ++equal;
        }
        CHECK(c.score <= 1);
        if (c.score == 1) CHECK((same(c, 3) || same(c, 0)));
      }
    CHECK(equal > texts.size());
    const auto last = static_cast<std::uint32_t>(texts.size() - 1);
    double longest = 0;
    for (const auto& reason : one.explain(last - 1, last)) {
      CHECK(reason.score < 1);
      longest = std::max(longest, reason.score);
    }
    CHECK(longest > 0.99);
    for (const auto& reason : one.explain(last - 3, last - 2)) CHECK(reason.score == 1);
  }
  CHECK(CandidateSearch(TextList{"", "."}, {}).explain(0, 1).at(0).score == 0);
}

TEST_CASE("explain agrees with find") {
  const auto a = random_texts(60, 12), b = random_texts(80, 13);
  for (const bool one : {false, true}) {
    const BlockingOptions options{.top = 3};
    const CandidateSearch search = one ? CandidateSearch(a, options) : CandidateSearch(a, b, options);
    const auto found = search.find();
    for (std::size_t i = 0; i < 12; ++i)
      for (std::size_t j = one ? i + 1 : 0; j < (one ? a : b).size(); ++j) {
        const auto reason = search.explain(i, j).at(0);
        const auto it = std::find_if(found.begin(), found.end(), [&](const auto& c) { return c.left == i && c.right == j; });
        const auto ranked = [&](std::size_t rank) { return rank > 0 && rank <= options.top; };
        CHECK((it != found.end()) == (ranked(reason.left_rank) || ranked(reason.right_rank)));
        if (it != found.end()) CHECK(reason.score == static_cast<double>(it->score));
        double sum = 0;
        for (const auto& shared : reason.shared) sum += shared.part;
        CHECK(sum == doctest::Approx(reason.score));
      }
  }
  const TextList left = {"sony wh-1000xm4"}, right = {"wh1000xm4 by sony"};
  const CandidateSearch search(left, right, {});
  const auto reason = search.explain(0, 0).at(0);
  CHECK(reason.left_rank == 1);
  CHECK(reason.shared.size() == 13);
  CHECK(reason.shared[0].part >= reason.shared[12].part);
  expect_error(
      ErrorKind::usage, [&] { search.explain(0, 1); }, "no such text");
  expect_error(
      ErrorKind::usage, [&] { CandidateSearch(a, {}).explain(1, 1); }, "no candidate of itself");
  expect_error(
      ErrorKind::usage, [&] { CandidateSearch(a, {.blocking = Blocking::none}).explain(0, 1); }, "nothing to explain");
}

TEST_CASE("merge_candidates: each pair once, with the larger score, in the order of find()") {
  const std::vector<Candidate> a{{0, 3, 0.9f}, {0, 1, 0.5f}, {2, 2, 0.1f}}, b{{0, 1, 0.7f}, {0, 3, 0.2f}, {1, 0, 1.0f}};
  const std::vector<Candidate> both{{0, 3, 0.9f}, {0, 1, 0.7f}, {1, 0, 1.0f}, {2, 2, 0.1f}};
  CHECK(merge_candidates(a, b) == both);
  CHECK(merge_candidates(b, a) == both);
  CHECK(merge_candidates(a, {}) == a);
}
