// SPDX-License-Identifier: MIT
// The product of a tile by AMX (Intel, "Architecture Instruction Set Extensions", chapter 3): 16 x 16 sums of 32 bits per register and
// instruction, over 64 bytes of k, i.e. 32 bfloat16 or 64 numbers of 8 bits.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 6
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lexformer/core/error.hpp"
#include "lexformer/kernels/products/amx_permission.hpp"

// Register c += register a times register b. A macro, since g++ takes the numbers of the registers as text.
#define LEXFORMER_DOT(c, a, b)                    \
  if constexpr (std::is_same_v<In, std::uint8_t>) \
    _tile_dpbusd(c, a, b);                        \
  else                                            \
    _tile_dpbf16ps(c, a, b)

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

/// Tiles of up to 32 rows and 32 columns: A in bfloat16 with sums in float, or (In = std::uint8_t) A in unsigned and B in signed 8 bits
/// with exact sums. An object owns the tile registers of its thread.
template <class In>
class AmxTile {
 public:
  static constexpr std::size_t rows = 32, columns = 32, step_bytes = 64;
  static constexpr std::size_t step = step_bytes / sizeof(In);  // numbers of k in a step

  AmxTile() = default;
  AmxTile(const AmxTile&) = delete;
  AmxTile& operator=(const AmxTile&) = delete;
  ~AmxTile() {
    if (rows_ > 0) _tile_release();
  }

  /// sums (count, 32) = A B over `steps` steps of k. Row r of A is at a + r lda; B is a panel (k / group, 32, group) with groups of four
  /// bytes. Calls between(s) after the instructions of step s, for work that runs at the same time: it does not need these sums, and does
  /// not write to A or B.
  template <class B, class Sum, class Between>
  void multiply(std::size_t count, std::size_t steps, const In* a, std::size_t lda, const B* b, Sum* sums, Between&& between) {
    static_assert(sizeof(Sum) == 4 && sizeof(B) == sizeof(In));
    configure(count);
    __asm__ volatile("" ::: "memory");  // g++ does not know that its loads of tiles read memory
    constexpr long panel_row = 2 * step_bytes, sum_row = columns * 4;
    const auto stride = static_cast<long>(lda * sizeof(In));
    const In* const lower = a + 16 * lda;
    _tile_zero(0);  // registers 0 to 3: sums, 4 and 5: A, 6 and 7: B
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::size_t s = 0; s < steps; ++s, b += 16 * panel_row / sizeof(B)) {
      _tile_loadd(4, a + s * step, stride);
      _tile_loadd(6, b, panel_row);
      LEXFORMER_DOT(0, 4, 6);
      _tile_loadd(7, b + step, panel_row);
      LEXFORMER_DOT(1, 4, 7);
      if (count > 16) {
        _tile_loadd(5, lower + s * step, stride);
        LEXFORMER_DOT(2, 5, 6);
        LEXFORMER_DOT(3, 5, 7);
      }
      between(s);
    }
    if (count > 16) {
      _tile_stored(2, sums + 16 * columns, sum_row);
      _tile_stored(3, sums + 16 * columns + 16, sum_row);
    }
    _tile_stored(0, sums, sum_row);
    _tile_stored(1, sums + 16, sum_row);
  }

 private:
  void configure(std::size_t count) {
    if (count == rows_) return;
    if (!amx_permitted())
      fail_usage("AMX", "the system does not permit tile registers; compile with -mno-amx-tile, or link lexformer::compiled");
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } layout;
    const auto low = static_cast<std::uint8_t>(count > 16 ? count - 16 : 16), high = static_cast<std::uint8_t>(count > 16 ? 16 : count);
    layout.rows[0] = layout.rows[1] = layout.rows[4] = high;
    layout.rows[2] = layout.rows[3] = layout.rows[5] = low;
    __asm__ volatile("" ::"r"(&layout) : "memory");  // nor that this one reads all of it
    _tile_loadconfig(&layout);
    rows_ = count;
  }

  std::size_t rows_ = 0;  // of the layout in force
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
#undef LEXFORMER_DOT
#endif
