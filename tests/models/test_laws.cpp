// SPDX-License-Identifier: MIT
// Laws for every model, whatever its weights.
#include <cmath>
#include <limits>
#include <optional>

#include "lexformer/io/json.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/schedule.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"
#include "support/random_tensor.hpp"

using namespace lexformer;
using test::max_error;
using test::same_bits;
using test::tiny_batch;
using test::tiny_model;
using test::with_lea;

TEST_CASE("models: one training step reaches every parameter") {
  test::for_each_variant([&](test::Variant v) {
    auto model = tiny_model(v.options, v.edit);
    const auto batch = tiny_batch(model);
    test::loss_of(model, batch, {.training = true, .seed = 1}).backward();
    std::vector<Tensor<double>> before;
    for (const auto& p : model.parameters()) {
      CAPTURE(p.name);
      REQUIRE(p.var.grad().defined());
      double norm = 0;
      Kernels<Cpu>::gradient_norm(std::vector<Elements<double>>{{p.var.size(), p.var.grad().data()}}, nullptr, nullptr, &norm);
      // A key's bias adds a constant to all scores of a row, to which softmax is invariant, unless a scheme combines keys with positions.
      const bool keys_meet_positions = v.name == "relative_key_query" || v.name == "deberta" || v.name == "rope";
      const bool gated = (v.name.starts_with("dafa") || v.name.starts_with("uerbert")) &&
                         (p.name.find("layer.0.") != p.name.npos || v.name.find("all layers") != v.name.npos);
      const bool no_effect = v.name.find("concat") != v.name.npos && (p.name.ends_with(".query") || p.name.ends_with(".bias")) &&
                             p.name.find(".dafa.") != p.name.npos && !p.name.ends_with("output.bias");
      if (p.name.ends_with("key.bias") && (p.name.find(".self.") != p.name.npos ? !keys_meet_positions && !gated : v.name == "deberta"))
        CHECK(norm < 1e-14);
      else if (no_effect)  // eq. 7 as printed
        CHECK(norm < 1e-12);
      else
        CHECK(norm > 1e-5);
      before.push_back(p.var.value().clone());
    }
    AdamW<double> optimizer(model.parameters());
    optimizer.set_lr(1e-3);
    optimizer.step();
    const auto parameters = model.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      CHECK_MESSAGE(max_error(parameters[i].var.value(), before[i]) > 0, parameters[i].name);
      CHECK_FALSE(parameters[i].var.grad().defined());
    }
  });
}

TEST_CASE_TEMPLATE("models: gradient checkpointing gives the same gradients and keeps less memory", T, double, bfloat16) {
  test::for_each_variant([&](test::Variant v) {
    auto model = tiny_model<T>(v.options, v.edit);
    const auto batch = tiny_batch(model);
    std::vector<Tensor<T>> gradients;
    std::optional<Tensor<accumulate_t<T>>> value;
    std::size_t plain = 0;  // bytes
    for (const bool checkpointing : {false, true}) {
      model.encoder().gradient_checkpointing = checkpointing;
      const std::size_t before = Memory<Cpu>::in_use();
      const auto loss = test::loss_of(model, batch, {.training = true, .seed = 1, .step = 3});
      const std::size_t stored = Memory<Cpu>::in_use() - before;
      if (checkpointing) CHECK(2 * stored < plain);
      plain = stored;
      CHECK(graph_leaves(loss).size() == model.parameters().size());
      loss.backward();
      if (checkpointing) CHECK(same_bits(loss.value(), *value));
      value = loss.value();
      std::size_t i = 0;
      for (auto& p : model.parameters()) {
        CAPTURE(p.name);
        // Two calls of attention in a layer read the table: its gradients are summed in another order.
        const bool rounded = v.name == "dafa and ddrp" && p.name.find(".positions.") != p.name.npos;
        if (!checkpointing)
          gradients.push_back(p.var.grad());
        else if (rounded)
          CHECK(max_error(p.var.grad(), gradients[i++]) < (is_storage<T> ? 0.02 : 1e-12));
        else
          CHECK(same_bits(p.var.grad(), gradients[i++]));
        p.var.clear_grad();
      }
    }
  });
}

TEST_CASE("models: gradient checkpointing with frozen embeddings, a loss on all layers, and returned attentions") {
  auto model = tiny_model<float>(with_lea());
  const auto batch = tiny_batch(model);
  for (const bool freeze : {false, true}) {
    if (freeze) model.freeze("embeddings");
    std::vector<Tensor<float>> gradients;
    for (const bool checkpointing : {false, true}) {
      model.encoder().gradient_checkpointing = checkpointing;
      const auto y = model.encoder()(batch, {.training = true, .seed = 1}, {.all_hidden = true});
      auto loss = sum(multiply(y.last, y.last));
      for (const auto& hidden : y.hidden) loss = add(loss, sum(multiply(hidden, hidden)));
      loss.backward();
      std::size_t i = 0;
      for (auto& p : model.parameters()) {
        CAPTURE(p.name);
        if (!p.var.requires_grad() || !p.var.has_grad()) continue;  // the head takes no part
        if (checkpointing)
          CHECK(same_bits(p.var.grad(), gradients.at(i++)));
        else
          gradients.push_back(p.var.grad());
        p.var.clear_grad();
      }
      CHECK(gradients.size() > 30);
      CHECK(model.encoder()(batch, {}, {.attentions = Attentions::probabilities}).attentions.size() == 2);
    }
  }
}

TEST_CASE("models: eight pairs are learned by heart") {
  test::for_each_variant([&](test::Variant v) {
    Json small = v.edit;
    small.update({{"hidden_dropout_prob", 0.0}, {"attention_probs_dropout_prob", 0.0}});
    auto model = tiny_model<float>(v.options, small);
    const auto batch = tiny_batch(model);
    AdamW<float> optimizer(model.parameters());
    const Schedule schedule{.kind = ScheduleKind::linear, .base = 1e-2, .total = 100};
    for (std::uint32_t step = 0; step < 100; ++step) {
      test::loss_of(model, batch, {.training = true, .seed = 1, .step = step}).backward();
      clip_grad_norm(model.parameters(), 1.0);
      optimizer.set_lr(schedule(step));
      optimizer.step();
    }
    CHECK(test::loss_of(model, batch, {}).item() < 0.01f);
  });
}

TEST_CASE("models: what is saved scores alike and is saved again byte for byte") {
  const TemporaryFolder folder;
  test::for_each_variant([&](test::Variant v) {
    if (v.options.task.labels == 2) v.options.task.label_names = {"no", "yes"};
    v.options.max_length = 17;
    auto model = tiny_model<float>(v.options, v.edit);
    model.threshold = 0.375;
    model.calibration = Calibration{.odds = false, .platt = {2, -1}};
    model.metadata["lexformer.records"] = R"({"columns": []})";
    const auto batch = tiny_batch(model);
    model.save(folder / "a.lxf");
    auto back = CrossEncoder<float>::load(folder / "a.lxf");
    back.provide(test::tiny_knowledge());  // the counts of the training texts are in the file
    CHECK(back.new_tensors().empty());
    CHECK(back.unused_tensors().empty());
    CHECK(back.threshold == 0.375);
    CHECK(back.calibration == model.calibration);
    CHECK(back.metadata == model.metadata);
    const auto texts = ModelFile::open(folder / "a.lxf").metadata;
    CHECK(texts.at("lexformer.threshold") == "0.375");
    CHECK(texts.at("lexformer.calibration") == R"({"kind":"platt","odds":false,"offset":-1.0,"slope":2.0})");
    for (const auto& [key, text] : Encoder<float>::load(folder / "a.lxf").file().metadata)  // an encoder has no scores
      CHECK_FALSE(is_head_metadata(key));
    CHECK(to_json(back.options()) == to_json(model.options()));
    CHECK(back.file().config == model.file().config);
    CHECK(same_bits(back(tiny_batch(back)).logits.value(), model(batch).logits.value()));
    back.save(folder / "b.lxf");
    CHECK(read_file(folder / "b.lxf") == read_file(folder / "a.lxf"));
    // Loaded for training with the same options: no tensor is missing.
    auto again = CrossEncoder<float>::load(folder / "a.lxf", model.options());
    CHECK(again.new_tensors().empty());
    again.provide(test::tiny_knowledge());
    CHECK(same_bits(again(tiny_batch(again)).logits.value(), model(batch).logits.value()));
  });
}

TEST_CASE("models: alpha is kept when training goes on with its rule, and measured or set anew with another") {
  const test::Threads one(1);
  auto file = [] { return tiny_model(with_lea()).file(); }();
  const auto alpha = [&](const LeaOptions& options) {
    CrossEncoder<double> model(file, with_lea(options));
    for (const auto& p : model.state())
      if (p.name.ends_with(".alpha")) return p.var.item();
    return -1.0;
  };
  CHECK(alpha({}) == file.tensors.get<double>("lexformer.encoder.layer.1.lea.alpha").item());
  CHECK(alpha({.alpha = LeaAlpha::magnitude}) == 0.0);
  CHECK(alpha({.alpha = LeaAlpha::constant, .alpha_value = 3.0}) == 3.0);
}

TEST_CASE("models: LEA with a projection of 0 is plain BERT, bit for bit") {
  const test::Threads one(1);
  const auto plain = tiny_model();
  for (const auto alpha : {LeaAlpha::query, LeaAlpha::magnitude, LeaAlpha::constant}) {
    auto model = tiny_model(with_lea({.alpha = alpha, .alpha_value = 5.0}));
    for (auto& p : model.parameters())
      if (p.name.ends_with(".projection"))
        for (double& x : p.var.mutable_value().mutable_span()) x = 0;
    const ForwardOptions forward{.training = true, .seed = 3};
    CHECK(same_bits(model(tiny_batch(model), forward).logits.value(), plain(tiny_batch(plain), forward).logits.value()));
  }
}

TEST_CASE(
    "models: LEA's projection of words in the same column: 0 is LEA of any columns; alone it is LEA of the same column, bit for bit") {
  const test::Threads one(1);
  const auto logits = [](CrossEncoder<double>& model) {
    const std::vector<Encoding> encodings{
        model.tokenizer().encode_pair("COL b VAL lens COL a VAL cap", "COL a VAL cap COL b VAL lens", 20)};
    const auto batch = model.batch(encodings);
    return model(batch, {}).logits.value();
  };
  const auto set = [](CrossEncoder<double>& model, const std::string& name,
                      const std::function<void(Var<double>&, const std::string&)>& f) {
    for (auto& p : model.parameters())
      if (p.name.ends_with("." + name)) f(p.var, p.name.substr(0, p.name.size() - name.size()));
  };
  const auto zero = [](Var<double>& v, const std::string&) {
    for (double& x : v.mutable_value().mutable_span()) x = 0;
  };
  for (const bool alone : {false, true}) {
    auto one_list = tiny_model(with_lea(
        {.columns = alone ? LeaColumns::same : LeaColumns::any, .alpha = LeaAlpha::constant, .alpha_value = 5.0, .last_layer = 2}));
    auto two = tiny_model(with_lea({.columns = LeaColumns::both, .alpha = LeaAlpha::constant, .alpha_value = 5.0, .last_layer = 2}));
    auto from = one_list.parameters();
    for (auto& p : two.parameters())
      for (auto& q : from)
        if (q.name == p.name) p.var.mutable_value().assign(q.var.value().span());
    CHECK_FALSE(same_bits(logits(two), logits(one_list)));
    set(two, alone ? "projection" : "same_column", zero);
    if (alone)
      set(two, "same_column", [&](Var<double>& v, const std::string& prefix) {
        for (auto& q : from)
          if (q.name == prefix + "projection") v.mutable_value().assign(q.var.value().span());
      });
    CHECK(same_bits(logits(two), logits(one_list)));
  }
}

TEST_CASE("models: the score of a pair does not depend on the other pairs of its batch") {
  test::for_each_variant([&](test::Variant v) {
    auto model = tiny_model(v.options, v.edit);
    const auto alone = model.logits(test::pairs, 1);
    CHECK(max_error(model.logits(test::pairs, 8), alone) < 1e-13);
    CHECK(max_error(model.logits(test::pairs, 3), alone) < 1e-13);
    for (std::size_t i = 0; i < test::pairs.size(); ++i)
      CHECK(max_error(model(tiny_batch(model, i, i + 1)).logits.value().reshape({model.task().labels}),
                      alone.slice(i, i + 1).reshape({model.task().labels})) == 0.0);
  });
}

TEST_CASE("models: more examples than are tokenized at once have the scores of few; a callback may end the call") {
  const auto model = tiny_model<float>();
  const std::vector<PairExample> few{{"black case", "blk kase"}, {"listen", "listen books"}, {"a", "creen"}};
  std::vector<PairExample> many;
  for (std::size_t i = 0; i < examples_at_once + 5; ++i) many.push_back(few[i % few.size()]);
  const auto expected = model.logits(few);
  std::size_t done = 0;
  const auto y = model.logits(many, 128, [&](std::size_t count) { done += count; });
  CHECK(done == many.size());
  bool same = true;
  for (std::size_t i = 0; i < many.size(); ++i)
    for (std::size_t j = 0; j < y.dim(1); ++j) same = same && y.at(i, j) == expected.at(i % few.size(), j);
  CHECK(same);
  struct Stop {};
  done = 0;
  const auto stop = [&](std::size_t count) {
    if ((done += count) >= 4) throw Stop();
  };
  CHECK_THROWS_AS(model.logits(std::span(many).first(10), 2, stop), Stop);
  CHECK(done == 4);
}

TEST_CASE("models: swapping the texts transposes the lexical matrix") {
  const auto model = tiny_model();
  const auto& tokenizer = model.tokenizer();
  for (const auto similarity : {Similarity::jaccard, Similarity::lcs, Similarity::jaro_winkler})
    for (const auto& [left, right] : test::pairs) {
      const auto a = tokenizer.encode_pair(left, right, 20), b = tokenizer.encode_pair(right, left, 20);
      const auto s = lexical_matrix(a, {.similarity = similarity}), t = lexical_matrix(b, {.similarity = similarity});
      REQUIRE(s.level == t.level);
      std::vector<std::size_t> to;  // position in b of token i of a
      const std::size_t lefts = tokenizer.encode(left, 20).size() - 2, rights = a.size() - 3 - lefts;
      for (std::size_t i = 1; i <= lefts; ++i) to.push_back(rights + 1 + i);
      for (std::size_t j = 1; j <= rights; ++j) to.push_back(j);
      for (std::size_t i = 0; i < lefts; ++i)
        for (std::size_t j = lefts; j < lefts + rights; ++j) CHECK(s.code[(i + 1) * s.size + j + 2] == t.code[to[j] * t.size + to[i]]);
    }
}

TEST_CASE("models: a weight that is not finite is traced to its layer and op") {
  const test::Threads one(1);
  const auto trace = [](const std::string& name, double value, const std::string& message) {
    for (const bool checkpointing : {false, true}) {
      auto model = tiny_model();
      model.encoder().gradient_checkpointing = checkpointing;
      for (auto& p : model.parameters())
        if (p.name == name) p.var.mutable_value().mutable_data()[5] = value;
      const auto batch = tiny_batch(model);
      expect_error(
          ErrorKind::numeric,
          [&] {
            const CheckFinite check;
            test::loss_of(model, batch, {.training = true}).backward(Tensor<double>::scalar(1e10));
          },
          message);
      CHECK(detail::graph_state().scope.empty());
    }
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  trace("bert.encoder.layer.1.attention.self.key.weight", nan, "encoder.layer.1.attention: linear: the result is not finite, shape (");
  trace("bert.encoder.layer.0.output.dense.bias", nan, "encoder.layer.0.feed_forward: feed_forward: the result is not finite, shape (");
  trace("bert.embeddings.LayerNorm.weight", nan, "embeddings: layer_norm: the result is not finite, shape (");
  trace("lexformer.head.norm.bias", nan, "head: layer_norm: the result is not finite, shape (8, 256)");
  // Finite in the forward pass but not in the backward pass.
  trace("lexformer.head.out.weight", 1e308, "head: linear: the gradient of input 0 is not finite, shape (8, 256)");
}

TEST_CASE("models: what cannot work is refused with a reason") {
  const test::Threads one(1);
  const auto usage = [](const CrossEncoderOptions& options, const std::string& message) {
    expect_error(
        ErrorKind::usage, [&] { tiny_model(options); }, message);
  };
  const auto file_error = [](const ModelFile& file, const std::string& message, const CrossEncoderOptions& options = {}) {
    expect_file_error([&] { CrossEncoder<double>(file, options); }, message);
  };
  const std::string known =
      "this program has: alibi, bert_r, dafa, ddrp, deberta, lea, reach, relative_key, relative_key_query, rope, rope_by_layer, shaw, "
      "syntax, t5, tupe, uerbert";
  file_error(test::tiny_file(), "tiny.lxf: config: the attention term 'shew' is not known; " + known, {.attention = {"shew"}});
  file_error(test::tiny_file(), "tiny.lxf: config: two position schemes at once", {.attention = {"shaw", "alibi"}});
  file_error(test::tiny_file(),
             "tiny.lxf: config: attention: 'lea': 'depth' is not an option; expected one of: alpha, alpha_value, columns, dimension",
             {.attention = {{"lea", R"({"depth": 3})"}}});
  usage({.task = {.kind = TaskKind::regression}}, "CrossEncoder: a regression has 1 label, not 2");
  usage({.task = {.labels = 1}}, "CrossEncoder: a classification needs 2 labels or more, not 1");
  usage({.max_length = 4}, "CrossEncoder: max_length 4 leaves no room for two texts; the least is 5");
  usage(with_lea({.dimension = 7}), "lea: the dimension must be even and not 0, got 7");
  usage(with_lea({.representation = LeaRepresentation::learned}),
        "lea: the learned representation has one row for each level, so it needs quantised levels (for example 50), not exact ones");
  usage(with_lea({.alpha = LeaAlpha::constant, .alpha_value = 0}),
        "lea: a constant alpha of 0 would switch the bias off; leave LEA out instead");
  usage(with_lea({.first_layer = 1, .last_layer = 3}),
        "lea: layers 1 to 3 of a model with 2 layers; the first counts from 0, the last is not included");
  expect_error(
      ErrorKind::usage, [] { tiny_model().freeze("decoder"); }, "freeze: no parameter is called 'decoder'; use names of modules");

  file_error(test::tiny_file({{"vocab_size", 23u}}), "tiny.lxf: the vocabulary has 24 tokens, the embedding 23 rows");
  auto file = test::tiny_file();
  file.config["hidden_size"] = 10u;
  file_error(file, "tiny.lxf: config: 'hidden_size' 10 is not divisible by 'num_attention_heads' 3");
  file = test::tiny_file();
  file.config["intermediate_size"] = 11u;
  file_error(file,
             "tiny.lxf: the config does not fit the tensors: 'bert.encoder.layer.0.intermediate.dense.weight' has shape (10, 12), expected "
             "(11, 12).");
  file = test::tiny_file();
  file.tensors.rename("bert.embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.bais");
  file_error(file,
             "tiny.lxf: the config does not fit the tensors: 'bert.embeddings.LayerNorm.bias' is missing; the file has "
             "'bert.embeddings.LayerNorm.bais'");

  const TemporaryFolder folder;
  const std::string path = folder / "m.lxf";
  const auto load_error = [&](const ModelFile& saved, const std::string& message) {
    saved.save(path);
    expect_file_error([&] { CrossEncoder<double>::load(path); }, path + ": " + message);
  };
  load_error(test::tiny_file(), "the model has no classification head ('classifier.weight'); train one with train_matcher");
  load_error(test::tiny_file(test::electra),
             "the model has no classification head ('classifier.out_proj.weight'); train one with train_matcher");
  auto lea = tiny_model(with_lea()).file();
  auto changed = lea;
  changed.config["lexformer"]["attention"] = {"lea", "mine"};
  load_error(changed, "config: the attention term 'mine' is not known; " + known);
  changed.config["lexformer"]["attention"] = {"lea", "lea"};
  load_error(changed, "config: the attention term 'lea' is there twice");
  changed = lea;
  changed.config["lexformer"]["label_names"] = {"no"};
  load_error(changed, "config: 'label_names' has 1 names, 'labels' is 2");
  changed.config["lexformer"]["label_names"] = {"no", "a\x1b[31m"};
  load_error(changed, "config: label_names: label 1, 'a\\x1B[31m', has a control character");
  // Small files that request gigabytes are refused before memory is allocated.
  for (const auto& [key, value] : {std::pair{"vocab_size", 1u << 24}, {"intermediate_size", 1u << 18}, {"hidden_size", 3u << 14}}) {
    changed = lea;
    changed.config[key] = value;
    changed.config["num_hidden_layers"] = 256u;
    load_error(changed, "the config asks for ");
  }
  changed = lea;
  changed.config["lexformer"]["attention"][0]["options"]["levels"] = 1u;
  load_error(changed, "config: attention: 'lea': `levels` is 1, expected 0 (exact) or 2 to 65536");
  changed.config["lexformer"]["attention"][0]["options"].update({{"representation", "learned"}, {"levels", 65535u}, {"dimension", 65536u}});
  load_error(changed, "config: attention: 'lea': lea: 65535 'levels' of 'dimension' 65536 are more than 16777216 numbers");
  changed = lea;
  changed.tensors.erase("lexformer.encoder.layer.1.lea.alpha");
  load_error(changed, "the config does not fit the tensors: 'lexformer.encoder.layer.1.lea.alpha' is missing");
  changed = lea;
  changed.vocabulary = Vocabulary();
  load_error(changed, "the model has no vocabulary, so it cannot read text");
}

TEST_CASE("models: a batch that does not fit is refused with a reason") {
  const test::Threads one(1);
  const auto refused = [](const auto& body, const std::string& message) { expect_error(ErrorKind::failure, body, message); };
  const auto plain = tiny_model();
  const auto lea = tiny_model(with_lea({.levels = 5}), Json::object(), 1, false);
  const auto batch = tiny_batch(plain), lexical = tiny_batch(lea);
  refused(
      [&] { lea(lexical); },
      "lea: alpha is not set: model.calibrate(batch) measures it before training, and it is saved with the model; or use a constant alpha");
  refused([&] { lea.predict({{"a", "b"}}); }, "lea: alpha is not set: ");
  refused([&] { lea(batch, {.training = true}); },
          "lea: the batch has no feature 'lexical'; make it with the batch() of the model, or of a PairDataset with the model's features");
  auto other = lexical;
  std::get<Codes>(other.features["lexical"].values).levels.pop_back();
  auto measured = tiny_model(with_lea({.levels = 5}));
  refused([&] { measured(other); }, "lea: the model was made for 5 quantised levels, the batch has 4");
  auto wrong = batch;
  wrong.ids[3] = 40;
  refused([&] { plain(wrong); }, "embedding: id 40 at position 3 is outside the table of 40 rows");
  wrong = batch;
  wrong.labels[2] = 2;
  refused([&] { test::loss_of(plain, wrong, {}); }, "cross_entropy: label 2 of row 2 is not one of the 2 classes");
  const auto short_model = tiny_model({}, {{"max_position_embeddings", 6u}});
  CHECK(short_model.options().max_length == 6);
  CHECK(tiny_batch(short_model).offsets.longest() == 6);
  refused([&] { short_model(batch); },
          "TransformerEmbeddings: a sequence has 12 tokens, the model has positions for 6; shorten it (max_length)");
}

TEST_CASE("models: the same bits with 1, 2 and 3 threads, forward, gradients and after two steps") {
  // Large enough that every kind of work is split into several blocks.
  const Json wide = {{"vocab_size", 700u}, {"hidden_size", 48u}, {"intermediate_size", 80u}};
  std::vector<std::vector<float>> runs;
  for (const int n : {1, 2, 3}) {
    const test::Threads some(n);
    auto model = tiny_model<float>(with_lea({.last_layer = 2}), wide);
    std::vector<Encoding> encodings;
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < 56; ++i) {
      const auto& [left, right] = test::pairs[i % 8];
      encodings.push_back(model.tokenizer().encode_pair(left, right, 20));
      labels.push_back(test::labels[i % 8]);
    }
    const auto batch = model.batch(encodings);
    REQUIRE(batch.offsets.tokens() * 80 > 2 * detail::element_block);
    std::vector<float> seen;
    const auto look = [&](const Tensor<float>& t) { seen.insert(seen.end(), t.span().begin(), t.span().end()); };
    AdamW<float> optimizer(model.parameters());
    for (std::uint32_t step = 0; step < 2; ++step) {
      const auto y = model(batch, {.training = true, .seed = 9, .step = step});
      cross_entropy(y.logits, labels).backward();
      look(y.encoder.last.value());
      look(y.logits.value());
      for (const auto& p : model.parameters()) look(p.var.grad());
      seen.push_back(static_cast<float>(clip_grad_norm(model.parameters(), 1.0)));
      optimizer.set_lr(1e-3);
      optimizer.step();
    }
    for (const auto& p : model.state()) look(p.var.value());
    runs.push_back(std::move(seen));
  }
  CHECK(runs[1] == runs[0]);
  CHECK(runs[2] == runs[0]);
}

TEST_CASE("freeze: whole names, not parts of them") {
  const auto frozen = [](const char* pattern) {
    auto model = tiny_model<float>(test::with_lea(), {{"num_hidden_layers", 12u}});
    const std::size_t count = model.freeze(pattern);
    CHECK(count == model.frozen().size());
    for (const auto& p : model.parameters()) {
      const auto& names = model.frozen();
      CHECK(p.var.requires_grad() == (std::find(names.begin(), names.end(), p.name) == names.end()));
    }
    return model.frozen();
  };
  const auto one = frozen("encoder.layer.1");
  CHECK(one == frozen("encoder.layer.1.*"));
  CHECK(one == frozen("bert.encoder.layer.1"));  // LEA is in the layers from the sixth on
  for (const auto& name : one) CHECK(name.starts_with("bert.encoder.layer.1."));
  CHECK(frozen("encoder.layer.1*").size() == 3 * one.size() + 2 * frozen("lexformer.encoder.layer.11").size());
  CHECK(frozen("encoder.layer.11").size() == one.size() + frozen("lexformer.encoder.layer.11").size());
  CHECK(frozen("embeddings.word_embeddings") == std::vector<std::string>{"bert.embeddings.word_embeddings.weight"});
  for (const char* part : {"layer.1", "embedding", "encoder.layer.12", ""})
    expect_error(
        ErrorKind::usage, [&] { frozen(part); }, cat("freeze: no parameter is called '", part, "'"));
}
