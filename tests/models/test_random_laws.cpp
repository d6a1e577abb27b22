// SPDX-License-Identifier: MIT
// Laws of whole models, each tested on random models, options and texts (support/cases.hpp sets how many).

#include "models/tiny.hpp"
#include "support/cases.hpp"
#include "support/expect_error.hpp"
#include "support/random_tensor.hpp"

using namespace lexformer;
using test::max_error;
using test::same_bits;

namespace {

/// Words of the tiny vocabulary, some with typos, some unknown.
std::string random_text(RandomStream& random) {
  static const std::vector<std::string> words = {"sony", "black", "blk",  "camera", "screen", "case", "for",   "a",
                                                 "book", "boks",  "lens", "silent", "listen", "k",    "xyzzy", "-"};
  std::string text;
  for (std::uint64_t n = random.below(6); n > 0; --n) text += words[random.below(words.size())] + " ";
  return text;
}

test::Pairs random_pairs(RandomStream& random, std::size_t count) {
  test::Pairs pairs(count);
  for (auto& [left, right] : pairs) {
    left = random_text(random);
    right = random_text(random);
  }
  return pairs;
}

LeaOptions random_lea(RandomStream& random) {
  LeaOptions lea;
  lea.sharing = names_of<LeaSharing>[random.below(3)].value;
  lea.representation = names_of<LeaRepresentation>[random.below(3)].value;
  lea.dimension = 2 + 2 * random.below(4);
  if (lea.representation == LeaRepresentation::learned || random.below(2) == 0) lea.levels = 4 + random.below(20);
  lea.alpha = names_of<LeaAlpha>[random.below(3)].value;
  lea.alpha_value = 0.5 + random.uniform();
  if (random.below(2) == 0) lea.last_layer = 1 + random.below(2);
  return lea;
}

/// Options of a model with or without LEA; changes to its config go to `edit`.
CrossEncoderOptions random_options(RandomStream& random, Json& edit, bool lea) {
  CrossEncoderOptions options;
  if (lea) {
    auto lea_options = random_lea(random);
    // The last similarity counts whole steps: 1 when quantised, whole turns for the first sinusoid. LeaAlpha::magnitude may then find no
    // variation to measure.
    lea_options.lexical.similarity = names_of<Similarity>[random.below(lea_options.alpha == LeaAlpha::magnitude ? 5 : 6)].value;
    lea_options.lexical.self_attention = random.below(2) == 0;
    lea_options.lexical.words = names_of<LexicalWords>[random.below(3)].value;
    options.attention = {{"lea", lea_options}};
  }
  options.head = names_of<Head>[random.below(2)].value;
  options.task.kind = names_of<TaskKind>[random.below(2)].value;
  options.task.labels = options.task.kind == TaskKind::regression ? 1 : 2 + random.below(3);
  options.max_length = 8 + random.below(30);
  const std::size_t heads = 1 + random.below(3);
  edit = {{"num_attention_heads", heads}, {"hidden_size", heads * (2 + random.below(4))}, {"intermediate_size", 1 + random.below(12)}};
  if (random.below(3) == 0) edit.update(test::electra);
  return options;
}

std::vector<Encoding> encode(const CrossEncoder<double>& model, const test::Pairs& pairs) {
  std::vector<Encoding> encodings;
  for (const auto& [left, right] : pairs) encodings.push_back(model.tokenizer().encode_pair(left, right, model.options().max_length));
  return encodings;
}

}  // namespace

TEST_CASE("law: a random model is loaded as it was saved, and saved again byte for byte") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  RandomStream random(31, random_site::user);
  for (std::size_t n = test::cases(40); n > 0; --n) {
    CAPTURE(n);
    Json edit;
    const auto options = random_options(random, edit, random.below(3) > 0);
    CAPTURE(to_json(options).dump());
    CAPTURE(edit.dump());
    auto model = test::tiny_model<float>(options, edit, n, false);
    if (random.below(2) == 0) model.threshold = random.uniform();
    const auto drawn = random_pairs(random, 3);
    model.save(folder / "a.lxf");  // also while alpha is not set
    auto back = CrossEncoder<float>::load(folder / "a.lxf");
    back.save(folder / "b.lxf");
    REQUIRE(read_file(folder / "b.lxf") == read_file(folder / "a.lxf"));
    if (model.options().has("lea")) {
      model.calibrate(test::tiny_batch(model));
      model.save(folder / "a.lxf");
      back = CrossEncoder<float>::load(folder / "a.lxf");
    }
    REQUIRE(back.threshold == model.threshold);
    REQUIRE(same_bits(back.logits(drawn), model.logits(drawn)));
  }
}

TEST_CASE("law: LEA with a projection of 0 is plain BERT, bit for bit") {
  const test::Threads one(1);
  RandomStream random(32, random_site::user);
  for (std::size_t n = test::cases(40); n > 0; --n) {
    CAPTURE(n);
    Json edit;
    auto options = random_options(random, edit, true);
    auto lea = test::tiny_model<double>(options, edit, n);
    options.attention.clear();
    auto plain = test::tiny_model<double>(options, edit, n);
    // Tensors drawn after LEA's differ from those of the plain model, so all tensors that are not LEA's are copied from it.
    const auto shared = plain.state();
    for (auto& p : lea.state()) {
      const auto same = std::find_if(shared.begin(), shared.end(), [&](const auto& q) { return q.name == p.name; });
      double* values = p.var.mutable_value().mutable_data();
      if (same != shared.end()) std::copy_n(same->var.value().data(), same->var.value().size(), values);
      if (p.name.ends_with(".projection")) std::fill_n(values, p.var.value().size(), 0.0);
    }
    const auto encodings = encode(lea, random_pairs(random, 1 + random.below(4)));
    const ForwardOptions first{.training = true, .seed = n};
    REQUIRE(same_bits(lea(lea.batch(encodings), first).logits.value(), plain(plain.batch(encodings), first).logits.value()));
    REQUIRE(same_bits(lea(lea.batch(encodings)).logits.value(), plain(plain.batch(encodings)).logits.value()));
  }
}

TEST_CASE("law: the score of a pair depends neither on the other pairs of its batch, longer or shorter, nor on their order") {
  const test::Threads one(1);
  RandomStream random(33, random_site::user);
  double worst = 0;
  for (std::size_t n = test::cases(40); n > 0; --n) {
    CAPTURE(n);
    Json edit;
    auto model = test::tiny_model<double>(random_options(random, edit, random.below(3) > 0), edit, n);
    const auto drawn = random_pairs(random, 1 + random.below(7));
    const auto alone = model.logits(drawn, 1);
    std::vector<std::size_t> order(drawn.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.shuffle(order);
    test::Pairs shuffled;
    for (const std::size_t i : order) shuffled.push_back(drawn[i]);
    const auto together = model.logits(shuffled, 1 + random.below(8));
    const auto batch = model(model.batch(encode(model, shuffled))).logits.value();  // not ordered by length
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto expected = alone.slice(order[i], order[i] + 1);
      worst = std::max({worst, max_error(together.slice(i, i + 1), expected), max_error(batch.slice(i, i + 1), expected)});
    }
    REQUIRE(worst < 1e-13);
  }
  MESSAGE("largest difference: " << worst);
}
