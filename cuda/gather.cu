// SPDX-License-Identifier: MIT
// Sums of looked-up rows, and their gradients without atomics. The gradient takes three launches for all tables (blockIdx.z selects one).
// The rows are sorted by id (stable), and the sorted list is split into chunks. A block sums the rows of each id in its chunk. If all rows
// of an id are in one chunk, the sum is its gradient; else the sums of the chunks are stored and added afterwards, in a fixed order. Thus a
// table of two rows (token types) gives as much parallel work as one of 30,000.
#include <limits>

#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"
#include "packs.cuh"

namespace lexformer {
namespace cuda {
namespace {

/// A list as a kernel's parameter.
template <class Item>
struct KernelList {
  std::size_t count;
  Item at[most_row_lookups];
  explicit KernelList(const std::vector<Item>& items) : count(items.size()), at{} {
    if (count > most_row_lookups) fail("cuda", count, " lookups in one call, expected at most ", most_row_lookups);
    std::copy(items.begin(), items.end(), at);
  }
};

template <class T>
__global__ void gather_sum_kernel(std::size_t count, std::size_t n, const T* base, KernelList<RowLookup<T>> lookups, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t i = first_row(); i < count; i += row_step()) {
    const T* row[most_row_lookups];
    for (std::size_t k = 0; k < most_row_lookups; ++k)
      row[k] = k < lookups.count ? lookups.at[k].table + static_cast<std::size_t>(lookups.at[k].ids[i]) * n : nullptr;
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) {
      A sum = static_cast<A>(base == nullptr ? row[0][j] : base[i * n + j]);
      for (std::size_t k = 0; k < most_row_lookups; ++k)
        if (k < lookups.count && (k > 0 || base != nullptr)) sum += static_cast<A>(row[k][j]);
      y[i * n + j] = static_cast<T>(sum);
    }
  }
}

inline constexpr std::size_t chunk_rows = 32;

/// The list of a table's rows, sorted by id.
struct Sorted {
  std::size_t count;
  const std::int32_t *rows, *ids;
  __device__ std::int32_t id(std::size_t p) const { return ids[p]; }
  __device__ std::size_t end(std::size_t chunk) const {
    const std::size_t end = (chunk + 1) * chunk_rows;
    return end < count ? end : count;
  }
  /// Whether the first id of a chunk is also the last id of the previous chunk.
  __device__ bool goes_on_from(std::size_t chunk) const {
    const std::size_t begin = chunk * chunk_rows;
    return begin > 0 && begin < count && id(begin - 1) == id(begin);
  }
};

/// The gradients of the tables; each function is about the table of the block.
template <class T>
struct Tables {
  std::size_t count, n;
  KernelList<RowLookupGrad<T>> lookups;
  std::int32_t* lists;  // of each table, `count` rows and their ids

  /// Chosen without an index, for which the list would be copied to local memory.
  __device__ RowLookupGrad<T> lookup() const {
    RowLookupGrad<T> chosen = lookups.at[0];
    LEXFORMER_UNROLL
    for (unsigned k = 1; k < most_row_lookups; ++k) {
      const RowLookupGrad<T> other = lookups.at[k];
      if (blockIdx.z == k) chosen = other;
    }
    return chosen;
  }
  __device__ std::int32_t* rows() const { return lists + std::size_t{blockIdx.z} * 2 * count; }
  __device__ std::int32_t* ids() const { return rows() + count; }
  __device__ Sorted sorted() const { return {count, rows(), ids()}; }
  /// Where its sums of chunks begin.
  __device__ std::size_t first_sum() const { return std::size_t{blockIdx.z} * gridDim.x * n; }
  template <class A>
  __device__ void write(std::int32_t id, std::size_t j, A sum) const {
    lookup().gradient[static_cast<std::size_t>(id) * n + j] = static_cast<T>(sum);
  }
};

inline constexpr unsigned rows_of_warp = 4, zero_packs = 8;

/// Sorts the rows. The position of a row is the number of rows with a smaller id, or the same id and a smaller index. A warp counts for
/// four rows at once. That is quadratic in the rows, in one launch without a buffer: 802,622 instructions of warps for 2,048 rows
/// (tests/golden/ptx_instructions.tsv), so about 51 million for 16,384. First it sets its part of the gradients to 0, about `zero_packs`
/// packs per thread: those stores need not be waited for.
template <class T>
__global__ void sort_rows_kernel(Tables<T> tables) {
  const auto table = tables.lookup();
  const std::int32_t* const ids = table.ids;
  T* const gradient = table.gradient;
  const std::size_t elements = table.rows * tables.n, packs = packs_of<T>(elements, gradient);
  const std::size_t thread = first_row() * Warp::threads + threadIdx.x, threads = row_step() * Warp::threads;
  for (std::size_t i = thread; i < packs; i += threads) store_pack(Pack<T>{}, gradient + i * Pack<T>::size);
  for (std::size_t e = packs * Pack<T>::size + thread; e < elements; e += threads) gradient[e] = T{0};

  for (std::size_t i = first_row() * rows_of_warp; i < tables.count; i += row_step() * rows_of_warp) {
    std::int32_t id[rows_of_warp];
    std::uint32_t before[rows_of_warp] = {};
    LEXFORMER_UNROLL
    for (unsigned q = 0; q < rows_of_warp; ++q) id[q] = ids[i + q < tables.count ? i + q : i];
    // Counts the rows begin ... end - 1 whose id is smaller than id + more.
    const auto count_smaller = [&](std::size_t begin, std::size_t end, std::int32_t more) {
      constexpr unsigned together = 8;
      LEXFORMER_NO_UNROLL
      for (std::size_t j = begin + threadIdx.x; j < end; j += together * Warp::threads) {
        std::int32_t other[together];
        LEXFORMER_UNROLL
        for (unsigned k = 0; k < together; ++k) {
          const std::size_t at = j + k * Warp::threads;
          other[k] = ids[at < end ? at : j];
          if (at >= end) other[k] = std::numeric_limits<std::int32_t>::max();
        }
        LEXFORMER_UNROLL
        for (unsigned k = 0; k < together; ++k) {
          LEXFORMER_UNROLL
          for (unsigned q = 0; q < rows_of_warp; ++q) before[q] += other[k] < id[q] + more;
        }
      }
    };
    count_smaller(0, i, 1);
    count_smaller(i, tables.count, 0);
    LEXFORMER_UNROLL
    for (unsigned q = 0; q < rows_of_warp; ++q) {
      before[q] = Warp::sum(before[q]);
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < q; ++k) before[q] += id[k] == id[q];
      if (threadIdx.x == q && i + q < tables.count) {
        tables.rows()[before[q]] = static_cast<std::int32_t>(i + q);
        tables.ids()[before[q]] = id[q];
      }
    }
  }
}

/// head[c] = the sum of the first id of chunk c if it continues from the previous chunk; tail[c] = the sum of the last id if it starts in
/// chunk c and continues in the next. The other sums are gradients.
template <class T, class A>
__global__ void sum_chunks_kernel(Tables<T> tables, const T* dy, A* heads, A* tails) {
  constexpr unsigned together = 8;  // rows whose loads do not wait for each other
  __shared__ std::int32_t rows[chunk_rows], ids[chunk_rows];
  const Sorted sorted = tables.sorted();
  const std::size_t n = tables.n, c = blockIdx.x, begin = c * chunk_rows;
  const auto count = static_cast<unsigned>(sorted.end(c) - begin);
  if (threadIdx.x < count) {
    rows[threadIdx.x] = sorted.rows[begin + threadIdx.x];
    ids[threadIdx.x] = sorted.ids[begin + threadIdx.x];
  }
  const bool from_last = sorted.goes_on_from(c), into_next = sorted.goes_on_from(c + 1);
  __syncthreads();
  A *const head = heads + tables.first_sum(), *const tail = tails + tables.first_sum();
  for (std::size_t j = blockIdx.y * blockDim.x + threadIdx.x; j < n; j += std::size_t{gridDim.y} * blockDim.x) {
    A sum{};
    bool first = true;  // the first id of the chunk
    LEXFORMER_NO_UNROLL
    for (unsigned part = 0; part < count; part += together) {
      T values[together];
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < together; ++k) values[k] = dy[static_cast<std::size_t>(rows[part + k < count ? part + k : part]) * n + j];
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < together; ++k) {
        const unsigned p = part + k;
        if (p >= count) break;
        sum += static_cast<A>(values[k]);
        if (p + 1 < count && ids[p + 1] == ids[p]) continue;
        if (first && from_last) {
          head[c * n + j] = sum;
        } else if (p + 1 == count && into_next) {
          tail[c * n + j] = sum;
        } else {
          tables.write(ids[p], j, sum);
        }
        sum = A{};
        first = false;
      }
    }
  }
}

inline constexpr unsigned join_columns = 32, join_parts = 8;

/// For each id that starts in a chunk and continues: adds its tail and the heads of the following chunks. The heads are divided into parts;
/// one row of threads adds up a part, and then the parts are added in order: a few ids of many rows (token types) would else be one long
/// chain of additions.
template <class T, class A>
__global__ void join_chunks_kernel(Tables<T> tables, const A* heads, const A* tails) {
  __shared__ A parts[join_parts][join_columns];
  const Sorted sorted = tables.sorted();
  const std::size_t n = tables.n, c = blockIdx.x, last = sorted.end(c) - 1;
  const std::int32_t id = sorted.id(last);
  if (!sorted.goes_on_from(c + 1) || (sorted.id(c * chunk_rows) == id && sorted.goes_on_from(c))) return;
  const A *const head = heads + tables.first_sum(), *const tail = tails + tables.first_sum();
  // The last chunk that begins with the id. The lanes of a warp test as many chunks at once.
  std::size_t end = c + 1;
  for (std::size_t beyond = gridDim.x; beyond - end > 1;) {
    const std::size_t step = (beyond - end + Warp::threads - 1) / Warp::threads, chunk = end + threadIdx.x * step;
    const unsigned others = ~__ballot_sync(all_lanes, chunk < beyond && sorted.id(chunk * chunk_rows) == id);
    const std::size_t found = others == 0 ? Warp::threads : static_cast<std::size_t>(__ffs(others)) - 1;  // at least one
    end += (found - 1) * step;
    beyond = end + step < beyond ? end + step : beyond;
  }
  ++end;
  const std::size_t each = (end - c - 1 + join_parts - 1) / join_parts;
  const std::size_t part_begin = c + 1 + threadIdx.y * each, part_end = part_begin + each < end ? part_begin + each : end;
  for (std::size_t first = blockIdx.y * join_columns; first < n; first += std::size_t{gridDim.y} * join_columns) {
    const std::size_t j = first + threadIdx.x;
    A sum{};
    if (j < n)
      for (std::size_t next = part_begin; next < part_end; ++next) sum += head[next * n + j];
    __syncthreads();  // the parts of the last columns have been read
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && j < n) {
      A total = tail[c * n + j];
      for (unsigned part = 0; part < join_parts; ++part) total += parts[part][threadIdx.x];
      tables.write(id, j, total);
    }
  }
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void IndexKernels<Cuda>::gather_sum(std::size_t count, std::size_t n, const std::type_identity_t<T>* base,
                                    const std::vector<RowLookup<T>>& lookups, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(count, n);
  launch(LEXFORMER_KERNEL(gather_sum_kernel<T>), by_rows.grid, by_rows.block, 0, count, n, base, KernelList(lookups), y);
}

template <>
template <class T>
void IndexKernels<Cuda>::gather_sum_grad(std::size_t count, std::size_t n, const T* dy, const std::vector<RowLookupGrad<T>>& lookups) {
  using namespace cuda;
  using A = accumulate_t<T>;
  if (n == 0) return;
  const std::size_t chunks = (count + chunk_rows - 1) / chunk_rows, sums = lookups.size() * chunks * n;
  const Temporary<std::int32_t> lists(lookups.size() * 2 * count);
  const Temporary<A> heads(sums), tails(sums);
  const Tables<T> tables{count, n, KernelList(lookups), lists.data()};
  std::size_t warps = (count + rows_of_warp - 1) / rows_of_warp;
  for (const auto& lookup : lookups) warps = std::max(warps, lookup.rows * n / (zero_packs * Pack<T>::size * Warp::threads));
  const auto z = static_cast<unsigned>(lookups.size());
  launch(LEXFORMER_KERNEL(sort_rows_kernel<T>), dim3(std::max(blocks_for(warps, Warp::rows), 1u), 1, z), dim3(Warp::threads, Warp::rows), 0,
         tables);
  const unsigned threads = n <= 32 ? 32 : 128;
  launch(LEXFORMER_KERNEL(sum_chunks_kernel<T, A>), dim3(static_cast<unsigned>(chunks), blocks_for(n, threads), z), dim3(threads), 0,
         tables, dy, heads.data(), tails.data());
  launch(LEXFORMER_KERNEL(join_chunks_kernel<T, A>), dim3(static_cast<unsigned>(chunks), blocks_for(n, join_columns), z),
         dim3(join_columns, join_parts), 0, tables, static_cast<const A*>(heads.data()), static_cast<const A*>(tails.data()));
}

LEXFORMER_GATHER_INSTANCES(, Cuda, float)
LEXFORMER_GATHER_INSTANCES(, Cuda, double)
LEXFORMER_GATHER_INSTANCES(, Cuda, bfloat16)

}  // namespace lexformer
