// SPDX-License-Identifier: MIT
// One HTML page about a model of words: principal components of word vectors, nearest known words, and the attention of LOVE.
#include <lexformer/io/config.hpp>
#include <lexformer/metrics/principal_components.hpp>
#include <lexformer/words/love.hpp>
#include <lexformer/words/word_imputer.hpp>
#include "report/report.hpp"

#include "cli/report_footer.hpp"
#include "cli/word_sources.hpp"

namespace lx = lexformer;

namespace {

struct WordVectorsOfPage {
  std::vector<std::string> words;
  lx::Tensor<float> vectors;  // (words, D)
  std::vector<bool> known;    // the vector is a target's
};

WordVectorsOfPage vectors_of(const std::vector<std::string>& words, const lx::WordVectors& targets, const lx::WordImputer& imputer) {
  WordVectorsOfPage out{words, imputer.vectors(words), {}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto row = targets.size() > 0 ? targets.find(words[i]) : std::nullopt;
    out.known.push_back(row.has_value());
    if (!row) continue;
    // Imputed vectors have length 1, so known ones are scaled to the same length.
    const auto vector = targets.row(*row);
    double squares = 0;
    for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
    for (std::size_t j = 0; j < vector.size(); ++j)
      out.vectors.mutable_data()[i * vector.size() + j] = static_cast<float>(static_cast<double>(vector[j]) / std::sqrt(squares));
  }
  return out;
}

void components_picture(lx::ReportPage& page, const WordVectorsOfPage& w, bool targets) {
  const auto pca = lx::principal_components(w.vectors, 2);
  std::vector<lx::NamedPoint> points;
  lx::Csv csv({"word", "x", "y", "known"});
  for (std::size_t i = 0; i < w.words.size(); ++i) {
    points.push_back({w.words[i], pca.coordinates.at(i, 0), pca.coordinates.at(i, 1), targets && !w.known[i] ? 1u : 0u});
    csv.row({w.words[i], lx::short_number(points[i].x, 9), lx::short_number(points[i].y, 9), w.known[i] ? "1" : "0"});
  }
  const auto axis = [&](std::size_t c) {
    return lx::cat("component ", c + 1, ", ", lx::short_number(100 * pca.variance[c], 3), " % of the variance");
  };
  const auto groups = targets ? std::vector<std::string>{"known word", "imputed"} : std::vector<std::string>{"imputed"};
  page.picture("components",
               lx::scatter_plot(
                   points, groups,
                   {.title = "Principal components of word vectors", .x_label = axis(0), .y_label = axis(1), .width = 760, .height = 520}),
               csv,
               "Word vectors of length 1, projected on their first two principal components. Words near each other have similar vectors.");
}

void neighbours_table(lx::ReportPage& page, const WordVectorsOfPage& w, const lx::WordVectors& targets) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < w.words.size(); ++i) {
    if (w.known[i]) continue;
    std::string list;
    const auto vector = w.vectors.span().subspan(i * targets.dimension(), targets.dimension());
    if (std::all_of(vector.begin(), vector.end(), [](float x) { return x == 0; })) continue;
    for (const auto& n : targets.nearest(vector, 5))
      list += lx::cat(list.empty() ? "" : ", ", lx::escape_xml(targets.words()[n.row]), " ",
                      lx::short_number(static_cast<double>(n.cosine), 2));
    rows.push_back({lx::escape_xml(w.words[i]), list});
  }
  if (rows.empty()) return;
  page.heading("Nearest known words");
  page.paragraph("Of each imputed vector, with the cosine.");
  page.table({"word", "nearest known words"}, rows);
}

/// A model of LOVE with positional attention. Errors (usage): the model is of another kind.
lx::Love<> love_with_attention(const std::string& path) {
  const auto none = [&](const std::string& why) {
    lx::fail_usage(
        "--attention", path, why,
        "; only the attention of LOVE's encoder pam is drawn: give such a model (train_love --encoder pam), or leave --attention out");
  };
  if (path.ends_with(".bin")) none(" is a model of fastText");
  const auto file = lx::ModelFile::open(path);
  if (const std::string type = file.model_type(); type != "love") none(" is a model of the type " + lx::in_quotes(type));
  lx::Love<> love(file);
  if (!std::holds_alternative<lx::LovePam<>>(love.encoder().mixer))
    none(lx::cat(" has the encoder ", lx::name_of(love.options().encoder), " without positional attention"));
  return love;
}

/// One picture per word: in each layer, the weights of both attentions of the first head.
void attention_pictures(lx::ReportPage& page, const lx::Love<>& love, const std::vector<std::string>& words) {
  const auto& pam = std::get<lx::LovePam<>>(love.encoder().mixer);
  const lx::NoGrad no_grad;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const auto ids = love.units().ids(words[k]);
    const auto units = love.units().tokens(words[k]);
    const auto weights = pam.attention_weights(love.encoder().table(lx::Indices<std::int32_t>(ids)),
                                               lx::Offsets::from_lengths(std::vector<std::size_t>{ids.size()}));
    std::vector<lx::HeatPanel> panels;
    lx::Csv csv({"layer", "attention", "from", "to", "weight"});
    for (std::size_t layer = 0; layer < weights.position.size(); ++layer) {
      const auto add = [&](const std::string& kind, const lx::Var<>& matrix) {
        const auto head = matrix.value().span().first(ids.size() * ids.size());
        std::vector<double> values(head.begin(), head.end());
        for (std::size_t i = 0; i < values.size(); ++i)
          csv.row({std::to_string(layer), kind, units[i / ids.size()], units[i % ids.size()], lx::short_number(values[i], 9)});
        const double most = *std::max_element(values.begin(), values.end());
        panels.push_back({weights.position.size() == 1 ? kind : lx::cat(kind, ", layer ", layer), std::move(values), most});
      };
      add("positional attention", weights.position[layer]);
      add("self-attention", weights.content[layer]);
    }
    page.picture(lx::cat("attention-", k + 1), lx::heat_maps(units, panels, lx::cat("LOVE's attention for ", words[k])), csv,
                 "Weights of the units (columns) that each unit (row) reads, first head. Positional attention depends on distance alone.");
  }
}

class ReportWords final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a model of words (train_love, train_imputer)").required().shown_as("M.lxf");
    v.input("targets", targets_file_, "word vectors, or a model whose whole-word rows are used; known words keep their vectors")
        .shown_as("V");
    v.input("word_list", word_list_, "for a .npy file of targets: its words, one per line").needs("targets");
    v.list("words", words_, "words, separated by commas").required().split_at(',').shown_as("A,B,...");
    v.list("attention", attention_, "words whose attention is drawn (LOVE with its encoder pam)").split_at(',').shown_as("A,B,...");
    v.folder("out", out_, "folder of the page").required();
    visit_threads(v);
  }
  int run() override {
    for (const auto* list : {&words_, &attention_})
      for (const auto& word : *list)
        if (const std::string fault = lx::word_fault(word); !fault.empty())
          lx::fail_usage(list == &words_ ? "--words" : "--attention", fault);
    if (words_.size() < 3) lx::fail_usage("--words", "two components need at least 3 words, got ", words_.size());
    std::optional<lx::Love<>> love;
    if (!attention_.empty()) love = love_with_attention(model_);
    const auto imputer = lx::load_imputer(model_);
    lx::WordVectors targets;
    if (!targets_file_.empty()) targets = program::read_word_vectors(targets_file_, word_list_);
    if (targets.size() > 0 && targets.dimension() != imputer.size())
      lx::fail_usage("--targets", "the words in ", targets_file_, " have ", targets.dimension(), " numbers, the vectors of ", model_,
                     " have ", imputer.size());
    const auto vectors = vectors_of(words_, targets, imputer);
    lx::require_finite(vectors.vectors, model_, "word", 1);
    lx::ReportPage page("Word vectors of " + model_);
    components_picture(page, vectors, targets.size() > 0);
    if (targets.size() > 0) neighbours_table(page, vectors, targets);
    if (love) {
      page.heading("Attention");
      attention_pictures(page, *love, attention_);
    }
    program::report_footer(page, command_line);
    page.save(out_);
    std::cerr << out_ << "/index.html\n";
    return 0;
  }

 private:
  std::string model_, targets_file_, word_list_, out_;
  std::vector<std::string> words_, attention_;
};

const program::Registered<ReportWords> registered{
    "report_words", program::Group::measure, "a page about a model of words: principal components, neighbours, attention",
    "Writes one HTML page about a model of words: principal components of word vectors, the nearest known words of imputed vectors, and "
    "the attention of LOVE for single words."};

}  // namespace
