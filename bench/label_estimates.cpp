// SPDX-License-Identifier: MIT
// Precision and recall that `match` states, against the truth: without labels, and with samples of 50, 100 and 200 labels.
//   label_estimates DRAWS LEFT.csv RIGHT.csv PAIRS.csv...   (PAIRS: pairs of ids with labels; the matches of all files are the truth)
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <set>

#include <lexformer/metrics/metrics.hpp>
#include <lexformer/tables.hpp>

namespace lx = lexformer;

namespace {

struct Candidates {
  lx::Evidence evidence;
  std::vector<std::int32_t> labels;
};

Candidates find(const std::string& left, const std::string& right, const std::vector<std::string>& files) {
  const auto records = std::make_shared<const lx::RecordPairs>(lx::read_records(left), lx::read_records(right), lx::RecordTextOptions{});
  const auto texts = lx::search_texts(*records);
  const auto columns = lx::search_columns(*records);
  lx::CandidateOptions options;
  options.columns = lx::weigh_columns(columns, false);
  Candidates out{{lx::RecordSearch(texts.first, texts.second, false, options).find(), false}, {}};
  std::set<std::pair<std::size_t, std::size_t>> matches;
  const auto labelled = lx::read_labelled_pairs(files, records);
  for (std::size_t i = 0; i < labelled.labels.size(); ++i)
    if (labelled.labels[i] == 1) matches.insert(labelled.places[i]);
  for (const auto& c : out.evidence.candidates) out.labels.push_back(matches.contains({c.left, c.right}) ? 1 : 0);
  return out;
}

/// What the program says, beside what is true.
struct Figure {
  lx::Estimate stated;
  double truth = 0;
};

/// Decides with `labels` drawn labels, and estimates precision and recall.
std::pair<Figure, Figure> decide(const Candidates& all, const lx::SimilarityCurve& curve, std::size_t count, std::uint64_t seed) {
  const std::size_t n = all.labels.size();
  std::vector<double> p;
  std::vector<std::uint8_t> matches;
  for (std::size_t i = 0; i < n; ++i) {
    p.push_back(curve(all.evidence.similarity(i)));
    matches.push_back(lx::is_match(all.evidence.similarity(i), 0.5) ? 1 : 0);
  }
  const auto drawn = count == 0 ? std::vector<lx::DrawnPair>() : lx::sample_pairs(p, matches, count, seed);
  lx::LabelledPairs labelled;
  for (const auto& [place, weight] : drawn) {
    labelled.places.emplace_back(all.evidence.candidates[place].left, all.evidence.candidates[place].right);
    labelled.labels.push_back(all.labels[place]);
    labelled.chosen.push_back(lx::SuggestBy::sample);
  }
  std::optional<lx::ValidationPairs> valid;
  if (count > 0) valid.emplace(labelled, all.evidence);
  const auto decisions = lx::decide_by_curve({}, curve, valid ? &*valid : nullptr, all.evidence);
  lx::MatchQuality quality;
  double right = 0, decided = 0, total = 0;
  const auto of = [&](std::size_t i) { return decisions.of(all.evidence.similarity(i), all.evidence.of(i)); };
  for (std::size_t i = 0; i < n; ++i) {
    const auto pair = of(i);
    quality.add(p[i], pair.match);
    decided += pair.match ? 1 : 0;
    total += all.labels[i];
    right += pair.match ? all.labels[i] : 0;
  }
  for (const auto& [place, weight] : drawn) {
    quality.add_label(p[place], of(place).match, all.labels[place] == 1);
  }
  const auto estimate = quality.estimate();
  return {{estimate.precision, right / decided}, {estimate.recall, right / total}};
}

void print(const char* name, const std::vector<Figure>& figures) {
  double truth = 0, bias = 0, error = 0, held = 0, width = 0;
  const auto n = static_cast<double>(figures.size());
  for (const auto& [stated, true_value] : figures) {
    truth += 100 * true_value / n;
    bias += 100 * (stated.value - true_value) / n;
    error += 100 * std::abs(stated.value - true_value) / n;
    held += (stated.low <= true_value && true_value <= stated.high ? 100 : 0) / n;
    width += 100 * (stated.high - stated.low) / n;
  }
  std::cout << "  " << name << std::fixed << std::setprecision(1) << ": true " << truth << ", bias " << std::showpos << bias
            << std::noshowpos << ", mean error " << error << ", interval holds " << held << " %, width " << width << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) lx::fail_usage("label_estimates", "expected DRAWS LEFT.csv RIGHT.csv PAIRS.csv...");
  const auto all = find(argv[2], argv[3], {argv + 4, argv + argc});
  const auto curve = lx::fit_similarity_curve(all.evidence);
  for (const std::size_t count : {0u, 50u, 100u, 200u}) {
    std::vector<Figure> precision, recall;
    for (int seed = 1; seed <= (count == 0 ? 1 : std::atoi(argv[1])); ++seed) {
      const auto [p, r] = decide(all, curve.value(), count, static_cast<std::uint64_t>(seed));
      precision.push_back(p);
      recall.push_back(r);
    }
    std::cout << count << " labels\n";
    print("precision", precision);
    print("recall", recall);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
