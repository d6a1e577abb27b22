// SPDX-License-Identifier: MIT
// Tiny models and batches for tests of whole models.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/dafa.hpp"
#include "lexformer/attention/syntax.hpp"
#include "lexformer/data/pair_dataset.hpp"
#include "lexformer/double.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/ops/loss.hpp"
#include "support/expect_error.hpp"
#include "support/random_tensor.hpp"
#include "support/tiny_wordnet.hpp"

namespace lexformer::test {

/// Sets the number of threads until the end of the test: more threads only slow these tiny models down.
struct Threads {
  explicit Threads(int n) { set_threads(n); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { set_threads(0); }
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline const Pairs pairs = {{"sony black camera", "sony blk camera"}, {"screen", "case for a book"},         {"silent", "listen a"},
                            {"lens case", "sony kase screen"},        {"a black screen", "blacks creen"},    {"for", "for"},
                            {"unheard words here", "others"},         {"blk book", "black books for a lens"}};
inline const std::vector<std::int32_t> labels = {1, 0, 0, 0, 1, 1, 0, 1};

/// A WordNet with some of the words of `pairs`.
inline std::shared_ptr<const WordNet> tiny_words() {
  static const auto words = [] {
    const TemporaryFolder folder;
    write_tiny_wordnet(folder, {{'n', {"thing"}},
                                {'n', {"device"}, {{"@", "thing n"}}},
                                {'n', {"camera"}, {{"@", "device n"}}},
                                {'n', {"lens"}, {{"@", "device n"}}},
                                {'n', {"screen"}, {{"@", "device n"}}},
                                {'n', {"case", "book"}, {{"@", "thing n"}}},
                                {'a', {"black"}}});
    return WordNet::load(folder.path);
  }();
  return words;
}
/// Dependency trees of all texts of `pairs`: word i > 0 is below word (i - 1) / 2, and few relations, so that many cells are above 0.
inline TextKnowledge tiny_knowledge() {
  DependencyTable table;
  for (const auto& pair : pairs)
    for (const std::string& text : {pair.first, pair.second}) {
      DependencyTrees trees{.text = text};
      std::vector<DependencyWord> words;
      std::vector<std::size_t> heads;
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size()), i = words.size();
        const std::string form = text.substr(begin, end - begin);
        words.push_back({form, form, i == 0 ? "root" : "dep", -1, {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}});
        heads.push_back((i + 1) / 2);
        begin = end + 1;
      }
      trees.add_sentence(std::move(words), heads, "test");
      table.add(std::move(trees), "test");
    }
  return {.trees = std::make_shared<const DependencyTable>(std::move(table)), .wordnet = tiny_words()};
}
/// Gives a model the trees of `pairs` and the WordNet, and the texts as training texts.
template <class Model>
void provide(Model& model) {
  std::vector<std::string> texts;
  for (const auto& pair : pairs) texts.insert(texts.end(), {pair.first, pair.second});
  model.provide(tiny_knowledge());
  model.fit(texts);
}

/// An encoder with all values drawn from `seed`, so that no term is hidden by a zero.
inline ModelFile random_file(const Json& config, std::uint64_t seed) {
  ModelFile file;
  file.path = "tiny.lxf";
  file.config = config;
  std::vector<std::string> words = {"[PAD]",  "[UNK]",  "[CLS]",  "[SEP]", "[MASK]", "sony",  "black", "bl",
                                    "##k",    "camera", "screen", "##s",   "case",   "for",   "a",     "book",
                                    "silent", "list",   "##en",   "lens",  "k",      "##ase", "c",     "##reen"};
  file.vocabulary = Vocabulary(words);
  Init blank = Init::none();
  Transformer<double> encoder(parse_transformer_config(file.config, file.path), blank);
  ParameterVisitor<double> names;
  std::string prefix(encoder.config.architecture().prefix);
  prefix.pop_back();  // the dot
  names(prefix, encoder);
  RandomStream random(seed, random_site::user);
  for (const auto& p : names.take()) {
    Tensor<double> value(p.var.shape());
    for (double& x : value.mutable_span()) x = (p.name.ends_with("LayerNorm.weight") ? 1.0 : 0.0) + 0.3 * random.normal();
    file.tensors.set(p.name, value);
  }
  return file;
}

/// One of two layers. `edit` is merged into its config.
inline ModelFile tiny_file(const Json& edit = Json::object(), std::uint64_t seed = 1) {
  Json config{{"model_type", "bert"},           {"vocab_size", 40u},          {"hidden_size", 12u},
              {"num_hidden_layers", 2u},        {"num_attention_heads", 3u},  {"intermediate_size", 10u},
              {"max_position_embeddings", 20u}, {"hidden_dropout_prob", 0.1}, {"attention_probs_dropout_prob", 0.2}};
  config.update(edit);
  return random_file(config, seed);
}
/// A decoder of two layers, whose tokenizer puts no special tokens around texts unless `template_tokens`.
inline ModelFile tiny_decoder(bool template_tokens = false, const Json& edit = Json::object()) {
  Json config{{"model_type", "gpt2"}, {"vocab_size", 40u},  {"n_embd", 12u},      {"n_layer", 2u},
              {"n_head", 3u},         {"n_inner", 10u},     {"n_positions", 40u}, {"embd_pdrop", 0.1},
              {"attn_pdrop", 0.2},    {"resid_pdrop", 0.1}, {"eos_token_id", 3u}, {"pad_token_id", 0u}};
  config.update(edit);
  ModelFile file = random_file(config, 1);
  if (!template_tokens) file.tokenizer.add_cls = file.tokenizer.add_sep = file.tokenizer.add_middle_sep = false;
  return file;
}

/// Pairs first ... last - 1 as a batch of this model, with labels 0 ... classes - 1.
template <class T>
Batch tiny_batch(const CrossEncoder<T>& model, std::size_t first = 0, std::size_t last = pairs.size()) {
  std::vector<Encoding> encodings;
  for (std::size_t i = first; i < last; ++i)
    encodings.push_back(model.tokenizer().encode_pair(pairs[i].first, pairs[i].second, model.options().max_length));
  Batch batch = model.batch(encodings);
  for (std::size_t i = first; i < last; ++i) {
    batch.labels.push_back(model.task().labels == 3 ? static_cast<std::int32_t>(i % 3) : labels[i]);
    batch.targets.push_back(static_cast<float>(i) / 4);
  }
  return batch;
}

/// A calibrated cross-encoder on tiny_file(). Its new tensors have larger values than an initialisation would draw.
template <class T = double>
CrossEncoder<T> tiny_model(const CrossEncoderOptions& options = {}, const Json& edit = Json::object(), std::uint64_t seed = 1,
                           bool calibrate = true) {
  CrossEncoder<T> model(tiny_file(edit, seed), options);
  provide(model);
  RandomStream random(seed + 1, random_site::user);
  for (auto& p : model.parameters())
    if (p.name.starts_with("lexformer") || p.name.find("classifier") != p.name.npos || p.name.find("pooler") != p.name.npos)
      for (T& x : p.var.mutable_value().mutable_span()) x = static_cast<T>(x + static_cast<T>(0.2 * random.normal()));
  if (calibrate) model.calibrate(tiny_batch(model));
  return model;
}
/// The loss of a model's task.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> loss_of(const CrossEncoder<T, Dev>& model, const Batch& batch, const ForwardOptions& forward) {
  const auto logits = model(batch, forward).logits;
  if (model.task().kind == TaskKind::classification) return cross_entropy(logits, batch.labels);
  using A = accumulate_t<T>;
  const std::vector<A> targets(batch.targets.begin(), batch.targets.end());
  return mse_loss(logits, Var<A, Dev>(Tensor<A, Dev>::from(targets, {batch.size(), 1})));
}

inline CrossEncoderOptions with_dafa(const DafaOptions& dafa = {}) { return {.attention = {{"dafa", dafa}}}; }
inline CrossEncoderOptions with_lea(const LeaOptions& lea = {}) { return {.attention = {{"lea", lea}}}; }

/// A kind of model: options of the cross-encoder, and its changes to the config.
struct Variant {
  std::string name;
  CrossEncoderOptions options{};
  Json edit = Json::object();
};

inline const Json electra = {{"model_type", "electra"}, {"embedding_size", 7u}};

/// A model with a position scheme and LEA.
inline Variant positioned(const std::string& scheme, const Json& options = Json::object(), CrossEncoderOptions model = with_lea()) {
  return {scheme, std::move(model), {{"position_embedding_type", scheme}, {"position_options", options}}};
}

inline std::vector<Variant> variants() {
  return {{"plain", {}, {{"hidden_act", "gelu_new"}}},
          {"lea", with_lea()},
          {"lea, one w for each layer, all layers", with_lea({.sharing = LeaSharing::layer, .dimension = 6, .last_layer = 2})},
          {"lea, one w for the model", with_lea({.sharing = LeaSharing::model, .dimension = 6, .last_layer = 2})},
          {"lea, columns", with_lea({.columns = LeaColumns::both, .dimension = 6, .last_layer = 2})},
          {"lea, columns, one w for the model, learned levels", with_lea({.columns = LeaColumns::both,
                                                                          .sharing = LeaSharing::model,
                                                                          .representation = LeaRepresentation::learned,
                                                                          .dimension = 6,
                                                                          .levels = 5,
                                                                          .last_layer = 2})},
          {"lea, learned levels", with_lea({.representation = LeaRepresentation::learned, .dimension = 6, .levels = 5, .last_layer = 2})},
          {"lea, learned levels of the model", with_lea({.sharing = LeaSharing::model,
                                                         .representation = LeaRepresentation::learned,
                                                         .dimension = 6,
                                                         .levels = 5,
                                                         .alpha = LeaAlpha::constant,
                                                         .last_layer = 2})},
          {"lea, plain sinusoids, magnitude",
           with_lea({.representation = LeaRepresentation::plain, .levels = 11, .alpha = LeaAlpha::magnitude})},
          {"dafa", with_dafa()},
          {"dafa and lea, all layers, concat, residual",
           {.attention = {{"lea", LeaOptions{.dimension = 6, .last_layer = 2}},
                          {"dafa", DafaOptions{.expand = DafaExpand::plus_one,
                                               .fusion = {.score = DafaScore::concat, .output = DafaOutput::residual},
                                               .last_layer = 2}}}}},
          {"dafa, weights of each head", with_dafa({.fusion = {.sharing = DafaSharing::head, .attention_size = 5, .hidden_size = 3}})},
          {"dafa, merged heads, without cross", with_dafa({.fusion = {.scope = DafaScope::merged}, .without = "cross,tree"})},
          {"dafa, without gate and filter", with_dafa({.without = "gate,filter"})},
          {"dafa and ddrp",
           with_dafa({.without = "filter,tfidf"}),
           {{"position_embedding_type", "ddrp"}, {"position_options", {{"size", 5u}}}}},
          {"uerbert", {.attention = {"uerbert"}}},
          {"uerbert and dafa", {.attention = {"uerbert", "dafa"}}},
          {"syntax", {.attention = {{"syntax", SyntaxOptions{.depth = 2}}}}},
          {"syntax, lea and ddrp, second layer",
           {.attention = {{"lea", LeaOptions{.dimension = 6}}, {"syntax", SyntaxOptions{.depth = 1, .first_layer = 1, .last_layer = 2}}}},
           {{"position_embedding_type", "ddrp"}, {"position_options", {{"size", 5u}}}}},
          {"pooler", {.head = Head::huggingface, .task = {.labels = 3}}},
          {"modules", {.head = Head::modules}},
          {"modules, of the mean, without norm",
           {.head = Head::modules,
            .modules = {.pooling = Pooling::mean, .dense = Activation::tanh, .norm = false},
            .task = {.kind = TaskKind::regression, .labels = 1}}},
          {"electra", {.head = Head::huggingface}, electra},
          {"electra, lea, regression", {.attention = {"lea"}, .task = {.kind = TaskKind::regression, .labels = 1}}, electra},
          positioned("relative_key", {}, {.head = Head::huggingface}),
          positioned("relative_key_query", {{"absolute", true}}),
          positioned("shaw", {{"size", 3u}}),
          positioned("bert_r", {{"size", 4u}, {"per_layer", true}}),
          positioned("ddrp", {{"size", 5u}, {"absolute", true}}),
          positioned("ddrp", {{"size", 30u}, {"per_layer", true}, {"random_direction", true}}),
          positioned("tupe", {{"buckets", 8u}, {"max_distance", 12u}}),
          positioned("deberta", {{"buckets", 4u}, {"max_distance", 9u}}),
          positioned("deberta", {{"size", 6u}, {"shared", true}, {"norm", true}}),
          positioned("t5", {{"buckets", 8u}, {"max_distance", 10u}}),
          positioned("alibi"),
          positioned("rope", {{"base", 100u}})};
}

/// Calls f for every kind of model. A function, because clang 14 cannot capture structured bindings in the lambdas of doctest's CHECK.
inline void for_each_variant(const std::function<void(Variant)>& f) {
  const Threads one(1);
  for (const Variant& v : variants()) {
    CAPTURE(v.name);
    f(v);
  }
}

/// A saved model whose term reads trees needs them again, and says which texts have none.
inline void check_trees_are_needed(const CrossEncoderOptions& options, const std::string& term) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.lxf";
  auto model = tiny_model<float>(options);
  model.save(path);
  auto same = CrossEncoder<float>::load(path);
  const auto refused = [](const auto& body, const std::string& message) { expect_error(ErrorKind::usage, body, message); };
  refused([&] { same.predict({pairs[0]}); }, term + ": the model reads dependency trees: give them with `parses` FILE.conllu");
  same.provide(tiny_knowledge());
  CHECK(same_bits(same.logits(pairs), model.logits(pairs)));
  const Pairs missing{{"no such text", "lens"}};
  refused([&] { same.predict(missing); }, term + ": the text 'no such text' has no dependency tree; make trees");
  const std::vector<std::string> texts{"for", "none", "lens case", "no tree"};
  refused([&] { same.check_texts(texts, "t.tsv"); }, "t.tsv: 2 of 4 texts have no dependency tree, the first: 'none'");
}

}  // namespace lexformer::test
