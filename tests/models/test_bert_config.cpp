// SPDX-License-Identifier: MIT
#include "lexformer/models/bert_config.hpp"

#include "../support/error_message.hpp"
#include "models/tiny.hpp"

using namespace lexformer;
using test::error_message;

TEST_CASE("config: position options have their scheme's defaults, and what a scheme does not have is refused") {
  const auto parse = [](const std::string& scheme, const Json& options = nullptr) {
    Json json = {{"position_embedding_type", scheme}, {"hidden_size", 24u}, {"num_attention_heads", 4u}};
    if (!options.is_null()) json["position_options"] = options;
    return parse_bert_config(json, "c.json").positions;
  };
  CHECK(parse("absolute").absolute);
  CHECK(parse("ddrp").size == 64);
  CHECK_FALSE(parse("ddrp").absolute);
  CHECK(parse("ddrp", {{"absolute", true}}).absolute);
  CHECK(parse("t5").buckets == 32);
  CHECK(parse("t5").max_distance == 128);
  CHECK(parse("deberta").buckets == 0);
  CHECK(parse("deberta", {{"buckets", 256u}}).size == 256);
  CHECK(parse("deberta", {{"buckets", 256u}}).max_distance == 512);
  CHECK(parse("tupe", {{"buckets", 0u}}).buckets == 0);

  CHECK(error_message([&] { parse("nearby"); }).find("'position_embedding_type' is 'nearby', expected one of: absolute, relative_key") !=
        std::string::npos);
  CHECK(error_message([&] {
          parse("ddrp", {{"buckets", 4u}});
        }) == "c.json: position_options: 'buckets' is no option of the position scheme 'ddrp'");
  CHECK(error_message([&] {
          parse("absolute", {{"absolute", true}});
        }) == "c.json: position_options: 'absolute' is no option of the position scheme 'absolute'");
  CHECK(error_message([&] { parse("ddrp", {{"size", 0u}}); }).find("is 0, expected a whole number from 1 to 65536") != std::string::npos);
  CHECK(error_message([&] { parse("ddrp", Json::array()); }) == "c.json: position_options: expected a JSON object, found array");
  CHECK(error_message([&] {
          parse("t5", {{"buckets", 7u}});
        }).find("there must be an even number of at least 4 buckets") != std::string::npos);
  CHECK(error_message([&] {
          parse("deberta", {{"buckets", 8u}, {"max_distance", 5u}});
        }).find("'max_distance' above half of it + 1") != std::string::npos);
  CHECK(error_message([&] { parse("deberta", {{"max_distance", 50u}}); }).find("there are no buckets") != std::string::npos);
  const Json odd = {{"position_embedding_type", "rope"}, {"hidden_size", 9u}, {"num_attention_heads", 3u}};
  CHECK(error_message([&] { parse_bert_config(odd, "c.json"); }) == "c.json: rope turns pairs of features, but a head has 3");
}

TEST_CASE("a checkpoint with absolute positions starts a model with another scheme: its tables are new, the old table is left over") {
  auto file = test::tiny_file();
  file.config["position_embedding_type"] = "ddrp";
  const CrossEncoder<double> model(file, {}, true);
  const auto& names = model.new_tensors();
  CHECK(std::find(names.begin(), names.end(), "lexformer.encoder.positions.direction") != names.end());
  CHECK(std::find(names.begin(), names.end(), "lexformer.encoder.positions.distance") != names.end());
  CHECK(model.unused_tensors() == std::vector<std::string>{"bert.embeddings.position_embeddings.weight"});
  const auto logits = model.logits(test::pairs);
  for (const double x : logits.span()) CHECK(std::isfinite(x));
}

TEST_CASE("a config that asks for far larger position tables than the file has is refused before memory is taken") {
  auto file = test::tiny_file();
  file.config.update({{"max_position_embeddings", 1u << 20}, {"num_hidden_layers", 200u}, {"position_embedding_type", "relative_key"}});
  CHECK(error_message([&] { CrossEncoder<double>(file, {}, true); }).find("tiny.lxf: the config asks for") == 0);
}
