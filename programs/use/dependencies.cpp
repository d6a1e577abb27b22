// SPDX-License-Identifier: MIT
// Shows the dependency trees of pairs of texts, and the matrices that DAFA computes from them.
#include <lexformer/attention/dafa.hpp>
#include <lexformer/io/json.hpp>

#include <algorithm>
#include <iomanip>

#include "cli/knowledge.hpp"
#include "cli/term_options.hpp"

namespace lx = lexformer;

namespace {

/// A matrix as rows of JSON numbers.
lx::Json rows(const std::vector<double>& values, std::size_t columns) {
  lx::Json all = lx::Json::array();
  for (std::size_t first = 0; first < values.size(); first += columns)
    all.push_back(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(first),
                                      values.begin() + static_cast<std::ptrdiff_t>(first + columns)));
  return all;
}

/// Spaces that fill `text` up to `width` characters.
std::string padding(const std::string& text, std::size_t width) {
  const std::size_t length = lx::to_utf32(text).size();
  return std::string(width > length ? width - length : 0, ' ');
}

void print_tree(std::ostream& out, const lx::DependencyTrees& trees, const std::vector<double>& weights) {
  std::size_t width = 0;
  for (const auto& w : trees.words) width = std::max(width, lx::to_utf32(w.form).size());
  out << trees.text << "\n";
  for (std::size_t i = 0; i < trees.words.size(); ++i) {
    const auto& w = trees.words[i];
    out << std::setw(4) << i + 1 << "  " << w.form << padding(w.form, width) << "  " << std::setw(3) << w.head + 1 << "  " << w.relation;
    if (w.head >= 0) out << " of " << trees.words[static_cast<std::size_t>(w.head)].form;
    out << ", weight " << std::fixed << std::setprecision(2) << weights[i] << "\n";
  }
}

void print_matrix(std::ostream& out, const std::string& title, const lx::DependencyTrees& a, const lx::DependencyTrees& b,
                  const std::vector<double>& values) {
  std::size_t left = 0;
  for (const auto& w : a.words) left = std::max(left, lx::to_utf32(w.form).size());
  out << "\n" << title << "\n" << std::string(left, ' ');
  for (const auto& w : b.words) out << "  " << padding(w.form, 6) << w.form;
  for (std::size_t i = 0; i < a.words.size(); ++i) {
    out << "\n" << a.words[i].form << padding(a.words[i].form, left);
    for (std::size_t j = 0; j < b.words.size(); ++j) {
      const double x = values[i * b.words.size() + j];
      const std::string cell = x == 0 ? "." : lx::cat(std::fixed, std::setprecision(2), x);
      out << "  " << padding(cell, std::max<std::size_t>(6, lx::to_utf32(b.words[j].form).size())) << cell;
    }
  }
  out << "\n";
}

class Dependencies final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    knowledge_.visit(v);
    v.find("parses")->required();
    v.list("pair", pairs_, "two texts, each with trees in --parses; may be given several times").required().shown_as("A B");
    v.input("model", model_, "take the options and the document counts of this model; default: count all texts of --parses")
        .shown_as("M.lxf");
    v.flag("json", json_, "write one JSON object per pair");
    for (lx::Option& option : v.nested("dafa_", [&](program::OptionVisitor& of_dafa) { dafa_.visit(of_dafa); })) option.excludes("model");
  }
  int run() override {
    if (pairs_.size() % 2 != 0) lx::fail_usage("--pair", "needs two texts for each pair, got ", pairs_.size());
    const auto trees = knowledge_.load().trees;
    lx::EncoderSizes sizes{.layers = 256, .heads = 1, .width = 1, .max_length = 1};  // no model: no matrix depends on them
    if (!model_.empty()) {
      const auto config = lx::parse_transformer_config(lx::ModelFile::open(model_).config, model_);
      const auto dafa = std::find_if(config.attention.begin(), config.attention.end(), [](const auto& t) { return t.name == "dafa"; });
      if (dafa == config.attention.end()) lx::fail_usage("--model", "'", model_, "' is a model without DAFA");
      sizes = config.sizes();
      dafa->set([&](lx::OptionVisitor& v) { dafa_.visit(v); }, model_);
    }
    dafa_.check(sizes, "dependencies");
    dafa_.provide({.trees = trees});
    if (model_.empty()) dafa_.fit(trees->texts());
    const auto& counts = dafa_.options().counts;
    const auto& o = dafa_.options().dependency;
    dafa_.check_texts(pairs_, "--pair");
    for (std::size_t p = 0; p + 1 < pairs_.size(); p += 2) {
      const auto &a = *trees->find(pairs_[p]), &b = *trees->find(pairs_[p + 1]);
      const auto m = lx::tree_similarity(a, b, o), s = lx::subgraph_similarity(a, b, o), fused = lx::dependency_matrix(a, b, counts, o);
      const auto left = lx::tfidf_weights(a, counts, o), right = lx::tfidf_weights(b, counts, o);
      if (json_) {
        lx::Json line;
        for (const auto& [side, text, weights] : {std::tuple("left", &a, &left), std::tuple("right", &b, &right)}) {
          lx::Json words = lx::Json::array();
          for (const auto& w : text->words)
            words.push_back({{"form", w.form}, {"lemma", w.lemma}, {"head", w.head + 1}, {"relation", w.relation}});
          line[side] = {{"text", text->text}, {"words", words}, {"weights", *weights}};
        }
        const std::size_t columns = std::max<std::size_t>(b.words.size(), 1);
        line.update({{"M", rows(m, columns)}, {"S", rows(s, columns)}, {"M_F", rows(fused, columns)}});
        std::cout << lx::dump_json(line, "dependencies") << "\n";
        continue;
      }
      if (p > 0) std::cout << "\n";
      print_tree(std::cout, a, left);
      print_tree(std::cout, b, right);
      print_matrix(std::cout, "M, similarity of trees", a, b, m);
      print_matrix(std::cout, "S, similarity of subgraphs", a, b, s);
      print_matrix(std::cout, "M_F, with weights", a, b, fused);
    }
    return 0;
  }

 private:
  std::string model_;
  std::vector<std::string> pairs_;
  bool json_ = false;
  program::KnowledgeOptions knowledge_;
  lx::DafaFactory<> dafa_;
};

const program::Registered<Dependencies> command{
    "dependencies", program::Group::use, "dependency trees of pairs of texts, and the matrices of DAFA",
    "Shows the dependency trees of pairs of texts, and DAFA's matrices: M (trees), S (subgraphs), tf-idf weights, M_F."};

}  // namespace
