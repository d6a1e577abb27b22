// SPDX-License-Identifier: MIT
// Finds the pairs of records of two tables, or of one, that are worth scoring, and says how many matches are among them.
#include <iomanip>
#include <lexformer/data/row_writer.hpp>
#include <lexformer/tables/column_weights.hpp>
#include <lexformer/tables/labelled_pairs.hpp>

#include "cli/typo_flags.hpp"
#include "match/candidate_flags.hpp"

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

void explain(const lx::RecordSearch& search, const lx::RecordPairs& records, std::size_t left, std::size_t right,
             const lx::CandidateOptions& options, std::span<const std::string> left_texts, std::span<const std::string> right_texts) {
  const auto& a = records.left().records[left].id;
  const auto& b = records.right().records[right].id;
  std::cout << a << ": " << left_texts[left] << "\n" << b << ": " << right_texts[right] << "\n";
  for (const auto& line : lx::explain_keys(records, options.key_columns, left, right)) std::cout << line << "\n";
  const std::size_t top = options.top;
  for (const auto& reason : search.explain(left, right)) {
    std::cout << reason.kind << ": cosine " << std::fixed << std::setprecision(4) << reason.score;
    const auto in = [&](std::size_t rank) { return rank > 0 && rank <= top; };
    if (reason.left_rank > 0)
      std::cout << "; " << b << " is number " << reason.left_rank << " for " << a << ", " << a << " is number " << reason.right_rank
                << " for " << b;
    std::cout << ": " << (in(reason.left_rank) || in(reason.right_rank) ? "a candidate" : "no candidate") << " within " << top << "\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(reason.shared.size(), 15); ++i)
      std::cout << "  " << reason.shared[i].part << "  '" << reason.shared[i].feature << "'\n";
  }
}

class FindCandidates final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    flags_.visit_arguments(v, false);
    candidates_.visit(v, "top");
    v.output("out", out_, "write left_id, right_id and score of each candidate; .csv or .jsonl").shown_as("F.csv");
    v.inputs("matches", matches_, "labelled pairs of ids: print which share of the matches is among the candidates");
    program::visit_skip_label(v, skip_labels_).needs("matches");
    v.list("explain", ids_, "two ids: print why the pair is a candidate or not, and nothing else").values(2).shown_as("ID");
    v.number("typo_share", share_, lx::bounds::share, "share of words with a typo, in both tables, to measure what is lost");
    typo_flags_.visit(v, typos_);
    v.size("seed", seed_, 0, "random seed of the typos");
    visit_threads(v);
  }
  int run() override {
    if (out_.empty() && matches_.empty() && ids_.empty())
      lx::fail_usage("command line", "nothing to do; give --out, --matches or --explain");
    typo_flags_.load(typos_);
    const auto format = out_.empty() ? lx::TableFormat::csv : program::output_format(out_);
    const auto records = flags_.load(flags_.columns());
    std::vector<std::pair<std::size_t, std::size_t>> matches;
    if (!matches_.empty()) {
      const auto labelled = lx::read_labelled_pairs(matches_, records, {"0", "1"}, skip_labels_);
      for (std::size_t i = 0; i < labelled.labels.size(); ++i)
        if (labelled.labels[i] == 1) matches.push_back(labelled.places[i]);
    }
    auto options = candidates_.load(flags_.columns().empty());
    typos_.word_share = share_;
    std::vector<lx::SearchColumn> columns;
    if (options.weighs_columns()) columns = lx::search_columns(*records);
    for (std::uint32_t c = 0; share_ > 0 && c < columns.size(); ++c) {
      columns[c].left = with_typos(std::move(columns[c].left), typos_, seed_, 2 * c);
      columns[c].right = with_typos(std::move(columns[c].right), typos_, seed_, 2 * c + 1);
    }
    options.columns = lx::weigh_columns(columns, records->one_table(), options.ngram);
    const bool weighed = !options.columns.columns.empty();
    if (weighed) std::cerr << lx::describe_weights(columns, options.columns) << '\n';
    auto [left, right] =
        weighed ? std::pair(lx::join_columns(columns, false), lx::join_columns(columns, true)) : lx::search_texts(*records);
    if (share_ > 0 && !weighed) {
      left = with_typos(std::move(left), typos_, seed_, 0);
      right = with_typos(std::move(right), typos_, seed_, 1);
    }
    options.keys = lx::record_keys(*records, options.key_columns);
    for (const auto& text : options.keys.notes) std::cerr << text << '\n';
    const lx::RecordSearch search(left, right, records->one_table(), options);
    if (!ids_.empty()) {
      const std::size_t a = records->left_place(ids_[0], "--explain"), b = records->right_place(ids_[1], "--explain");
      if (records->one_table() && a == b) lx::fail_usage("--explain", lx::in_quotes(ids_[0]), " is there twice; give two records");
      explain(search, *records, a, b, options, left, records->one_table() ? left : right);
      return 0;
    }
    const auto found = search.find();
    if (!out_.empty()) {
      program::StringWriter lines;
      lines << std::fixed << std::setprecision(6);
      if (format == lx::TableFormat::csv) lines << "left_id,right_id,score\n";
      for (const auto& c : found) {
        const auto &a = records->left().records[c.left].id, &b = records->right().records[c.right].id;
        if (format == lx::TableFormat::csv)
          lines << lx::csv_field(a) << ',' << lx::csv_field(b) << ',' << c.score << '\n';
        else
          lines << "{\"left_id\":" << lx::Json(a).dump() << ",\"right_id\":" << lx::Json(b).dump() << ",\"score\":" << c.score << "}\n";
      }
      lx::write_file_atomic(out_, lines.str());
    }
    const auto quality = lx::blocking_quality(matches, found, records->one_table(), search.pairs());
    std::cout << quality.candidates << " candidates of " << std::fixed << std::setprecision(0) << quality.pairs << " pairs, reduction "
              << std::setprecision(3) << 100 * quality.reduction() << " %\n";
    if (!matches_.empty())
      std::cout << quality.found << " of " << quality.matches << " matches among them, recall " << std::setprecision(2)
                << 100 * quality.recall() << " %\n";
    return 0;
  }

 private:
  program::RecordFlags flags_;
  program::CandidateFlags candidates_;
  std::string out_;
  std::vector<std::string> matches_, skip_labels_, ids_;
  lx::TypoOptions typos_;
  double share_ = 0;
  std::uint64_t seed_ = 1;
  program::TypoFlags typo_flags_;
};

const program::Registered<FindCandidates> registered{
    "candidates", program::Group::match, "finds the pairs of records that are worth scoring; their recall, and why a pair is among them",
    "Finds candidates: the pairs of records of two tables, or of one, whose texts have the largest cosines. Exact, and the same for any "
    "number of threads."};

}  // namespace
