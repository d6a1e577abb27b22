// SPDX-License-Identifier: MIT
// Sums of looked-up rows, and their gradients without atomics. The gradient takes three launches for all tables (blockIdx.z selects one).
// The rows are sorted by id (stable), and the sorted list is split into chunks. A block sums the rows of each id in its chunk. If all rows
// of an id are in one chunk, the sum is its gradient; else the sums of the chunks are stored and added afterwards, in a fixed order. Thus a
// table of two rows (token types) gives as much parallel work as one of 30,000.
#include "device.cuh"
#include "instances.hpp"
#include "lexformer/kernels/cuda.hpp"

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

/// The sorted list of a table's rows.
struct Sorted {
  std::size_t count;
  const std::int32_t *ids, *order;
  __device__ std::size_t row(std::size_t p) const { return static_cast<std::size_t>(order[p]); }
  __device__ std::int32_t id(std::size_t p) const { return ids[row(p)]; }
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
  std::int32_t* orders;  // (tables, count)

  __device__ const RowLookupGrad<T>& lookup() const { return lookups.at[blockIdx.z]; }
  __device__ std::int32_t* order() const { return orders + blockIdx.z * count; }
  __device__ Sorted sorted() const { return {count, lookup().ids, order()}; }
  /// Where its sums of chunks begin.
  __device__ std::size_t first_sum() const { return std::size_t{blockIdx.z} * gridDim.x * n; }
  template <class A>
  __device__ void write(std::int32_t id, std::size_t j, A sum) const {
    lookup().gradient[static_cast<std::size_t>(id) * n + j] = static_cast<T>(sum);
  }
};

/// order[p] = the p-th row in the order of ids. The position of a row is the number of rows with a smaller id, or the same id and a smaller
/// index. One warp per row. Also sets the gradients to 0.
template <class T>
__global__ void sort_rows_kernel(Tables<T> tables) {
  const auto [rows, ids, gradient] = tables.lookup();
  for (std::size_t i = first_row(); i < tables.count; i += row_step()) {
    const std::int32_t id = ids[i];
    std::uint32_t before = 0;
    for (std::size_t j = threadIdx.x; j < tables.count; j += Warp::threads) before += ids[j] < id || (ids[j] == id && j < i);
    before = Warp::sum(before);
    if (threadIdx.x == 0) tables.order()[before] = static_cast<std::int32_t>(i);
  }
  for (std::size_t e = first_row() * Warp::threads + threadIdx.x; e < rows * tables.n; e += row_step() * Warp::threads) gradient[e] = T{0};
}

/// head[c] = the sum of the first id of chunk c if it continues from the previous chunk; tail[c] = the sum of the last id if it starts in
/// chunk c and continues in the next. The other sums are gradients.
template <class T, class A>
__global__ void sum_chunks_kernel(Tables<T> tables, const T* dy, A* heads, A* tails) {
  const Sorted sorted = tables.sorted();
  const std::size_t n = tables.n, c = blockIdx.x, begin = c * chunk_rows, end = sorted.end(c);
  A *const head = heads + tables.first_sum(), *const tail = tails + tables.first_sum();
  for (std::size_t j = blockIdx.y * blockDim.x + threadIdx.x; j < n; j += std::size_t{gridDim.y} * blockDim.x) {
    A sum{};
    std::size_t first = begin;  // first row of the current id
    for (std::size_t p = begin; p < end; ++p) {
      const std::int32_t id = sorted.id(p);
      sum += static_cast<A>(dy[sorted.row(p) * n + j]);
      if (p + 1 < end && sorted.id(p + 1) == id) continue;
      if (first == begin && sorted.goes_on_from(c)) {
        head[c * n + j] = sum;
      } else if (p + 1 == end && sorted.goes_on_from(c + 1)) {
        tail[c * n + j] = sum;
      } else {
        tables.write(id, j, sum);
      }
      sum = A{};
      first = p + 1;
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
  std::size_t end = c + 1;  // the last chunk that begins with the id, by bisection
  for (std::size_t beyond = gridDim.x; beyond - end > 1;) {
    const std::size_t middle = end + (beyond - end) / 2;
    (sorted.id(middle * chunk_rows) == id ? end : beyond) = middle;
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

template <class T>
void IndexKernels<Cuda>::gather_sum(std::size_t count, std::size_t n, const std::type_identity_t<T>* base,
                                    const std::vector<RowLookup<T>>& lookups, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(count, n);
  launch(LEXFORMER_KERNEL(gather_sum_kernel<T>), by_rows.grid, by_rows.block, 0, count, n, base, KernelList(lookups), y);
}

template <class T>
void IndexKernels<Cuda>::gather_sum_grad(std::size_t count, std::size_t n, const T* dy, const std::vector<RowLookupGrad<T>>& lookups) {
  using namespace cuda;
  using A = accumulate_t<T>;
  if (n == 0) return;
  const std::size_t chunks = (count + chunk_rows - 1) / chunk_rows, sums = lookups.size() * chunks * n;
  const Temporary<std::int32_t> orders(lookups.size() * count);
  const Temporary<A> heads(sums), tails(sums);
  const Tables<T> tables{count, n, KernelList(lookups), orders.data()};
  std::size_t most = count;  // rows of a warp: one to sort, and 32 to set to 0
  for (const auto& lookup : lookups) most = std::max(most, lookup.rows * n / (32 * Warp::threads));
  const auto z = static_cast<unsigned>(lookups.size());
  launch(LEXFORMER_KERNEL(sort_rows_kernel<T>), dim3(std::max(blocks_for(most, Warp::rows), 1u), 1, z), dim3(Warp::threads, Warp::rows), 0,
         tables);
  const unsigned threads = n <= 32 ? 32 : 128;
  launch(LEXFORMER_KERNEL(sum_chunks_kernel<T, A>), dim3(static_cast<unsigned>(chunks), blocks_for(n, threads), z), dim3(threads), 0,
         tables, dy, heads.data(), tails.data());
  launch(LEXFORMER_KERNEL(join_chunks_kernel<T, A>), dim3(static_cast<unsigned>(chunks), blocks_for(n, join_columns), z),
         dim3(join_columns, join_parts), 0, tables, static_cast<const A*>(heads.data()), static_cast<const A*>(tails.data()));
}

LEXFORMER_GATHER_INSTANCES(float)
LEXFORMER_GATHER_INSTANCES(double)
LEXFORMER_GATHER_INSTANCES(bfloat16)

}  // namespace lexformer
