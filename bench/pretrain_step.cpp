// SPDX-License-Identifier: MIT
// Pre-training steps on random tokens: the cost of each position scheme and of MTH's regularizers compared with plain BERT, and the saving
// of computing the logits of masked tokens only. All variants alternate within each step, so that they run under the same machine load.
#include <iomanip>
#include <lexformer/io/json.hpp>
#include <numeric>

#include "common.hpp"

namespace lx = lexformer;

namespace {

struct Variant {
  std::string name;
  lx::MaskedLm<> model;
  lx::Mth<> mth;
  bool every_token;  // computes the logits of all tokens, as a plain implementation does
  lx::AdamW<> optimizer;
  std::vector<double> seconds{};

  Variant(const std::string& what, lx::Json config, const lx::Vocabulary& vocabulary)
      : name(what),
        model(with_scheme(what, config), vocabulary, {}, 1),
        mth(what == "mth" ? lx::MthOptions{.token_weight = 1, .head_weight = 0.01} : lx::MthOptions{}, model.config().num_hidden_layers,
            model.config().num_attention_heads),
        every_token(what == "all_logits"),
        optimizer(model.parameters(), {.lr = 1e-4, .eps = 1e-6, .weight_decay = 0.01}) {}

  static lx::Json with_scheme(const std::string& what, lx::Json config) {
    if (what == "absolute" || lx::attention_terms<>().contains(what)) {
      config["position_embedding_type"] = what;
    } else if (what != "mth" && what != "all_logits") {
      std::vector<std::string> names{"absolute", "mth", "all_logits"};
      for (const auto& [term, make] : lx::attention_terms<>()) names.push_back(term);
      lx::fail_usage("--variants", lx::in_quotes(what), " is not known; use one of: ", lx::join(names));
    }
    return config;
  }
  double step(const lx::MaskedBatch& m, std::uint32_t number) {
    bench::Timer timer;
    const lx::ForwardOptions forward{.training = true, .seed = 1, .step = number};
    auto positions = m.positions;
    auto labels = m.labels;
    if (every_token) {
      positions.resize(m.batch.ids.size());
      std::iota(positions.begin(), positions.end(), 0);
      labels = m.batch.ids;
    }
    const auto y = model(m.batch, positions, labels, forward, mth.encode(forward));
    const auto loss = mth.add_to(y.loss, mth.losses(y.encoder, m.batch.offsets, forward));
    loss.backward();
    const auto norm = optimizer.clip_and_step(1.0, loss.value());
    return timer.lap();
  }
};

class PretrainStep final : public program::Command {
 public:
  PretrainStep() { threads = 1; }
  void visit(program::OptionVisitor& v) override {
    v.list("variants", names_, "position schemes, mth, all_logits; the first is what the others are compared with").split_at(',');
    v.list("lengths", lengths_, 3, 512, "tokens of each document").split_at(',');
    v.size("tokens", tokens_, 1, "of a step");
    v.size("steps", steps_, 1, "that are measured, after one that is not");
    v.size("layers", layers_, 1, "of the model");
    v.size("width", width_, 1, "of the model");
    v.size("heads", heads_, 1, "of a layer");
    v.size("vocab_size", vocab_size_, 100, 1 << 20, "tokens in the vocabulary");
    v.integer("threads", threads, 1, 1024, "number of threads");
    bench::visit_cpu_time(v);
  }
  int run() override {
    std::vector<std::string> words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    while (words.size() < vocab_size_) words.push_back(lx::cat("t", words.size()));
    const lx::Vocabulary vocabulary(words);
    const lx::Json config = {{"hidden_size", width_},           {"num_hidden_layers", layers_}, {"num_attention_heads", heads_},
                             {"intermediate_size", 4 * width_}, {"vocab_size", words.size()},   {"max_position_embeddings", 512u}};
    for (const std::size_t length : lengths_) {
      std::vector<std::unique_ptr<Variant>> variants;
      for (const auto& name : names_) variants.push_back(std::make_unique<Variant>(name, config, vocabulary));
      lx::RandomStream random(1, lx::random_site::user);
      const lx::Masker masker(variants[0]->model.tokenizer(), {});
      std::vector<lx::Encoding> documents(std::max<std::size_t>(1, tokens_ / length));
      for (std::uint32_t k = 0; k <= steps_; ++k) {
        for (auto& d : documents) {
          d = {};
          for (std::size_t i = 0; i < length; ++i) {
            const bool added = i == 0 || i + 1 == length;
            d.ids.push_back(i == 0 ? 2 : added ? 3 : static_cast<std::int32_t>(5 + random.below(vocab_size_ - 5)));
            d.type_ids.push_back(0);
            d.word_ids.push_back(added ? -1 : static_cast<std::int32_t>(i));
            d.offsets.emplace_back(0u, 0u);
            const auto row = static_cast<std::uint32_t>(i);
            if (!added) d.words.push_back({0, 0, row, row + 1, 0, 0, 0, 0, 0});
          }
        }
        std::vector<std::size_t> rows(documents.size());
        std::iota(rows.begin(), rows.end(), std::size_t{0});
        const auto m = lx::make_masked_batch(documents, rows, masker, 1, k);
        for (std::size_t i = 0; i < variants.size(); ++i) {
          auto& v = *variants[(i + k) % variants.size()];
          const double seconds = v.step(m, k);
          if (k > 0) v.seconds.push_back(seconds);
        }
      }
      std::cout << "length " << length << ", " << documents.size() << " documents a step, threads " << lx::threads() << "\n" << std::fixed;
      for (const auto& v : variants) {
        std::vector<double> ratio;
        for (std::size_t k = 0; k < steps_; ++k) ratio.push_back(v->seconds[k] / variants[0]->seconds[k]);
        std::cout << "  " << std::left << std::setw(20) << v->name << std::right << std::setprecision(1) << std::setw(9)
                  << 1e3 * bench::median(v->seconds) << " ms   " << std::setprecision(3) << bench::median(ratio) << "\n";
      }
    }
    return 0;
  }

 private:
  std::vector<std::string> names_ = {"absolute", "bert_r", "ddrp", "shaw", "tupe", "deberta", "t5", "alibi", "rope", "mth", "all_logits"};
  std::vector<std::size_t> lengths_ = {32, 128, 512};
  std::size_t tokens_ = 2048, steps_ = 6, layers_ = 6, width_ = 384, heads_ = 6, vocab_size_ = 30522;
};

}  // namespace

int main(int argc, char** argv) { return program::run_alone<PretrainStep>("pretrain_step", "Measures steps of pre-training.", argc, argv); }
