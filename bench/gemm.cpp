// SPDX-License-Identifier: MIT
// The matrix product at the sizes of a training step: MiniLM with 1152 tokens (32 pairs of 36), and attention heads with 36 tokens; and
// linear layers with packed weights beside a loop of nothing but their instruction. To be compiled for this machine (preset `release`): the
// product alone is the one that the headers have for -march.
#include <iomanip>
#include <lexformer/kernels/products/gemm_int8_tile.hpp>
#include <lexformer/kernels/products/linear_bfloat16_tile.hpp>
#include <lexformer/ops/elementwise.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

/// 1e9 operations per second (a product and a sum are two) of one thread that does nothing but the instruction of the tile; 0 where it has
/// several.
template <class In>
double peak() {
  [[maybe_unused]] constexpr std::size_t repeat = 20000;
#if LEXFORMER_LEVEL >= 6
  const In zeros[64 * 32] = {};
  In panel[64 * 32] = {};
  std::int32_t sums[32 * 32];
  lx::detail::AmxTile<In> tile;
  tile.multiply(32, 1, zeros, tile.step, panel, sums, [](std::size_t) {});  // sets up the registers
  bench::Timer timer;
  for (std::size_t i = 0; i < repeat; ++i)
    if constexpr (sizeof(In) == 1)
      asm volatile("tdpbusd %tmm6,%tmm4,%tmm0\n\ttdpbusd %tmm7,%tmm4,%tmm1\n\ttdpbusd %tmm6,%tmm5,%tmm2\n\ttdpbusd %tmm7,%tmm5,%tmm3");
    else
      asm volatile(
          "tdpbf16ps %tmm6,%tmm4,%tmm0\n\ttdpbf16ps %tmm7,%tmm4,%tmm1\n\ttdpbf16ps %tmm6,%tmm5,%tmm2\n\ttdpbf16ps %tmm7,%tmm5,%tmm3");
  return 1e-9 * static_cast<double>(repeat * 4 * 2 * 256 * tile.step) / timer.lap();
#elif LEXFORMER_LEVEL >= 4
  constexpr std::size_t sums = 24;
  bench::Timer timer;
  for (std::size_t i = 0; i < repeat; ++i)
#define SUMS(name)                                                                                                                        \
  asm volatile(SUM(name, 2) SUM(name, 3) SUM(name, 4) SUM(name, 5) SUM(name, 6) SUM(name, 7) SUM(name, 8) SUM(name, 9) SUM(name, 10)      \
                   SUM(name, 11) SUM(name, 12) SUM(name, 13) SUM(name, 14) SUM(name, 15) SUM(name, 16) SUM(name, 17) SUM(name, 18)        \
                       SUM(name, 19) SUM(name, 20) SUM(name, 21) SUM(name, 22) SUM(name, 23) SUM(name, 24) SUM(name, 25)::                \
                           : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", \
                             "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25")
#define SUM(name, n) name " %%zmm0,%%zmm1,%%zmm" #n "\n\t"
    if constexpr (sizeof(In) == 1)
      SUMS("vpdpbusd");
    else
      SUMS("vdpbf16ps");
#undef SUM
#undef SUMS
  return 1e-9 * static_cast<double>(repeat * sums * 128 / sizeof(In)) / timer.lap();
#else
  return 0;
#endif
}

/// Layers with packed weights: the products alone, and the whole layer with bias, GELU and rounding.
template <class In, class Product, class Layer>
void report(const char* what, const char* type, std::size_t m, std::size_t n, std::size_t k, double seconds, Product&& product,
            Layer&& layer) {
  double top = 0, alone = 1e9, whole = 1e9;
  for (double spent = 0; spent < seconds;) {
    top = std::max(top, peak<In>());
    bench::Timer timer;
    product();
    const double first = timer.lap();
    layer();
    const double second = timer.lap();
    alone = std::min(alone, first);
    whole = std::min(whole, second);
    spent += first + second;
  }
  const double operations = 2e-9 * static_cast<double>(m * n * k);
  const auto share = [&](double rate) { return top > 0 ? 100 * rate / top : 0; };
  std::cout << std::left << std::setw(28) << what << std::setw(9) << type << std::right << std::setw(5) << m << " x" << std::setw(5) << n
            << " x" << std::setw(5) << k << "    peak of a thread " << std::setw(6) << top << "  product " << std::setw(6)
            << operations / alone << " (" << share(operations / alone) << " %)  layer " << std::setw(6) << operations / whole << " ("
            << share(operations / whole) << " %) GOP/s\n";
}

void measure_layers(const char* what, std::size_t m, std::size_t n, std::size_t k, bool gelu, double seconds) {
  {
    using Product = lx::detail::Int8Product;
    const auto x = bench::random_tensor<float, lx::Cpu>({m, k}, 1), weights = bench::random_tensor<float, lx::Cpu>({n, k}, 2);
    const lx::Int8Weights w({lx::quantize_rows(n, k, weights.data())}, {{}});
    const std::vector<std::uint8_t> u(m * w.inputs_packed(), 3);
    std::vector<float> y(m * n);
    const auto store = [&](std::size_t i, std::size_t, std::size_t j, const std::int32_t* sums) {
      y[i * n + j * 32] = static_cast<float>(sums[0]);  // so that it is not optimized away
    };
    report<std::uint8_t>(
        what, "int8", m, n, k, seconds,
        [&] { lx::detail::for_tiles<Product::Tile, std::int32_t>(m, u.data(), w.inputs_packed(), w, store); },
        [&] { lx::linear_int8(m, x.data(), k, w, y.data(), n, gelu); });
  }
#if LEXFORMER_LEVEL >= 5
  const auto x = lx::cast<lx::bfloat16>(lx::Var(bench::random_tensor<float, lx::Cpu>({m, k}, 1))).value();
  const auto weights = lx::cast<lx::bfloat16>(lx::Var(bench::random_tensor<float, lx::Cpu>({n, k}, 2))).value();
  const lx::Bfloat16Weights w({weights}, {{}});
  std::vector<lx::bfloat16> y(m * n);
  std::vector<float> first(m * n);
  const auto store = [&](std::size_t i, std::size_t, std::size_t j, const float* sums) { first[i * n + j * 32] = sums[0]; };
  report<lx::bfloat16>(
      what, "bfloat16", m, n, k, seconds, [&] { lx::detail::for_tiles<lx::detail::Bfloat16Tile, float>(m, x.data(), k, w, store); },
      [&] { lx::linear_bfloat16(m, x.data(), w, y.data(), gelu); });
#endif
}

class Gemm final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.number("seconds", seconds_, lx::bounds::positive, "for each size");
    v.flag("layers", layers_, "linear layers with packed weights, in 8 bits and bfloat16; the best of all rounds");
    bench::visit_cpu_time(v);
    visit_threads(v);
  }
  int run() override {
    struct Size {
      const char* what;
      bool ta, tb;
      std::size_t m, n, k, lda, ldb, ldc;
    };
    const Size sizes[] = {
        {"D to D: x w^T", false, true, 1152, 384, 384, 384, 384, 384},
        {"feed-forward: x w^T", false, true, 1152, 1536, 384, 384, 384, 1536},
        {"feed-forward, back: x w^T", false, true, 1152, 384, 1536, 1536, 1536, 384},
        {"its dx: dy w", false, false, 1152, 1536, 384, 384, 1536, 1536},
        {"its dw: dy^T x", true, false, 384, 1536, 1152, 384, 1536, 1536},
        {"scores: q k^T", false, true, 36, 36, 32, 1152, 1152, 36},
        {"context: p v", false, false, 36, 32, 36, 36, 1152, 384},
        {"dk: ds^T q", true, false, 36, 32, 36, 36, 1152, 1152},
    };
    std::cout << std::fixed << std::setprecision(1) << "threads " << lx::threads() << "\n";
    const auto measure = [&](const Size& s, const char* type, auto number) {
      using T = decltype(number);
      const std::vector<T> a((s.ta ? s.k : s.m) * s.lda, T{0.5f}), b((s.tb ? s.n : s.k) * s.ldb, T{0.25f});
      std::vector<float> c(s.m * s.ldc);
      std::vector<double> times;
      const std::size_t repeat = 1 + 20000000 / (s.m * s.n * s.k);
      while (bench::sum(times) * static_cast<double>(repeat) < seconds_) {
        bench::Timer timer;
        for (std::size_t i = 0; i < repeat; ++i)
          lx::gemm(s.ta, s.tb, s.m, s.n, s.k, 1.0f, a.data(), s.lda, b.data(), s.ldb, 0.0f, c.data(), s.ldc);
        times.push_back(timer.lap() / static_cast<double>(repeat));
      }
      const double flop = 2e-9 * static_cast<double>(s.m * s.n * s.k);
      std::cout << std::left << std::setw(28) << s.what << std::setw(9) << type << std::right << std::setw(5) << s.m << " x" << std::setw(5)
                << s.n << " x" << std::setw(5) << s.k << "    median " << std::setw(6) << flop / bench::median(times) << "  best "
                << std::setw(6) << flop / *std::min_element(times.begin(), times.end()) << " GFLOP/s\n";
    };
    if (layers_) {
      measure_layers("query, key, value", 1152, 1152, 384, false, seconds_);
      measure_layers("attention output", 1152, 384, 384, false, seconds_);
      measure_layers("feed-forward", 1152, 1536, 384, false, seconds_);
      measure_layers("feed-forward, GELU", 1152, 1536, 384, true, seconds_);
      measure_layers("feed-forward, back", 1152, 384, 1536, false, seconds_);
      measure_layers("BERT-base, feed-forward", 1152, 3072, 768, false, seconds_);
      measure_layers("BERT-base, back", 1152, 768, 3072, false, seconds_);
      return 0;
    }
    for (const auto& s : sizes) {
      measure(s, "float32", 0.0f);
      measure(s, "bfloat16", lx::bfloat16{0.0f});
    }
    return 0;
  }

 private:
  double seconds_ = 0.3;
  bool layers_ = false;
};

}  // namespace

int main(int argc, char** argv) { return program::run_alone<Gemm>("gemm", "Measures matrix products in GFLOP/s.", argc, argv); }
