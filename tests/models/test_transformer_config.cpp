// SPDX-License-Identifier: MIT
#include "lexformer/io/json.hpp"
#include "lexformer/models/transformer_config.hpp"

#include "../support/error_message.hpp"
#include "models/tiny.hpp"

using namespace lexformer;
using test::error_message;

namespace {

/// The options that a scheme's factory makes of a config's options, and whether position embeddings are kept, as JSON.
Json scheme(const std::string& name, const Json& options = nullptr) {
  Json json = {{"position_embedding_type", name}, {"hidden_size", 24u}, {"num_attention_heads", 4u}};
  if (!options.is_null()) json["position_options"] = options;
  const auto config = parse_transformer_config(json, "c.json");
  Init blank = Init::none();
  const Transformer<float> encoder(config, blank, blank, "c.json");
  Json out = {{"position_embeddings", *encoder.config.position_embeddings}};
  for (const auto& f : encoder.factories()) out.update(options_json([&](OptionVisitor& v) { f.factory->visit(v); }));
  return out;
}

}  // namespace

TEST_CASE("config: position schemes have their defaults, and what a scheme does not have is refused") {
  CHECK(scheme("absolute")["position_embeddings"] == true);
  CHECK(scheme("ddrp")["size"] == 64);
  CHECK(scheme("ddrp")["position_embeddings"] == false);
  CHECK(scheme("ddrp", {{"absolute", true}})["position_embeddings"] == true);
  CHECK(scheme("t5")["buckets"] == 32);
  CHECK(scheme("t5")["max_distance"] == 128);
  CHECK(scheme("deberta")["buckets"] == 0);
  CHECK(scheme("deberta")["size"] == 64);
  CHECK(scheme("deberta", {{"buckets", 256u}})["size"] == 256);
  CHECK(scheme("deberta", {{"buckets", 256u}})["max_distance"] == 512);
  CHECK(scheme("tupe", {{"buckets", 0u}})["buckets"] == 0);

  const auto refused = [](const std::string& name, const Json& options) { return error_message([&] { scheme(name, options); }); };
  CHECK(refused("nearby", {}).find("c.json: the attention term 'nearby' is not known; this program has: alibi, bert_r") == 0);
  CHECK(refused("ddrp", {{"buckets", 4u}}) ==
        "c.json: attention: 'ddrp': 'buckets' is not an option; expected one of: per_layer, random_direction, size");
  CHECK(refused("absolute", {{"absolute", true}}) == "c.json: position_options: 'absolute' is not an option of absolute positions");
  CHECK(refused("ddrp", {{"size", 0u}}).find("is 0, expected a whole number from 1 to 65536") != std::string::npos);
  CHECK(refused("ddrp", Json::array()) == "c.json: position_options: expected a JSON object, found array");
  CHECK(refused("t5", {{"buckets", 7u}}).find("there must be an even number of at least 4 buckets") != std::string::npos);
  CHECK(refused("deberta", {{"buckets", 8u}, {"max_distance", 5u}}).find("'max_distance' above half of it + 1") != std::string::npos);
  CHECK(refused("deberta", {{"max_distance", 50u}}).find("there are no buckets") != std::string::npos);
  const Json odd = {{"position_embedding_type", "rope"}, {"hidden_size", 9u}, {"num_attention_heads", 3u}};
  Init blank = Init::none();
  CHECK(error_message([&] { Transformer<float>(parse_transformer_config(odd, "c.json"), blank, blank, "c.json"); }) ==
        "c.json: attention: 'rope': rope rotates pairs of features, but a head has 3");
}

TEST_CASE("config: attention terms as version 0.1.0 wrote them and as a list mean the same") {
  const auto terms = [](const Json& json) {
    std::string all;
    const auto config = parse_transformer_config(json, "c.json");
    for (const auto& t : config.attention) all += t.name + t.json().dump() + " ";
    return all + (config.position_embeddings ? cat(*config.position_embeddings) : "unset");
  };
  CHECK(terms({{"position_embedding_type", "ddrp"},
               {"position_options", {{"size", 5u}, {"absolute", true}}},
               {"lexformer", {{"attention", {"lea"}}, {"lea", {{"levels", 50u}}}}}}) == R"(ddrp{"size":5} lea{"levels":50} 1)");
  const Json list = Json::array({{{"name", "ddrp"}, {"options", {{"size", 5u}}}}, "lea"});
  CHECK(terms({{"lexformer", {{"attention", list}}}}) == R"(ddrp{"size":5} lea{} unset)");
  CHECK(terms({{"position_embedding_type", "relative_key"}, {"lexformer", {{"attention", {{{"name", "relative_key"}}}}}}}) ==
        "relative_key{} 0");
  CHECK(error_message([&] { terms({{"lexformer", {{"attention", 5}}}}); }) == "c.json: 'attention' must be an array, found number");
  CHECK(error_message([&] {
          terms({{"lexformer", {{"attention", Json::array({5})}}}});
        }) == "c.json: attention: expected a JSON object, found number");
}

TEST_CASE("config: the options of a term are read as a struct, whether a struct or a file gave them") {
  const TermConfig lea("lea", LeaOptions{.columns = LeaColumns::same, .levels = 50});
  CHECK(lea.get<LeaOptions>().columns == LeaColumns::same);
  CHECK(lea.get<LeaOptions>().levels == 50);
  CHECK(lea.json()["columns"] == "same");
  CHECK(TermConfig("lea").json() == Json::object());
  const Json list = Json::array({{{"name", "ddrp"}, {"options", {{"size", 5u}}}}});
  const auto ddrp = parse_transformer_config({{"lexformer", {{"attention", list}}}}, "c.json").attention.at(0);
  CHECK(ddrp.get<DdrpOptions>().size == 5);
  CHECK_FALSE(ddrp.get<DdrpOptions>().per_layer);
  CHECK(error_message([&] { ddrp.get<LeaOptions>(); }).find("ddrp: 'size' is not an option; expected one of: ") == 0);
  CHECK(error_message([] { TermConfig("ddrp", DdrpOptions{.size = 0}).get<DdrpOptions>(); }) ==
        "ddrp: 'size' is 0, expected a whole number from 1 to 65536");
}

TEST_CASE("config: keys that no model reads are named, those of HuggingFace that change nothing are not") {
  const auto refused = [](const Json& config) { return refused_keys(config, "config.json"); };
  CHECK(refused({{"hidden_size", 5u}, {"torch_dtype", "float32"}, {"id2label", {}}, {"pruned_heads", Json::object()}}).empty());
  CHECK(refused({{"hiden_size", 5u}, {"pruned_heads", {{"0", {1, 2}}}}}) == std::vector<std::string>{"hiden_size", "pruned_heads"});
  auto file = test::tiny_model().file();
  file.config["hiden_size"] = 5;
  CHECK(error_message([&] { CrossEncoder<double> model(file); }) ==
        "ModelFile: holds keys of the config that this model does not use, so its scores would not be those of the model that was trained: "
        "'hiden_size'");
  CHECK(CrossEncoder<double>(file, CrossEncoderOptions{}).unused_config() == std::vector<std::string>{"hiden_size"});
  file.config->erase("hiden_size");
  file.tensors.set("lexformer.encoder.layer.0.mine.slope", Tensor<double>::ones({3}));
  CHECK(error_message([&] { CrossEncoder<double> model(file); }).find("holds tensors that this model does not use") != std::string::npos);
  CHECK(CrossEncoder<double>(file, CrossEncoderOptions{}).unused_tensors() ==
        std::vector<std::string>{"lexformer.encoder.layer.0.mine.slope"});
}

TEST_CASE("a checkpoint with absolute positions starts a model with another scheme: its tables are new, the old table is left over") {
  auto file = test::tiny_file();
  file.config["position_embedding_type"] = "ddrp";
  const CrossEncoder<double> model(file, CrossEncoderOptions{});
  const auto& names = model.new_tensors();
  CHECK(std::find(names.begin(), names.end(), "lexformer.encoder.positions.direction") != names.end());
  CHECK(std::find(names.begin(), names.end(), "lexformer.encoder.positions.distance") != names.end());
  CHECK(model.unused_tensors() == std::vector<std::string>{"bert.embeddings.position_embeddings.weight"});
  const auto logits = model.logits(test::pairs);
  for (const double x : logits.span()) CHECK(std::isfinite(x));
}

TEST_CASE("a config that asks for far larger position tables than the file has is refused before memory is taken") {
  auto file = test::tiny_file();
  file.config->update({{"max_position_embeddings", 1u << 20}, {"num_hidden_layers", 200u}, {"position_embedding_type", "relative_key"}});
  CHECK(error_message([&] { CrossEncoder<double>(file, CrossEncoderOptions{}); }).find("tiny.lxf: the config asks for") == 0);
}

TEST_CASE(
    "a HuggingFace model with one label: sigmoid as in sentence-transformers, unless it is a regression or its config says otherwise") {
  const test::Threads one(1);
  auto file = test::tiny_model({.head = Head::huggingface, .task = {.kind = TaskKind::regression, .labels = 1}}).file();
  file.config->erase("lexformer");
  const std::vector<std::pair<std::string, std::string>> one_pair{{"sony camera", "sony"}};
  const CrossEncoder<double> model(file);
  const double logit = model.logits(one_pair).at(0, 0);
  CHECK(model.predict(one_pair)[0] == doctest::Approx(1 / (1 + std::exp(-logit))));
  file.config["lexformer"] = {{"activation", "identity"}};
  CHECK(CrossEncoder<double>(file).predict(one_pair)[0] == logit);
  file.config->erase("lexformer");
  file.config["problem_type"] = "regression";
  CHECK(CrossEncoder<double>(file).predict(one_pair)[0] == logit);
}

TEST_CASE("a HuggingFace classifier has the class names of id2label, unless they are the usual ones") {
  auto file = test::tiny_model({.head = Head::huggingface, .task = {.labels = 3}}).file();
  file.config->erase("lexformer");
  const auto names = [&](const Json& given) {
    file.config["id2label"] = given;
    return stored_options(file).task.label_names;
  };
  CHECK(names({{"0", "LABEL_0"}, {"1", "LABEL_1"}, {"2", "LABEL_2"}}).empty());
  CHECK(names({{"0", "LABEL_0"}, {"1", "LABEL_1"}}).empty());
  CHECK(names({{"2", "c"}, {"0", "a"}, {"1", "b"}}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(error_message([&] { names({{"0", "a"}, {"1", "b"}, {"2", "a"}}); }) == "ModelFile: config: id2label: 'a' is given twice");
  CHECK(error_message([&] {
          names({{"0", "a"}, {"1", "b"}, {"2", "c"}, {"3", "d"}});
        }) == "ModelFile: config: 'id2label' does not name the 3 classes of the head");
  CHECK(error_message([&] { names({{"0", "a"}, {"1", "b"}}); }).find("id2label: the key '2' is missing") != std::string::npos);
}

TEST_CASE("a head of modules computes what its modules say, and a training keeps it") {
  const test::Threads one(1);
  for (const HeadModules& modules :
       {HeadModules{}, HeadModules{Pooling::mean, Activation::tanh, false}, HeadModules{Pooling::max, std::nullopt, false}}) {
    auto model = test::tiny_model({.head = Head::modules, .modules = modules, .task = {.labels = 3}});
    const auto file = model.file();
    const CrossEncoder<double> again(ModelFile::parse(file.bytes(), "again.lxf"));
    CHECK(again.options().modules.pooling == modules.pooling);
    CHECK(again.options().modules.dense == modules.dense);
    CHECK(again.options().modules.norm == modules.norm);
    const auto batch = test::tiny_batch(model);
    const auto y = again(batch);
    CHECK(y.logits.value().to_vector() == model(batch).logits.value().to_vector());
    const auto of = [&](const char* name) { return Var<double>(file.tensors.get<double>(cat("lexformer.head.", name))); };
    auto x = pool(y.encoder.last, batch.offsets, modules.pooling);
    if (modules.dense) x = activate(*modules.dense, linear(x, of("dense.weight"), of("dense.bias")));
    if (modules.norm) x = layer_norm(x, of("norm.weight"), of("norm.bias"), 1e-5);
    CHECK(test::max_error(linear(x, of("out.weight"), of("out.bias")).value(), y.logits.value()) < 1e-12);
    CHECK(file.tensors.contains("lexformer.head.dense.weight") == modules.dense.has_value());
    CHECK(file.tensors.contains("lexformer.head.norm.weight") == modules.norm);
    CHECK(CrossEncoder<double>(file, again.options()).new_tensors().empty());
    auto two = again.options();
    two.task.labels = 2;
    CHECK(CrossEncoder<double>(file, two).new_tensors() ==
          std::vector<std::string>{"lexformer.head.out.weight", "lexformer.head.out.bias"});
  }
  auto file = test::tiny_model({.head = Head::modules}).file();
  const auto refused = [&](const Json& value, const std::string& message) {
    file.config["lexformer"]["modules"] = value;
    CHECK(error_message([&] { stored_options(file); }).find(message) != std::string::npos);
  };
  refused({{"pooling", "none"}}, "modules: 'pooling' is 'none', expected mean, cls or max");
  refused({{"pooling", "cls"}, {"norm", true}}, "modules: 'norm' is true, but there is no 'dense' before it");
  refused(nullptr, "modules: expected a JSON object, found null");
}

TEST_CASE("a model with one token type reads single texts, not pairs") {
  auto file = test::tiny_file();
  file.config["type_vocab_size"] = 1u;
  CHECK(error_message([&] { CrossEncoder<double>(file, CrossEncoderOptions{}); }) ==
        "tiny.lxf: 'type_vocab_size' is 1, but the tokenizer gives two texts 2 token types: this model reads single texts, not pairs");
}

TEST_CASE("config: a model without position embeddings and without attention terms is saved so") {
  Json json = {{"model_type", "bert"}, {"lexformer", {{"position_embeddings", false}}}};
  write_config(parse_transformer_config(json, "c.json"), json);
  CHECK(parse_transformer_config(json, "c.json").position_embeddings == false);
  json["lexformer"]["position_embeddings"] = true;
  write_config(parse_transformer_config(json, "c.json"), json);
  CHECK_FALSE(json.contains("lexformer"));
}
