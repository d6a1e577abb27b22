// SPDX-License-Identifier: MIT
// A model of each family in double against transformers in double (tests/oracles/make_golden_families.py): hidden states, logits and
// gradients, of the classifier and of the masked language model; and what a row of io/architecture.hpp refuses.
#include "lexformer/io/token_pipeline_file.hpp"
#include "lexformer/models/causal_lm.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "models/golden.hpp"
#include "support/tiny_tokenizers.hpp"

using namespace lexformer;
using test::count_names;
using test::Golden;

namespace {

/// A golden file of a family: HuggingFace's names under `part` + "start/" and "gradient/".
struct Family {
  Golden golden;
  Json config;
  explicit Family(const std::string& name) : golden("family_" + name), config(golden.about("config")) {}

  const Architecture& architecture() const { return find_architecture(config.at("model_type").get<std::string>(), "family"); }
  /// The tensors that begin with `start`, under canonical names.
  TensorFile tensors(const std::string& start) const {
    TensorFile found;
    for (const auto& name : golden.file.names())
      if (name.starts_with(start)) found.set(name.substr(start.size()), golden.file.get<double>(name));
    detail::normalize_names(found, architecture(), true,
                            get_size(config, config_key(architecture(), "num_attention_heads"), 1, 100, "family"));
    return found;
  }
  ModelFile model(bool masked) const {
    ModelFile m;
    m.path = "family";
    m.config = config;
    m.vocabulary = Vocabulary(std::vector<std::string>{"[UNK]", "[CLS]", "[SEP]"});
    if (architecture().positions == PositionRule::after_padding) {  // of one token type
      const std::string text = test::tiny_xlmr().dump();
      TokenPipelineFile file = parse_token_pipeline(Json::parse(text), text, "tokenizer.json");
      m.vocabulary = std::move(file.vocabulary);
      m.tokenizer.pipeline = std::move(file.pipeline);
    }
    m.tensors = tensors("start/");
    if (masked) m.tensors.merge(tensors("mlm/start/"));
    return m;
  }
  std::vector<Encoding> encodings() const {
    const auto ids = golden.integers("ids"), lengths = golden.integers("lengths");
    std::vector<Encoding> all;
    for (std::size_t i = 0, begin = 0; i < lengths.size(); ++i) {
      Encoding e;
      const auto n = static_cast<std::size_t>(lengths[i]);
      e.ids.assign(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.begin() + static_cast<std::ptrdiff_t>(begin + n));
      e.type_ids.assign(n, 0);
      e.text_ids.assign(n, 0);
      e.word_ids.assign(n, -1);
      e.offsets.resize(n);
      begin += n;
      all.push_back(std::move(e));
    }
    return all;
  }
  /// Compares logits, loss and gradients of the causal language model, and the loss with the end of each text.
  void check_causal() {
    ModelFile file = model(false);
    CausalLm<double> causal(file, std::nullopt);
    CHECK_FALSE(causal.next_tokens().end);
    const auto documents = encodings();
    std::vector<std::size_t> rows(documents.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    const auto m = make_masked_batch(documents, rows, causal.next_tokens(), 0, 0, 0, causal.features());
    std::vector<std::int32_t> all(m.batch.ids.size());
    std::iota(all.begin(), all.end(), 0);
    golden.check("clm/logits", causal.logits(m.batch, all).value());
    const auto loss = causal.loss(m.batch, m.positions, m.labels);
    CHECK(std::abs(loss.item() - golden.file.get<double>("clm/loss").item()) < 1e-10);
    loss.backward();
    check_gradients(causal, "clm/gradient/");

    file.tokenizer.add_sep = false;
    const CausalLm<double> ends(file, std::nullopt);
    CHECK(ends.next_tokens().end == 3);
    const auto with_end = make_masked_batch(documents, rows, ends.next_tokens(), 0, 0, 0, ends.features());
    CHECK(with_end.labels.size() == all.size());
    CHECK(std::abs(ends.loss(with_end.batch, with_end.positions, with_end.labels).item() - golden.file.get<double>("clm/end_loss").item()) <
          1e-10);
  }
  /// Compares the gradients of all parameters; those that the file lacks are 0.
  template <class Model>
  void check_gradients(Model& model, const std::string& start) {
    const TensorFile expected = tensors(start);
    std::size_t compared = 0;
    for (const auto& p : model.parameters()) {
      if (!expected.contains(p.name)) continue;
      ++compared;
      const auto theirs = expected.get<double>(p.name), ours = p.var.grad();
      REQUIRE(theirs.shape() == ours.shape());
      double error = 0;
      for (std::size_t i = 0; i < ours.size(); ++i)
        error = std::max(error, std::abs(ours.data()[i] - theirs.data()[i]) / std::max(1.0, std::abs(theirs.data()[i])));
      CHECK_MESSAGE(error <= 1e-10, p.name << " differs by " << error);
    }
    CHECK(compared == expected.size());
    CHECK(compared > 20);
  }
};

}  // namespace

TEST_CASE("families: hidden states, logits and gradients of transformers' models") {
  const test::Threads one(1);
  for (const std::string name : {"distilbert", "distilbert_relu", "mpnet", "roberta", "xlm_roberta", "camembert", "deberta", "deberta_long",
                                 "deberta_c2p", "deberta_p2c", "modernbert", "modernbert_mean", "gpt2", "gpt2_by_layer", "gpt_neo"}) {
    CAPTURE(name);
    Family family(name);
    CrossEncoder<double> model(family.model(false));
    CHECK(model.unused_config().empty());
    CHECK(model.unused_tensors().empty());
    const auto batch = make_batch(family.encodings(), model.features());
    const auto y = model(batch, {}, {.all_hidden = true});
    for (std::size_t k = 0; k < y.encoder.hidden.size(); ++k) family.golden.check(cat("hidden/", k), y.encoder.hidden[k].value());
    family.golden.check("logits", y.logits.value());
    cross_entropy(y.logits, family.golden.integers("labels")).backward();
    family.check_gradients(model, "gradient/");

    if (!model.config().architecture().causal_lm.empty()) family.check_causal();
    if (!model.config().architecture().masked_lm) continue;
    MaskedLm<double> masked(family.model(true), std::nullopt);
    std::vector<std::int32_t> rows, labels;
    for (std::size_t i = 0; i < batch.ids.size(); i += 3) {
      rows.push_back(static_cast<std::int32_t>(i));
      labels.push_back(batch.ids[i]);
    }
    family.golden.check("mlm/logits", masked.logits(batch, rows).value());
    masked.loss(batch, rows, labels).backward();
    family.check_gradients(masked, "mlm/gradient/");
  }
}

TEST_CASE("families: a saved model is the same model, and its position scheme can be replaced") {
  const test::Threads one(1);
  for (const std::string name : {"mpnet", "distilbert", "xlm_roberta", "deberta_c2p", "deberta_p2c"}) {
    CAPTURE(name);
    Family family(name);
    CrossEncoder<double> model(family.model(false));
    const auto batch = make_batch(family.encodings(), model.features());
    const auto logits = model(batch).logits.value();
    CrossEncoder<double> again(ModelFile::parse(model.file().bytes(), "again.lxf"));
    CHECK(again(batch).logits.value().to_vector() == logits.to_vector());
    CHECK(again.file().bytes() == model.file().bytes());

    CrossEncoderOptions options = model.options();
    options.attention = {TermConfig("ddrp")};
    CrossEncoder<double> other(model.file(), options);
    CHECK(other.encoder().positions() == "ddrp");
    CHECK(other.config().attention.size() == 1);
    CrossEncoder<double> loaded(ModelFile::parse(other.file().bytes(), "other.lxf"));
    CHECK(loaded.encoder().positions() == "ddrp");
    options.attention = {TermConfig("relative_key")};  // a key of HuggingFace's BERT, which not all families have
    CrossEncoder<double> key(model.file(), options);
    CHECK(CrossEncoder<double>(ModelFile::parse(key.file().bytes(), "key.lxf")).encoder().positions() == "relative_key");
  }
}

TEST_CASE("families: what a token sees stays when a model is trained with other terms, unless it is named anew") {
  const test::Threads one(1);
  Family family("gpt2");
  // The hidden states of the first tokens with another last token.
  const auto moves = [&](const CrossEncoder<double>& model) {
    auto texts = family.encodings();
    texts.resize(1);
    const auto before = model(make_batch(texts, model.features())).encoder.last.value().slice(0, 20);
    texts[0].ids[22] = (texts[0].ids[22] + 1) % 30;
    return test::max_error(before, model(make_batch(texts, model.features())).encoder.last.value().slice(0, 20)) > 0;
  };
  CrossEncoderOptions options = CrossEncoder<double>(family.model(false)).options();
  options.attention = {TermConfig("ddrp")};
  const CrossEncoder<double> causal(family.model(false), options);
  CHECK(causal.config().attention.size() == 2);
  CHECK_FALSE(moves(causal));
  options.attention = {TermConfig("reach", R"({"causal": false})")};
  const CrossEncoder<double> open(family.model(false), options);
  CHECK(open.config().attention.size() == 1);
  CHECK(moves(open));
}

TEST_CASE("families: in 8 bits, a model is nearly the same, and the same after saving") {
  const test::Threads one(1);
  for (const std::string name : {"modernbert_mean", "gpt2", "gpt_neo", "mpnet", "deberta"}) {
    CAPTURE(name);
    Family family(name);
    CrossEncoder<float> model(family.model(false));
    const auto batch = make_batch(family.encodings(), model.features());
    const auto exact = model(batch).logits.value();
    model.quantize();
    const auto rounded = model(batch).logits.value();
    for (std::size_t i = 0; i < exact.size(); ++i) CHECK(std::abs(exact.data()[i] - rounded.data()[i]) < 0.1f);
    CHECK(exact.to_vector() != rounded.to_vector());
    const CrossEncoder<float> again(ModelFile::parse(model.file().bytes(), "again.lxf"));
    CHECK(again(batch).logits.value().to_vector() == rounded.to_vector());
  }
}

TEST_CASE("families: what DeBERTa-v2 keeps in inference is made again after a change of weights, also without the float weights") {
  const test::Threads one(1);
  Family family("deberta");
  const auto logits = [](const auto& model, const auto& batch) {
    const NoGrad no_grad;
    return model(batch).logits.value();
  };
  CrossEncoder<double> model(family.model(false));
  const auto batch = make_batch(family.encodings(), model.features());
  CHECK(test::max_error(logits(model, batch), model(batch).logits.value()) < 1e-13);
  for (auto& p : model.parameters())
    if (p.name.find("positions.") != p.name.npos || p.name.ends_with("self.key.bias")) {
      CAPTURE(p.name);
      const auto before = logits(model, batch);
      p.var.mutable_value().mutable_data()[3] += 0.5;
      const auto after = logits(model, batch);
      CHECK(test::max_error(before, after) > 1e-6);
      CHECK(test::max_error(after, model(batch).logits.value()) < 1e-13);
    }
  CrossEncoder<float> kept(family.model(false)), fresh(family.model(false));
  const auto exact = logits(kept, batch);
  kept.quantize();
  fresh.quantize();
  CHECK(logits(kept, batch).to_vector() == logits(fresh, batch).to_vector());
  CHECK(logits(kept, batch).to_vector() != exact.to_vector());
}

TEST_CASE("families: DeBERTa-v2 drops out of the table in training, once for each layer, and has a head with two probabilities") {
  const test::Threads one(1);
  Family family("deberta");
  family.config["hidden_dropout_prob"] = 0.0;
  family.config["cls_dropout"] = 0.0;
  const auto moves = [&] {
    const CrossEncoder<double> model(family.model(false));
    const auto batch = make_batch(family.encodings(), model.features());
    return test::max_error(model(batch, {.training = true, .seed = 1}).logits.value(), model(batch).logits.value()) > 1e-6;
  };
  CHECK_FALSE(moves());
  for (const char* key : {"hidden_dropout_prob", "cls_dropout", "pooler_dropout"}) {
    CAPTURE(key);
    const Json before = family.config;
    family.config[key] = 0.5;
    CHECK(moves());
    family.config = before;
  }
  // The term alone: without dropout elsewhere, the layers draw other masks.
  family.config["hidden_dropout_prob"] = 0.5;
  const CrossEncoder<double> model(family.model(false));
  const auto batch = make_batch(family.encodings(), model.features());
  std::vector<Tensor<double>> tables;
  for (const auto& layer : model.encoder().layers) {
    ScoreTerms<double> terms;
    const Var<double> qkv;
    const auto& attention = model.encoder().layers[0].attention;  // of the same weights
    layer.attention.terms[0]->contribute({qkv, batch, 3, {.training = true, .seed = 1}, &attention}, terms);
    tables.push_back(terms.relatives[0].table.value());
  }
  CHECK(test::max_error(tables[0], tables[1]) > 1e-6);
}

TEST_CASE("families: DeBERTa-v2 without a table of positions takes texts of any length, and has no masked language model") {
  const test::Threads one(1);
  const CrossEncoder<double> model(Family("deberta").model(false)), limited(Family("deberta_p2c").model(false));
  CHECK(model.options().max_length == 512);  // not max_position_embeddings, 16
  CHECK(limited.options().max_length == 24);
  CHECK(model.config().sizes().max_length == 16);
  expect_error(
      ErrorKind::file, [] { MaskedLm<double>(Family("deberta").model(false), std::nullopt); }, "deberta-v2");
}

TEST_CASE("families: refused settings") {
  const auto refused = [](const std::string& text, const std::string& message) {
    CAPTURE(text);
    expect_error(
        ErrorKind::file, [&] { parse_transformer_config(parse_json(text, "x"), "x"); }, message);
  };
  const std::string modern = R"({"model_type": "modernbert", "num_hidden_layers": 3, )", gpt2 = R"({"model_type": "gpt2", )";
  refused(modern + R"("classifier_pooling": "max"})", "'classifier_pooling' is 'max', expected cls or mean");
  refused(modern + R"("mlp_dropout": 0.1})", "'mlp_dropout' is not 0");
  refused(modern + R"("layer_types": ["full_attention", "full_attention", "sliding_attention"]})",
          "'layer_types' is not full_attention in exactly the layers that one number divides");
  refused(modern + R"("rope_parameters": {"full_attention": {"rope_type": "yarn"}}})", "'rope_type' is 'yarn', which is not supported");
  refused(gpt2 + R"("scale_attn_weights": false})", "'scale_attn_weights' is false");
  refused(gpt2 + R"("reorder_and_upcast_attn": true})", "'reorder_and_upcast_attn' is true");
  const auto deberta = [&](const Json& change, const std::string& message) {
    Json config = {{"model_type", "deberta-v2"}, {"relative_attention", true}, {"share_att_key", true}, {"pos_att_type", "p2c|c2p"}};
    config.update(change);
    refused(config.dump(), message);
  };
  deberta({{"relative_attention", false}}, "'relative_attention' is not true, which is not supported");
  deberta({{"share_att_key", false}}, "'share_att_key' is not true, which is not supported");
  deberta({{"conv_kernel_size", 3}}, "'conv_kernel_size' is not 0: a convolution beside the first layer is not supported");
  deberta({{"pooler_hidden_size", 8}}, "'pooler_hidden_size' is 8, expected 'hidden_size' 1536");
  deberta({{"attention_head_size", 32}}, "'attention_head_size' 32 times 'num_attention_heads' 24 is not 'hidden_size' 1536");
  deberta({{"norm_rel_ebd", "batch_norm"}}, "'norm_rel_ebd' is 'batch_norm', expected layer_norm or none");
  deberta({{"pos_att_type", "p2c|p2p"}}, "'pos_att_type' holds 'p2p', expected c2p, p2c or both");
  deberta({{"pos_att_type", {"c2p", 5}}}, "'pos_att_type' holds '5', expected c2p, p2c or both");
  deberta({{"pos_att_type", Json()}}, "'pos_att_type' is missing or empty, expected c2p, p2c or both");
  deberta({{"position_buckets", 100000}}, "'position_buckets' is 100000");
  deberta({{"pooler_hidden_act", "mish"}}, "'pooler_hidden_act' is 'mish'");
  refused(R"({"model_type": "deberta"})", "'model_type' is 'deberta', which is not supported; lexformer reads the model types bert, ");
  const std::string neo = R"({"model_type": "gpt_neo", "num_layers": 2, "hidden_size": 16, )";
  refused(neo + R"("attention_types": [[["local"], 2]]})",
          "expected global in exactly the layers that one number divides, and local in the others");
  refused(neo + R"("window_size": 1})", "'window_size' is 1");
  refused(neo + R"("attention_types": [["global", 100000000000000]]})", "'attention_types' holds an array, expected kinds of layers");
  refused(neo + R"("attention_types": [[[], 100000000000000]]})", "'attention_types' holds an array, expected kinds of layers");
  refused(modern + R"("rope_parameters": 5})", "'rope_parameters' is number, expected an object");
  refused(modern + R"("rope_parameters": {"rope_theta": 5}})", "'rope_theta' is 5, which is not supported");
  const auto all = parse_transformer_config(parse_json(neo + R"("attention_types": [[["global"], 2]]})", "x"), "x");
  CHECK(all.attention.size() == 1);
  CHECK(all.intermediate_size == 64);
}

TEST_CASE("families: the kinds of layers that a period expresses") {
  const auto every = [](const std::string& text) {
    Json found = Json::object();
    for (const auto& term : parse_transformer_config(parse_json(text, "x"), "x").attention) found[term.name] = term.json();
    if (found.contains("rope_by_layer")) CHECK(found["rope_by_layer"]["every"] == found["reach"]["every"]);
    return cat(found["reach"]["every"].dump(), " ", found["reach"]["distance"].dump());
  };
  const auto modern = [&](const std::string& kinds, const std::string& more = "") {  // f: full_attention, s: sliding_attention
    Json list = Json::array();
    for (const char kind : kinds) list.push_back(kind == 'f' ? "full_attention" : "sliding_attention");
    return every(
        cat(R"({"model_type": "modernbert", "num_hidden_layers": )", kinds.size(), more, R"(, "layer_types": )", list.dump(), "}"));
  };
  CHECK(modern("fssf") == "3 64");
  CHECK(modern("ffff") == "1 64");
  CHECK(modern("fsfsf") == "2 64");
  CHECK(modern("fssss") == "5 64");
  CHECK(modern("fs") == "3 64");  // as without the list
  CHECK(modern("fsfs", R"(, "global_attn_every_n_layers": 3)") == "2 64");
  expect_error(
      ErrorKind::file, [&] { modern("fsff"); }, "'layer_types' is not full_attention in exactly the layers");
  expect_error(
      ErrorKind::file, [&] { modern("ssss"); }, "'layer_types' is not full_attention in exactly the layers");
  const auto neo = [&](const std::string& types) {
    return every(R"({"model_type": "gpt_neo", "num_layers": 6, "hidden_size": 16, "window_size": 4, "attention_types": )" + types + "}");
  };
  CHECK(neo(R"([[["global", "local"], 3]])") == "2 3");
  CHECK(neo(R"([[["global", "local", "local"], 2]])") == "3 3");
  CHECK(neo(R"([[["global"], 1], [["local"], 5]])") == "6 3");
  CHECK(neo(R"([[["global"], 6]])") == "2 0");
  expect_error(
      ErrorKind::file, [&] { neo(R"([[["local", "global"], 3]])"); }, "expected global in exactly the layers that one number divides");
}

TEST_CASE("families: sequences that fill the table of positions, and longer ones") {
  const test::Threads one(1);
  Family family("roberta");
  const CrossEncoder<double> model(family.model(false));
  CHECK(model.config().max_tokens() == 22);
  CHECK(model.options().max_length == 22);
  auto texts = family.encodings();
  texts.resize(1);
  Encoding& e = texts[0];
  const auto fits = make_batch(texts, model.features());
  CHECK(model(fits).logits.dim(0) == 1);
  e.ids.push_back(5);
  for (auto* list : {&e.type_ids, &e.text_ids}) list->push_back(0);
  e.word_ids.push_back(-1);
  e.offsets.emplace_back();
  expect_error(
      ErrorKind::failure, [&] { model(make_batch(texts, model.features())); }, "a sequence has 23 tokens, the model has positions for 22");
  expect_error(
      ErrorKind::failure, [&] { model(make_batch(family.encodings())); }, "the batch has no feature 'position_rows'");
}

TEST_CASE("families: keys under other names, and refused ones") {
  const auto parse = [](const std::string& text) { return parse_transformer_config(parse_json(text, "x"), "x"); };
  const auto distil =
      parse(R"({"model_type": "distilbert", "dim": 20, "n_heads": 5, "n_layers": 3, "hidden_dim": 7, "activation": "relu"})");
  CHECK(distil.hidden_size == 20);
  CHECK(distil.num_attention_heads == 5);
  CHECK(distil.num_hidden_layers == 3);
  CHECK(distil.intermediate_size == 7);
  CHECK(distil.hidden_act == Activation::relu);
  CHECK(distil.type_vocab_size == 0);
  CHECK(distil.classifier_dropout == 0.2);
  CHECK(distil.tagger_dropout == 0.1);
  const auto refused = [](const std::string& type, const std::string& text) {
    return refused_config_keys(parse_json(text, "x"), find_architecture(type, "x"));
  };
  CHECK(refused("distilbert", R"({"dim": 20, "sinusoidal_pos_embds": false})").empty());
  CHECK(refused("distilbert", R"({"hidden_size": 20})") == std::vector<std::string>{"hidden_size"});
  CHECK(refused("bert", R"({"dim": 20})") == std::vector<std::string>{"dim"});
  CHECK(refused("mpnet", R"({"relative_attention_num_buckets": 32})").empty());
  CHECK(refused("roberta", R"({"relative_attention_num_buckets": 32})").size() == 1);
  expect_error(
      ErrorKind::file, [&] { parse(R"({"model_type": "xlm-roberta"})"); }, "'vocab_size' is missing");
  expect_error(
      ErrorKind::file, [&] { parse(R"({"model_type": "roberta", "max_position_embeddings": 3})"); },
      "'max_position_embeddings' is 3, of which 2 rows are not used");
  expect_error(
      ErrorKind::file, [&] { parse(R"({"model_type": "qwen3"})"); }, "'model_type' is 'qwen3', which is not supported");
}
