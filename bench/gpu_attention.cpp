// SPDX-License-Identifier: MIT
// Attention with a lookup of codes (LEA) and without one, forward and backward with all gradients, for sequences of one length: time,
// temporary memory, and whether a second call gives the same bits. Prints one line of JSON per length.
#include <lexformer/io/json.hpp>

#include "common.hpp"

namespace lx = lexformer;

namespace {

struct Sizes {
  std::size_t tokens = 16384, heads = 12, head_width = 32, levels = 50;
  double used_codes = 0.2;  // the share of token pairs with a nonzero code; 0.1 to 0.23 in real pairs
  bool scattered = false;   // these token pairs are anywhere, not only between the two texts of a sequence

  void visit(program::OptionVisitor& v) {
    v.size("tokens", tokens, 1, "of all sequences together");
    v.size("heads", heads, 1, "heads");
    v.size("head_width", head_width, 1, "numbers of a head");
    v.size("levels", levels, 1, 65536, "rows of the table");
    v.flag("scattered", scattered, "codes between any tokens; without it, only between the two halves of a sequence, as in pairs");
  }
};

/// Codes as in a batch of pairs: 0 within each of the two texts that make up a sequence, unless `scattered`.
std::vector<std::uint16_t> random_codes(std::size_t sequences, std::size_t length, const Sizes& sizes) {
  lx::RandomStream random(1, lx::random_site::user, 100);
  std::vector<std::uint16_t> codes(sequences * length * length);
  const double share = sizes.scattered ? sizes.used_codes : std::min(1.0, 2 * sizes.used_codes);
  for (std::size_t cell = 0; cell < codes.size(); ++cell) {
    const bool query_first = cell / length % length < length / 2, key_first = cell % length < length / 2;
    const double x = random.uniform() / share;
    const bool used = x < 1 && (sizes.scattered || query_first != key_first);
    codes[cell] = static_cast<std::uint16_t>(used ? x * static_cast<double>(sizes.levels) : 0);
  }
  return codes;
}

/// The data for one length. Kernels are called as the op calls them, with preallocated memory.
template <class T, class Dev>
class Attention {
 public:
  Attention(const Sizes& sizes, std::size_t length)
      : offsets_(lx::Offsets::from_lengths(std::vector(sizes.tokens / length, length))),
        qkv_(random_tensor(1, {tokens(), 3 * sizes.heads * sizes.head_width})),
        table_(random_tensor(2, {sizes.heads, sizes.levels})),
        dcontext_(random_tensor(3, {tokens(), sizes.heads * sizes.head_width})),
        codes_(random_codes(offsets_.sequences(), length, sizes)),
        context_(dcontext_.shape()),
        dqkv_(qkv_.shape()),
        dtable_(table_.shape()),
        log_sum_({tokens(), sizes.heads}),
        begins_(offsets_.template on<Dev>()) {
    for (const bool lea : {false, true}) {
      lx::ScoreTerms<T, Dev> terms;
      if (lea) terms.lookups.push_back({lx::Var<T, Dev>(table_), codes_});
      auto& args = args_[lea];
      args = lx::detail::attention_args(lx::Var<T, Dev>(qkv_), offsets_, sizes.heads, terms, lx::AttentionOptions{});
      args.token_begin = begins_.token.data();
      args.pair_begin = begins_.pair.data();
    }
  }

  std::size_t tokens() const { return offsets_.tokens(); }
  std::size_t sequences() const { return offsets_.sequences(); }
  /// The bytes of a matrix of all scores.
  std::size_t score_bytes() const { return args_[0].heads * offsets_.pairs() * sizeof(T); }

  void forward(bool lea) { lx::Kernels<Dev>::template attention<T>(args_[lea], context_.mutable_data(), log_sum_.mutable_data(), nullptr); }
  void backward(bool lea) {
    lx::AttentionGrads<T> grads;
    grads.qkv = dqkv_.mutable_data();
    if (lea) grads.lookups.push_back(dtable_.mutable_data());
    lx::Kernels<Dev>::template attention_grad<T>(args_[lea], context_.data(), log_sum_.data(), dcontext_.data(), nullptr, grads);
  }
  /// The peak bytes of forward and backward beyond their inputs and outputs.
  std::size_t temporary_bytes(bool lea) {
    lx::Memory<Dev>::reset_peak();
    const std::size_t before = lx::Memory<Dev>::in_use();
    forward(lea);
    backward(lea);
    return lx::Memory<Dev>::peak() - before;
  }
  bool same_bits_again() {
    const auto once = [&] {
      forward(true);
      backward(true);
      return std::array{context_.to_vector(), dqkv_.to_vector(), dtable_.to_vector()};
    };
    return once() == once();
  }
  /// Saves the inputs, and the outputs without and with LEA, for a check by other programs. Codes are stored as floats, since save_npy()
  /// supports no integers.
  void save(const std::string& folder) {
    const auto write = [&](const std::string& name, const lx::Tensor<T, Dev>& x) {
      lx::save_npy(folder + "/" + name + ".npy", lx::detail::cast<lx::accumulate_t<T>>(x).template to<lx::Cpu>());
    };
    const auto codes = codes_.to_vector();
    lx::save_npy(folder + "/codes.npy", lx::Tensor<float>::from(std::vector<float>(codes.begin(), codes.end()), {codes.size()}));
    write("qkv", qkv_);
    write("table", table_);
    write("dcontext", dcontext_);
    for (const bool lea : {false, true}) {
      forward(lea);
      backward(lea);
      const std::string name = lea ? "lea_" : "none_";
      write(name + "context", context_);
      write(name + "dqkv", dqkv_);
      if (lea) write(name + "dtable", dtable_);
    }
  }

 private:
  static lx::Tensor<T, Dev> random_tensor(std::uint32_t stream, const lx::Shape& shape) {
    return bench::random_tensor<T, Dev>(shape, stream);
  }

  lx::Offsets offsets_;
  lx::Tensor<T, Dev> qkv_, table_, dcontext_;
  lx::Indices<std::uint16_t, Dev> codes_;
  lx::Tensor<T, Dev> context_, dqkv_, dtable_;
  lx::Tensor<lx::accumulate_t<T>, Dev> log_sum_;
  lx::DeviceOffsets<Dev> begins_;
  lx::AttentionArgs<T> args_[2];
};

class GpuAttention final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    where_.visit(v);
    v.list("lengths", lengths_, 1, 1 << 20, "tokens of a sequence").split_at(',');
    sizes_.visit(v);
    v.text("path", path_, "on a GPU: by kernels of ours, fused, or by products of cuBLAS, cublas")
        .among({"fused", "cublas"})
        .only_if(path_ == "fused" || where_.compute.device == lx::Device::cuda, "cublas is a way of GPUs; add --device cuda");
    v.size("repeats", repeats_, 0, "measurements of each; 0 = check memory and bits only");
    v.number("seconds", seconds_, lx::bounds::positive, "what a measurement takes");
    v.folder("save", save_, "a folder for what the last length reads and writes (.npy)");
  }
  int run() override {
    const bool fused = path_ == "fused";
    lx::cuda::set_attention_path(fused ? lx::cuda::AttentionPath::fused : lx::cuda::AttentionPath::cublas);
    where_.run([&]<class T, class Dev>(T, Dev) {
      for (const std::size_t length : lengths_) {
        if (length > sizes_.tokens) lx::fail_usage("--lengths", "a sequence of ", length, " tokens does not fit into ", sizes_.tokens);
        Attention<T, Dev> attention(sizes_, length);
        lx::Json line = where_.json();
        line.update({{"what", fused ? "attention" : "attention_cublas"},
                     {"length", length},
                     {"sequences", attention.sequences()},
                     {"heads", sizes_.heads},
                     {"head_width", sizes_.head_width},
                     {"levels", sizes_.levels},
                     {"score_bytes", attention.score_bytes()},
                     {"temporary_bytes", {{"none", attention.temporary_bytes(false)}, {"lea", attention.temporary_bytes(true)}}},
                     {"same_bits", attention.same_bits_again()}});
        if (repeats_ > 0) {
          const auto times = bench::in_turns<Dev>({[&] { attention.forward(false); }, [&] { attention.forward(true); },
                                                   [&] { attention.backward(false); }, [&] { attention.backward(true); }},
                                                  repeats_, seconds_);
          line["forward"] = {{"none", bench::times_json(times[0])}, {"lea", bench::times_json(times[1])}};
          line["backward"] = {{"none", bench::times_json(times[2])}, {"lea", bench::times_json(times[3])}};
        }
        bench::print_line(line);
        if (!save_.empty()) attention.save(save_);
      }
    });
    return 0;
  }

 private:
  bench::Where where_;
  Sizes sizes_;
  std::vector<std::size_t> lengths_ = {32, 64, 128, 256, 512};
  std::size_t repeats_ = 9;
  double seconds_ = 0.02;
  std::string save_, path_ = "fused";
};

}  // namespace

int main(int argc, char** argv) {
  return program::run_alone<GpuAttention>("gpu_attention",
                                          "Measures attention with a lookup of codes, forward and backward, as lines of JSON.", argc, argv);
}
