// SPDX-License-Identifier: MIT
// DAFA, Syntax-BERT and UERBERT from the texts of pairs through ten steps of training, against PyTorch (tests/oracles/make_golden_dafa.py).
#include <functional>
#include <numeric>

#include "lexformer/attention/dafa.hpp"
#include "lexformer/attention/syntax.hpp"
#include "lexformer/attention/uerbert.hpp"
#include "lexformer/io/config.hpp"
#include "models/golden.hpp"

using namespace lexformer;
using test::count_names;
using test::Golden;

namespace {

/// The pairs of a file with their trees, as a table, and in its order.
struct Pairs {
  std::shared_ptr<DependencyTable> table = std::make_shared<DependencyTable>();
  std::vector<std::pair<std::string, std::string>> texts;

  explicit Pairs(const Golden& golden) {
    for (const auto& pair : golden.about("pairs")) {
      texts.emplace_back(pair[0].at("text").get<std::string>(), pair[1].at("text").get<std::string>());
      for (const auto& side : pair) add(side);
    }
  }
  void add(const Json& side) {
    DependencyTrees trees{.text = side.at("text").get<std::string>()};
    std::size_t at = 0;
    for (const auto& sentence : side.at("sentences")) {
      std::vector<DependencyWord> words;
      for (std::size_t i = 0; i < sentence.at("words").size(); ++i) {
        const auto form = sentence["words"][i].get<std::string>();
        const std::size_t begin = trees.text.find(form, at);  // all characters are ASCII
        REQUIRE(begin != std::string::npos);
        at = begin + form.size();
        words.push_back({form,
                         sentence["lemmas"][i].get<std::string>(),
                         sentence["relations"][i].get<std::string>(),
                         -1,
                         {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at)}});
      }
      trees.add_sentence(std::move(words), sentence.at("heads").get<std::vector<std::size_t>>(), "golden");
    }
    table->add(std::move(trees), "golden");
  }
};

/// The model of a file: the common parameters are those of dafa.safetensors.
ModelFile model_file(const Golden& golden) {
  auto file = Golden("dafa").model(golden.about("vocabulary").get<std::vector<std::string>>());
  file.config = golden.about("config");
  std::vector<std::string> terms;
  for (const auto& name : file.tensors.names())
    if (name.starts_with("lexformer.")) terms.push_back(name);
  for (const auto& name : terms) file.tensors.erase(name);
  if (get_string(file.config, "position_embedding_type", "golden", "absolute") != "absolute")
    file.tensors.erase("bert.embeddings.position_embeddings.weight");
  const auto own = golden.model().tensors;
  for (const auto& name : own.names()) file.tensors.set(name, own.get<double>(name));
  return file;
}

Tensor<double> joined(const std::vector<std::vector<double>>& parts) {
  std::vector<double> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return Tensor<double>::from(all, {all.size()});
}

/// The batches of a file, after its tokens are compared.
std::vector<Batch> batches_of(const Golden& golden, const CrossEncoder<double>& model, const Pairs& pairs,
                              const std::vector<FeatureMaker>& features) {
  std::vector<Encoding> encodings;
  std::vector<std::int32_t> ids;
  for (const auto& [left, right] : pairs.texts) {
    encodings.push_back(model.tokenizer().encode_pair(left, right, 24));
    ids.insert(ids.end(), encodings.back().ids.begin(), encodings.back().ids.end());
  }
  REQUIRE(ids == golden.integers("ids"));
  const auto first = golden.about("first_batch").get<std::size_t>();
  const auto labels = golden.about("labels").get<std::vector<std::int32_t>>();
  const auto middle = labels.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Batch> batches{make_batch(std::span(encodings).first(first), features),
                             make_batch(std::span(encodings).subspan(first), features)};
  batches[0].labels.assign(labels.begin(), middle);
  batches[1].labels.assign(middle, labels.end());
  return batches;
}

}  // namespace

TEST_CASE("DAFA: from texts and trees through ten steps, as written out in PyTorch") {
  const test::Threads one(1);
  for (const std::string name : {"dafa", "dafa_options", "dafa_merged", "dafa_heads", "dafa_without_cross", "dafa_without_gate",
                                 "dafa_without_filter", "dafa_without_both_gates", "dafa_average", "dafa_all_layers", "dafa_terms"}) {
    CAPTURE(name);
    Golden golden(name);
    const Pairs pairs(golden);
    Json settings = golden.about("dafa");
    settings["without"] = join(settings["without"].get<std::vector<std::string>>(), ",");
    CrossEncoderOptions options{.attention = {{"dafa", settings.dump()}}, .head = Head::huggingface, .task = {.labels = 3}};
    if (const Json lea = golden.about("lea"); lea.is_object())
      options.attention.emplace_back("lea", LeaOptions{.dimension = 8, .alpha = LeaAlpha::constant, .alpha_value = 0.7, .last_layer = 1});
    CrossEncoder<double> model(model_file(golden), options);
    for (const auto& tensor : model.new_tensors()) CHECK(tensor.ends_with(".alpha"));
    CHECK(model.unused_tensors().empty());
    CHECK(count_names(golden.file, "gradient/") == model.parameters().size());

    // The counted documents are the texts of the first batch.
    model.provide({.trees = pairs.table});
    std::vector<std::string> training;
    for (std::size_t i = 0; i < golden.about("first_batch").get<std::size_t>(); ++i)
      training.insert(training.end(), {pairs.texts[i].first, pairs.texts[i].second});
    model.fit(training);
    const auto& factories = model.encoder().factories();
    const auto named = std::find_if(factories.begin(), factories.end(), [](const auto& f) { return f.name == "dafa"; });
    REQUIRE(named != factories.end());
    const auto& dafa = dynamic_cast<const DafaFactory<double>&>(*named->factory).options();
    CHECK(dafa.counts.documents == golden.about("documents").at("count").get<std::size_t>());

    const auto batches = batches_of(golden, model, pairs, model.features());
    if (golden.file.contains("gate")) {
      std::vector<std::vector<double>> m, s, left, right, fused, gates;
      for (const auto& [a, b] : pairs.texts) {
        const auto &x = *pairs.table->find(a), &y = *pairs.table->find(b);
        m.push_back(tree_similarity(x, y, dafa.dependency));
        s.push_back(subgraph_similarity(x, y, dafa.dependency));
        left.push_back(tfidf_weights(x, dafa.counts, dafa.dependency));
        right.push_back(tfidf_weights(y, dafa.counts, dafa.dependency));
        fused.push_back(dependency_matrix(x, y, dafa.counts, dafa.dependency));
      }
      for (const auto& batch : batches) gates.push_back(std::get<std::vector<double>>(batch.features.at("dafa").values));
      if (!dafa.dependency.without_tree) golden.check("M", joined(m));
      if (!dafa.dependency.without_subgraph) golden.check("S", joined(s));
      golden.check("left", joined(left));
      golden.check("right", joined(right));
      golden.check("MF", joined(fused));
      golden.check("gate", joined(gates));
    }
    golden.check("logits", model(batches[0]).logits.value());
    golden.check_training(model, batches, ScheduleKind::cosine, false);
  }
  MESSAGE("largest difference of all files: " << Golden::worst);
}

TEST_CASE("Syntax-BERT: from texts and trees through ten steps, as written out in PyTorch") {
  const test::Threads one(1);
  Golden golden("syntax");
  const Pairs pairs(golden);
  CrossEncoder<double> model(model_file(golden),
                             {.attention = {{"syntax", golden.about("syntax").dump()}}, .head = Head::huggingface, .task = {.labels = 3}});
  CHECK(model.new_tensors().empty());
  CHECK(model.unused_tensors().empty());
  CHECK(count_names(golden.file, "gradient/") == model.parameters().size());
  model.provide({.trees = pairs.table});
  const auto batches = batches_of(golden, model, pairs, model.features());

  // The file's bits are those of the masks that show the key, and a row in which a mask shows nothing stays as it is.
  const auto masks = syntax_masks(golden.about("syntax").at("depth").get<std::size_t>());
  std::vector<std::int32_t> shown = golden.integers("codes");
  std::vector<std::uint16_t> hidden;  // by a mask that shows another key of the row
  for (const Batch& batch : batches)
    for (std::size_t s = 0; s < batch.size(); ++s)
      for (std::size_t i = 0, n = batch.offsets.length(s); i < n; ++i) {
        const auto row = shown.begin() + static_cast<std::ptrdiff_t>(hidden.size());
        const auto any = std::accumulate(row, row + static_cast<std::ptrdiff_t>(n), 0, std::bit_or<>());
        for (std::size_t j = 0; j < n; ++j)
          hidden.push_back(static_cast<std::uint16_t>(any & ~row[static_cast<std::ptrdiff_t>(j)] & ((1 << masks) - 1)));
      }
  std::vector<std::uint16_t> codes;
  for (const Batch& batch : batches) {
    const auto& part = batch.codes("syntax").codes;
    codes.insert(codes.end(), part.begin(), part.end());
  }
  CHECK(codes == hidden);
  golden.check("logits", model(batches[0]).logits.value());

  // With the file's own codes, these rows fall back to full attention by the value of the masks.
  Batch as_given = batches[0];
  auto& given = std::get<Codes>(as_given.features.at("syntax").values).codes;
  for (std::size_t c = 0; c < given.size(); ++c) given[c] = static_cast<std::uint16_t>(~shown[c] & ((1 << masks) - 1));
  golden.check("logits", model(as_given).logits.value());
  golden.check_training(model, batches, ScheduleKind::cosine, false);
}

TEST_CASE("UERBERT: from texts and word similarities through ten steps, as written out in PyTorch") {
  const test::Threads one(1);
  Golden golden("uerbert");
  const Pairs pairs(golden);
  CrossEncoder<double> model(model_file(golden), {.attention = {"uerbert"}, .head = Head::huggingface, .task = {.labels = 3}});
  CHECK(model.new_tensors().empty());
  CHECK(model.unused_tensors().empty());
  CHECK(count_names(golden.file, "gradient/") == model.parameters().size());

  using Words = std::vector<std::string>;
  const auto words = golden.about("words").get<std::vector<std::vector<Words>>>();
  const auto given = golden.file.get<double>("similarity");
  const WordSimilarities similarities = [&](std::span<const std::string> left, std::span<const std::string> right) {
    const double* values = given.data();
    for (const auto& pair : words) {
      const std::size_t count = pair[0].size() * pair[1].size();
      if (std::equal(left.begin(), left.end(), pair[0].begin(), pair[0].end()) &&
          std::equal(right.begin(), right.end(), pair[1].begin(), pair[1].end()))
        return std::vector<double>(values, values + count);
      values += count;
    }
    FAIL("the words are not those of a pair of the file: " << join(left, " ") << " | " << join(right, " "));
    return std::vector<double>();
  };
  const auto batches = batches_of(golden, model, pairs, {word_gate(similarities, "uerbert")});
  std::vector<std::vector<double>> gates;
  for (const auto& batch : batches) gates.push_back(std::get<std::vector<double>>(batch.features.at("uerbert").values));
  golden.check("gate", joined(gates));
  golden.check("logits", model(batches[0]).logits.value());
  golden.check_training(model, batches, ScheduleKind::cosine, false);
}
