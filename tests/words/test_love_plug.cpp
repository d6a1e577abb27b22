// SPDX-License-Identifier: MIT
// LOVE plugged into BERT: tokens, embeddings in each mode, gradients, files, caches, refusals.
#include "lexformer/words/love_plug.hpp"

#include "lexformer/models/contextual_vectors.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "models/tiny.hpp"
#include "support/directions.hpp"

using namespace lexformer;

namespace {

template <class T>
Love<T> tiny_love(std::size_t size = 12, std::uint64_t seed = 3) {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]"};
  for (char c = 'a'; c <= 'z'; ++c) tokens.insert(tokens.end(), {std::string(1, c), std::string("##") + c});
  return Love<T>(WordUnits(Vocabulary(tokens)), {.size = size, .query_size = 4}, seed);
}

template <class T = double>
CrossEncoder<T> plugged(const LovePlugOptions& plug = {}, const CrossEncoderOptions& options = {}) {
  auto model = test::tiny_model<T>(options, Json::object(), 1, false);
  plug_in(model, tiny_love<T>(12), plug);
  model.calibrate(test::tiny_batch(model));
  return model;
}

ImputedWords imputed_words(const Batch& batch) { return std::any_cast<ImputedWords>(batch.extras.at("love")); }

/// The rows of the word table that a batch reads, after the plug.
template <class T>
Tensor<T> word_rows(const CrossEncoder<T>& model, const Batch& batch) {
  const NoGrad no_grad;
  const DeviceBatch<T> inputs(batch);
  const auto& embeddings = model.encoder().embeddings;
  const auto rows = embeddings.word(inputs.ids);
  return embeddings.plug ? (*embeddings.plug)(rows, inputs, {}).value() : rows.value();
}

}  // namespace

TEST_CASE("whole words: a word of several pieces is one token with its offsets; truncation comes after it") {
  const auto tokenizer = make_tokenizer(test::tiny_file());
  auto whole = tokenizer;
  whole.keep_whole([](std::u32string_view) { return true; });
  const std::string text = "listen, books case";
  const auto a = tokenizer.encode(text, 20), b = whole.encode(text, 20);
  // [CLS] list ##en [UNK] book ##s case [SEP]
  CHECK(a.ids.size() == 8);
  CHECK(b.ids == std::vector<std::int32_t>{2, 1, 1, 1, 12, 3});
  CHECK(b.word_ids == std::vector<std::int32_t>{-1, 0, 1, 2, 3, -1});
  CHECK(b.offsets[1] == std::pair<std::uint32_t, std::uint32_t>{0, 6});
  CHECK(b.offsets[3] == std::pair<std::uint32_t, std::uint32_t>{8, 13});
  for (const Encoding& e : {a, b}) {
    std::vector<int> pieces;
    for (const Word& word : e.words) pieces.push_back(word.pieces);
    CHECK(pieces == std::vector<int>{2, 1, 2, 1});
  }
  CHECK(b.text(b.words[2]) == U"books");
  CHECK(whole.encode(text, 5).ids == std::vector<std::int32_t>{2, 1, 1, 1, 3});  // truncated by words
  CHECK(whole.encode("case for black", 20).ids == tokenizer.encode("case for black", 20).ids);
  const auto pair = whole.encode_pair("listen books", "books case", 7);
  CHECK(pair.ids == std::vector<std::int32_t>{2, 1, 1, 3, 1, 12, 3});
}

TEST_CASE("keep_digits: words with a digit keep their pieces") {
  const Vocabulary vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "book", "##s", "##4", "x"});
  const auto imputed = [&](const Encoding& e, bool keep_digits) {
    Batch batch;
    imputed_words_feature(-1, keep_digits)(std::span(&e, 1), batch);
    return imputed_words(batch);
  };
  const std::string text = "books books4 x4 x";
  const auto pieces = Tokenizer(vocabulary).encode(text, 20);
  CHECK(imputed(pieces, true).words == std::vector<std::string>{"books"});
  CHECK(imputed(pieces, true).tokens == std::vector<std::int32_t>{1, 2});
  CHECK(imputed(pieces, false).words == std::vector<std::string>{"books", "books4", "x4"});
  Tokenizer tokenizer(vocabulary);
  tokenizer.keep_whole([](std::u32string_view word) { return !has_digit(word); });
  const auto whole = tokenizer.encode(text, 20);
  CHECK(whole.ids == std::vector<std::int32_t>{2, 1, 5, 6, 7, 8, 7, 8, 3});
  CHECK(imputed(whole, true).tokens == std::vector<std::int32_t>{1});
  WordFrequencies all(tokenizer, 20), cut(tokenizer, 5);  // 5: books4 loses ##4
  for (auto* words : {&all, &cut}) words->add(std::span(&text, 1));
  CHECK(all.frequent(1) == std::vector<std::string>{"books", "books4", "x", "x4"});
  CHECK(cut.frequent(1) == std::vector<std::string>{"books"});
}

TEST_CASE("a plugged model: the embeddings of each mode are their formulas") {
  const auto love = tiny_love<double>();
  const auto plain = test::tiny_model<double>();
  const auto plain_batch = test::tiny_batch(plain);
  const auto base = word_rows(plain, plain_batch);
  const auto table = plain.encoder().embeddings.word.weight.value();
  for (const auto mode : {LoveMode::replace, LoveMode::add, LoveMode::linear})
    for (const bool train : {false, true}) {
      CAPTURE(name_of(mode));
      const auto model = plugged({.mode = mode, .train = train});
      const auto batch = test::tiny_batch(model);
      const ImputedWords imputed = imputed_words(batch);
      const auto rows = word_rows(model, batch);
      CHECK(imputed.words == std::vector<std::string>{"blk", "listen", "kase", "blacks", "creen", "books"});
      const auto vectors = love.vectors(imputed.words);
      std::size_t k = 0;
      for (std::size_t t = 0; t < batch.ids.size(); ++t) {
        const bool is_imputed = k < imputed.tokens.size() && imputed.tokens[k] == static_cast<std::int32_t>(t);
        for (std::size_t j = 0; j < 12; ++j) {
          const double e = table.at(static_cast<std::size_t>(batch.ids[t]), j);
          const double v = is_imputed ? vectors.at(static_cast<std::size_t>(imputed.word_of[k]), j) : 0;
          // The gate starts at 0, so half of the sum is the vector's.
          const double expected = !is_imputed ? e : mode == LoveMode::replace ? v : mode == LoveMode::add ? e + v : (e + v) / 2;
          CHECK(rows.at(t, j) == doctest::Approx(expected).epsilon(1e-12));
        }
        k += is_imputed ? 1 : 0;
      }
      CHECK(k == imputed.tokens.size());
      CHECK(k == (mode == LoveMode::replace ? 7 : 14));  // words; pieces
      if (mode == LoveMode::replace) {
        CHECK(batch.ids.size() == plain_batch.ids.size() - 7);
      } else {
        CHECK(batch.ids == plain_batch.ids);
      }
    }
}

TEST_CASE("a plugged model is the plain one, to the bit, on words of one piece; unknown words on request") {
  const auto plain = test::tiny_model<float>();
  const std::vector<std::pair<std::string, std::string>> whole{{"sony camera", "a lens"}, {"unheard words", "for a book"}};
  const auto expected = plain.logits(whole);
  for (const auto mode : {LoveMode::replace, LoveMode::add, LoveMode::linear}) {
    CAPTURE(name_of(mode));
    const auto same = plugged<float>({.mode = mode, .rescale = LoveRescale::mean_norm}).logits(whole);
    CHECK(std::equal(same.span().begin(), same.span().end(), expected.span().begin()));
    const auto with_unknown = plugged<float>({.mode = mode, .unk = true}).logits(whole);
    CHECK(std::equal(with_unknown.span().begin(), with_unknown.span().begin() + 2, expected.span().begin()));
    CHECK(with_unknown.at(1, 0) != expected.at(1, 0));
  }
}

TEST_CASE("a plugged model: rescaled vectors have the mean length of the rows of whole words") {
  const auto model = plugged({.rescale = LoveRescale::mean_norm});
  const auto& table = model.encoder().embeddings.word.weight.value();
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < model.tokenizer().vocabulary().size(); ++i) {
    const std::string& token = model.tokenizer().vocabulary().token(static_cast<std::int32_t>(i));
    if (token.size() < 2 || token.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != token.npos) continue;
    double squares = 0;
    for (std::size_t j = 0; j < 12; ++j) squares += table.at(i, j) * table.at(i, j);
    sum += std::sqrt(squares);
    ++count;
  }
  const auto batch = test::tiny_batch(model);
  const auto rows = word_rows(model, batch);
  const auto t = static_cast<std::size_t>(imputed_words(batch).tokens[0]);
  double squares = 0;
  for (std::size_t j = 0; j < 12; ++j) squares += rows.at(t, j) * rows.at(t, j);
  CHECK(std::sqrt(squares) == doctest::Approx(sum / count).epsilon(1e-6));
}

TEST_CASE("a plugged model: gradients of all parameters, LOVE's too if it is trained") {
  const test::Threads one(1);
  for (const auto mode : {LoveMode::replace, LoveMode::add, LoveMode::linear})
    for (const bool train : {false, true}) {
      CAPTURE(name_of(mode));
      CAPTURE(train);
      auto model = plugged({.mode = mode, .rescale = LoveRescale::mean_norm, .train = train}, test::with_lea());
      RandomStream random(8, random_site::user);
      auto parameters = model.parameters();
      std::size_t of_love = 0;
      for (auto& p : parameters)
        if (p.name.starts_with("lexformer.encoder.love.")) {
          ++of_love;
          if (p.name.ends_with("gate"))
            for (double& x : p.var.mutable_value().mutable_span()) x = random.normal();
        }
      CHECK(of_love == (train ? 11u : 0u) + (mode == LoveMode::linear ? 1u : 0u));
      const auto batch = test::tiny_batch(model, 2, 6);
      std::vector<Var<double>> inputs;
      for (const auto& p : parameters)
        if (p.name.starts_with("lexformer.encoder.love.") || p.name.find("word_embeddings") != p.name.npos) inputs.push_back(p.var);
      const auto result = test::check_directions([&] { return test::loss_of(model, batch, {.training = true, .seed = 1}); }, inputs);
      CHECK_MESSAGE(result.ok, result.message);
    }
}

TEST_CASE("a trained plug has gradients, of 0, also from a batch without words of several pieces") {
  auto model = plugged({.mode = LoveMode::linear, .train = true});
  const auto batch = test::tiny_batch(model, 1, 2);
  CHECK(imputed_words(batch).words.empty());
  const auto plain = test::tiny_model<double>();
  CHECK(word_rows(model, batch).to_vector() == word_rows(plain, test::tiny_batch(plain, 1, 2)).to_vector());
  test::loss_of(model, batch, {}).backward();
  for (const auto& p : model.parameters()) {
    CAPTURE(p.name);
    REQUIRE(p.var.grad().defined());
    if (!p.name.starts_with("lexformer.encoder.love.")) continue;
    const auto grad = p.var.grad().to_vector();
    CHECK(std::all_of(grad.begin(), grad.end(), [](double g) { return g == 0; }));
  }
}

TEST_CASE("a plugged model is saved with LOVE, loaded and restored; fixed vectors follow a restore") {
  const TemporaryFolder folder;
  for (const auto mode : {LoveMode::replace, LoveMode::linear})
    for (const bool train : {false, true}) {
      CAPTURE(name_of(mode));
      CAPTURE(train);
      auto model = plugged<float>({.mode = mode, .rescale = LoveRescale::mean_norm, .train = train, .unk = true, .keep_digits = train},
                                  test::with_lea());
      const auto scores = model.logits(test::pairs).to_vector();
      const std::string path = folder.path / "m.lxf";
      model.save(path);
      const auto loaded = CrossEncoder<float>::load(path);
      CHECK(loaded.logits(test::pairs).to_vector() == scores);
      CHECK(loaded.tokenizer().is_whole(U"listen") == (mode == LoveMode::replace));
      CHECK(loaded.tokenizer().is_whole(U"a4") == (mode == LoveMode::replace && !train));
      CHECK(loaded.config().attention.size() == 1);
      auto again = CrossEncoder<float>::load(path, test::with_lea());  // for training: the plug stays
      CHECK(again.new_tensors().empty());
      const auto& added = model.new_tensors();
      CHECK(std::count(added.begin(), added.end(), "lexformer.encoder.love.gate") == (mode == LoveMode::linear ? 1 : 0));
      CHECK(std::count(added.begin(), added.end(), "lexformer.encoder.love.units.weight") == (train ? 1 : 0));
      CHECK(again.parameters().size() == model.parameters().size());
      auto other = test::tiny_model<float>(test::with_lea(), Json::object(), 5, false);
      plug_in(other, tiny_love<float>(12, 9), {.mode = mode, .rescale = LoveRescale::mean_norm, .train = train, .unk = true});
      other.calibrate(test::tiny_batch(other));
      CHECK(other.logits(test::pairs).to_vector() != scores);
    }
  auto a = plugged<float>(), b = plugged<float>();
  for (auto& p : a.state())
    if (p.name == "lexformer.encoder.love.norm.bias")
      for (float& x : p.var.mutable_value().mutable_span()) x += 0.5f;
  a.encoder().embeddings.plug->reset();  // the parameters were changed behind its back
  const auto scores = a.logits(test::pairs).to_vector();
  CHECK(b.logits(test::pairs).to_vector() != scores);  // fills the cache
  b.restore(a.file());
  CHECK(b.logits(test::pairs).to_vector() == scores);
}

TEST_CASE("a plug is refused: another size, a damaged description, a batch of another tokenizer") {
  auto model = test::tiny_model<double>();
  expect_error(
      ErrorKind::usage, [&] { plug_in(model, tiny_love<double>(16)); },
      "tiny.lxf: its word embeddings have 12 numbers, LOVE's vectors 16; train LOVE on vectors of this size, e.g. on the model's "
      "own words: train_love with the targets tiny.lxf");
  const auto encodings = std::vector{model.tokenizer().encode("listen", 9)};
  const Batch batch = make_batch(encodings);
  plug_in(model, tiny_love<double>());
  CHECK_THROWS_WITH_AS(model(batch), doctest::Contains("which words have several pieces"), Error);

  expect_error(
      ErrorKind::usage, [&] { plug_in(model, tiny_love<double>()); }, "has 'love' plugged in already");
  ModelFile damaged = plugged<float>().file();
  damaged.tensors.erase("lexformer.encoder.love.units.weight");
  CHECK_THROWS_WITH_AS(CrossEncoder<float>(damaged, CrossEncoderOptions{}), doctest::Contains("units.weight' is missing"), Error);
  const auto with = [&](const std::function<void(ModelFile&)>& edit) {
    ModelFile file = plugged<float>().file();
    edit(file);
    return CrossEncoder<float>(file);
  };
  CHECK_NOTHROW(with([](ModelFile&) {}));
  CHECK_THROWS_WITH_AS(with([](ModelFile& f) { f.config["lexformer"]["love"]["plug"]["mode"] = "none"; }), doctest::Contains("mode"),
                       Error);
  CHECK_THROWS_WITH_AS(with([](ModelFile& f) { f.config["lexformer"]["love"]["plug"].erase("length"); }), doctest::Contains("length"),
                       Error);
  CHECK_THROWS_WITH_AS(with([](ModelFile& f) { f.config["lexformer"]["love"]["love"]["size"] = 1 << 16; }), doctest::Contains("weights"),
                       Error);
  CHECK_THROWS_WITH_AS(with([](ModelFile& f) { f.config["lexformer"]["love"]["love"]["size"] = 10; }), doctest::Contains("12 numbers"),
                       Error);
  CHECK_THROWS_WITH_AS(with([](ModelFile& f) { f.metadata.erase("lexformer.love_vocab"); }), doctest::Contains("love_vocab is missing"),
                       Error);
  CHECK_THROWS_WITH_AS(
      with([](ModelFile& f) { std::swap(f.metadata["lexformer.love_vocab"][40], f.metadata["lexformer.love_vocab"][44]); }),
      doctest::Contains("checksum"), Error);
  expect_file_error([&] { with([](ModelFile& f) { f.config["lexformer"]["love"]["love"]["size"] = 10; }); }, "plug 'love' 10");
  CHECK_THROWS_WITH_AS(with([](ModelFile& f) { f.config["lexformer"]["love"] = 1; }), doctest::Contains("this model does not use"), Error);
}
