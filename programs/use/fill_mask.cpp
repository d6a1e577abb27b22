// SPDX-License-Identifier: MIT
// Predicts the tokens at [MASK] with a masked language model, like transformers' pipeline "fill-mask".
#include <lexformer/io/json.hpp>
#include <numeric>

#include "cli/program.hpp"

namespace lx = lexformer;

namespace {

/// The `top` most probable tokens of a row of logits; ties go to the smaller id.
lx::Json best_tokens(const float* logits, std::size_t size, std::size_t top, const lx::Vocabulary& vocabulary) {
  std::vector<double> p(logits, logits + size);
  lx::row::softmax(size, p.data());
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  top = std::min(top, size);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                    [&](std::size_t a, std::size_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
  lx::Json out = lx::Json::array();
  for (std::size_t i = 0; i < top; ++i) {
    // An embedding may have more rows than the vocabulary has tokens.
    const std::string text = order[i] < vocabulary.size() ? vocabulary.token(static_cast<std::int32_t>(order[i])) : "";
    out.push_back({{"token", order[i]}, {"token_str", text}, {"score", p[order[i]]}});
  }
  return out;
}

int run_fill_mask(int argc, char** argv) {
  CLI::App app("Reads texts with [MASK], one per line, and writes for each a JSON line with the most probable tokens of every [MASK].",
               "fill_mask");
  std::string model_path;
  std::size_t top = 5, batch_size = 32;
  app.add_option("--model", model_path, "a masked language model: a .lxf file (pretrain, tools/convert_hf.py) or a HuggingFace folder")
      ->required()
      ->type_name("M.lxf");
  app.add_option("--top", top, "tokens for each [MASK]")->check(program::positive())->capture_default_str();
  app.add_option("--batch", batch_size, "texts per batch")->check(program::positive())->capture_default_str();
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    const auto model = lx::MaskedLm<>::load(model_path);
    const auto& tokenizer = model.tokenizer();
    const std::string& name = tokenizer.options().mask;
    const auto mask = tokenizer.vocabulary().id(name);
    if (!mask) lx::fail_file(model_path, "the vocabulary has no ", lx::in_quotes(name));
    const std::size_t longest = model.config().max_position_embeddings;
    const lx::NoGrad no_grad;
    std::string line;
    std::size_t number = 0, masks_done = 0;
    for (bool more = true; more;) {
      std::vector<lx::Encoding> texts;
      std::vector<std::int32_t> positions;  // of all masks, as rows of the batch
      std::vector<std::size_t> counts;      // masks of each text
      std::size_t tokens = 0;
      while (texts.size() < batch_size && (more = static_cast<bool>(std::getline(std::cin, line)))) {
        const std::string where = lx::cat("standard input: line ", ++number);
        if (line.ends_with('\r')) line.pop_back();
        const auto& e = texts.emplace_back(tokenizer.encode(line, longest + 1));
        if (e.size() > longest) lx::fail_file(where, "has more than the ", longest, " tokens that the model reads");
        const std::size_t before = positions.size();
        for (std::size_t i = 0; i < e.size(); ++i)
          if (e.ids[i] == *mask) positions.push_back(static_cast<std::int32_t>(tokens + i));
        if (positions.size() == before) lx::fail_file(where, "there is no ", lx::in_quotes(name));
        counts.push_back(positions.size() - before);
        tokens += e.size();
      }
      if (texts.empty()) break;
      const auto logits = model.logits(model.batch(texts), positions).value();
      lx::require_finite(logits, "standard input", "mask", masks_done + 1);
      masks_done += positions.size();
      std::size_t row = 0;
      for (const std::size_t count : counts) {
        lx::Json masks = lx::Json::array();
        for (std::size_t k = 0; k < count; ++k, ++row)
          masks.push_back(best_tokens(logits.data() + row * logits.dim(1), logits.dim(1), top, tokenizer.vocabulary()));
        std::cout << lx::dump_json({{"masks", masks}}, model_path) << '\n';
      }
      std::cout.flush();
    }
    return 0;
  });
}

const program::Command command{"fill_mask", program::Group::use, "predicts the tokens at [MASK]", run_fill_mask};

}  // namespace
