// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "lexformer/knowledge/dependency.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

using Words = std::vector<std::string>;

DependencyTrees tree(const Words& forms, const std::vector<std::size_t>& heads, const Words& relations) {
  DependencyTrees trees;
  std::vector<DependencyWord> words;
  for (std::size_t i = 0; i < forms.size(); ++i) words.push_back({forms[i], forms[i], relations[i]});
  trees.add_sentence(std::move(words), heads, "test");
  return trees;
}

std::vector<double> sum(std::vector<double> x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

/// A tree over few words and relations, so that many are equal; 1 or 2 sentences.
DependencyTrees random_trees(std::mt19937& random) {
  DependencyTrees trees;
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (std::size_t sentences = 1 + below(2); sentences > 0; --sentences) {
    const std::size_t n = 1 + below(7), root = below(n);
    std::vector<std::size_t> heads(n, 0), reached{root};
    std::vector<DependencyWord> words(n);
    for (std::size_t i = 0; i < n; ++i) words[i] = {std::string(1, static_cast<char>('a' + below(3))), "", below(2) == 0 ? "x" : "y"};
    for (std::size_t i = 0; i < n; ++i) {
      if (i == root) continue;
      heads[i] = reached[below(reached.size())] + 1;
      reached.push_back(i);
    }
    trees.add_sentence(std::move(words), heads, "test");
  }
  return trees;
}

/// Eq. 4 by its definition.
double naive_subgraph(const DependencyTrees& a, const DependencyTrees& b, std::size_t i, std::size_t j, const DependencyOptions& o) {
  if (a.words[i].form != b.words[j].form || a.words[i].relation != b.words[j].relation) return 0;
  double total = o.subgraphs == DependencySubgraph::pairs ? o.alpha : 0;
  for (std::size_t x = 0; x < a.words.size(); ++x)
    for (std::size_t y = 0; y < b.words.size(); ++y) {
      if (a.words[x].head != static_cast<std::int32_t>(i) || b.words[y].head != static_cast<std::int32_t>(j)) continue;
      if (o.subgraphs == DependencySubgraph::children && a.words[x].form == b.words[y].form) total += o.alpha;
      total += o.nu * naive_subgraph(a, b, x, y, o);
    }
  return total;
}

const DependencyTrees apple = tree({"Apple", "exceeded", "company"}, {2, 0, 2}, {"nsubj", "root", "obj"});
const DependencyTrees company = tree({"company", "exceeded", "Apple"}, {2, 0, 2}, {"nsubj", "root", "obj"});

}  // namespace

TEST_CASE("dependency: matrices of the pair of DAFA's Figure 1") {
  const auto m = tree_similarity(apple, company);
  CHECK(m == std::vector<double>{2, 0, 2, 0, 4, 0, 2, 0, 2});
  CHECK(sum(m, subgraph_similarity(apple, company)) == std::vector<double>{2, 0, 2, 0, 5, 0, 2, 0, 2});
  CHECK(sum(tree_similarity(apple, apple), subgraph_similarity(apple, apple)) == std::vector<double>{5, 0, 1, 0, 6, 0, 1, 0, 5});
}

TEST_CASE("dependency: a root's head equals a root's alone, whatever the words") {
  const auto run = tree({"dogs", "run"}, {2, 0}, {"nsubj", "root"}), sleep = tree({"cats", "sleep"}, {2, 0}, {"nsubj", "root"});
  CHECK(tree_similarity(run, sleep) == std::vector<double>{0, 0, 0, 2});
  // The word "root" is a head like any other.
  const auto word = tree({"dogs", "root"}, {2, 0}, {"nsubj", "root"});
  CHECK(tree_similarity(word, sleep) == std::vector<double>{0, 0, 0, 2});
}

TEST_CASE("dependency: subgraph similarity equals its definition, and swapped texts transpose all matrices") {
  std::mt19937 random(1);
  DocumentCounts counts{.documents = 7, .words = {{"a", 5}, {"b", 1}}};
  std::size_t positive = 0;
  for (int round = 0; round < 10000; ++round) {
    const auto a = random_trees(random), b = random_trees(random);
    DependencyOptions options{.theta = 1.5, .alpha = 0.75, .nu = 0.25};
    options.subgraphs = round % 2 == 0 ? DependencySubgraph::pairs : DependencySubgraph::children;
    const auto s = subgraph_similarity(a, b, options);
    const auto fused = dependency_matrix(a, b, counts, options), swapped = dependency_matrix(b, a, counts, options);
    const std::size_t n = a.words.size(), m = b.words.size();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        REQUIRE(s[i * m + j] == doctest::Approx(naive_subgraph(a, b, i, j, options)).epsilon(1e-12));
        REQUIRE(fused[i * m + j] == swapped[j * n + i]);
        if (s[i * m + j] > options.alpha) ++positive;
      }
  }
  CHECK(positive > 3000);
}

TEST_CASE("dependency: tf-idf weights") {
  const auto text = tree({"The", "dog", "the", "cat"}, {2, 0, 2, 2}, {"det", "root", "det", "obj"});
  DocumentCounts counts;
  counts.add(text);
  counts.add(tree({"a", "dog"}, {2, 0}, {"det", "root"}));
  CHECK(counts.documents == 2);
  CHECK(counts.words == std::map<std::string, std::size_t>{{"a", 1}, {"cat", 1}, {"dog", 2}, {"the", 1}});
  const double dog = 1, cat = std::log(1.5) + 1, the = 2 * cat;  // idf times the count in the text
  const auto expect = [&](DependencyTfidf tfidf, double divisor) {
    const auto w = tfidf_weights(text, counts, {.tfidf = tfidf});
    CHECK(w[0] == doctest::Approx(the / divisor));
    CHECK(w[1] == doctest::Approx(dog / divisor));
    CHECK(w[2] == w[0]);
    CHECK(w[3] == doctest::Approx(cat / divisor));
  };
  expect(DependencyTfidf::max, the);
  expect(DependencyTfidf::mean, (2 * the + dog + cat) / 4);
  expect(DependencyTfidf::off, 1);
  CHECK(tfidf_weights(text, counts, {.without_tfidf = true}) == std::vector<double>(4, 1));
  CHECK(counts.idf("unseen") == doctest::Approx(std::log(3.0) + 1));
}

TEST_CASE("dependency: parts that are left out") {
  const DocumentCounts none;
  const DependencyOptions plain{.without_tfidf = true};
  auto options = plain;
  CHECK(dependency_matrix(apple, company, none, plain) == std::vector<double>{2, 0, 2, 0, 5, 0, 2, 0, 2});
  options.without_tree = true;
  CHECK(dependency_matrix(apple, company, none, options) == subgraph_similarity(apple, company));
  options.without_subgraph = true;  // weights alone
  CHECK(dependency_matrix(apple, company, none, options) == std::vector<double>(9, 1));
  options.without_tree = false;
  CHECK(dependency_matrix(apple, company, none, options) == tree_similarity(apple, company));
}

TEST_CASE("dependency: words are compared by form or lemma, in lower case") {
  auto plural = tree({"Dogs"}, {0}, {"root"}), singular = tree({"dog"}, {0}, {"root"});
  plural.words[0].lemma = "DOG";
  CHECK(tree_similarity(plural, singular) == std::vector<double>{2});
  CHECK(tree_similarity(plural, singular, {.match = DependencyMatch::lemma}) == std::vector<double>{4});
  CHECK(dependency_key(tree({"\xC3\x84pfel"}, {0}, {"root"}).words[0], DependencyMatch::form) == "\xC3\xA4pfel");
}

TEST_CASE("dependency: invalid trees") {
  const auto refused = [](const std::vector<std::size_t>& heads, const std::string& message) {
    expect_file_error([&] { tree(Words(heads.size(), "w"), heads, Words(heads.size(), "r")); }, message);
  };
  refused({2, 1}, "has 0 roots");
  refused({0, 0}, "has 2 roots");
  refused({0, 3}, "the head of word 2 is 3, but the sentence has 2 words");
  refused({0, 3, 2}, "cycle: word 2 is above itself");
  refused({0, 1, 5, 3, 4}, "cycle: word 3");
  refused({0, 2}, "cycle: word 2");
  refused({}, "no words");
}

TEST_CASE("dependency: a table keeps one tree for each text") {
  DependencyTable table;
  auto a = apple;
  a.text = "Apple exceeded company";
  expect_file_error([&] { table.add(a, "f:1"); }, "the word 'Apple' has the characters 0 to 0 after 0");
  a.words[0].characters = {0, 5};
  a.words[1].characters = {6, 14};
  a.words[2].characters = {15, 22};
  table.add(a, "f:1");
  table.add(a, "f:9");
  CHECK(table.size() == 1);
  CHECK(table.find(a.text)->words == a.words);
  CHECK(table.find("Apple exceeded") == nullptr);
  CHECK(table.find(" \t") != nullptr);
  a.words[0].relation = "dep";
  expect_file_error([&] { table.add(a, "f:12"); }, "f:12: the text 'Apple exceeded company' already has a different tree");
}
