// SPDX-License-Identifier: MIT
// The matrix product at the sizes of a training step: MiniLM with 1152 tokens (32 pairs of 36), and attention heads with 36 tokens; and
// linear layers in 8 bits beside a loop of nothing but their instruction. To be compiled for this machine (preset `release`): the 8-bit
// product alone is the one that the headers have for -march.
#include <iomanip>
#include <lexformer/kernels/gemm_int8_tile.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

/// 1e9 operations per second (a product and a sum are two) of one thread that does nothing but vpdpbusd; 0 without AVX-512 VNNI.
double int8_peak() {
#if defined(__AVX512VNNI__)
  constexpr std::size_t repeat = 100000, sums = 24;
  bench::Timer timer;
  for (std::size_t i = 0; i < repeat; ++i)
#define SUM(n) "vpdpbusd %%zmm0,%%zmm1,%%zmm" #n "\n\t"
    asm volatile(SUM(2) SUM(3) SUM(4) SUM(5) SUM(6) SUM(7) SUM(8) SUM(9) SUM(10) SUM(11) SUM(12) SUM(13) SUM(14) SUM(15) SUM(16) SUM(17)
                     SUM(18) SUM(19) SUM(20) SUM(21) SUM(22) SUM(23) SUM(24) SUM(25)::
                         : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                           "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25");
#undef SUM
  return 1e-9 * static_cast<double>(repeat * sums * 128) / timer.lap();
#else
  return 0;
#endif
}

/// Layers in 8 bits: the product of the integers alone, and the whole layer with rounding, scales and GELU.
void measure_int8(const char* what, std::size_t m, std::size_t n, std::size_t k, bool gelu, double seconds) {
  using Product = lx::detail::Int8Product;
  const auto x = bench::random_tensor<float, lx::Cpu>({m, k}, 1), weights = bench::random_tensor<float, lx::Cpu>({n, k}, 2);
  const lx::Int8Weights w({lx::quantize_rows(n, k, weights.data())}, {{}});
  const std::vector<std::uint8_t> u(m * w.groups() * 4, 3);
  std::vector<float> y(m * n);
  double peak = 0, product = 1e9, layer = 1e9;
  for (double spent = 0; spent < seconds;) {
    peak = std::max(peak, int8_peak());
    bench::Timer timer;
    Product::multiply(m, u.data(), w.groups() * 4, w, [&](std::size_t i, std::size_t j, const std::int32_t* sums) {
      y[i * n + j * 32] = static_cast<float>(sums[0]);  // so that it is not optimized away
    });
    const double first = timer.lap();
    lx::linear_int8(m, x.data(), k, w, y.data(), n, gelu);
    const double second = timer.lap();
    product = std::min(product, first);
    layer = std::min(layer, second);
    spent += first + second;
  }
  const double operations = 2e-9 * static_cast<double>(m * n * k);
  const auto share = [&](double rate) { return peak > 0 ? 100 * rate / peak : 0; };
  std::cout << std::left << std::setw(28) << what << "int8     " << std::right << std::setw(5) << m << " x" << std::setw(5) << n << " x"
            << std::setw(5) << k << "    peak of a thread " << std::setw(6) << peak << "  product " << std::setw(6) << operations / product
            << " (" << share(operations / product) << " %)  layer " << std::setw(6) << operations / layer << " ("
            << share(operations / layer) << " %) GOP/s\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures matrix products in GFLOP/s.", "gemm");
  double seconds = 0.3;
  app.add_option("--seconds", seconds, "for each size")->capture_default_str();
  bool int8 = false;
  app.add_flag("--int8", int8, "linear layers in 8 bits; the best of all rounds");
  app.add_flag("--cpu-time", bench::Timer::cpu_time, "measure processor time, not the clock");
  app.add_option_function<int>(
      "--threads", [](int n) { lx::set_threads(n); }, "default: all cores");
  return bench::run(app, argc, argv, [&] {
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
      while (bench::sum(times) * static_cast<double>(repeat) < seconds) {
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
    if (int8) {
      measure_int8("query, key, value", 1152, 1152, 384, false, seconds);
      measure_int8("attention output", 1152, 384, 384, false, seconds);
      measure_int8("feed-forward", 1152, 1536, 384, false, seconds);
      measure_int8("feed-forward, GELU", 1152, 1536, 384, true, seconds);
      measure_int8("feed-forward, back", 1152, 384, 1536, false, seconds);
      measure_int8("BERT-base, feed-forward", 1152, 3072, 768, false, seconds);
      measure_int8("BERT-base, back", 1152, 768, 3072, false, seconds);
      return;
    }
    for (const auto& s : sizes) {
      measure(s, "float32", 0.0f);
      measure(s, "bfloat16", lx::bfloat16{0.0f});
    }
  });
}
