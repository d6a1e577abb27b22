// SPDX-License-Identifier: MIT
// LOVE's rivals: gradients, batches, edit distance, saving and loading of every kind of model of words.
#include <doctest/doctest.h>

#include "lexformer/words/bos.hpp"
#include "lexformer/words/edit_distance.hpp"
#include "lexformer/words/kvq_fh.hpp"
#include "lexformer/words/love.hpp"
#include "lexformer/words/mimick.hpp"
#include "lexformer/words/word_imputer.hpp"
#include "models/tiny.hpp"
#include "support/directions.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

using Texts = std::vector<std::string>;

const Texts known_words{"oven", "ovens", "coven", "over"}, any_words{"oven", "xy", "ovenss", "cover", "Over"};

WordUnits tiny_units(UnitMode mode = UnitMode::pieces) {
  return WordUnits(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", "o", "##v", "##e", "##r", "##n", "##s", "c", "##o"}),
                   {.mode = mode});
}
template <class T>
Mimick<T> tiny_mimick() {
  return Mimick<T>(tiny_units(), {.size = 4, .unit_size = 3, .states = 2}, 3);
}
template <class T>
KvqFh<T> tiny_kvq_fh() {
  KvqFh<T> model(known_words, {.size = 4, .rows = 30}, 3);
  for (T& x : std::span<T>(model.table.weight.mutable_value().mutable_data(), 120)) x *= 50;  // so that attention matters
  return model;
}
template <class T>
Bos<T> tiny_bos(std::size_t buckets = 0) {
  Bos<T> model(known_words, {.size = 4, .buckets = buckets});
  T* const values = model.table.mutable_value().mutable_data();
  for (std::size_t e = 0; e < model.table.size(); ++e) values[e] = static_cast<T>(std::sin(static_cast<double>(e)));
  return model;
}
EditDistance tiny_edit_distance() { return EditDistance(WordVectors(known_words, Tensor<float>::from({1, 0, 0, 1, 2, 2, 3, 4}, {4, 2}))); }

}  // namespace

TEST_CASE("MIMICK, BoS, KVQ-FH: gradients of vectors and loss, by finite differences") {
  const test::Threads one(1);
  const Var<double> targets(Tensor<double>::from({1, -2, 3, .5, .1, .2, -.3, .4, 2, 2, -1, 1, 0, 1, 0, 3, 1, 1, 1, 1}, {5, 4}));
  const auto check = [&](auto model) {
    std::vector<Var<double>> inputs;
    for (auto& p : model.parameters()) inputs.push_back(p.var);
    for (const bool of_loss : {false, true}) {
      const auto result = test::check_directions(
          [&] {
            const auto x = model(any_words);
            return of_loss ? model.loss(targets, x) : x;
          },
          inputs);
      CHECK_MESSAGE(result.ok, result.message);
    }
  };
  check(tiny_mimick<double>());
  check(tiny_bos<double>());
  check(tiny_kvq_fh<double>());
}

TEST_CASE("MIMICK, BoS, KVQ-FH: neither the other words of a batch nor their order change a vector") {
  const auto check = [](const auto& model) {
    const auto all = model.vectors(any_words);
    const auto apart = model.vectors(any_words, 1);
    std::vector<std::size_t> batches;
    model.vectors(any_words, any_words.size() - 1, [&](std::size_t count) { batches.push_back(count); });
    CHECK(batches == std::vector<std::size_t>{any_words.size() - 1, 1});
    for (std::size_t e = 0; e < all.size(); ++e) CHECK(all.data()[e] == apart.data()[e]);
    const auto back = model.vectors(Texts(any_words.rbegin(), any_words.rend()), 2);
    for (std::size_t i = 0; i < any_words.size(); ++i)
      for (std::size_t j = 0; j < 4; ++j) CHECK(back.at(i, j) == all.at(any_words.size() - 1 - i, j));
    CHECK(model.vectors(Texts{"OVEN"}).at(0, 1) == all.at(0, 1));
    expect_error(
        ErrorKind::failure, [&] { model(std::span<const std::string>()); }, "the batch has no words");
  };
  check(tiny_mimick<double>());
  check(tiny_bos<double>());
  check(tiny_bos<double>(11));
  check(tiny_kvq_fh<double>());
}

TEST_CASE("BoS: rows of known substrings, of a word without any, and by hashing") {
  const Bos<double> model(known_words, {.size = 4});
  // ove, <ov and so on; the most frequent come first: ove of all four words
  CHECK(model.rows()("zzovezz") == std::vector<std::int32_t>{1});
  CHECK(model.rows()("zzzz") == std::vector<std::int32_t>{0});
  for (std::size_t e = 0; e < 4; ++e) CHECK(model.vectors(Texts{"zzzz"}).data()[e] == 0);
  const Bos<double> hashed(known_words, {.size = 4, .buckets = 1000});
  CHECK(hashed.rows().size() == 1000);
  CHECK(hashed.rows()("ab") == std::vector<std::int32_t>{static_cast<std::int32_t>(fnv1a("<ab") % 1000),
                                                         static_cast<std::int32_t>(fnv1a("<ab>") % 1000),
                                                         static_cast<std::int32_t>(fnv1a("ab>") % 1000)});
  expect_error(
      ErrorKind::usage, [] { Bos<double>(known_words, {.size = 4, .shortest = 5, .longest = 4}); }, "shortest is 5, more than longest, 4");
  expect_error(
      ErrorKind::usage, [] { KvqFh<double>(known_words, {.size = 4, .shortest = 5, .longest = 4}, 1); }, "shortest is 5");
}

TEST_CASE("KVQ-FH: known substrings are used, all of a word that has none; large scores do not overflow") {
  const KvqFhSubstrings all(known_words, {}), few(known_words, {.known = 1});
  CHECK(all("oven") == Texts{"^ov", "^ove", "^oven", "ove", "oven", "oven@", "ven", "ven@", "en@"});  // without ^oven@
  CHECK(few("oven") == Texts{"ove"});
  CHECK(few("zz") == Texts{"^zz", "^zz@", "zz@"});
  auto model = tiny_kvq_fh<double>();
  for (double& x : std::span<double>(model.table.weight.mutable_value().mutable_data(), 120)) x *= 1000;
  const auto vectors = model.vectors(any_words);
  for (const double x : vectors.span()) CHECK(std::isfinite(x));
}

TEST_CASE("BoS, KVQ-FH: more substrings than a file can hold are refused before training") {
  Texts many;  // with few common substrings
  RandomStream random(1, 0);
  for (int i = 0; i < 85; ++i) {
    std::string& word = many.emplace_back();
    for (int c = 0; c < 100; ++c) word += static_cast<char>('a' + random.below(26));
  }
  expect_error(
      ErrorKind::usage, [&] { Bos<float>(many, {.size = 1, .longest = 100}); }, "let them share rows (buckets)");
  expect_error(
      ErrorKind::usage, [&] { KvqFh<float>(many, {.size = 1, .rows = 1, .known = 1 << 24, .longest = 100}, 1); }, "use fewer (known)");
}

TEST_CASE("EditDistance: the nearest known word, the first of equally near ones") {
  const auto model = tiny_edit_distance();
  CHECK(model.nearest("OVENS") == 1);
  CHECK(model.nearest("covn") == 2);
  CHECK(model.nearest("oveni") == 0);  // oven and ovens are at distance 1
  CHECK(model.nearest("ovec") == 0);   // and so is over
  CHECK(model.nearest("") == 0);
  CHECK(model.nearest(std::string(1000, 'x')) == 0);  // of 100 characters, none of them in a known word
  const auto vectors = model.vectors(Texts{"covem", "oven"});
  CHECK(std::vector<float>(vectors.span().begin(), vectors.span().end()) == std::vector<float>{2, 2, 1, 0});
  expect_error(
      ErrorKind::failure, [] { EditDistance{WordVectors()}; }, "there are no known words");
}

TEST_CASE("load_imputer: opens every kind of model, with the same vectors; other files are refused") {
  const TemporaryFolder folder;
  const std::string path = folder / "model.lxf";
  const auto check = [&](auto model, std::size_t size) {
    const auto before = model.vectors(any_words);
    model.save(path);
    const WordImputer imputer = load_imputer(path);
    CHECK(imputer.size() == size);
    const auto after = imputer.vectors(any_words);
    CHECK(after.shape() == Shape{any_words.size(), size});
    for (std::size_t e = 0; e < before.size(); ++e) CHECK(before.data()[e] == after.data()[e]);
    CHECK(imputer.vectors({}).shape() == Shape{0, size});
  };
  check(Love<float>(tiny_units(UnitMode::mixed), {.size = 12, .query_size = 4}, 4), 12);
  check(tiny_mimick<float>(), 4);
  check(tiny_bos<float>(), 4);
  check(tiny_bos<float>(11), 4);
  check(tiny_kvq_fh<float>(), 4);
  check(tiny_edit_distance(), 2);

  const auto refused = [&](ModelFile file, auto&& load, const char* part) {
    file.save(path);
    expect_error(
        ErrorKind::file, [&] { load(path); }, part);
  };
  const auto any = [](const std::string& file) { load_imputer(file); };
  refused(test::tiny_file(), any,
          "makes no vectors for words: its model_type is 'bert'; expected love, mimick, bos, kvq_fh or edit_distance");
  refused(
      tiny_bos<float>().file(), [](const std::string& file) { KvqFh<float>::load(file); }, "is no kvq_fh model: its model_type is 'bos'");
  auto file = tiny_bos<float>().file();
  file.metadata.erase("lexformer.substrings");
  refused(file, any, "lexformer.substrings is missing");
  file = tiny_bos<float>().file();
  file.metadata["lexformer.substrings"] += "more\n";
  refused(file, any, "lexformer.substrings does not fit its checksum");
  write_vocabulary(Vocabulary({"<ov", "more"}), "lexformer.substrings", file.metadata);
  refused(file, any, "bos.substrings");
  file = tiny_bos<float>().file();
  file.config["lexformer"]["bos"]["buckets"] = 1 << 24;  // more rows than the file has: no memory is allocated for them
  refused(file, any, "bos.substrings");
  file = tiny_kvq_fh<float>().file();
  file.config["lexformer"]["kvq_fh"]["rows"] = 1 << 24;
  refused(file, any, "kvq_fh.substrings.weight");
  file.config["lexformer"]["kvq_fh"]["rows"] = 0;
  refused(file, any, "rows");
  file = tiny_mimick<float>().file();
  file.config["lexformer"]["mimick"]["states"] = 1 << 16;
  refused(file, any, "mimick.lstm.forward.weight_hh");
  file = tiny_mimick<float>().file();
  file.tensors.erase("mimick.hidden.bias");
  refused(file, any, "mimick.hidden.bias");
  file = tiny_mimick<float>().file();
  file.tensors.set("mimick.more", Tensor<float>::from({1}, {1}));
  refused(file, any, "holds tensors that its options do not use: mimick.more");
  file = tiny_mimick<float>().file();
  file.vocabulary = Vocabulary();
  refused(file, any, "has no vocabulary");
  file = tiny_edit_distance().file();
  write_vocabulary(Vocabulary({"a", "b", "c", "d", "e"}), "lexformer.words", file.metadata);
  refused(file, any, "expected (5, dimension): one row for each word");
}
