// SPDX-License-Identifier: MIT
// Parallel loops over fixed blocks. The partition depends only on the size of the work, not on the number of threads, so results
// have the same bits for 1, 2 or 64 threads. Without OpenMP the blocks run serially.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace lexformer {

namespace detail {
inline std::atomic<int>& thread_limit() {
  static std::atomic<int> limit{0};  // 0 = OpenMP's default
  return limit;
}
}  // namespace detail

/// Sets the number of threads for parallel_for; 0 = OpenMP's default (OMP_NUM_THREADS, else all cores). At most max(64, number of
/// processors) are used: more are not faster, and OpenMP terminates the program if it cannot start them.
inline void set_threads(int threads) { detail::thread_limit() = threads; }
inline int threads() {
#if defined(_OPENMP)
  static const int most = std::max(64, omp_get_num_procs());
  const int limit = detail::thread_limit();
  return std::min(most, limit > 0 ? limit : omp_get_max_threads());
#else
  return 1;
#endif
}

/// Calls body(begin, end) for the blocks [0, block), [block, 2 block), ... of [0, count), in any order and on any thread.
/// Rethrows the first exception of a block after all running blocks have ended. A nested call runs serially.
template <class Body>
void parallel_for(std::size_t count, std::size_t block, Body&& body) {
  if (block == 0) block = 1;
  const std::size_t blocks = (count + block - 1) / block;
#if defined(_OPENMP)
  if (blocks > 1 && threads() > 1 && !omp_in_parallel()) {
    std::exception_ptr error;
    std::atomic<bool> failed{false};
#pragma omp parallel for schedule(dynamic) num_threads(threads())
    for (std::size_t b = 0; b < blocks; ++b) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        body(b * block, std::min(count, (b + 1) * block));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
#endif
  for (std::size_t b = 0; b < blocks; ++b) body(b * block, std::min(count, (b + 1) * block));
}

}  // namespace lexformer
