// SPDX-License-Identifier: MIT
// The terms that limit what a token sees, and rotary positions with two bases.
#include "lexformer/attention/reach.hpp"

#include <doctest/doctest.h>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/attention/terms.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/io/json.hpp"
#include "support/batches.hpp"
#include "support/random_tensor.hpp"

using namespace lexformer;

namespace {

/// A factory with options.
template <class Factory>
std::vector<PlacedTerm<double, Cpu>> make(const Json& options, std::size_t layers) {
  Factory factory;
  TermConfig("x", JsonValue(options)).set([&](OptionVisitor& v) { factory.visit(v); }, "test");
  Init init(1);
  DropoutSites sites{0, 100};
  return factory.make({layers, 2, 8, 64, 1e-12}, init, sites);
}

}  // namespace

TEST_CASE("reach: a query sees what its definition says, and the probabilities of that add up to 1") {
  const DeviceBatch<double> batch(test::batch_of_lengths({7, 1, 4}));
  const Var<double> qkv(test::random_tensor<double>({12, 12}, 3), true);
  for (const bool causal : {false, true})
    for (const std::size_t distance : {0u, 1u, 2u, 5u, 6u, 50u}) {
      CAPTURE(causal);
      CAPTURE(distance);
      const Reach<double> reach(causal, distance);
      const auto run = [&](const Var<double>& x) {
        ScoreTerms<double> terms;
        reach.contribute({x, batch, 2, {}}, terms);
        return attention(x, batch.offsets, 2, terms, {.attentions = Attentions::probabilities});
      };
      const auto p = run(qkv).attentions.value();
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t s = 0; s < 3; ++s)
          for (std::size_t i = 0, n = batch.offsets.length(s); i < n; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < n; ++j) {
              const double value = p.at(h, batch.offsets.pair_begin(s) + i * n + j);
              const std::size_t far = i > j ? i - j : j - i;
              CHECK((value > 0) == (!(causal && j > i) && (distance == 0 || far <= distance)));
              sum += value;
            }
            CHECK(sum == doctest::Approx(1.0));
          }
      if (distance == 2 || distance == 0) {
        const auto context = [&](const std::vector<Var<double>>& x) { return run(x[0]).context; };
        CHECK(gradcheck(context, {qkv.value()}).ok);
      }
    }
}

TEST_CASE("reach, rope_by_layer: which layers see any distance, and which have which base") {
  const auto distances = [](const Json& options) {
    std::vector<std::size_t> all;
    for (const auto& placed : make<ReachFactory<double, Cpu>>(options, 5))
      all.resize(placed.layer ? *placed.layer + 1 : 5, dynamic_cast<const Reach<double>&>(*placed.term).distance);
    return all;
  };
  CHECK(distances({{"distance", 4u}}) == std::vector<std::size_t>{4, 4, 4, 4, 4});
  CHECK(distances({{"distance", 4u}, {"every", 3u}}) == std::vector<std::size_t>{0, 4, 4, 0, 4});
  CHECK(distances({{"distance", 4u}, {"every", 1u}}) == std::vector<std::size_t>{0, 0, 0, 0, 0});
  std::vector<double> bases;
  for (const auto& placed : make<RopeByLayerFactory<double, Cpu>>({{"base", 50.0}, {"local_base", 7.0}, {"every", 2u}}, 4))
    bases.push_back(dynamic_cast<const Rope<double>&>(*placed.term).base);
  CHECK(bases == std::vector<double>{50, 7, 50, 7});
}
