// SPDX-License-Identifier: MIT
// Finds the pairs of records of two tables, or of one, that are worth scoring, and says how many matches are among them.
#include "match/candidates.hpp"

#include <iomanip>

#include "cli/typo_flags.hpp"

namespace lx = lexformer;

namespace {

/// A copy of the texts with typos, drawn for each text.
std::vector<std::string> with_typos(std::vector<std::string> texts, const lx::TypoOptions& typos, std::uint64_t seed, std::uint32_t side) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto random = lx::typo_stream(seed, side, static_cast<std::uint32_t>(i));
    texts[i] = lx::add_typos(texts[i], typos, random);
  }
  return texts;
}

void explain(const program::Candidates& search, const lx::RecordPairs& records, std::size_t left, std::size_t right, std::size_t top,
             std::span<const std::string> left_texts, std::span<const std::string> right_texts) {
  const auto& a = records.left().records[left].id;
  const auto& b = records.right().records[right].id;
  std::cout << a << ": " << left_texts[left] << "\n" << b << ": " << right_texts[right] << "\n";
  for (const auto& reason : search.explain(left, right)) {
    std::cout << reason.kind << ": cosine " << std::fixed << std::setprecision(4) << reason.score;
    const auto in = [&](std::size_t rank) { return rank > 0 && rank <= top; };
    if (reason.score > 0)
      std::cout << "; " << b << " is number " << reason.left_rank << " for " << a << ", " << a << " is number " << reason.right_rank
                << " for " << b;
    std::cout << ": " << (in(reason.left_rank) || in(reason.right_rank) ? "a candidate" : "no candidate") << " within " << top << "\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(reason.shared.size(), 15); ++i)
      std::cout << "  " << reason.shared[i].part << "  '" << reason.shared[i].feature << "'\n";
  }
}

int run_candidates(int argc, char** argv) {
  CLI::App app(
      "Finds candidates: the pairs of records of two tables, or of one, whose texts have the largest cosines. Exact, and the same for any "
      "number of threads.",
      "candidates");
  program::RecordFlags flags;
  program::CandidateFlags candidates;
  std::string out;
  std::vector<std::string> matches, ids;
  lx::TypoOptions typos;
  double share = 0;
  std::uint64_t seed = 1;
  flags.add_arguments(app, false);
  candidates.add_to(app, "--top");
  app.add_option("--out", out, "write left_id, right_id and score of each candidate; .csv or .jsonl")->type_name("F.csv");
  app.add_option("--matches", matches, "labelled pairs of ids: print which share of the matches is among the candidates")->type_name("F");
  app.add_option("--explain", ids, "two ids: print why the pair is a candidate or not, and nothing else")->expected(2)->type_name("ID");
  app.add_option("--typo-share", share, "share of words with a typo, in both tables, to measure what is lost")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  program::TypoFlags typo_flags;
  typo_flags.add_to(app, typos);
  app.add_option("--seed", seed, "random seed of the typos")->capture_default_str();
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    if (out.empty() && matches.empty() && ids.empty()) lx::fail_usage("command line", "nothing to do; give --out, --matches or --explain");
    program::keep_inputs("--out", out, flags.files());
    program::keep_inputs("--out", out, matches);
    program::keep_inputs("--out", out, {typo_flags.path()});
    candidates.check();
    typo_flags.load(typos);
    const auto format = out.empty() ? lx::TableFormat::csv : program::output_format(out);
    program::check_folder(out);
    const auto records = flags.load(flags.columns(), "");
    auto [left, right] = program::blocking_texts(*records);
    if (share > 0) {
      typos.word_share = share;
      left = with_typos(std::move(left), typos, seed, 0);
      right = with_typos(std::move(right), typos, seed, 1);
    }
    const auto search = candidates.search(left, right, records->one_table());
    if (!ids.empty()) {
      const std::size_t a = records->left_place(ids[0], "--explain"), b = records->right_place(ids[1], "--explain");
      if (records->one_table() && a == b) lx::fail_usage("--explain", lx::in_quotes(ids[0]), " is there twice; give two records");
      explain(search, *records, a, b, candidates.options().top, left, records->one_table() ? left : right);
      return 0;
    }
    const auto found = search.find();
    if (!out.empty()) {
      program::StringWriter lines;
      lines << std::fixed << std::setprecision(6);
      if (format == lx::TableFormat::csv) lines << "left_id,right_id,score\n";
      for (const auto& c : found) {
        const auto &a = records->left().records[c.left].id, &b = records->right().records[c.right].id;
        if (format == lx::TableFormat::csv)
          lines << program::csv_field(a) << ',' << program::csv_field(b) << ',' << c.score << '\n';
        else
          lines << "{\"left_id\":" << lx::Json(a).dump() << ",\"right_id\":" << lx::Json(b).dump() << ",\"score\":" << c.score << "}\n";
      }
      lx::write_file_atomic(out, lines.str());
    }
    const auto quality = program::blocking_quality(matches, records, found, search.pairs());
    std::cout << quality.candidates << " candidates of " << std::fixed << std::setprecision(0) << quality.pairs << " pairs, reduction "
              << std::setprecision(3) << 100 * quality.reduction() << " %\n";
    if (!matches.empty())
      std::cout << quality.found << " of " << quality.matches << " matches among them, recall " << std::setprecision(2)
                << 100 * quality.recall() << " %\n";
    return 0;
  });
}

const program::Command command{"candidates", program::Group::match,
                               "finds the pairs of records that are worth scoring; their recall, and why a pair is among them",
                               run_candidates};

}  // namespace
