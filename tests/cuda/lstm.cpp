// SPDX-License-Identifier: MIT
// The step of an LSTM against the CPU: states around the sizes of warps and blocks, and sums where the gates saturate.
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

TEST_CASE_TEMPLATE("cuda: an LSTM step, forward and backward", T, float, double, bfloat16) {
  using A = accumulate_t<T>;
  for (const std::size_t rows : {1u, 5u, 40u})
    for (const std::size_t n : {1u, 31u, 33u, 150u, 300u})
      for (const double size : {1.0, 30.0}) {
        CAPTURE(rows);
        CAPTURE(n);
        CAPTURE(size);
        auto sums = random_values<A>(rows * 4 * n);
        for (A& x : sums) x *= static_cast<A>(size);
        compare<T>(
            [&](auto device) {
              using Dev = decltype(device);
              const Array<A, Dev> gates(sums), before(random_values<A>(rows * n, 1)), c(zeros<A>(rows * n));
              const Array<A, Dev> dh(random_values<A>(rows * n, 2)), dc(random_values<A>(rows * n, 3));
              const Array<T, Dev> h(zeros<T>(rows * n)), dy(random_values<T>(rows * n, 4)), dgates(zeros<T>(rows * 4 * n));
              Kernels<Dev>::lstm_step(rows, n, before.data(), gates.data(), c.data(), h.data());
              Kernels<Dev>::lstm_step_grad(rows, n, gates.data(), before.data(), c.data(), dy.data(), dh.data(), dc.data(), dgates.data());
              return joined(gates.values(), c.values(), h.values(), dc.values(), dgates.values());
            },
            tolerance<T>);
      }
}
