// SPDX-License-Identifier: MIT
// MIMICK, BoS and KVQ-FH against an independent PyTorch program (tests/oracles/make_golden_imputers.py), in double.
#include <doctest/doctest.h>

#include "lexformer/words/bos.hpp"
#include "lexformer/words/kvq_fh.hpp"
#include "lexformer/words/mimick.hpp"
#include "models/golden.hpp"

using namespace lexformer;
using test::Golden;

namespace {

using Texts = std::vector<std::string>;

template <class Options>
Options imputer_options(const Golden& golden) {
  Options o;
  read_options(golden.about("options").dump(), "options", [&](OptionVisitor& v) { o.visit(v); });
  return o;
}

template <class Model>
void check_imputer(Golden& golden, Model model) {
  auto parameters = model.parameters();
  CHECK(test::count_names(golden.file, "start/") == parameters.size());
  for (auto& p : parameters) p.var.mutable_value().assign(golden.file.get<double>("start/" + p.name).span());
  const auto batches = golden.about("batches").get<std::vector<Texts>>();
  const std::array targets{Var<double>(golden.file.get<double>("targets")), Var<double>(golden.file.get<double>("second/targets"))};
  golden.check("vectors", model(batches[0]).value());
  golden.check("strange", model.vectors(golden.about("strange").get<Texts>()));

  AdamW<double> optimizer(parameters, {.lr = 2e-3, .eps = 1e-8, .weight_decay = 0});
  std::vector<double> losses;
  for (std::size_t k = 0; k < 10; ++k) {
    const auto loss = model.loss(targets[k % 2], model(batches[k % 2]));
    losses.push_back(loss.item());
    loss.backward();
    if (k == 0)
      for (const auto& p : parameters) golden.check("gradient/" + p.name, p.var.grad());
    optimizer.set_lr(2e-3 * std::pow(0.97, static_cast<double>(k / 2)));
    optimizer.step();
  }
  optimizer.state();  // brings rows up to date that had no gradient
  golden.check("losses", Tensor<double>::from(losses, {10}));
  for (const auto& p : parameters) golden.check("end/" + p.name, p.var.value());
  golden.check("end_vectors", model(batches[1]).value());
}

}  // namespace

TEST_CASE("MIMICK, BoS, KVQ-FH: vectors, losses, gradients and ten steps, as written out in PyTorch") {
  const double before = std::exchange(Golden::worst, 0.0);
  {
    Golden golden("mimick");
    const WordUnits units(Vocabulary(golden.about("vocab").get<Texts>()), {.mode = UnitMode::pieces});
    check_imputer(golden, Mimick<double>(units, imputer_options<MimickOptions>(golden), 1));
  }
  for (const char* name : {"bos", "bos_hashed"}) {
    CAPTURE(name);
    Golden golden(name);
    check_imputer(golden, Bos<double>(golden.about("learned").get<Texts>(), imputer_options<BosOptions>(golden)));
  }
  {
    Golden golden("kvq_fh");
    check_imputer(golden, KvqFh<double>(golden.about("learned").get<Texts>(), imputer_options<KvqFhOptions>(golden), 1));
  }
  MESSAGE("largest difference of all files: " << Golden::worst);
  Golden::worst = std::max(before, Golden::worst);
}
