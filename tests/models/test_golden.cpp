// SPDX-License-Identifier: MIT
// Models in double against PyTorch and transformers in double (tests/oracles/make_golden.py): forward, every gradient, ten AdamW steps.
#include "lexformer/io/json.hpp"
#include "lexformer/models/encoder.hpp"
#include "models/golden.hpp"

using namespace lexformer;
using test::count_names;
using test::Golden;

TEST_CASE("encoder: embeddings, hidden states and attention of transformers' BertModel") {
  const test::Threads one(1);
  Golden golden("encoder");
  for (const std::string activation : {"gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "tanh"}) {
    auto file = golden.model();
    file.config["hidden_act"] = activation;
    const Encoder<double> encoder(file, {});
    const auto y = encoder(golden.batch(), {}, {.all_hidden = true, .attentions = Attentions::probabilities});
    golden.check(activation + "/hidden/2", y.last.value());
    if (activation == "gelu") {
      for (std::size_t k = 0; k < 3; ++k) golden.check(cat("hidden/", k), y.hidden[k].value());
      for (std::size_t k = 0; k < 2; ++k) golden.check(cat("probabilities/", k), y.attentions[k].value());
    }
    const Var<double> x(golden.file.get<double>("x"), true);
    const auto value = activate(parse_name<Activation>(activation, "golden"), x);
    golden.check(activation + "/y", value.value());
    sum(value).backward();
    golden.check(activation + "/dx", x.grad());
  }
}

TEST_CASE("classification heads: logits, gradients and ten steps of transformers' models") {
  const test::Threads one(1);
  for (const std::string name : {"bert_2_labels", "bert_3_labels", "electra"}) {
    CAPTURE(name);
    Golden golden(name);
    CrossEncoder<double> model(golden.model());
    CHECK(model.task().labels == (name == "bert_3_labels" ? 3u : 2u));
    CHECK(model.unused_tensors().empty());
    CHECK(count_names(golden.file, "gradient/") == model.parameters().size());
    const auto batch = golden.batch();
    golden.check("logits", model(batch).logits.value());
    golden.check_training(model, {batch}, name == "bert_2_labels" ? ScheduleKind::cosine : ScheduleKind::linear, false);
  }
}

TEST_CASE("LEA and the paper's head: from the texts of pairs through ten steps, as written out in PyTorch") {
  const test::Threads one(1);
  for (const std::string name : {"lea", "lea_dropout", "lea_layer", "lea_model", "lea_learned", "lea_learned_model", "lea_quantised",
                                 "lea_magnitude", "lea_constant"}) {
    CAPTURE(name);
    Golden golden(name), common("lea");
    const Json lea = golden.about("lea");
    LeaOptions options;
    options.sharing = get_name<LeaSharing>(lea, "sharing", name);
    options.representation = get_name<LeaRepresentation>(lea, "representation", name);
    options.alpha = get_name<LeaAlpha>(lea, "alpha", name);
    options.alpha_value = get_number(lea, "alpha_value", 0, 1, name);
    options.dimension = get_size(lea, "dimension", 1, 100, name);
    options.levels = get_size(lea, "levels", 0, 100, name);
    options.lexical.self_attention = get_bool(lea, "within", name);
    const std::size_t first_layer = get_size(lea, "first_layer", 0, 2, name), last_layer = get_size(lea, "last_layer", 0, 2, name);
    if (first_layer != 1) {  // 1 to 2 is the default, the second half
      options.first_layer = first_layer;
      options.last_layer = last_layer;
    }

    auto file = common.model(golden.about("vocabulary").get<std::vector<std::string>>());
    file.config = golden.about("config");
    for (const auto& tensor : file.tensors.names())
      if (tensor.find(".lea.") != tensor.npos) file.tensors.erase(tensor);
    const auto own = golden.model().tensors;
    for (const auto& tensor : own.names()) file.tensors.set(tensor, own.get<double>(tensor));
    CrossEncoder<double> model(file, {.attention = {{"lea", options}}});
    for (const auto& tensor : model.new_tensors()) CHECK(tensor.ends_with(".alpha"));
    CHECK(model.unused_tensors().empty());
    CHECK(count_names(golden.file, "gradient/") == model.parameters().size() - (name == "lea" ? 0 : 6));

    const auto pairs = golden.about("pairs");
    const auto labels = golden.about("labels").get<std::vector<std::int32_t>>();
    const auto first_batch = golden.about("first_batch").get<std::size_t>();
    std::vector<Encoding> encodings;
    std::vector<std::int32_t> ids;
    for (const auto& pair : pairs) {
      encodings.push_back(model.tokenizer().encode_pair(pair[0].get<std::string>(), pair[1].get<std::string>(), 24));
      ids.insert(ids.end(), encodings.back().ids.begin(), encodings.back().ids.end());
    }
    REQUIRE(ids == golden.integers("ids"));
    std::vector<Batch> batches{model.batch(std::span(encodings).first(first_batch)),
                               model.batch(std::span(encodings).subspan(first_batch))};
    const auto middle = labels.begin() + static_cast<std::ptrdiff_t>(first_batch);
    batches[0].labels.assign(labels.begin(), middle);
    batches[1].labels.assign(middle, labels.end());
    std::vector<double> similarity;
    const auto& lexical = batches[0].codes("lexical");
    for (const auto code : lexical.codes) similarity.push_back(lexical.levels[code]);
    golden.check("similarity", Tensor<double>::from(similarity, {similarity.size()}));

    const bool dropout = golden.about("dropout").get<bool>();
    CHECK(model.calibrate(batches[0], {.training = true, .seed = 5, .step = 0}));
    const auto in_training = model(batches[0], {.training = true, .seed = 5, .step = 0}).logits;
    for (const auto& p : model.state())
      if (p.name.ends_with(".lea.alpha")) golden.check("alpha/" + p.name.substr(24, 1), p.var.value());
    golden.check("logits", dropout ? in_training.value() : model(batches[0]).logits.value());
    golden.check_training(model, batches, ScheduleKind::cosine, dropout);
  }
  MESSAGE("largest difference of all files: " << Golden::worst);
}
