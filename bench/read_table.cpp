// SPDX-License-Identifier: MIT
// Reads a table, and tells what it takes: read_table records|table|pairs FILE [print]. bench/read_table.py runs it beside other readers.
// records: one record at a time; table: all records into memory; pairs: one pair at a time, of the columns title and brand, the label
// price, with the others kept. print: writes the cells instead, each followed by the byte 1F.
#include <sys/resource.h>
#include <lexformer/data/table.hpp>
#include <lexformer/tables/records.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

namespace lx = lexformer;

namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Peak memory of this process in MB.
double peak() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> word) return std::stod(word) / 1024;
  return 0;
}

std::size_t rows = 0, bytes = 0;
bool print = false;

void cell(const std::string& text) {
  bytes += text.size();
  if (print) std::cout << text << '\x1f';
}
/// The columns of .jsonl come in the order of the alphabet; all files are printed in the order of the .csv.
void use(const lx::Record& record, const std::vector<std::string>& columns) {
  cell(record.id);
  for (const std::string name : {"title", "category", "brand", "modelno", "price"})
    cell(record.values[static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin())]);
  ++rows;
}

void use(const lx::PairRow& row) {
  for (const std::string* text : {&row.kept[0], &row.left, &row.kept[1], &row.right, &row.kept[2], &row.label}) cell(*text);
  ++rows;
}

void read(const std::string& how, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const lx::TableFormat format = lx::table_format(path);
  if (how == "records") {
    lx::RecordReader reader(in, path, format);
    for (lx::Record record; reader.next(record);) use(record, reader.columns());
  } else if (how == "table") {
    static const lx::RecordTable table = lx::read_records(path);  // its destruction does not count
    for (const auto& record : table.records) use(record, table.columns);
  } else {
    lx::PairReader reader(in, path, format, {.columns = {"title", "brand", "price"}, .keep = {"id", "category", "modelno"}});
    for (lx::PairRow row; reader.next(row);) use(row);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return std::cerr << "usage: read_table records|table|pairs FILE [print]\n", 2;
  print = argc > 3;
  const double cpu = cpu_seconds(), memory = peak();
  read(argv[1], argv[2]);
  if (!print) std::printf(R"({"rows": %zu, "bytes": %zu, "cpu": %f, "mb": %f})", rows, bytes, cpu_seconds() - cpu, peak() - memory);
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
