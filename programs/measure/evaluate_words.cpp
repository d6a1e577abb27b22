// SPDX-License-Identifier: MIT
// Evaluates word vectors: similarity of words against human scores, clusters against categories, neighbours of misspellings.
#include <iomanip>
#include <lexformer/core/hash.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/metrics.hpp>
#include <lexformer/words/word_tasks.hpp>
#include <unordered_map>

#include "cli/word_sources.hpp"

namespace lx = lexformer;

namespace {

/// The distinct words of all files and their vectors.
struct WordTable {
  std::unordered_map<std::string, std::size_t, lx::SeededHash> index;
  std::vector<std::string> words;
  std::vector<bool> covered;  // --vectors has the word
  std::vector<bool> known;    // the word has a vector
  lx::Tensor<float> unit;     // (words, D), of length 1

  std::size_t add(const std::string& word) {
    const auto [it, added] = index.emplace(word, words.size());
    if (added) words.push_back(word);
    return it->second;
  }
};

void add_vectors(WordTable& table, const lx::StaticVectors& vectors) {
  auto rows = vectors.rows(table.words);
  table.covered = std::move(rows.known);
  table.known = std::move(rows.found);
  table.unit = lx::Tensor<float>(rows.values.shape());
  const std::size_t size = vectors.size();
  float* out = table.unit.mutable_data();
  for (std::size_t i = 0; i < table.words.size(); ++i) {
    const auto row = rows.values.span().subspan(i * size, size);
    double squares = 0;
    for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t j = 0; j < size; ++j) out[i * size + j] = static_cast<float>(scale * static_cast<double>(row[j]));
  }
}

double cosine(const WordTable& table, std::size_t a, std::size_t b) {
  const std::size_t size = table.unit.dim(1);
  const float *x = table.unit.data() + a * size, *y = table.unit.data() + b * size;
  double sum = 0;
  for (std::size_t j = 0; j < size; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(y[j]);
  return sum;
}

/// Spearman's correlation of the pairs that `use` accepts, x 100; null for fewer than two.
template <class Use>
lx::Json similarity_on(const WordTable& table, const std::vector<lx::ScoredWordPair>& pairs, Use&& use) {
  std::vector<double> cosines, scores;
  for (const auto& p : pairs) {
    const std::size_t a = table.index.at(p.left), b = table.index.at(p.right);
    if (!use(a) || !use(b)) continue;
    cosines.push_back(cosine(table, a, b));
    scores.push_back(p.score);
  }
  lx::Json json = {{"pairs", scores.size()}, {"spearman", nullptr}};
  if (scores.size() > 1) json["spearman"] = 100 * lx::spearman(cosines, scores);
  return json;
}

/// Purity x 100 of the clusters of the words that `use` accepts, as many as these words have categories; null without words.
template <class Use>
lx::Json purity_on(const WordTable& table, const std::vector<lx::CategorizedWord>& words, lx::KMeansOptions options, Use&& use) {
  std::vector<float> rows;
  std::vector<std::int32_t> labels;
  std::unordered_map<std::string, std::int32_t, lx::SeededHash> categories;
  for (const auto& w : words) {
    const std::size_t i = table.index.at(w.word);
    if (!use(i)) continue;
    labels.push_back(categories.emplace(w.category, static_cast<std::int32_t>(categories.size())).first->second);
    const auto row = table.unit.span().subspan(i * table.unit.dim(1), table.unit.dim(1));
    rows.insert(rows.end(), row.begin(), row.end());
  }
  lx::Json json = {{"words", labels.size()}, {"categories", categories.size()}, {"purity", nullptr}, {"purity_mean", nullptr}};
  if (labels.empty()) return json;
  options.clusters = categories.size();
  const auto starts = lx::kmeans(lx::Tensor<float>::from(rows, {labels.size(), table.unit.dim(1)}), options);
  std::vector<double> purities;
  for (const auto& start : starts) purities.push_back(100 * lx::purity(start.cluster, labels));
  const auto over_starts = lx::mean_and_deviation(purities);
  json["purity"] = 100 * lx::purity(lx::best_start(starts).cluster, labels);
  json["purity_mean"] = over_starts.mean;
  json["purity_deviation"] = over_starts.deviation;
  json["inertia"] = lx::best_start(starts).inertia;
  return json;
}

/// The share of misspellings whose correct word is the nearest of all known words, and one of the ten nearest, x 100; null without any.
/// Left out: misspellings that are known words or have no vector, and those whose correct word is not known.
lx::Json misspellings_on(const std::vector<lx::Misspelling>& list, const lx::StaticVectors& vectors, const lx::Tensor<float>& known) {
  std::vector<std::string> words;
  std::vector<std::size_t> correct;
  for (const auto& m : list) {
    const auto row = vectors.known().find(m.correct);
    if (!row || m.misspelling.find(' ') != std::string::npos || vectors.known().find(m.misspelling)) continue;
    words.push_back(m.misspelling);
    correct.push_back(*row);
  }
  lx::Json json = {{"misspellings", words.size()}, {"top_1", nullptr}, {"top_10", nullptr}};
  if (words.empty()) return json;
  const auto ranks = lx::neighbor_ranks(vectors.rows(words).values, known, correct);
  for (const std::size_t k : {std::size_t{1}, std::size_t{10}}) {
    const auto found = std::count_if(ranks.begin(), ranks.end(), [&](std::size_t rank) { return rank <= k; });
    json[lx::cat("top_", k)] = 100 * static_cast<double>(found) / static_cast<double>(ranks.size());
  }
  return json;
}

/// The results of a file: over the covered items and over all. `measure(use)` computes them for the words that use(i) accepts.
template <class Measure>
lx::Json result_of(const std::string& file, const char* items, std::size_t count, const WordTable& table, Measure&& measure) {
  lx::Json json = {{"file", file}, {items, count}};
  json["on_covered"] = measure([&](std::size_t i) { return table.covered[i] && table.known[i]; });
  json["on_all"] = table.covered == table.known ? json["on_covered"] : measure([&](std::size_t i) { return bool{table.known[i]}; });
  json["covered"] = json["on_covered"][items];
  json["left_out"] = count - json["on_all"][items].get<std::size_t>();
  return json;
}

void print(const lx::Json& results, std::size_t starts) {
  std::vector<std::array<std::string, 7>> lines{{"file", "measure", "total", "covered", "on covered", "left out", "on all"}};
  const auto value = [](const lx::Json& number) {
    program::StringWriter out;
    if (number.is_null()) return std::string("-");
    out << std::fixed << std::setprecision(1) << number.get<double>();
    return out.str();
  };
  const auto add = [&](const lx::Json& r, const std::string& measure, const char* items, const char* key) {
    lines.push_back({r["file"], measure, r[items].dump(), r["covered"].dump(), value(r["on_covered"][key]), r["left_out"].dump(),
                     value(r["on_all"][key])});
  };
  for (const auto& r : results["similarity"]) add(r, "Spearman", "pairs", "spearman");
  for (const auto& r : results["clusters"]) {
    add(r, "purity", "words", "purity");
    add(r, lx::cat("purity, mean of ", starts), "words", "purity_mean");
  }
  for (const auto& r : results["misspellings"]) {
    add(r, "nearest is correct", "misspellings", "top_1");
    add(r, "correct in nearest 10", "misspellings", "top_10");
  }
  std::array<std::size_t, 7> widths{};
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c)
      std::cout << (c == 0 ? "" : "  ") << (c < 2 ? std::left : std::right) << std::setw(static_cast<int>(widths[c])) << line[c];
    std::cout << "\n";
  }
}

class EvaluateWords final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("vectors", vectors_,
            "word vectors: a text file, a .npy file with --words, a .bin file of fastText, or a model, whose whole-word rows are used")
        .shown_as("V");
    v.input("words", words_, "for a .npy file of vectors: its words, one per line").needs("vectors");
    v.input(
         "imputer", imputer_,
         "a model of words (train_love, train_imputer, or a .bin file of fastText), which makes vectors for the words that --vectors lacks")
        .also("love")
        .shown_as("M.lxf");
    v.flag("imputer_only", imputer_only_, "take all vectors from the model; --vectors, if given, only tells which words are covered")
        .also("love_only")
        .needs("imputer");
    v.inputs("similarity", similarity_, "files of lines `word word score` or `index word word score`, separated by tabs");
    v.inputs("clusters", clusters_, "tables (.csv, .tsv, .jsonl) with columns `category` and `word`");
    program::visit_delimiter(v, delimiter_);
    v.find("delimiter")->needs("clusters");
    v.inputs("misspellings", misspellings_,
             "files of lines `misspelling correct`, separated by a tab, perhaps with a count behind them, or of lines `$correct`, each "
             "followed by its misspellings; need "
             "--imputer")
        .only_if(!vectors_.empty() && !imputer_.empty(),
                 "needs --vectors, the known words, and --imputer, which makes the vectors of misspellings");
    v.size("starts", kmeans_.starts, 1, 10000, "starts of k-means");
    v.size("seed", kmeans_.seed, 0, "random seed of k-means");
    v.output("output", output_, "also write the results as JSON").shown_as("F.json");
    visit_threads(v);
  }
  int run() override {
    if (vectors_.empty() && !imputer_only_) lx::fail_usage("--vectors", "is missing; without it use --imputer and --imputer-only");
    if (similarity_.empty() && clusters_.empty() && misspellings_.empty())
      lx::fail_usage("--similarity", "no file to evaluate on, neither here nor for --clusters nor --misspellings");

    WordTable table;
    std::vector<std::vector<lx::ScoredWordPair>> pairs;
    std::vector<std::vector<lx::CategorizedWord>> categorized;
    for (const auto& file : similarity_)
      for (const auto& p : pairs.emplace_back(lx::read_word_pairs(file))) {
        table.add(p.left);
        table.add(p.right);
      }
    for (const auto& file : clusters_)
      for (const auto& w : categorized.emplace_back(lx::read_categorized_words(file, delimiter_))) table.add(w.word);
    std::vector<std::vector<lx::Misspelling>> misspelt;
    for (const auto& file : misspellings_) misspelt.push_back(lx::read_misspellings(file));
    const auto vectors = program::read_static_vectors(vectors_, words_, imputer_, imputer_only_);
    add_vectors(table, vectors);

    lx::Json json = {{"similarity", lx::Json::array()}, {"clusters", lx::Json::array()}, {"misspellings", lx::Json::array()}};
    json["settings"] = {{"vectors", vectors_},           {"words", words_},          {"imputer", imputer_},
                        {"imputer_only", imputer_only_}, {"starts", kmeans_.starts}, {"seed", kmeans_.seed}};
    for (std::size_t f = 0; f < pairs.size(); ++f)
      json["similarity"].push_back(
          result_of(similarity_[f], "pairs", pairs[f].size(), table, [&](auto&& use) { return similarity_on(table, pairs[f], use); }));
    for (std::size_t f = 0; f < categorized.size(); ++f)
      json["clusters"].push_back(result_of(clusters_[f], "words", categorized[f].size(), table,
                                           [&](auto&& use) { return purity_on(table, categorized[f], kmeans_, use); }));
    lx::Tensor<float> known;
    if (!misspelt.empty()) known = vectors.rows(vectors.known().words()).values;
    for (std::size_t f = 0; f < misspelt.size(); ++f) {
      lx::Json result = {{"file", misspellings_[f]}, {"misspellings", misspelt[f].size()}};
      result["on_all"] = result["on_covered"] = misspellings_on(misspelt[f], vectors, known);
      result["covered"] = result["on_covered"]["misspellings"];
      result["left_out"] = misspelt[f].size() - result["covered"].get<std::size_t>();
      json["misspellings"].push_back(result);
    }
    print(json, kmeans_.starts);
    if (!output_.empty()) lx::write_file_atomic(output_, json.dump(2) + "\n");
    return 0;
  }

 private:
  std::string vectors_, words_, imputer_, output_;
  std::vector<std::string> similarity_, clusters_, misspellings_;
  bool imputer_only_ = false;
  lx::Delimiter delimiter_ = lx::Delimiter::automatic;
  lx::KMeansOptions kmeans_;
};

const program::Registered<EvaluateWords> registered{
    "evaluate_words", program::Group::measure, "word vectors: similarity, clusters, misspellings",
    "Evaluates word vectors. Similarity: Spearman's correlation of cosines and human scores. Clusters: purity of k-means on vectors of "
    "length 1, with as many clusters as categories; the purity of the start with the smallest inertia, and the mean over the starts. "
    "Misspellings: the share whose correct word is the nearest of all known words, and among the ten nearest, by cosine. All x 100. "
    "'covered' counts the pairs and words that --vectors has; with --imputer the other words get vectors from a model, else they are left "
    "out. Words with a space are left out. A misspelling is covered if --vectors has the correct word and lacks the misspelling; the "
    "others are left out."};

}  // namespace
