// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "lexformer/tables/arrow_export.hpp"
#include "lexformer/tables/arrow_table.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// A producer of columns of any type, in batches, that counts what is not released.
class ArrowProducer {
 public:
  struct Column {
    std::string format, name;
    std::vector<const void*> buffers;
    std::int64_t offset = 0, nulls = 0;
    Column* dictionary = nullptr;
    std::int64_t length = 0;  // of a dictionary
  };

  std::vector<Column> columns;
  std::vector<std::int64_t> batches{3};  // their rows; each one has the same columns
  std::int64_t batch_offset = 0;
  std::string type = "+s";
  int error = 0, alive = 0;

  ArrowArrayStream stream() {
    ++alive;
    ArrowArrayStream s{};
    s.private_data = this;
    s.get_schema = [](ArrowArrayStream* in, ArrowSchema* out) { return self(in->private_data).give_schema(out); };
    s.get_next = [](ArrowArrayStream* in, ArrowArray* out) { return self(in->private_data).give_batch(out); };
    s.get_last_error = [](ArrowArrayStream*) -> const char* { return "the database is gone"; };
    s.release = release<ArrowArrayStream>;
    return s;
  }

 private:
  static ArrowProducer& self(void* p) { return *static_cast<ArrowProducer*>(p); }
  template <class S>
  static void release(S* s) {
    --self(s->private_data).alive;
    s->release = nullptr;
  }

  int give_schema(ArrowSchema* out) {
    schemas_.clear();
    schema_pointers_.clear();
    for (auto& c : columns) {
      for (Column* each : {&c, c.dictionary})
        if (each != nullptr)
          schemas_.emplace_back(std::make_unique<ArrowSchema>(
              ArrowSchema{each->format.c_str(), each->name.c_str(), nullptr, 0, 0, nullptr, nullptr, nullptr, nullptr}));
      ArrowSchema* schema = schemas_[schemas_.size() - (c.dictionary != nullptr ? 2 : 1)].get();
      if (c.dictionary != nullptr) schema->dictionary = schemas_.back().get();
      schema_pointers_.push_back(schema);
    }
    *out = {type.c_str(),         "",  nullptr, 0, static_cast<std::int64_t>(columns.size()), schema_pointers_.data(), nullptr,
            release<ArrowSchema>, this};
    ++alive;
    return 0;
  }
  int give_batch(ArrowArray* out) {
    *out = ArrowArray{};
    if (error != 0) return error;
    if (next_ == batches.size()) return 0;
    const std::int64_t rows = batches[next_++];
    arrays_.clear();
    array_pointers_.clear();
    const auto array = [&](Column& c, std::int64_t length) {
      arrays_.push_back(std::make_unique<ArrowArray>(ArrowArray{length, c.nulls, c.offset, static_cast<std::int64_t>(c.buffers.size()), 0,
                                                                c.buffers.data(), nullptr, nullptr, nullptr, nullptr}));
      return arrays_.back().get();
    };
    for (auto& c : columns) {
      ArrowArray* a = array(c, rows);
      if (c.dictionary != nullptr) a->dictionary = array(*c.dictionary, c.dictionary->length);
      array_pointers_.push_back(a);
    }
    *out = {rows,
            0,
            batch_offset,
            1,
            static_cast<std::int64_t>(columns.size()),
            no_nulls_,
            array_pointers_.data(),
            nullptr,
            release<ArrowArray>,
            this};
    ++alive;
    return 0;
  }

  std::size_t next_ = 0;
  std::vector<std::unique_ptr<ArrowSchema>> schemas_;
  std::vector<ArrowSchema*> schema_pointers_;
  std::vector<std::unique_ptr<ArrowArray>> arrays_;
  std::vector<ArrowArray*> array_pointers_;
  const void* no_nulls_[1]{};
};

template <class V>
ArrowProducer::Column fixed_column(const char* format, const char* name, const V& values) {
  return {format, name, {nullptr, std::data(values)}};
}

const std::int32_t three_ids[]{7, 8, 9};

std::vector<std::string> column_values(const RecordTable& table, std::size_t c) {
  std::vector<std::string> out;
  for (const auto& record : table.records) out.push_back(record.values[c]);
  return out;
}

std::string arrow_error(ArrowProducer& producer, const std::string& id = "id") {
  auto stream = producer.stream();
  const std::string message = error_message([&] { read_arrow(stream, "table a", id); });
  CHECK((stream.release == nullptr));
  CHECK(producer.alive == 0);
  return message;
}

}  // namespace

TEST_CASE("read_arrow: all types, nulls, offsets, batches") {
  const std::int8_t small[]{-1, 0, 127};
  const std::uint64_t large[]{0, 1, std::numeric_limits<std::uint64_t>::max()};
  const float single[]{0.1f, 1e20f, -200000};
  const double number[]{0.1, 1299, 5e-324};
  const unsigned char bits[]{0b101};
  const char text[] = "camératv";
  const std::int32_t ends[]{0, 7, 7, 9};
  const std::int64_t long_ends[]{99, 0, 7, 7, 9};  // the first one is before the offset
  const unsigned char valid[]{0b110};
  char views[48]{};
  const std::int32_t sizes[]{2, 13, 0}, place[]{0, 3};
  const char far[] = "???thirteen byte";
  for (int i = 0; i < 3; ++i) std::memcpy(views + 16 * i, &sizes[i], 4);
  std::memcpy(views + 4, "tv", 2);
  std::memcpy(views + 24, place, 8);
  const std::uint8_t index[]{1, 0, 1};
  ArrowProducer::Column words{"u", "", {nullptr, ends, text}};
  words.length = 3;
  ArrowProducer producer;
  producer.columns = {fixed_column("i", "id", three_ids),   fixed_column("c", "c", small),
                      fixed_column("L", "L", large),        fixed_column("f", "f", single),
                      fixed_column("g", "g", number),       fixed_column("b", "b", bits),
                      {"u", "u", {nullptr, ends, text}},    {"U", "U", {nullptr, long_ends, text}, 1},
                      {"vu", "vu", {nullptr, views, far}},  {"n", "n", {}},
                      {"g", "null", {valid, number}, 0, 1}, {"C", "dictionary", {nullptr, index}, 0, 0, &words},
                      fixed_column("g", "", number)};
  auto stream = producer.stream();
  const RecordTable table = read_arrow(stream, "table a");
  CHECK((stream.release == nullptr));
  CHECK(producer.alive == 0);
  CHECK(table.path == "table a");
  CHECK(table.columns == std::vector<std::string>{"c", "L", "f", "g", "b", "u", "U", "vu", "n", "null", "dictionary", "13"});
  CHECK(table.places.at("8") == 1);
  const std::vector<std::vector<std::string>> expected{{"-1", "0", "127"},
                                                       {"0", "1", "18446744073709551615"},
                                                       {"0.1", "1e+20", "-200000"},
                                                       {"0.1", "1299", "5e-324"},
                                                       {"true", "false", "true"},
                                                       {"caméra", "", "tv"},
                                                       {"caméra", "", "tv"},
                                                       {"tv", "thirteen byte", ""},
                                                       {"", "", ""},
                                                       {"", "1299", "5e-324"},
                                                       {"", "caméra", ""},
                                                       {"0.1", "1299", "5e-324"}};
  for (std::size_t c = 0; c < expected.size(); ++c) {
    CAPTURE(table.columns[c]);
    CHECK(column_values(table, c) == expected[c]);
  }

  ArrowProducer sliced;  // the offset of a batch holds for its columns, too; a batch without rows
  sliced.columns = {fixed_column("i", "key", three_ids), {"g", "g", {nullptr, number}, 0}};
  sliced.batches = {0, 2};
  sliced.batch_offset = 1;
  auto part = sliced.stream();
  const RecordTable rows = read_arrow(part, "part", "key");
  CHECK(rows.records.size() == 2);
  CHECK(rows.records[0].id == "8");
  CHECK(column_values(rows, 0) == std::vector<std::string>{"1299", "5e-324"});
}

TEST_CASE("read_arrow: bad input is named, and everything is released") {
  const std::int32_t twice[]{7, 8, 7};
  const double number[]{1, 2, 3};
  ArrowProducer producer;
  producer.columns = {fixed_column("i", "id", twice), fixed_column("g", "price", number)};
  CHECK(arrow_error(producer) == "table a: row 3: the id '7' is also in row 1; ids must differ");
  CHECK(arrow_error(producer, "prise") == "table a: there is no column 'prise' (the ids) among 'id, price'; did you mean 'price'?");
  ArrowProducer date;
  date.columns = {fixed_column("i", "id", three_ids), fixed_column("tdD", "day", number)};
  CHECK(arrow_error(date) ==
        "table a: column 'day': has the Arrow type 'tdD', which is not read; cast the column to text, or leave it out");
  ArrowProducer same;
  same.columns = {fixed_column("i", "id", three_ids), fixed_column("g", "id", number)};
  CHECK(arrow_error(same) == "table a: two columns are called 'id'");
  ArrowProducer alone;
  alone.columns = {fixed_column("i", "id", three_ids)};
  CHECK(arrow_error(alone) == "table a: the records have ids and nothing else");
  ArrowProducer empty;
  empty.columns = producer.columns;
  empty.batches = {};
  CHECK(arrow_error(empty) == "table a: the table has no records");
  ArrowProducer gone;
  gone.columns = producer.columns;
  gone.error = 5;
  CHECK(arrow_error(gone) == "table a: the Arrow stream gives no record batch: the database is gone");
  ArrowProducer list;
  list.columns = producer.columns;
  list.type = "+l";
  CHECK(arrow_error(list) == "table a: the Arrow stream has the type '+l', expected record batches (+s)");
  const char broken[] = "a\xff";
  const std::int32_t ends[]{0, 1, 2, 2};
  ArrowProducer bytes;
  bytes.columns = {fixed_column("i", "id", three_ids), {"u", "name", {nullptr, ends, broken}}};
  CHECK(arrow_error(bytes) == "table a: row 2, column 'name' is not UTF-8");
  ArrowProducer none;
  none.columns = {fixed_column("g", "price", number), {"n", "id", {}}};
  CHECK(arrow_error(none) == "table a: row 1: the id (column 'id') is empty");
  ArrowArrayStream released{};
  CHECK(error_message([&] { read_arrow(released, "a"); }).find("already released") != std::string::npos);
}

TEST_CASE("export_arrow: what read_arrow reads; structs outlive each other") {
  const auto columns = [] {
    return std::vector<ArrowColumn>{{"id", std::vector<std::string>{"a", "b, c", "d"}},
                                    {"score", std::vector<double>{0.1, 1, -3e-7}},
                                    {"match", std::vector<bool>{true, false, true}},
                                    {"text", std::vector<std::string>{"", "camé", ""}}};
  };
  ArrowArrayStream stream{};
  export_arrow(columns(), stream);
  const RecordTable table = read_arrow(stream, "pairs");
  CHECK(table.columns == std::vector<std::string>{"score", "match", "text"});
  CHECK(table.records[1].id == "b, c");
  CHECK(column_values(table, 0) == std::vector<std::string>{"0.1", "1", "-3e-07"});
  CHECK(column_values(table, 1) == std::vector<std::string>{"true", "false", "true"});
  CHECK(column_values(table, 2) == std::vector<std::string>{"", "camé", ""});

  // A consumer may ask twice for the schema, move a column out of its batch, and release the rest first.
  export_arrow(columns(), stream);
  ArrowSchema schema{}, again{};
  ArrowArray batch{}, after{};
  CHECK(stream.get_schema(&stream, &schema) == 0);
  CHECK(stream.get_schema(&stream, &again) == 0);
  CHECK(stream.get_next(&stream, &batch) == 0);
  CHECK(stream.get_next(&stream, &after) == 0);
  CHECK((after.release == nullptr));
  ArrowArray moved = *batch.children[1];
  batch.children[1]->release = nullptr;
  batch.release(&batch);
  stream.release(&stream);
  schema.release(&schema);
  CHECK(std::string(again.children[1]->name) == "score");
  again.release(&again);
  CHECK(moved.length == 3);
  CHECK(static_cast<const double*>(moved.buffers[1])[1] == 1);
  moved.release(&moved);
  CHECK(error_message([&] {
          export_arrow({{"a", std::vector<double>{1}}, {"b", std::vector<double>{}}}, stream);
        }) == "export_arrow: column 'b' has 0 rows, the first column 1");
}
