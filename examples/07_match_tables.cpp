// SPDX-License-Identifier: MIT
// Matches two tables of records: prints the ids of the pairs that match, and their score. `lexformer match` writes the same pairs.
// Try: build/release/bin/07_match_tables examples/data/a.csv examples/data/b.csv
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

  // Without a model a pair matches if neither record has a more similar one in the other table. open_scorer() and labelled pairs, given
  // here as well, make better decisions.
  for (const lx::Match& match : lx::match_records(records))
    std::cout << records.left().records[match.left].id << "\t" << records.right().records[match.right].id << "\t" << match.score << "\n";
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
