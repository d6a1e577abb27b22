// SPDX-License-Identifier: MIT
// Rates of a device as lines of JSON: a copy, matrix products at the sizes of a training step, and AdamW.
// Each call reads other data, so that it comes from memory and not from the caches.
#include <lexformer/io/json.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

struct Options {
  std::size_t tokens = 2048, square = 8192, megabytes = 1024, parameters = 110000000, repeats = 9;
  double seconds = 0.02;

  void visit(program::OptionVisitor& v) {
    v.size("tokens", tokens, 1, "rows of a training step's products");
    v.size("square", square, 1, "rows and columns of the large product");
    v.size("megabytes", megabytes, 1, "that are copied");
    v.size("parameters", parameters, 64, 1 << 30, "of AdamW's model");
    v.size("repeats", repeats, 1, "measurements of each");
    v.number("seconds", seconds, lx::bounds::positive, "what a measurement takes");
  }
};

struct Product {
  const char* kind;  // NT: x w^T, NN: dy w, TN: dy^T x
  std::size_t m, n, k;
};

/// BERT's products for D = 384 (MiniLM) and 768 (base), the logits of masked tokens, and a large square product.
std::vector<Product> products(const Options& o) {
  std::vector<Product> all;
  for (const auto& [n, k] : {std::pair<std::size_t, std::size_t>{384, 384},
                             {1152, 384},
                             {1536, 384},
                             {384, 1536},
                             {768, 768},
                             {2304, 768},
                             {3072, 768},
                             {768, 3072}}) {
    all.push_back({"NT", o.tokens, n, k});
    all.push_back({"NN", o.tokens, k, n});
    all.push_back({"TN", n, k, o.tokens});
  }
  all.push_back({"NT", (o.tokens * 3 + 19) / 20, 30522, 384});
  all.push_back({"NT", o.square, o.square, o.square});
  return all;
}

/// Cycles through the pieces of `size` numbers that fit into `all`; next() returns the start of the next piece.
class Pieces {
 public:
  Pieces(std::size_t all, std::size_t size) : size_(size), count_(std::max<std::size_t>(1, all / size)) {}
  std::size_t next() { return size_ * (turn_++ % count_); }

 private:
  std::size_t size_, count_, turn_ = 0;
};

template <class T, class Dev>
class Rates {
 public:
  Rates(const Options& o, const bench::Where& where) : o_(o), where_(where) {}

  void copy() {
    const std::size_t numbers = o_.megabytes * 1000000 / sizeof(T), bytes = numbers * sizeof(T);
    const auto from = bench::random_tensor<T, Dev>({numbers}, 1);
    lx::Tensor<T, Dev> to({numbers});
    report({{"what", "copy"}, {"bytes", 2 * bytes}}, [&] { lx::Memory<Dev>::copy(to.mutable_data(), from.data(), bytes); });
  }

  void gemm(const Product& p) {
    const bool ta = p.kind[0] == 'T', tb = p.kind[1] == 'T';
    // A, B and C of several products in sequence, in more memory than the caches hold.
    const std::size_t a = p.m * p.k, b = p.k * p.n, size = a + b + p.m * p.n, all = std::max(size, o_.megabytes * 250000 / sizeof(T));
    auto numbers = bench::random_tensor<T, Dev>({all}, 2);
    T* const data = numbers.mutable_data();
    Pieces pieces(all, size);
    const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    report({{"what", "gemm"}, {"kind", p.kind}, {"m", p.m}, {"n", p.n}, {"k", p.k}, {"flops", flops}}, [&] {
      T* const x = data + pieces.next();
      lx::Kernels<Dev>::gemm(ta, tb, p.m, p.n, p.k, T{1}, x, ta ? p.m : p.k, x + a, tb ? p.k : p.n, T{0}, x + a + b, p.n);
    });
  }

  /// Measures a step of all parameters of a model, in arrays like those of a BERT.
  void adamw() {
    using A = lx::accumulate_t<T>;
    const std::size_t arrays = 64, count = o_.parameters / arrays;
    const std::size_t step = (count + 63) / 64 * 64;  // each array is aligned, as a parameter is
    auto parameters = bench::random_tensor<T, Dev>({arrays * step}, 3), gradients = bench::random_tensor<T, Dev>({arrays * step}, 4);
    auto mean = lx::Tensor<A, Dev>::zeros({arrays * step}), square = lx::Tensor<A, Dev>::zeros({arrays * step});
    auto masters = lx::Tensor<A, Dev>::zeros({lx::is_storage<T> ? arrays * step : 0});
    std::vector<lx::AdamWUpdate<T>> updates;
    for (std::size_t i = 0; i < arrays; ++i) {
      T* const weights = parameters.mutable_data() + i * step;
      A* master = nullptr;
      if constexpr (lx::is_storage<T>)
        master = masters.mutable_data() + i * step;
      else
        master = weights;
      updates.push_back({count,
                         {1 - 5e-9, 0.9, 0.999, 5e-5, 1, 1e-8},
                         gradients.data() + i * step,
                         mean.mutable_data() + i * step,
                         square.mutable_data() + i * step,
                         master,
                         weights});
    }
    // Reads the gradient, reads and writes moments and weights, and writes a rounded copy of the weights.
    const std::size_t bytes = arrays * count * (sizeof(T) + 6 * sizeof(A) + (lx::is_storage<T> ? sizeof(T) : 0));
    report({{"what", "adamw"}, {"parameters", arrays * count}, {"bytes", bytes}}, [&] { lx::Kernels<Dev>::adamw(updates, {}); });
  }

 private:
  void report(lx::Json line, const std::function<void()>& f) {
    const auto times = bench::in_turns<Dev>({f}, o_.repeats, o_.seconds)[0];
    line.update(where_.json());
    line.update(bench::times_json(times));
    bench::print_line(line);
  }

  const Options& o_;
  const bench::Where& where_;
};

class GpuRates final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    where_.visit(v);
    options_.visit(v);
  }
  int run() override {
    where_.run([&]<class T, class Dev>(T, Dev) {
      Rates<T, Dev> rates(options_, where_);
      rates.copy();
      for (const auto& p : products(options_)) rates.gemm(p);
      rates.adamw();
    });
    return 0;
  }

 private:
  bench::Where where_;
  Options options_;
};

}  // namespace

int main(int argc, char** argv) {
  return program::run_alone<GpuRates>("gpu_rates", "Measures the rates of a device: copy, matrix products, AdamW; as lines of JSON.", argc,
                                      argv);
}
