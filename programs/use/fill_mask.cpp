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

class FillMask final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a masked language model: a .lxf file (pretrain, tools/convert_hf.py) or a HuggingFace folder")
        .required()
        .shown_as("M.lxf");
    v.size("top", top_, 1, "tokens for each [MASK]");
    v.size("batch", batch_, 1, "texts per batch");
    visit_threads(v);
  }
  int run() override {
    const auto model = lx::MaskedLm<>::load(model_);
    const auto& tokenizer = model.tokenizer();
    const std::string& name = tokenizer.options().mask;
    const auto mask = tokenizer.vocabulary().id(name);
    if (!mask) lx::fail_file(model_, "the vocabulary has no ", lx::in_quotes(name));
    const std::size_t longest = model.config().max_tokens();
    const lx::NoGrad no_grad;
    lx::StreamLines lines(std::cin);
    std::string line;
    std::size_t masks_done = 0;
    for (bool more = true; more;) {
      std::vector<lx::Encoding> texts;
      std::vector<std::int32_t> positions;  // of all masks, as rows of the batch
      std::vector<std::size_t> counts;      // masks of each text
      std::size_t tokens = 0;
      std::string fault;  // of a line, which ends the run when the lines before it are written
      while (texts.size() < batch_ && (more = lines.next(line))) {
        const std::string where = lx::cat("standard input: line ", lines.number());
        const auto e = tokenizer.encode(line, longest + 1);
        const std::size_t before = positions.size();
        for (std::size_t i = 0; i < e.size() && e.size() <= longest; ++i)
          if (e.ids[i] == *mask) positions.push_back(static_cast<std::int32_t>(tokens + i));
        if (e.size() > longest)
          fault = lx::cat("has more than the ", longest, " tokens that the model reads");
        else if (positions.size() == before)
          fault = lx::cat("there is no ", lx::in_quotes(name));
        if (!fault.empty() && texts.empty()) lx::fail_file(where, fault);
        if (!fault.empty()) break;
        counts.push_back(positions.size() - before);
        tokens += e.size();
        texts.push_back(e);
      }
      if (texts.empty()) break;
      const auto logits = model.logits(model.batch(texts), positions).value();
      lx::require_finite(logits, "standard input", "mask", masks_done + 1);
      masks_done += positions.size();
      std::size_t row = 0;
      for (const std::size_t count : counts) {
        lx::Json masks = lx::Json::array();
        for (std::size_t k = 0; k < count; ++k, ++row)
          masks.push_back(best_tokens(logits.data() + row * logits.dim(1), logits.dim(1), top_, tokenizer.vocabulary()));
        std::cout << lx::dump_json({{"masks", masks}}, model_) << '\n';
      }
      std::cout.flush();
      if (!fault.empty()) lx::fail_file(lx::cat("standard input: line ", lines.number()), fault);
    }
    return 0;
  }

 private:
  std::string model_;
  std::size_t top_ = 5, batch_ = 32;
};

const program::Registered<FillMask> command{
    "fill_mask", program::Group::use, "predicts the tokens at [MASK]",
    "Reads texts with [MASK], one per line, and writes for each a JSON line with the most probable tokens of every [MASK]."};

}  // namespace
