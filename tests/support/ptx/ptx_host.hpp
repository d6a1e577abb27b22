// SPDX-License-Identifier: MIT
// What the C++ that ptx_to_cpp.py makes of PTX calls, and how a test runs it: a program linked with that C++ and ptx_host.cpp runs nvcc's
// code in place of each kernel that the stand-in for CUDA's runtime would run.
//
//   * An access to global or shared memory must be aligned to its size, inside one block of device memory or the block's shared memory.
//   * Shared memory is filled with NaN at the start of each block.
//   * A kernel of which there is no translation is an error, and so is one whose parameters have another size than nvcc gave them.
// It does not show what ptxas makes of the PTX, nor how a GPU schedules threads, nor caches.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda_runtime.h"

namespace ptx_host {

using std::int16_t, std::int32_t, std::int64_t, std::int8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;

struct Translation {
  const char* name;  // mangled as by the host's compiler
  const char* set;   // "": used unless the chosen set has the kernel too
  const char* file;
  void (*run)(const unsigned char* parameters);
  std::size_t parameter_bytes, shared_bytes;
};
struct Registration {
  Registration(const Translation& translation);  // NOLINT(google-explicit-constructor)
};

/// From now on the kernels of that set are run in place of those of the same name without a set. "": no set.
void choose_set(const std::string& set);
/// How many kernels are translated, without those of sets, and how many of them have been launched.
std::size_t translated();
std::size_t launched();

/// Instructions of PTX. Of a warp: the most that one of its threads ran, summed over all warps.
struct Counts {
  std::string kernel;  // readable name with its template arguments, without parameters
  std::size_t launches = 0, blocks = 0;
  std::uint64_t instructions = 0, global_accesses = 0, shared_accesses = 0, matrix_products = 0;
};
/// The counts since the last call, by kernel in the order of names.
std::vector<Counts> take_counts();

// ---- called by translated kernels

/// Ends the launch with an error that names the line of the PTX.
[[noreturn]] void fault(const char* what, std::uint64_t address, std::size_t bytes, int line);

void enter();
void leave(const uint64_t (&counted)[2]);

struct Window {
  uint64_t begin = 0, end = 0;
};
inline Window window;                          // the block of device memory that was used last
inline unsigned char* shared_begin = nullptr;  // of the running block
inline std::size_t shared_size = 0;
void find_window(uint64_t address, std::size_t bytes, int line);

inline unsigned char* global(uint64_t address, std::size_t bytes, int line) {
  if (address < window.begin || address + bytes > window.end) find_window(address, bytes, line);
  if (address % bytes != 0) fault("misaligned access to global memory", address, bytes, line);
  return reinterpret_cast<unsigned char*>(address);
}
/// What an asynchronous copy of 16 bytes reads: their first `bytes`.
inline unsigned char* copied(uint64_t address, std::size_t bytes, int line) {
  if (bytes > 16) fault("asynchronous copy of more than 16 bytes", address, bytes, line);
  if (bytes > 0 && (address < window.begin || address + bytes > window.end)) find_window(address, bytes, line);
  if (address % 16 != 0) fault("misaligned access to global memory", address, 16, line);
  return reinterpret_cast<unsigned char*>(address);
}
inline unsigned char* shared(uint64_t address, std::size_t bytes, int line) {
  address = static_cast<uint32_t>(address);
  if (address % bytes != 0) fault("misaligned access to shared memory", address, bytes, line);
  if (address + bytes > shared_size) fault("access outside of shared memory", address, bytes, line);
  return shared_begin + address;
}
inline unsigned char* part(unsigned char* begin, std::size_t size, const char* what, uint64_t address, std::size_t bytes, int line) {
  if (address % bytes != 0 || address + bytes > size) fault(what, address, bytes, line);
  return begin + address;
}
inline uint64_t pointer(const unsigned char* p) { return reinterpret_cast<uint64_t>(p); }
inline unsigned char* generic(unsigned char* local, std::size_t local_bytes, uint64_t address, std::size_t bytes, int line) {
  if (address - pointer(shared_begin) < shared_size) return shared(address - pointer(shared_begin), bytes, line);
  if (address - pointer(local) < local_bytes)
    return part(local, local_bytes, "wrong access to local memory", address - pointer(local), bytes, line);
  return global(address, bytes, line);
}
#define global_ld(address, bytes, line) global(address, bytes, line)
#define global_st(address, bytes, line) global(address, bytes, line)
#define shared_ld(address, bytes, line) shared(address, bytes, line)
#define shared_st(address, bytes, line) shared(address, bytes, line)
#define local_ld(address, bytes, line) part(local, local_bytes, "wrong access to local memory", address, bytes, line)
#define local_st local_ld
#define generic_ld(address, bytes, line) generic(local, local_bytes, address, bytes, line)
#define generic_st generic_ld
#define param_ld(address, bytes, line) \
  part(const_cast<unsigned char*>(parameters), parameter_bytes, "wrong access to the parameters", address, bytes, line)
#define shared_base() pointer(shared_begin)
#define local_base() pointer(local)

template <class T>
T read(const unsigned char* from, std::size_t offset) {
  T value;
  std::memcpy(&value, from + offset, sizeof(T));
  return value;
}
template <class T>
void write(unsigned char* to, std::size_t offset, T value) {
  std::memcpy(to + offset, &value, sizeof(T));
}

// Division by 0 is not defined in PTX, and nvcc may compute what it does not use.
template <class T>
T quotient(T x, T y) {
  return y == 0                                           ? static_cast<T>(-1)
         : std::is_signed_v<T> && y == static_cast<T>(-1) ? static_cast<T>(0 - static_cast<uint64_t>(x))
                                                          : static_cast<T>(x / y);
}
template <class T>
T remainder(T x, T y) {
  return y == 0 ? x : std::is_signed_v<T> && y == static_cast<T>(-1) ? T{0} : static_cast<T>(x % y);
}
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
template <class T>
T high_part(T x, T y) {
  using Wide = std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, int128, uint128>,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  return static_cast<T>((static_cast<Wide>(x) * static_cast<Wide>(y)) >> (8 * sizeof(T)));
}
template <class T>
T shl(T x, uint32_t count) {
  return count >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<uint64_t>(x) << count);
}
template <class T>
T shr(T x, uint32_t count) {
  constexpr uint32_t bits = 8 * sizeof(T);
  return count < bits ? static_cast<T>(x >> count) : static_cast<T>(std::is_signed_v<T> && x < 0 ? -1 : 0);
}
inline float nearest(float x) { return std::nearbyint(x); }
inline double nearest(double x) { return std::nearbyint(x); }
/// To an integer; NaN becomes 0, and what is too large the nearest number of the type.
template <class T, class Float>
T saturated(Float x) {
  if (!(x == x)) return 0;
  const auto limit = std::ldexp(Float{1}, static_cast<int>(8 * sizeof(T)) - (std::is_signed_v<T> ? 1 : 0));
  if (x >= limit) return std::numeric_limits<T>::max();
  if (x <= (std::is_signed_v<T> ? -limit : Float{0})) return std::numeric_limits<T>::min();
  return static_cast<T>(x);
}
/// Rounds to nearest, ties to even; NaN becomes 0x7FFF.
inline uint32_t bfloat16_bits(float x) {
  const auto all = std::bit_cast<uint32_t>(x);
  return x == x ? (all + 0x7FFFu + (all >> 16 & 1u)) >> 16 : 0x7FFFu;
}
inline uint32_t bfloat16_pair(float high, float low) { return bfloat16_bits(high) << 16 | bfloat16_bits(low); }
/// About 1 / x: the lower half of the bits is 0.
inline double reciprocal(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(1 / x) & 0xFFFFFFFF00000000u); }
inline float power_of_two(float x) {
  const float y = std::exp2(std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x);
  return y < std::numeric_limits<float>::min() ? 0.0f : y;
}
inline uint32_t reversed_bits(uint32_t x) {
  uint32_t y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
  return y;
}
/// By how much the highest bit must be shifted to the top.
inline uint32_t shift_to_top(uint32_t x) { return x == 0 ? 0xFFFFFFFFu : static_cast<uint32_t>(std::countl_zero(x)); }
/// x's lowest bits in place of `count` bits of y from `position` on.
inline uint32_t insert_bits(uint32_t x, uint32_t y, uint32_t position, uint32_t count) {
  position &= 255u;
  count &= 255u;
  if (position >= 32 || count == 0) return y;
  const auto mask = static_cast<uint32_t>(((uint64_t{1} << std::min(count, 32u)) - 1) << position);
  return (y & ~mask) | (x << position & mask);
}
/// Byte i is the byte of {y, x} that nibble i of the selector names; with its highest bit set, the sign of that byte.
inline uint32_t permuted_bytes(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t all = uint64_t{y} << 32 | x;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> 4 * i & 15u;
    uint32_t byte = static_cast<uint32_t>(all >> 8 * (nibble & 7u)) & 255u;
    if ((nibble & 8u) != 0) byte = (byte & 128u) != 0 ? 255u : 0u;
    result |= byte << 8 * i;
  }
  return result;
}

/// The lane that an exchange reads, and whether it is one of the warp; if not, a lane reads its own value.
struct Source {
  uint32_t lane;
  bool in_range;
};
void check_width(uint32_t clamp, uint32_t expected, const char* file, int line);
inline Source source_idx(uint32_t from, uint32_t clamp, const char* file, int line) {
  check_width(clamp, 31, file, line);
  return {from % 32, true};
}
inline Source source_bfly(uint32_t bits, uint32_t clamp, const char* file, int line) {
  check_width(clamp, 31, file, line);
  return {(cuda_host::lane() ^ bits) % 32, true};
}
inline Source source_down(uint32_t delta, uint32_t clamp, const char* file, int line) {
  check_width(clamp, 31, file, line);
  const uint32_t self = cuda_host::lane();
  return self + delta < 32 ? Source{self + delta, true} : Source{self, false};
}
inline Source source_up(uint32_t delta, uint32_t clamp, const char* file, int line) {
  check_width(clamp, 0, file, line);
  const uint32_t self = cuda_host::lane();
  return self >= delta ? Source{self - delta, true} : Source{self, false};
}

}  // namespace ptx_host
