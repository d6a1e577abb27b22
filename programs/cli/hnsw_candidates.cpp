// SPDX-License-Identifier: MIT
// Blocking by dense vectors for millions of records: approximately nearest rows by an HNSW graph (Malkov & Yashunin, IEEE TPAMI 42(4),
// 2020) of hnswlib, which is used if it is installed when the program is built. Its header defines global variables, so one unit has it.
#include "cli/hnsw_candidates.hpp"

#include <lexformer/core/parallel.hpp>
#include <lexformer/ops/rows.hpp>
#include <lexformer/tables/vector_candidates.hpp>

#include "cli/program.hpp"

#if __has_include(<hnswlib/hnswlib.h>)
#include <hnswlib/hnswlib.h>
#define LEXFORMER_HNSWLIB 1
#else
#define LEXFORMER_HNSWLIB 0
#endif

namespace program {

#if LEXFORMER_HNSWLIB
/// For each row of `queries` the approximately `top` nearest rows by cosine, as pairs (query, row), of cosines above 0. `same`: both are
/// one list, and a row is not a neighbour of itself. The graph is built by one thread, so that it does not depend on their number.
static std::vector<lx::Candidate> hnsw_neighbours(const lx::Tensor<float>& queries, const lx::Tensor<float>& rows, bool same,
                                                  std::size_t top, const std::function<void(double done)>& progress) {
  const std::size_t n = rows.dim(0), d = rows.dim(1), width = std::min(top, n) + (same ? 1 : 0);
  hnswlib::InnerProductSpace space(d);
  hnswlib::HierarchicalNSW<float> graph(&space, std::max<std::size_t>(n, 1), 16, 200);
  graph.setEf(std::max<std::size_t>(200, 4 * width));
  for (std::size_t i = 0; i < n; ++i) {
    graph.addPoint(rows.data() + i * d, i);
    if (progress && (i + 1) % 1024 == 0) progress(0.8 * static_cast<double>(i + 1) / static_cast<double>(n));
  }
  std::vector<std::vector<lx::Candidate>> found(queries.dim(0));
  lx::parallel_for(found.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (auto nearest = graph.searchKnn(queries.data() + i * d, std::min(width, n)); !nearest.empty(); nearest.pop()) {
        const auto [distance, row] = nearest.top();  // the largest distance, 1 - cosine
        if (distance < 1 && !(same && row == i))
          found[i].push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(row),
                              lx::cosine_score(1 - distance, queries.data() + i * d, rows.data() + row * d, d)});
      }
  });
  std::vector<lx::Candidate> all;
  for (auto& list : found) {
    if (list.size() > top) list.erase(list.begin());  // a row that was not found among its own neighbours
    all.insert(all.end(), list.begin(), list.end());
  }
  if (progress) progress(1);
  return all;
}
#endif

std::vector<lx::Candidate> hnsw_candidates(const lx::Tensor<float>& left, const lx::Tensor<float>* right, std::size_t top,
                                           const std::function<void(double done)>& progress) {
#if LEXFORMER_HNSWLIB
  const lx::NoGrad no_grad;
  const auto unit = [](const lx::Tensor<float>& x) { return lx::l2_normalize(lx::Var<float>(x)).value(); };
  const auto half = [&](double begin) -> std::function<void(double)> {
    if (!progress) return {};
    return [&progress, begin](double done) { progress(begin + 0.5 * done); };
  };
  const auto a = unit(left);
  if (right == nullptr) {
    auto pairs = hnsw_neighbours(a, a, true, top, progress);
    for (auto& pair : pairs)
      if (pair.left > pair.right) std::swap(pair.left, pair.right);
    return lx::merge_candidates(pairs, {});
  }
  const auto b = unit(*right);
  const auto of_left = hnsw_neighbours(a, b, false, top, half(0));
  auto of_right = hnsw_neighbours(b, a, false, top, half(0.5));
  for (auto& pair : of_right) std::swap(pair.left, pair.right);
  return lx::merge_candidates(of_left, of_right);
#else
  static_cast<void>(left), static_cast<void>(right), static_cast<void>(top), static_cast<void>(progress);
  lx::fail_usage("--approximate", "this program was built without hnswlib; install it (Debian: libhnswlib-dev) and build again");
#endif
}

}  // namespace program
