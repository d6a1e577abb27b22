// SPDX-License-Identifier: MIT
// A shared library for tests/oracles/check_arrow.py: reads a table from an Arrow stream and gives it back as another one.
#include <cstdint>
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
    std::vector<std::int64_t> lines;
    std::vector<float> halves;
    std::vector<bool> odd;
    std::vector<std::string> texts;  // of lists with 0 to 2 elements
    std::vector<std::int32_t> places;
    std::vector<std::int64_t> begins{0};
    for (const Record& record : table.records) {
      ids.push_back(record.id);
      lines.push_back(static_cast<std::int64_t>(record.line));
      halves.push_back(static_cast<float>(record.line) / 2);
      odd.push_back(record.line % 2 == 1);
      for (std::size_t k = 0; k < record.line % 3; ++k) {
        texts.push_back(record.id);
        places.push_back(static_cast<std::int32_t>(k));
      }
      begins.push_back(static_cast<std::int64_t>(texts.size()));
    }
    columns.push_back({"id", std::move(ids)});
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      std::vector<std::string> values;
      for (const Record& record : table.records) values.push_back(record.values[c]);
      columns.push_back({table.columns[c], std::move(values)});
    }
    columns.push_back({"line", std::move(lines)});
    columns.push_back({"half", std::move(halves), odd});
    columns.push_back({"odd", std::move(odd)});
    columns.push_back({"words", ArrowLists{std::move(begins), {{"text", std::move(texts)}, {"place", std::move(places)}}}});
    export_arrow(std::move(columns), *out);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
