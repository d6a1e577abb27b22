// SPDX-License-Identifier: MIT
// The conditional random field against the CPU: labels around the size of a warp, sequences of one and of many tokens, forbidden labels.
#include "lexformer/ops/crf.hpp"
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

TEST_CASE_TEMPLATE("cuda: the conditional random field, its gradients and its best paths", A, float, double) {
  for (const std::size_t labels : {1u, 2u, 9u, 31u, 33u})
    for (const auto& lengths : {std::vector<std::size_t>{1}, {3, 1, 5, 2}, {40, 7, 1, 1, 23, 12}})
      for (const bool forbidden : {false, true}) {
        CAPTURE(labels);
        CAPTURE(lengths.size());
        CAPTURE(forbidden);
        const Offsets offsets = Offsets::from_lengths(lengths);
        const std::size_t tokens = offsets.tokens(), sequences = offsets.sequences();
        auto weights = random_values<A>(labels * labels, 1);
        if (forbidden && labels > 2)
          for (std::size_t i = 0; i < labels; ++i)
            weights[i * labels + 1] = -std::numeric_limits<A>::infinity();  // label 1 only at the start
        std::vector<std::int32_t> y;
        for (std::size_t t = 0; t < tokens; ++t) y.push_back(static_cast<std::int32_t>(labels > 2 ? 2 * (t % 2) : 0));
        compare<A>(
            [&](auto device) {
              using Dev = decltype(device);
              const Array<A, Dev> emissions(random_values<A>(tokens * labels)), transitions(weights), start(random_values<A>(labels, 2)),
                  end(random_values<A>(labels, 3));
              const Array<std::int32_t, Dev> given(y), best(zeros<std::int32_t>(tokens));
              const Array<A, Dev> alpha(zeros<A>(tokens * labels)), beta(zeros<A>(tokens * labels)), log_z(zeros<A>(sequences)),
                  loss(zeros<A>(1)), dy(std::vector<A>{A(0.5)});
              const Array<A, Dev> dx(zeros<A>(tokens * labels)), da(zeros<A>(labels * labels)), db(zeros<A>(labels)), de(zeros<A>(labels));
              const auto begins = offsets.template on<Dev>();
              const CrfArgs<A> args{sequences,          tokens,       labels,    begins.token.data(), emissions.data(),
                                    transitions.data(), start.data(), end.data()};
              Kernels<Dev>::crf_forward(args, given.data(), alpha.data(), log_z.data(), loss.data());
              Kernels<Dev>::crf_grad(args, given.data(), alpha.data(), log_z.data(), dy.data(), beta.data(),
                                     CrfGrads<A>{dx.data(), da.data(), db.data(), de.data()});
              Kernels<Dev>::crf_decode(args, best.data());
              return joined(log_z.values(), loss.values(), dx.values(), da.values(), db.values(), de.values(), best.values());
            },
            sizeof(A) == 4 ? 2e-5 : 1e-12);
      }
}

TEST_CASE("cuda: of equally good paths, crf_decode takes the CPU's") {
  const Offsets offsets = Offsets::from_lengths(std::vector<std::size_t>{4, 9, 1});
  compare<float>([&](auto device) {
    using Dev = decltype(device);
    std::vector<float> scores = random_values<float>(offsets.tokens() * 5);
    for (float& x : scores) x = std::round(x);  // many are equal
    const auto leaf = [](const std::vector<float>& values, Shape shape) {
      return Var<float, Dev>(Tensor<float>::from(values, shape).template to<Dev>());
    };
    std::vector<float> steps = random_values<float>(25, 1);
    for (float& x : steps) x = std::round(x);
    const auto zero = leaf(zeros<float>(5), {5});
    return joined(crf_decode(leaf(scores, {offsets.tokens(), 5}), offsets, leaf(steps, {5, 5}), zero, zero));
  });
}
