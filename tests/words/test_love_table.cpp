// SPDX-License-Identifier: MIT
// Table A1's ways to shrink LOVE's table of units: a product of two matrices (rank), fewer rows by hashing (buckets).
#include <doctest/doctest.h>

#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/contrastive_loss.hpp"
#include "lexformer/words/love.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

const WordUnits& spelled_units(std::size_t buckets = 0) {
  static const Vocabulary tokens({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", "a", "b", "c", "ab", "##a", "##b", "##c"});
  static const WordUnits whole(tokens), shared(tokens, {.buckets = 3});
  return buckets > 0 ? shared : whole;
}
const LoveOptions factored{.size = 8, .rank = 3, .query_size = 4, .dropout = 0};
const std::vector<std::string> spellings{"ab", "abc", "cab"};

}  // namespace

TEST_CASE("LOVE: numbers of parameters of a table of rank h, and of one whose rows share buckets (Table A1)") {
  // V h + h D beside V D, of the paper's sizes; the rest of the model stays.
  const LoveOptions paper{.size = 300, .rows = 21257};
  auto decomposed = paper;
  decomposed.rank = 200;
  CHECK(love_table_weights(paper) == 6377100);
  CHECK(love_table_weights(decomposed) == 21257 * 200 + 200 * 300);
  CHECK(love_weights(paper) == love_weights(decomposed));
  for (const std::size_t rank : {std::size_t{0}, std::size_t{1}, std::size_t{8}}) {
    auto o = factored;
    o.rank = rank;
    Love<double> model(spelled_units(), o, 1);
    o.rank = 0;
    Love<double> plain(spelled_units(), o, 1);
    const std::size_t table = rank > 0 ? 12 * rank + rank * 8 : 12 * 8;
    CHECK(count(model.parameters()) == count(plain.parameters()) - 12 * 8 + table);
  }
  Love<double> shared(spelled_units(3), factored, 1);
  CHECK(shared.encoder().table.weight.shape() == Shape{5 + 3, 3});
}

TEST_CASE("LOVE: with rank D and the identity a factored table is the plain one; the factors give the vectors of their product") {
  auto o = factored;
  o.rank = 0;
  Love<double> plain(spelled_units(), o, 4);
  const auto expected = plain.vectors(spellings);
  const auto compare = [&](Love<double>& model, const Tensor<double>& table, const Tensor<double>& expansion) {
    for (auto& p : model.parameters())
      for (auto& q : plain.parameters())
        if (p.name == q.name && p.name != "love.units.weight") p.var.mutable_value().assign(q.var.value().span());
    model.encoder().table.weight.mutable_value().assign(table.span());
    model.encoder().expansion->mutable_value().assign(expansion.span());
    return model.vectors(spellings);
  };
  o.rank = 8;
  Love<double> full(spelled_units(), o, 9);
  auto identity = Tensor<double>::zeros({8, 8});
  for (std::size_t i = 0; i < 8; ++i) identity.mutable_data()[9 * i] = 1;
  const auto same = compare(full, plain.encoder().table.weight.value(), identity);
  for (std::size_t i = 0; i < same.size(); ++i) CHECK(same.data()[i] == doctest::Approx(expected.data()[i]).epsilon(1e-12));

  Love<double> model(spelled_units(), factored, 9);
  const auto u = model.encoder().table.weight.value().clone(), m = model.encoder().expansion->value().clone();
  plain.encoder().table.weight.mutable_value().assign(matmul(Var<double>(u), Var<double>(m)).value().span());
  const auto product = plain.vectors(spellings), factors = compare(model, u, m);
  for (std::size_t i = 0; i < product.size(); ++i) CHECK(factors.data()[i] == doctest::Approx(product.data()[i]).epsilon(1e-12));
  // [PAD] is a row of zeros; the rows of U M have variance 1 at the start, as those of the plain table.
  for (std::size_t j = 0; j < 3; ++j) CHECK(u.at(0, j) == 0);
  Love<double> wide(spelled_units(), {.size = 400, .rank = 100, .query_size = 4}, 2);
  const auto rows = matmul(Var<double>(wide.encoder().table.weight.value()), Var<double>(wide.encoder().expansion->value())).value();
  double squares = 0;
  for (std::size_t i = 400; i < rows.size(); ++i) squares += rows.data()[i] * rows.data()[i];
  CHECK(squares / static_cast<double>(rows.size() - 400) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("LOVE: gradients of the two factors of the table") {
  Love<double> model(spelled_units(), factored, 6);
  Tensor<double> targets({3, 8});
  RandomStream random(3, random_site::user);
  for (std::size_t i = 0; i < targets.size(); ++i) targets.mutable_data()[i] = random.normal();
  std::vector<Var<double>> inputs{model.encoder().table.weight, *model.encoder().expansion};
  const std::vector<std::int32_t> words{0, 1, 2};
  const auto result = gradcheck([&] { return nt_xent(Var<double>(targets), model(spellings), words, 0.5); }, inputs);
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("LOVE: a factored table is saved and loaded; what does not fit is refused") {
  Love<float> model(spelled_units(), factored, 7);
  const Love<float> again(model.file());
  CHECK(again.options().rank == 3);
  const auto a = model.vectors(spellings), b = again.vectors(spellings);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a.data()[i] - b.data()[i]) < 1e-6f);
  auto file = model.file();
  file.tensors.erase("love.expansion");
  expect_error(
      ErrorKind::file, [&] { Love<float> damaged(file); }, "love");
  file = model.file();
  file.config["lexformer"]["love"]["rank"] = 0;
  expect_error(
      ErrorKind::file, [&] { Love<float> damaged(file); }, "love");
  auto o = factored;
  o.rank = 9;
  expect_error(
      ErrorKind::usage, [&] { Love<float>(spelled_units(), o, 1); }, "rank is 9, more than the size 8");
}
