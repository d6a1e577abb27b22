// SPDX-License-Identifier: MIT
#include "lexformer/attention/syntax.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
using test::max_error;
using test::random_tensor;
using test::same_bits;

namespace {

CrossEncoderOptions with_syntax(const SyntaxOptions& options = {}) { return {.attention = {{"syntax", options}}}; }

/// A layer's attention on random q, k, v, with the codes of a batch of two sequences.
struct Layer {
  static constexpr std::size_t heads = 3, width = 12;
  Offsets offsets = Offsets::from_lengths(std::vector<std::size_t>{4, 3});
  Var<double> qkv{random_tensor({7, 3 * width}), true};
  std::vector<std::uint16_t> codes = std::vector<std::uint16_t>(offsets.pairs());

  Tensor<double> operator()(std::size_t depth, const ScoreTerms<double>& terms = {}) const { return context(depth, terms).value(); }
  Var<double> context(std::size_t depth, const ScoreTerms<double>& terms = {}) const {
    Batch batch;
    batch.offsets = offsets;
    batch.ids = batch.type_ids = batch.position_ids = std::vector<std::int32_t>(7);
    batch.features["syntax"] = {Per::pair, Codes{codes, {}}};
    const DeviceBatch<double> on_device(batch);
    DropoutSites sites(0, 16);
    const SyntaxAttention<double> core(syntax_tables<double>(syntax_masks(depth), heads), sites);
    return core({qkv, on_device, heads, {}}, terms, {}).context;
  }
};

/// A forest of n random words in up to three sentences, in text order "w0 w1 ...", and its encoding by words of one to three pieces.
struct Forest {
  DependencyTrees trees{};
  std::vector<std::size_t> sentence_of{};
};
Forest random_forest(std::size_t n, RandomStream& random) {
  Forest f;
  std::uint32_t at = 0;
  for (std::size_t done = 0; done < n;) {
    const std::size_t count = std::min(n - done, 1 + random.below(7));
    std::vector<DependencyWord> words;
    std::vector<std::size_t> order(count), parents(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.shuffle(order);
    for (std::size_t k = 0; k < count; ++k) parents[order[k]] = k == 0 ? 0 : order[random.below(k)] + 1;
    for (std::size_t k = 0; k < count; ++k) {
      const std::string form(1 + random.below(3), 'x');
      const auto end = at + static_cast<std::uint32_t>(form.size());
      words.push_back({form, form, "r", -1, {at, end}});
      f.trees.text += (at == 0 ? "" : " ") + form;
      at = end + 1;
      f.sentence_of.push_back(f.trees.sentences.size());
    }
    f.trees.add_sentence(std::move(words), parents, "test");
    done += count;
  }
  return f;
}

}  // namespace

TEST_CASE("syntax: masks by their definition, on random trees") {
  // Each x is a piece of its own, so that words have 1 to 3 pieces.
  const Tokenizer tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "x", "##x"}));
  RandomStream random(11, random_site::user);
  for (std::size_t round = 0; round < 300; ++round) {
    const std::size_t depth = 1 + round % max_syntax_depth, masks = syntax_masks(depth);
    const Forest forests[2] = {random_forest(random.below(12), random), random_forest(1 + random.below(12), random)};
    DependencyTable table;
    for (const Forest& f : forests)
      if (!f.trees.words.empty() && table.find(f.trees.text) == nullptr) table.add(f.trees, "test");
    // Equal texts have one tree, the first.
    const DependencyTrees* trees[2] = {table.find(forests[0].trees.text), table.find(forests[1].trees.text)};
    if (forests[0].trees.text == forests[1].trees.text) continue;
    const auto e = tokenizer.encode_pair(forests[0].trees.text, forests[1].trees.text, 6 + random.below(60));
    const Batch batch = make_batch(std::vector{e}, std::vector{syntax_feature(std::make_shared<DependencyTable>(table), depth)});
    const auto& codes = batch.codes("syntax").codes;

    const auto word = [&](std::size_t token) { return e.word_ids[token]; };  // the tokenizer's words are those of the trees
    const auto ancestor = [&](std::size_t side, std::int32_t i, std::size_t distance) {
      for (; distance > 0 && i >= 0; --distance) i = trees[side]->words[static_cast<std::size_t>(i)].head;
      return i;
    };
    const auto shows = [&](std::size_t mask, std::size_t i, std::size_t j) {
      if (mask == masks - 1) return e.type_ids[i] != e.type_ids[j];
      if (e.type_ids[i] != e.type_ids[j] || word(i) < 0 || word(j) < 0) return false;
      const std::size_t side = e.type_ids[i];
      if (mask < depth) return ancestor(side, word(i), mask + 1) == word(j);
      if (mask < 2 * depth) return ancestor(side, word(j), mask - depth + 1) == word(i);
      return word(i) != word(j) && ancestor(side, word(i), 1) >= 0 && ancestor(side, word(i), 1) == ancestor(side, word(j), 1);
    };
    const std::size_t n = e.size();
    std::size_t wrong = 0;
    for (std::size_t mask = 0; mask < masks; ++mask)
      for (std::size_t i = 0; i < n; ++i) {
        bool any = false;
        for (std::size_t j = 0; j < n; ++j) any = any || shows(mask, i, j);
        for (std::size_t j = 0; j < n; ++j) wrong += ((codes[i * n + j] >> mask) % 2 == 1) == (any && !shows(mask, i, j)) ? 0u : 1u;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("syntax: the codes of a text alone") {
  const auto model = test::tiny_model(with_syntax({.depth = 1}));
  // black and camera are below sony. Bits: ancestor 1, descendant 2, sibling 4, other text 8
  const Batch batch = model.batch(std::vector{model.tokenizer().encode("sony black camera", 20)});
  const std::vector<std::uint16_t> expected = {0, 0, 0, 0, 0,   // [CLS]
                                               2, 2, 0, 0, 2,   // sony sees its descendants black and camera
                                               5, 4, 5, 1, 5,   // black sees its ancestor sony and its sibling camera
                                               5, 4, 1, 5, 5,   // camera
                                               0, 0, 0, 0, 0};  // [SEP]
  CHECK(batch.codes("syntax").codes == expected);
}

TEST_CASE("syntax: the context is the sum of the attentions under each mask, with all terms, over sqrt(m)") {
  Layer layer;
  RandomStream random(2, random_site::user);
  for (auto& code : layer.codes) code = static_cast<std::uint16_t>(random.below(16));
  ScoreTerms<double> terms;
  terms.gate = Var<double>(random_tensor({layer.offsets.pairs()}, 5), true);
  terms.pair_bias = Var<double>(random_tensor({layer.offsets.pairs()}, 6), true);
  auto sum = Tensor<double>::full({7, Layer::width}, 0);
  const auto qkv = layer.qkv.value();
  constexpr std::size_t head_width = Layer::width / Layer::heads;
  const auto hidden = [&](std::size_t mask, std::size_t pair) { return mask < 4 && (layer.codes[pair] >> mask) % 2 == 1; };
  for (std::size_t mask = 0; mask < 5; ++mask)
    for (std::size_t s = 0; s < 2; ++s)
      for (std::size_t h = 0; h < Layer::heads; ++h)
        for (std::size_t i = 0, n = layer.offsets.length(s); i < n; ++i) {
          std::vector<double> p(n);
          double total = 0;
          const std::size_t begin = layer.offsets.begin(s);
          bool any = false;
          for (std::size_t j = 0; j < n; ++j) any = any || !hidden(mask, layer.offsets.pair_begin(s) + i * n + j);
          for (std::size_t j = 0; j < n; ++j) {
            const std::size_t pair = layer.offsets.pair_begin(s) + i * n + j;
            double score = 0;
            for (std::size_t k = 0; k < head_width; ++k)
              score += qkv.at(begin + i, h * head_width + k) * qkv.at(begin + j, Layer::width + h * head_width + k);
            score =
                score / std::sqrt(static_cast<double>(head_width)) * terms.gate.value().data()[pair] + terms.pair_bias.value().data()[pair];
            p[j] = !any || !hidden(mask, pair) ? std::exp(score) : 0;
            total += p[j];
          }
          for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k < head_width; ++k)
              sum.mutable_data()[(begin + i) * Layer::width + h * head_width + k] +=
                  p[j] / total * qkv.at(begin + j, 2 * Layer::width + h * head_width + k) / std::sqrt(5.0);
        }
  CHECK(max_error(layer(1, terms), sum) < 1e-9);
  const auto result = gradcheck([&] { return layer.context(1, terms); }, {layer.qkv, terms.gate, terms.pair_bias}, {.max_elements = 30});
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("syntax: where no mask, or each mask, hides all keys of a row, it is plain attention times sqrt(m)") {
  Layer layer;
  for (const std::size_t depth : {1u, 3u, 7u}) {
    const std::size_t masks = syntax_masks(depth);
    auto plain = attention(layer.qkv, layer.offsets, Layer::heads).context.value().clone();
    for (double& x : plain.mutable_span()) x *= std::sqrt(static_cast<double>(masks + 1));
    std::fill(layer.codes.begin(), layer.codes.end(), std::uint16_t{0});
    CHECK(max_error(layer(depth), plain) < 1e-14);
    std::fill(layer.codes.begin(), layer.codes.end(), static_cast<std::uint16_t>((1u << masks) - 1));
    CHECK(max_error(layer(depth), plain) < 1e-9);
  }
}

TEST_CASE("syntax: in a model, the attentions are those of full attention and each mask has a dropout mask of its own") {
  auto model = test::tiny_model(with_syntax({.depth = 2, .first_layer = 0, .last_layer = 1}));
  auto plain = test::tiny_model();
  plain.restore(model.file());
  const Batch batch = test::tiny_batch(model);
  CHECK(max_error(model(batch).logits.value(), plain(batch).logits.value()) > 1e-3);
  const auto first_attentions = [&](const auto& m) {
    return m.encoder()(batch, {}, {.attentions = Attentions::probabilities}).attentions.at(0).value();
  };
  CHECK(max_error(first_attentions(model), first_attentions(plain)) < 1e-12);

  // Masks that hide nothing: the sum of contexts with five dropout masks.
  Layer layer;
  const Batch empty = [&] {
    Batch b;
    b.offsets = layer.offsets;
    b.ids = b.type_ids = b.position_ids = std::vector<std::int32_t>(7);
    b.features["syntax"] = {Per::pair, Codes{std::vector<std::uint16_t>(layer.offsets.pairs(), 0), {}}};
    return b;
  }();
  const DeviceBatch<double> on_device(empty);
  DropoutSites sites(40, 4);
  const SyntaxAttention<double> core(syntax_tables<double>(4, Layer::heads), sites);
  const ForwardOptions forward{.training = true, .seed = 7, .step = 1};
  const auto found = core({layer.qkv, on_device, Layer::heads, forward}, {}, {.dropout = forward.dropout(0.3, 9)}).context;
  Var<double> sum;
  for (const std::uint32_t site : {9u, 40u, 41u, 42u, 43u}) {
    const auto one = attention(layer.qkv, layer.offsets, Layer::heads, {}, {.dropout = forward.dropout(0.3, site)}).context;
    sum = sum.defined() ? sum + one : one;
  }
  CHECK(max_error(found.value(), scale(sum, 1 / std::sqrt(5.0)).value()) < 1e-14);
}

TEST_CASE("syntax: trees are given again to a saved model; what does not fit is refused") {
  test::check_trees_are_needed(with_syntax(), "syntax");
  expect_error(
      ErrorKind::usage, [&] { test::tiny_model(with_syntax({.first_layer = 1, .last_layer = 3})); },
      "syntax: layers 1 to 3 of a model with 2 layers");
  expect_error(
      ErrorKind::usage,
      [&] {
        test::tiny_model({.attention = {"dafa", "syntax"}});
      },
      "layer 0 has another term that replaces its call of attention");
  expect_file_error([&] { test::tiny_model(with_syntax({.depth = 8})); }, "'depth' is 8");
  expect_error(
      ErrorKind::usage, [&] { syntax_feature(test::tiny_knowledge().trees, 8); }, "syntax: the depth must be 1 to 7, got 8");
}
