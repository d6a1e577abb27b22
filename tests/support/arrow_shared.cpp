// SPDX-License-Identifier: MIT
// A shared library for tests/oracles/check_arrow.py: reads a table from an Arrow stream and gives it back as another one.
#include <cstdio>

#include "lexformer/tables/arrow_export.hpp"
#include "lexformer/tables/arrow_table.hpp"

using namespace lexformer;

/// Returns 0, or the exit code of an error, whose message is printed.
extern "C" int round_trip(ArrowArrayStream* in, const char* id, ArrowArrayStream* out) {
  try {
    const RecordTable table = read_arrow(*in, "table", id);
    std::vector<ArrowColumn> columns;
    std::vector<std::string> ids;
    std::vector<double> lines;
    std::vector<bool> odd;
    for (const Record& record : table.records) {
      ids.push_back(record.id);
      lines.push_back(static_cast<double>(record.line));
      odd.push_back(record.line % 2 == 1);
    }
    columns.push_back({"id", std::move(ids)});
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      std::vector<std::string> values;
      for (const Record& record : table.records) values.push_back(record.values[c]);
      columns.push_back({table.columns[c], std::move(values)});
    }
    columns.push_back({"line", std::move(lines)});
    columns.push_back({"odd", std::move(odd)});
    export_arrow(std::move(columns), *out);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
