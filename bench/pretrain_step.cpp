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
    if (what == "absolute" || lx::library_terms<float, lx::Cpu>().contains(what))
      config["position_embedding_type"] = what;
    else if (what != "mth" && what != "all_logits")
      lx::fail_usage("--variants", "'", what,
                     "' is neither mth, all_logits nor one of: ", lx::join(lx::names_of_terms(lx::library_terms<float, lx::Cpu>())));
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures steps of pre-training.", "pretrain_step");
  std::vector<std::string> names = {"absolute", "bert_r", "ddrp", "shaw", "tupe", "deberta", "t5", "alibi", "rope", "mth", "all_logits"};
  std::vector<std::size_t> lengths = {32, 128, 512};
  std::size_t tokens = 2048, steps = 6, layers = 6, width = 384, heads = 6, vocabulary_size = 30522;
  int threads = 1;
  app.add_option("--variants", names, "position schemes, mth, all_logits; the first is what the others are compared with")->delimiter(',');
  app.add_option("--lengths", lengths, "tokens of each document")->delimiter(',')->check(CLI::Range(3, 512))->capture_default_str();
  app.add_option("--tokens", tokens, "of a step")->capture_default_str();
  app.add_option("--steps", steps, "that are measured, after one that is not")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--layers", layers)->capture_default_str();
  app.add_option("--width", width)->capture_default_str();
  app.add_option("--heads", heads)->capture_default_str();
  app.add_option("--vocab-size", vocabulary_size)->check(CLI::Range(100, 1 << 20))->capture_default_str();
  app.add_option("--threads", threads)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--cpu-time", bench::Timer::cpu_time, "processor time instead of the clock");
  return bench::run(app, argc, argv, [&] {
    lx::set_threads(threads);
    std::vector<std::string> words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    while (words.size() < vocabulary_size) words.push_back(lx::cat("t", words.size()));
    const lx::Vocabulary vocabulary(words);
    const lx::Json config = {{"hidden_size", width},           {"num_hidden_layers", layers}, {"num_attention_heads", heads},
                             {"intermediate_size", 4 * width}, {"vocab_size", words.size()},  {"max_position_embeddings", 512u}};
    for (const std::size_t length : lengths) {
      std::vector<std::unique_ptr<Variant>> variants;
      for (const auto& name : names) variants.push_back(std::make_unique<Variant>(name, config, vocabulary));
      lx::RandomStream random(1, lx::random_site::user);
      const lx::Masker masker(variants[0]->model.tokenizer(), {});
      std::vector<lx::Encoding> documents(std::max<std::size_t>(1, tokens / length));
      for (std::uint32_t k = 0; k <= steps; ++k) {
        for (auto& d : documents) {
          d = {};
          for (std::size_t i = 0; i < length; ++i) {
            const bool added = i == 0 || i + 1 == length;
            d.ids.push_back(i == 0 ? 2 : added ? 3 : static_cast<std::int32_t>(5 + random.below(vocabulary_size - 5)));
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
        for (std::size_t k = 0; k < steps; ++k) ratio.push_back(v->seconds[k] / variants[0]->seconds[k]);
        std::cout << "  " << std::left << std::setw(20) << v->name << std::right << std::setprecision(1) << std::setw(9)
                  << 1e3 * bench::median(v->seconds) << " ms   " << std::setprecision(3) << bench::median(ratio) << "\n";
      }
    }
  });
}
