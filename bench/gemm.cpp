// SPDX-License-Identifier: MIT
// The matrix product at the sizes of a training step: MiniLM with 1152 tokens (32 pairs of 36), and attention heads with 36 tokens.
#include <iomanip>

#include "common.hpp"

namespace lx = lexformer;

int main(int argc, char** argv) {
  CLI::App app("Measures matrix products in GFLOP/s.", "gemm");
  double seconds = 0.3;
  app.add_option("--seconds", seconds, "for each size")->capture_default_str();
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
    for (const auto& s : sizes) {
      measure(s, "float32", 0.0f);
      measure(s, "bfloat16", lx::bfloat16{0.0f});
    }
  });
}
