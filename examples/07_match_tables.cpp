// SPDX-License-Identifier: MIT
// Matches two tables of records without a model: prints the pairs of records that are each other's most similar candidate, and their
// similarity. `lexformer match` decides by the same rule.   Try: python3 tools/make_demo_data.py --out demo --records 500
// build/release/bin/07_match_tables demo/table_a.csv demo/table_b.csv
#include <iostream>
#include <lexformer/lexformer.hpp>
#include <lexformer/tables.hpp>

namespace lx = lexformer;

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: 07_match_tables A.csv B.csv   (tables with a column 'id' and otherwise the same columns)\n";
    return 2;
  }
  // The columns of a record become one text.
  const lx::RecordPairs records(lx::read_records(argv[1]), lx::read_records(argv[2]), {});

  // For each record the ten most similar ones of the other table: the largest cosines of vectors of character trigrams. The search is
  // exact.
  const lx::CandidateSearch search(records.left_texts(), records.right_texts(), {.top = 10});
  const auto candidates = search.find();

  // The lead of a pair is its similarity minus the largest one of the other candidates of its two records.
  const auto leads = lx::candidate_leads(candidates, false);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (leads[i] < 0) continue;  // one of the records has a more similar candidate
    const auto& [left, right, similarity] = candidates[i];
    std::cout << records.left().records[left].id << "\t" << records.right().records[right].id << "\t" << similarity << "\n";
  }
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
