// SPDX-License-Identifier: MIT
// Tables: any bytes, read with any options, are either refused or give rows that can be written and read again. Read as records they are
// refused or give different ids.
#include <set>
#include <sstream>

#include "fuzz/fuzz.hpp"
#include "lexformer/data/labels.hpp"
#include "lexformer/data/table.hpp"
#include "lexformer/tables/records.hpp"

using namespace lexformer;

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

/// Writes a row as .csv and reads it back.
void check_csv(const PairRow& row) {
  const std::string text = quoted(row.left) + "," + quoted(row.right) + "," + quoted(row.label) + "\n";
  if (text.find('\r') != text.npos || text.find('\0') != text.npos) return;  // CR LF is read as LF; JSON may contain an escaped zero byte
  std::istringstream in(text);
  PairRow back;
  PairReader reader(in, "again", TableFormat::csv, {.columns = {}, .header = TableHeader::no, .labels = true});
  fuzz::require(reader.next(back) && back.left == row.left && back.right == row.right && back.label == row.label,
                "a row is not the same after it was written and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  constexpr TableFormat formats[] = {TableFormat::tsv, TableFormat::csv, TableFormat::jsonl};
  constexpr TableHeader headers[] = {TableHeader::automatic, TableHeader::yes, TableHeader::no};
  const TableFormat format = formats[in.below(3)];
  TableOptions options;
  options.header = headers[in.below(3)];
  const auto kind = in.below(4);
  options.labels = kind % 2 == 0;
  options.texts = kind < 2 ? 2 : 1;
  const auto columns = in.below(7);
  if (columns == 1) options.columns = {"1", "2", "3"};
  if (columns == 2) options.columns = {"left", "right", "label"};
  if (columns == 3) options.columns = {"3", "1"};
  if (columns == 5) options.keep = {"1", "label"};
  if (columns == 6) options.keep = {"2"};
  if (columns == 4)
    for (auto count = in.below(5); count > 0; --count) options.columns.emplace_back(in.until('\n'));

  std::istringstream text{std::string(in.rest)};
  PairTable table{"input", {}};
  fuzz::accepts([&] {
    PairReader reader(text, "input", format, options);
    for (PairRow row; reader.next(row);) table.rows.push_back(row);
  });
  for (const PairRow& row : table.rows) {
    fuzz::require(row.left.size() + row.right.size() + row.label.size() <= 3 * size, "a row is longer than the input");
    fuzz::require(row.kept.size() == options.keep.size(), "a row has other columns than those to keep");
    if (table.rows.size() < 4) check_csv(row);
  }
  std::istringstream again{std::string(in.rest)};
  std::set<std::string> ids;
  fuzz::accepts([&] {
    RecordReader reader(again, "input", format, options.texts == 2 ? "id" : "left");
    for (Record record; reader.next(record);) {
      fuzz::require(!record.id.empty() && ids.insert(record.id).second, "two records have the same id, or one has none");
      fuzz::require(record.values.size() == reader.columns().size(), "a record has other columns than the table");
    }
  });
  fuzz::accepts([&] { class_labels(table); });
  fuzz::accepts([&] { number_labels(table); });
  return 0;
}
