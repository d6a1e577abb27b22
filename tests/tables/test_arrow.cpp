// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
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
    std::int64_t length = 0;  // of a dictionary; of a column: 0 is that of the batch
  };

  std::vector<Column> columns;
  std::vector<std::int64_t> batches{3};  // their rows; each one has the same columns
  std::int64_t batch_offset = 0;
  std::string type = "+s";
  int error = 0, alive = 0, missing = 0;  // missing: columns that the batches lack

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
      ArrowArray* a = array(c, c.length != 0 ? c.length : rows + batch_offset);
      if (c.dictionary != nullptr && c.dictionary->length != 0) a->dictionary = array(*c.dictionary, c.dictionary->length);
      array_pointers_.push_back(a);
    }
    *out = {rows,
            0,
            batch_offset,
            1,
            static_cast<std::int64_t>(columns.size()) - missing,
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

std::string arrow_error(ArrowProducer& producer, const std::string& id = "id", const std::vector<std::string>& columns = {}) {
  auto stream = producer.stream();
  const std::string message = error_message([&] { read_arrow(stream, "table a", id, columns); });
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

TEST_CASE("read_arrow: dates, times, timestamps and durations by ISO 8601") {
  const std::int32_t days[]{19782, -1, 2932897}, old_days[]{-719528, -719529, 0}, seconds[]{47159, 0, 86399};
  const std::int32_t milliseconds[]{47159250, 1, 86399999};
  const std::int64_t dates[]{1709164800000, -1, 0}, nanoseconds[]{86399999999999, 1, 500000000}, microseconds[]{86399999999, 1, 500000};
  const std::int64_t stamps[]{1709211959250000, -1, 253402300800000000}, short_stamps[]{1709211959, -1, 0};
  const std::int64_t durations[]{-90500, 0, 3};
  ArrowProducer producer;
  producer.columns = {
      fixed_column("tdD", "a", days),        fixed_column("tdD", "b", old_days),     fixed_column("tdm", "c", dates),
      fixed_column("tts", "d", seconds),     fixed_column("ttm", "e", milliseconds), fixed_column("ttu", "f", microseconds),
      fixed_column("ttn", "g", nanoseconds), fixed_column("tsu:", "h", stamps),      fixed_column("tss:Asia/Tokyo", "i", short_stamps),
      fixed_column("tDm", "j", durations),   fixed_column("tDn", "k", durations)};
  auto stream = producer.stream();
  const RecordTable table = read_arrow(stream, "table a", std::nullopt);
  const std::vector<std::vector<std::string>> expected{{"2024-02-29", "1969-12-31", "10000-01-01"},
                                                       {"0000-01-01", "-0001-12-31", "1970-01-01"},
                                                       {"2024-02-29", "1969-12-31", "1970-01-01"},
                                                       {"13:05:59", "00:00:00", "23:59:59"},
                                                       {"13:05:59.25", "00:00:00.001", "23:59:59.999"},
                                                       {"23:59:59.999999", "00:00:00.000001", "00:00:00.5"},
                                                       {"23:59:59.999999999", "00:00:00.000000001", "00:00:00.5"},
                                                       {"2024-02-29T13:05:59.25", "1969-12-31T23:59:59.999999", "10000-01-01T00:00:00"},
                                                       {"2024-02-29T13:05:59Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"},
                                                       {"-PT90.5S", "PT0S", "PT0.003S"},
                                                       {"-PT0.0000905S", "PT0S", "PT0.000000003S"}};
  for (std::size_t c = 0; c < expected.size(); ++c) {
    CAPTURE(table.columns[c]);
    CHECK(column_values(table, c) == expected[c]);
  }
}

TEST_CASE("read_arrow: decimals with all their digits") {
  const auto bytes_of = [](const std::vector<std::int64_t>& values, std::size_t width) {
    std::string bytes;
    for (const std::int64_t value : values) {
      std::string one(width, value < 0 ? '\xff' : '\0');
      std::memcpy(one.data(), &value, std::min<std::size_t>(width, 8));
      bytes += one;
    }
    return bytes;
  };
  const std::string narrow = bytes_of({-123, 0, 2147483647}, 4), middle = bytes_of({-5, 100, 7}, 8);
  std::string wide = bytes_of({1250, -5, 0}, 16), widest = bytes_of({-1, 0, 0}, 32), least = bytes_of({0, -1, 10}, 16);
  widest[32 + 25] = 1;  // 2^200
  least[15] = '\x80';   // -2^127
  ArrowProducer producer;
  producer.columns = {fixed_column("d:9,2,32", "a", narrow), fixed_column("d:9,3,64", "b", middle),
                      fixed_column("d:5,2", "c", wide),      fixed_column("d:5,-2,128", "d", wide),
                      fixed_column("d:38,0", "e", least),    fixed_column("d:76,3,256", "f", widest)};
  auto stream = producer.stream();
  const RecordTable table = read_arrow(stream, "table a", std::nullopt);
  CHECK(column_values(table, 0) == std::vector<std::string>{"-1.23", "0.00", "21474836.47"});
  CHECK(column_values(table, 1) == std::vector<std::string>{"-0.005", "0.100", "0.007"});
  CHECK(column_values(table, 2) == std::vector<std::string>{"12.50", "-0.05", "0.00"});
  CHECK(column_values(table, 3) == std::vector<std::string>{"125000", "-500", "0"});
  CHECK(column_values(table, 4) == std::vector<std::string>{"-170141183460469231731687303715884105728", "-1", "10"});
  CHECK(column_values(table, 5) ==
        std::vector<std::string>{"-0.001", "1606938044258990275541962092341162602522202993782792835301.376", "0.000"});
}

TEST_CASE("read_arrow: the columns that are named, in their order; rows as ids") {
  const double number[]{1, 2, 3};
  ArrowProducer producer;
  producer.columns = {fixed_column("i", "id", three_ids), fixed_column("g", "price", number), fixed_column("+l", "tags", number),
                      fixed_column("+l", "tags", number), fixed_column("c", "x", three_ids)};
  auto stream = producer.stream();
  const std::vector<std::string> two{"x", "price"}, with_id{"id", "x"};
  RecordTable table = read_arrow(stream, "table a", "id", two);
  CHECK(table.columns == two);
  CHECK(table.records[1].id == "8");
  CHECK(column_values(table, 1) == std::vector<std::string>{"1", "2", "3"});
  ArrowProducer again;
  again.columns = producer.columns;
  stream = again.stream();
  table = read_arrow(stream, "table a", std::nullopt, with_id);
  CHECK(table.columns == with_id);
  CHECK(table.id.empty());
  CHECK(table.records[2].id == "2");
  CHECK(table.places.at("2") == 2);
  CHECK(column_values(table, 0) == std::vector<std::string>{"7", "8", "9"});
  CHECK(arrow_error(again, "id", {"tags"}) == "table a: two columns are called 'tags'");
  CHECK(arrow_error(again, "id", {"pricey"}) ==
        "table a: there is no column 'pricey' among 'id, price, tags, tags, x'; did you mean 'price'?");
  CHECK(arrow_error(again, "key", two).starts_with("table a: there is no column 'key' (the ids) among "));
}

TEST_CASE("read_arrow: bad input is named, and everything is released") {
  const std::int32_t twice[]{7, 8, 7};
  const double number[]{1, 2, 3};
  ArrowProducer producer;
  producer.columns = {fixed_column("i", "id", twice), fixed_column("g", "price", number)};
  CHECK(arrow_error(producer) == "table a: row 3: the id '7' is also in row 1; ids must differ");
  CHECK(arrow_error(producer, "prise") == "table a: there is no column 'prise' (the ids) among 'id, price'; did you mean 'price'?");
  for (const char* const type : {"z",    "Z",  "vz",  "w:4", "+l", "+L", "+s",  "+m",    "e",       "tiM",     "ts",
                                 "tsx:", "td", "tDq", "tsu", "d",  "d:", "d:3", "d:a,b", "d:3,2,8", "d:3,999", "unknown"}) {
    ArrowProducer other;
    other.columns = {fixed_column("i", "id", three_ids), fixed_column(type, "tags", number)};
    CHECK(arrow_error(other) == "table a: column 'tags': has the Arrow type '" + std::string(type) +
                                    "', which is not read; cast the column to text, or name the columns to read");
  }
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

TEST_CASE("read_arrow: arrays that contradict themselves are refused with row and column") {
  static const std::int32_t ends[]{0, 1, 2, 3}, falling[]{0, 3, 1, 2}, negative[]{-5, 1, 2, 3}, view[12]{-7}, far[12]{13, 0, 9, 0};
  static const char text[] = "abc", with_nul[] = {'a', '\0', 'c'}, no_utf8[] = "\xff";
  static const std::int8_t below[]{0, -1, 0}, behind[]{0, 1, 3};
  ArrowProducer::Column words{"u", "", {nullptr, ends, text}};
  words.length = 3;
  const auto error_of = [&](ArrowProducer::Column column, int missing = 0) {
    ArrowProducer producer;
    producer.columns = {fixed_column("i", "id", three_ids), std::move(column)};
    producer.missing = missing;
    return arrow_error(producer);
  };
  const auto texts = [](const void* offsets, const void* bytes) { return ArrowProducer::Column{"u", "t", {nullptr, offsets, bytes}}; };
  CHECK(error_of(texts(falling, text)) ==
        "table a: row 2, column 't' has the offsets 3 and 1; expected offsets that ascend from 0 or more");
  CHECK(error_of(texts(negative, text)) ==
        "table a: row 1, column 't' has the offsets -5 and 1; expected offsets that ascend from 0 or more");
  CHECK(error_of(texts(ends, with_nul)) == "table a: row 2, column 't' has a NUL byte");
  CHECK(error_of(texts(ends, nullptr)) == "table a: row 1, column 't' has no buffer of text");
  auto part = texts(ends, text);
  part.length = 1;
  CHECK(error_of(part) == "table a: row 2, column 't' is behind its array, which has length 1 and offset 0");
  part.offset = -1;
  CHECK(error_of(part) == "table a: row 1, column 't' is behind its array, which has length 1 and offset -1");
  CHECK(error_of(texts(ends, text), 1) == "table a: row 1: a batch of 1 columns has no column 't'");
  CHECK(error_of({"i", "t", {nullptr}}) == "table a: row 1, column 't' has an array of 1 buffers, expected 2 with values");
  CHECK(error_of({"vu", "t", {nullptr, view}}) == "table a: row 1, column 't' is a view of length -7, expected 0 or more");
  CHECK(error_of({"vu", "t", {nullptr, far, text}}) == "table a: row 1, column 't' is a view of place 0 in buffer 9 of 1");
  CHECK(error_of({"u", no_utf8, {nullptr, ends, text}}) == "table a: the name of column 2 is not UTF-8");
  const auto indices = [&](const char* type, const void* values) {
    return ArrowProducer::Column{type, "t", {nullptr, values}, 0, 0, &words};
  };
  CHECK(error_of(indices("c", below)) == "table a: row 2, column 't' has the index -1 in a dictionary of 3 values");
  CHECK(error_of(indices("c", behind)) == "table a: row 3, column 't' has the index 3 in a dictionary of 3 values");
  CHECK(error_of(indices("b", below)) == "table a: column 't': has dictionary indices of the Arrow type 'b', expected integers");
  CHECK(error_of(indices("n", below)) == "table a: column 't': has dictionary indices of the Arrow type 'n', expected integers");
  words.length = 0;
  CHECK(error_of(indices("c", behind)) == "table a: row 1, column 't' has no dictionary");
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

TEST_CASE("export_arrow: numbers of all types, nulls, lists of structs") {
  std::vector<ArrowColumn> columns{{"row", std::vector<std::int64_t>{1, 2, std::int64_t{1} << 40}},
                                   {"count", std::vector<std::int32_t>{-1, 0, 7}},
                                   {"model", std::vector<float>{0.5f, 0, 0.25f}, {true, false, true}},
                                   {"by", std::vector<std::string>{"model", "", "rule"}, {true, false, true}},
                                   {"sure", std::vector<bool>{true, true, true}, {false, true, true}}};
  ArrowArrayStream stream{};
  export_arrow(columns, stream);
  const RecordTable table = read_arrow(stream, "pairs", "row");
  CHECK(table.records[2].id == "1099511627776");
  CHECK(column_values(table, 0) == std::vector<std::string>{"-1", "0", "7"});
  CHECK(column_values(table, 1) == std::vector<std::string>{"0.5", "", "0.25"});
  CHECK(column_values(table, 2) == std::vector<std::string>{"model", "", "rule"});
  CHECK(column_values(table, 3) == std::vector<std::string>{"", "true", "true"});

  const ArrowColumn words{
      "words",
      ArrowLists{{0, 2, 2, 3}, {{"left", std::vector<std::string>{"a", "b", "c"}}, {"similarity", std::vector<double>{1, 0.5, 0}}}}};
  export_arrow({columns[0], words}, stream);
  ArrowSchema schema{};
  ArrowArray batch{};
  CHECK(stream.get_schema(&stream, &schema) == 0);
  CHECK(stream.get_next(&stream, &batch) == 0);
  stream.release(&stream);
  const ArrowSchema& type = *schema.children[1];
  CHECK(std::string(type.format) == "+L");
  REQUIRE(type.n_children == 1);
  CHECK(std::string(type.children[0]->format) == "+s");
  REQUIRE(type.children[0]->n_children == 2);
  CHECK(std::string(type.children[0]->children[1]->name) == "similarity");
  CHECK(type.flags == 0);
  schema.release(&schema);
  ArrowArray moved = *batch.children[1];
  batch.children[1]->release = nullptr;
  batch.release(&batch);
  CHECK(moved.length == 3);
  CHECK(moved.n_buffers == 2);
  CHECK(static_cast<const std::int64_t*>(moved.buffers[1])[3] == 3);
  const ArrowArray& structs = *moved.children[0];
  CHECK(structs.length == 3);
  CHECK(structs.n_buffers == 1);
  CHECK(static_cast<const double*>(structs.children[1]->buffers[1])[1] == 0.5);
  CHECK(static_cast<const char*>(structs.children[0]->buffers[2])[2] == 'c');
  moved.release(&moved);

  columns[2].valid.pop_back();
  CHECK(error_message([&] { export_arrow(columns, stream); }) == "export_arrow: column 'model' has 3 rows, and 2 bits for nulls");
  for (const std::vector<std::int64_t>& begins : {std::vector<std::int64_t>{}, {0, 2, 1, 3}, {-1, 3}, {0, 2}})
    CHECK(error_message([&] {
            export_arrow({{"words", ArrowLists{begins, std::get<ArrowLists>(words.values).fields}}}, stream);
          }) == "export_arrow: column 'words': the begins of its lists must ascend from 0 or more to the 3 rows of its fields");
}
