// SPDX-License-Identifier: MIT
#include "lexformer/core/broadcast.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

#include "../support/error_message.hpp"

using namespace lexformer;

namespace {

/// The index in an operand of element `flat` of a result of this shape, by NumPy's rule.
std::size_t source(std::size_t flat, const Shape& result, const Shape& operand) {
  std::size_t at = 0, stride = 1;
  for (std::size_t k = 1; k <= result.rank(); ++k) {
    const std::size_t i = flat % result[result.rank() - k];
    flat /= result[result.rank() - k];
    if (k > operand.rank()) continue;
    const std::size_t size = operand[operand.rank() - k];
    at += (size == 1 ? 0 : i) * stride;
    stride *= size;
  }
  return at;
}

}  // namespace

TEST_CASE("a broadcast finds the elements of its operands by numpy's rule") {
  static_assert(std::is_trivially_copyable_v<Broadcast>);
  struct Case {
    Shape a, b, result;
  };
  for (const Case& c : std::vector<Case>{{{}, {}, {}},
                                         {{3}, {}, {3}},
                                         {{2, 3}, {3}, {2, 3}},
                                         {{2, 1, 3}, {4, 1}, {2, 4, 3}},
                                         {{1, 5}, {4, 1}, {4, 5}},
                                         {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
                                         {{0, 3}, {1, 3}, {0, 3}},
                                         {{2, 0}, {2, 1}, {2, 0}}}) {
    const Broadcast plan("op", c.a, c.b);
    CHECK(plan.shape() == c.result);
    CHECK(plan.rows() * plan.last() == c.result.size());
    std::size_t wrong = 0;
    for (std::size_t r = 0; r < plan.rows(); ++r)
      for (std::size_t j = 0; j < plan.last(); ++j) {
        const std::size_t flat = r * plan.last() + j;
        wrong += plan.row(r).a + j * plan.step_a() != source(flat, c.result, c.a);
        wrong += plan.row(r).b + j * plan.step_b() != source(flat, c.result, c.b);
      }
    CHECK(wrong == 0);
  }
  CHECK(test::error_message([] {
          Broadcast("add", {2, 3}, {2});
        }) == "add: shapes (2, 3) and (2,) do not broadcast: 3 against 2; axes are matched from the last one");
}
