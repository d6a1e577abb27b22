// SPDX-License-Identifier: MIT
#include <algorithm>

#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

TEST_CASE_TEMPLATE("cuda: rows of a table, and their gradient", T, float, double, bfloat16) {
  // Tables of one row (one id in all chunks), of two rows, of as many rows as ids, and of more.
  for (const std::size_t count : {1u, 2u, 31u, 32u, 33u, 64u, 127u, 300u, 1000u, 2100u})
    for (const std::size_t rows : {std::size_t{1}, std::size_t{2}, std::size_t{17}, count, 3 * count})
      for (const std::size_t n : {1u, 5u, 130u}) {
        if ((n == 130 && count > 100) || (count == 2100 && (n != 5 || rows > 2))) continue;
        CAPTURE(count);
        CAPTURE(rows);
        CAPTURE(n);
        const auto ids_ = random_ids(count, rows);
        compare<T>(
            [&](auto device) {
              using Dev = decltype(device);
              const Array<std::int32_t, Dev> ids(ids_);
              const Array<T, Dev> table(random_values<T>(rows * n)), y(zeros<T>(count * n));
              const Array<T, Dev> gradient(random_values<T>(rows * n));  // is overwritten
              const std::vector<RowLookup<T>> lookups{{ids.data(), table.data()}};
              Kernels<Dev>::gather_sum(count, n, nullptr, lookups, y.data());
              const std::vector<RowLookupGrad<T>> gradients{{rows, ids.data(), gradient.data()}};
              Kernels<Dev>::gather_sum_grad(count, n, y.data(), gradients);
              return joined(gradient.values(), y.values());
            },
            50 * tolerance<T>);
      }
  // Gradients that do not begin at a pack; ids in many chunks, more of them than a warp has lanes; rows in the order of ids and in reverse.
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    const std::size_t count = 2000, rows = kind == 0 ? 2 : 700, n = 7;
    auto ids_ = random_ids(count, rows);
    if (kind == 1) std::fill(ids_.begin() + 50, ids_.end() - 50, 5);
    if (kind >= 2) std::sort(ids_.begin(), ids_.end());
    if (kind == 3) std::reverse(ids_.begin(), ids_.end());
    compare<T>(
        [&](auto device) {
          using Dev = decltype(device);
          const Array<std::int32_t, Dev> ids(ids_);
          const Array<T, Dev> dy(random_values<T>(count * n)), gradient(random_values<T>(1 + rows * n));
          const std::vector<RowLookupGrad<T>> gradients{{rows, ids.data(), gradient.data() + 1}};
          Kernels<Dev>::gather_sum_grad(count, n, dy.data(), gradients);
          return gradient.values();
        },
        10 * tolerance<T>);
  }
  const Array<T, Cuda> nothing({}), gradient(std::vector<T>(3, T{1}));
  const Array<std::int32_t, Cuda> none({});
  OnCuda::gather_sum_grad(0, 3, nothing.data(), std::vector<RowLookupGrad<T>>{{1, none.data(), gradient.data()}});
  CHECK(gradient.values() == std::vector<T>(3, T{0}));
}

TEST_CASE_TEMPLATE("cuda: sums of rows of up to four tables, and their gradients", T, float, double, bfloat16) {
  const std::size_t rows[] = {300, 2, 64, 1};
  for (const std::size_t count : {1u, 33u, 500u})
    for (std::size_t tables = 1; tables <= most_row_lookups; ++tables)
      for (const bool with_base : {false, true}) {
        CAPTURE(count);
        CAPTURE(tables);
        compare<T>(
            [&](auto device) {
              using Dev = decltype(device);
              const std::size_t n = 40;
              std::vector<Array<std::int32_t, Dev>> ids;
              std::vector<Array<T, Dev>> arrays;
              std::vector<RowLookup<T>> lookups;
              std::vector<RowLookupGrad<T>> gradients;
              ids.reserve(tables);  // the arrays stay where they are
              arrays.reserve(2 * tables);
              for (std::size_t k = 0; k < tables; ++k) {
                ids.emplace_back(random_ids(count, rows[k]));
                arrays.emplace_back(random_values<T>(rows[k] * n, static_cast<std::uint32_t>(k)));
                lookups.push_back({ids.back().data(), arrays.back().data()});
                arrays.emplace_back(random_values<T>(rows[k] * n));
                gradients.push_back({rows[k], ids.back().data(), arrays.back().data()});
              }
              const Array<T, Dev> base(random_values<T>(count * n, 9)), y(zeros<T>(count * n));
              Kernels<Dev>::gather_sum(count, n, with_base ? base.data() : nullptr, lookups, y.data());
              Kernels<Dev>::gather_sum_grad(count, n, y.data(), gradients);
              auto all = joined(y.values());
              for (std::size_t k = 0; k < tables; ++k) {
                const auto gradient = joined(arrays[2 * k + 1].values());
                all.insert(all.end(), gradient.begin(), gradient.end());
              }
              return all;
            },
            100 * tolerance<T>);
      }
}

TEST_CASE_TEMPLATE("cuda: columns by number", T, float, double, bfloat16) {
  for (const std::size_t count : {1u, 33u, 400u})
    for (const std::size_t n : {1u, 7u, 64u}) {
      CAPTURE(count);
      CAPTURE(n);
      compare<T>(
          [&](auto device) {
            using Dev = decltype(device);
            const Array<std::int32_t, Dev> columns(random_ids(count, n));
            using A = accumulate_t<T>;
            const Array<T, Dev> x(random_values<T>(3 * n)), y(zeros<T>(3 * count));
            const Array<A, Dev> gradient(random_values<A>(3 * n));
            Kernels<Dev>::gather_columns(3, n, count, x.data(), columns.data(), y.data());
            Kernels<Dev>::scatter_add_columns(3, n, count, y.data(), columns.data(), gradient.data());
            return joined(y.values(), gradient.values());
          },
          20 * tolerance<accumulate_t<T>>);
    }
}

TEST_CASE_TEMPLATE("cuda: means, maxima and windows of sequences, rotary positions, distances", T, float, double, bfloat16) {
  const std::vector<std::size_t> begins = {0, 1, 8, 9, 42};
  for (const std::size_t n : {1u, 33u, 300u})
    compare<T>([&](auto device) {
      using Dev = decltype(device);
      const Array<std::size_t, Dev> begin(begins);
      const Array<T, Dev> x(random_values<T>(42 * n)), y(zeros<T>(4 * n));
      Kernels<Dev>::sequence_mean(4, n, begin.data(), x.data(), y.data());
      Kernels<Dev>::sequence_mean_grad(4, n, begin.data(), y.data(), x.data());
      return joined(y.values(), x.values());
    });
  for (const std::size_t n : {1u, 33u, 300u}) {
    auto values = random_values<T>(42 * n);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = i % 61 == 60 ? static_cast<T>(NAN) : static_cast<T>(std::round(2 * static_cast<double>(values[i])));  // many are equal
    compare<T>(
        [&](auto device) {
          using Dev = decltype(device);
          const Array<std::size_t, Dev> begin(begins);
          const Array<T, Dev> x(values), y(zeros<T>(4 * n)), dy(random_values<T>(4 * n, 1));
          const Array<std::int32_t, Dev> index(zeros<std::int32_t>(4 * n)), rows({3, 41, 0, 8});
          Kernels<Dev>::sequence_max(4, n, begin.data(), x.data(), y.data(), index.data());
          Kernels<Dev>::sequence_max_grad(4, n, begin.data(), index.data(), dy.data(), x.data());
          const auto dx = x.values();
          Kernels<Dev>::place_rows(4, n, dy.data(), rows.data(), x.data());
          const auto placed = x.values();
          Kernels<Dev>::place_rows(2, n, static_cast<const T*>(nullptr), rows.data(), x.data());
          return joined(y.values(), index.values(), dx, placed, x.values());
        },
        0);
    for (const auto& [before, after] : {std::pair<std::size_t, std::size_t>{1, 2}, {0, 0}, {0, 4}, {40, 1}})
      compare<T>([&, before = before, after = after](auto device) {
        using Dev = decltype(device);
        const std::size_t width = before + 1 + after;
        const Array<std::size_t, Dev> begin(begins);
        const Array<T, Dev> x(random_values<T>(42 * n)), y(zeros<T>(42 * width * n)), dy(random_values<T>(42 * width * n, 1));
        const Array<T, Dev> dx(std::vector<T>(42 * n, T{99}));
        Kernels<Dev>::window(4, n, before, after, begin.data(), x.data(), y.data());
        Kernels<Dev>::window_grad(4, n, before, after, begin.data(), dy.data(), dx.data());
        return joined(y.values(), dx.values());
      });
  }
  for (const std::size_t d : {2u, 6u, 32u})
    for (const int direction : {1, -1})
      compare<T>([&](auto device) {
        using Dev = decltype(device);
        using A = accumulate_t<T>;
        const Array<std::int32_t, Dev> positions(random_ids(35, 20));
        const Array<A, Dev> turn(random_values<A>(20 * d));
        const Array<T, Dev> x(random_values<T>(35 * 9 * d, 1)), y(zeros<T>(35 * 9 * d));
        Kernels<Dev>::rotary(35, 3, d, turn.data(), positions.data(), static_cast<A>(direction), x.data(), y.data());
        return y.values();
      });
  for (const std::size_t n : {1u, 2u, 33u})
    compare<T>([&](auto device) {
      using Dev = decltype(device);
      const Array<double, Dev> slopes({0.5, 0.25, 1.0 / 3});
      const Array<T, Dev> y(zeros<T>(3 * n * n));
      Kernels<Dev>::distance_bias(3, n, slopes.data(), y.data());
      return y.values();
    });
}
