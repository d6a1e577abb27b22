// SPDX-License-Identifier: MIT
#include "lexformer/tables/records.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "lexformer/data/table.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/tables/record_texts.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

/// "id|value|value|line" of each record; the columns come first.
std::vector<std::string> records(const std::string& text, TableFormat format, const std::string& id = "id") {
  std::istringstream in(text);
  RecordReader reader(in, "x", format, id);
  std::vector<std::string> out{""};
  for (Record record; reader.next(record);) out.push_back(cat(record.id, "|", join(record.values, "|"), "|", record.line));
  out[0] = join(reader.columns(), "|");
  return out;
}
void refused(const std::string& text, TableFormat format, const std::string& part, const std::string& id = "id") {
  expect_file_error([&] { records(text, format, id); }, part);
}

RecordTable table(const std::string& path, const std::string& csv, const std::string& id = "id") {
  std::istringstream in(csv);
  RecordReader reader(in, path, TableFormat::csv, id);
  RecordTable made{path, {}, {}};
  for (Record record; reader.next(record);) {
    made.places.emplace(record.id, made.records.size());
    made.records.push_back(record);
  }
  made.columns = reader.columns();
  made.id = id;
  return made;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("records: the three formats, quotes, line ends in a value, the column of the ids anywhere") {
  const auto csv = records("name,id,price\n\"tv, 13\"\"\",a1,5\n\"two\nlines\",a2,\n,a3,7\n", TableFormat::csv);
  CHECK(csv == Texts{"name|price", "a1|tv, 13\"|5|2", "a2|two\nlines||3", "a3||7|5"});
  CHECK(records("\xEF\xBB\xBFid\tname\r\n1\t\"tv\r\n", TableFormat::tsv) == Texts{"name", "1|\"tv|2"});
  CHECK(records("{\"id\": 7, \"b\": \"x\", \"a\": null}\n{\"id\": \"8\", \"a\": 1.5, \"c\": true}\n", TableFormat::jsonl) ==
        Texts{"a|b|c", "7||x|1", "8|1.5||true|2"});
  CHECK(records("sku,,name\n1,2,3\n", TableFormat::csv, "sku") == Texts{"2|name", "1|2|3|2"});  // pandas writes its index without a name
  CHECK(records("id,name\n", TableFormat::csv) == Texts{"name"});
}

TEST_CASE("records: blank lines and Excel's line of the separator are skipped, lines keep their numbers") {
  CHECK(records("\n\nid,name\r\n\r\n1,a\n \n2,\"b\n\nc\"\n\n", TableFormat::csv) == Texts{"name", "1|a|5", "2|b\n\nc|7"});
  CHECK(records("\nid\tname\n\n1\ta\n", TableFormat::tsv) == Texts{"name", "1|a|4"});
  CHECK(records("\n{\"id\": 1, \"a\": 2}\n\n{\"id\": 2, \"a\": 3}\n\n", TableFormat::jsonl) == Texts{"a", "1|2|2", "2|3|4"});
  CHECK(records("\xEF\xBB\xBFsep=,\nid,name\n1,a\n", TableFormat::csv) == Texts{"name", "1|a|3"});
  CHECK(records("\n\n", TableFormat::csv) == Texts{""});
  refused("id,name\n1,a\n,\n", TableFormat::csv, "x: line 3: the id (column 'id') is empty");
}

TEST_CASE("records: other separators are read if the header has the column of the ids, names lose the spaces around them") {
  for (const char* text : {"id;name\n1;a, b\n", "id|name\n1|a, b\n", "id\tname\n1\ta, b\n", "name;id\na, b;1\n"}) {
    CHECK(records(text, TableFormat::csv) == Texts{"name", "1|a, b|2"});
    CHECK(records(text, TableFormat::tsv) == Texts{"name", "1|a, b|2"});
  }
  CHECK(records("id,name\n1,\"a, b\"\n", TableFormat::tsv) == Texts{"name", "1|a, b|2"});
  CHECK(records("sep=;\nid;name\n1;a\n", TableFormat::csv) == Texts{"name", "1|a|3"});
  CHECK(records("id, name , price\n1, a, \"5, 6\"\n", TableFormat::csv) == Texts{"name|price", "1| a|5, 6|2"});
  refused("id,name, name\n1,a,b\n", TableFormat::csv, "x: line 1: two columns are called 'name'");
}

TEST_CASE("records: values of .jsonl keep their characters, and what is no text becomes U+FFFD") {
  const auto value = [](const std::string& json) { return records("{\"id\": 1, \"a\": " + json + "}", TableFormat::jsonl).at(1); };
  for (const char* number :
       {"340282366920938463463374607431768211455", "12.50", "1.10", "-0", "1E5", "1e-07", "-12", "18446744073709551616"})
    CHECK(value(number) == cat("1|", number, "|1"));
  CHECK(records("{\"id\": 340282366920938463463374607431768211455, \"a\": 1}\n{\"id\": 1.10, \"a\": 1}", TableFormat::jsonl) ==
        Texts{"a", "340282366920938463463374607431768211455|1|1", "1.10|1|2"});
  CHECK(value("\"a\\u0000b\"") ==
        "1|a\xEF\xBF\xBD"
        "b|1");
  CHECK(value("\"\\ud83d\"") == "1|\xEF\xBF\xBD|1");
  CHECK(value("\"\\udE00\\ud83d\\ude00\"") == "1|\xEF\xBF\xBD\xF0\x9F\x98\x80|1");
  CHECK(value("\"\\\\ud83d\"") == "1|\\ud83d|1");  // a backslash and letters
  CHECK(value("[1.50, {\"b\": \"c\", \"a\": [null, true]}]") == "1|[1.50,{\"b\":\"c\",\"a\":[null,true]}]|1");
  refused("{\"id\": 1, \"a\": NaN}", TableFormat::jsonl, "x: line 1, column 16: NaN is not JSON; write null");
  refused("{\"id\": 1, \"a\": -Infinity}", TableFormat::jsonl, "Infinity is not JSON; write null");
  refused("{\"id\": 1, \"a\": True}", TableFormat::jsonl, "x: line 1, column 16: True is not JSON; write true");
  refused("{'id': 1}", TableFormat::jsonl, "x: line 1, column 2: not JSON: texts and keys have double quotes");
  refused("{\n\"id\": 1}\n", TableFormat::jsonl,
          "x: line 1: not JSON: the line ends inside an object; a .jsonl has one object in each line");
  refused("{\"id\": 1, \"id\": 2}", TableFormat::jsonl, "x: line 1: the key 'id' occurs twice in one object");
}

TEST_CASE("records: other separators, encodings and compressed files are named") {
  const std::string none = "x: line 1: there is no column 'id' (the ids) among ";
  refused(
      "nr;name;price\n1;a;2\n", TableFormat::csv,
      none + "'nr;name;price'; this row has ';': if they separate the columns, give `delimiter` semicolon, or write a first line sep=;");
  refused("id,name\n1;a\n", TableFormat::csv, "x: line 2: the row has 1 column, expected 2 as in the header; this row has ';': if");
  refused("id,name\n1,caf\xE9\n", TableFormat::csv,
          "x: line 2: byte 6 is not UTF-8; convert it, if it is Latin-1 (Excel, Windows): iconv -f cp1252");
  for (const auto& bytes : {std::string("\xFF\xFEi\0d\0,\0n\0\n\0", 12), std::string("\xFE\xFF\0i\0d\0,\0n\0\n", 12)})
    refused(bytes, TableFormat::csv, "x: line 1: is UTF-16, expected UTF-8; convert it: iconv -f utf-16 -t utf-8");
  refused(std::string("i\0d\0,\0n\0\n\0", 10), TableFormat::csv, "x: line 1: byte 2 is zero, as in UTF-16 or binary files");
  refused(std::string("\x1F\x8B\x08\0\0", 5), TableFormat::csv, "x: line 1: is compressed by gzip; unpack it: gunzip");
  refused("id,name\r1,a\r2,b\r", TableFormat::csv, "x: has lines that end with CR alone; convert it: tr '\\r' '\\n'");
  CHECK(records("id,name\n1,a\rb", TableFormat::csv) == Texts{"name", "1|a\rb|2"});
  refused("id,name\n\x1F\x8B,a\n", TableFormat::csv, "x: line 2: byte 2 is not UTF-8");
}

TEST_CASE("records: what is refused, and where") {
  refused("idd,name\n1,a\n", TableFormat::csv,
          "x: line 1: there is no column 'id' (the ids) among 'idd, name'; did you mean 'idd'?; `id` names it");
  refused("id,name,name\n1,a,b\n", TableFormat::csv, "x: line 1: two columns are called 'name'");
  refused("id,name\n1,a\n2,b\n1,c\n", TableFormat::csv, "x: line 4: the id '1' is also in line 2; ids must differ");
  refused("id,name\n,a\n", TableFormat::csv, "x: line 2: the id (column 'id') is empty");
  refused("id,name\n1\n", TableFormat::csv, "x: line 2: the row has 1 column, expected 2 as in the header");
  refused("id,name\n1,a\xFF\n", TableFormat::csv, "x: line 2: byte 4 is not UTF-8");
  refused("{\"idx\": 1}\n", TableFormat::jsonl, "x: line 1: there is no key 'id' (the id); did you mean 'idx'?");
  refused("ID,name\n1,a\n", TableFormat::csv, "among 'ID, name'; did you mean 'ID'?; `id` names it");
  refused("{\"a\": 1, \"id\": [1]}\n", TableFormat::jsonl, "x: line 1: 'id' is array, expected a text or a number");
  refused("{\"id\": null}\n", TableFormat::jsonl, "is empty");
  refused("[1]\n", TableFormat::jsonl, "x: line 1: expected a JSON object, found array");
}

TEST_CASE("read_records: files, records of .jsonl that lack a column, empty tables") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "a.jsonl", "{\"id\": 1}\n{\"id\": 2, \"name\": \"b\"}\n");
  const auto a = read_records(folder / "a.jsonl");
  CHECK(a.columns == Texts{"name"});
  CHECK(a.records[0].values == Texts{""});
  CHECK(a.places.at("2") == 1);
  write_file_atomic(folder / "b.csv", "id,name\n");
  expect_file_error([&] { read_records(folder / "b.csv"); }, "b.csv: the table has no records");
  write_file_atomic(folder / "b.csv", "");
  expect_file_error([&] { read_records(folder / "b.csv"); }, "b.csv: the table has no records");
  write_file_atomic(folder / "b.csv", "id\n1\n");
  expect_file_error([&] { read_records(folder / "b.csv"); }, "b.csv: the records have ids and nothing else");
  expect_file_error([&] { read_records(folder / "c.csv"); }, "c.csv: cannot be opened");
  write_file_atomic(folder / "D.CSV", "id,name\n1,a\n");
  CHECK(read_records(folder / "D.CSV").columns == Texts{"name"});
  expect_file_error([&] { read_records(folder.path.string()); }, "is a folder");
}

TEST_CASE("records: a .jsonl whose values are nearly all empty is refused before it takes memory") {
  std::string wide = "{\"id\": \"x\"", rows;
  for (int i = 0; i < 5000; ++i) wide += cat(", \"c", i, "\": 1");
  for (int i = 0; i < 1000; ++i) rows += cat("{\"id\": ", i, "}\n");
  expect_file_error([&] { records(wide + "}\n" + rows, TableFormat::jsonl); },
                    "5000 columns of 413 records are nearly all empty; write only the columns that are compared");
}

TEST_CASE("nested columns of .jsonl are refused if a text is made of them") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "a.jsonl",
                    "{\"id\": 1, \"name\": \"x\", \"extra\": 1}\n{\"id\": 2, \"name\": \"y\", \"extra\": [1, {\"b\": \"c\"}]}\n");
  const auto table = read_records(folder / "a.jsonl");
  CHECK(table.records[1].values == Texts{"[1,{\"b\":\"c\"}]", "y"});
  RecordTextOptions options;
  options.columns = {{"name", "name"}};
  CHECK(RecordPairs(table, {}, options).left_texts() == Texts{"x", "y"});
  expect_file_error([&] { RecordPairs(table, {}, {}); },
                    "a.jsonl: line 2: 'extra' is array, expected a text, a number, true, false or null; `columns` names");
}

TEST_CASE("normalize_number: separators of thousands, zeros of a fraction and exponents, nothing else") {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"1,299.00", "1299"},
                                                                                 {"$1,299.50,", "$1299.5,"},
                                                                                 {"12,345,678", "12345678"},
                                                                                 {"10.0", "10"},
                                                                                 {"10.05", "10.05"},
                                                                                 {"007", "007"},
                                                                                 {"(5.)", "(5.)"},
                                                                                 {"1,29.00", "1,29.00"},
                                                                                 {"1,2,3", "1,2,3"},
                                                                                 {"1.299,00", "1.299,00"},
                                                                                 {"1.2.3.0", "1.2.3.0"},
                                                                                 {"v1.20", "v1.20"},
                                                                                 {"1.20m", "1.20m"},
                                                                                 {"5-1.50", "5-1.50"},
                                                                                 {",299", ",299"},
                                                                                 {"\xE2\x82\xAC"
                                                                                  "5.00",
                                                                                  "\xE2\x82\xAC"
                                                                                  "5"},
                                                                                 {"1.799E2", "179.9"},
                                                                                 {"$1.50e+03,", "$1500,"},
                                                                                 {"1.0E15", "1000000000000000"},
                                                                                 {"1.234E-02", "0.01234"},
                                                                                 {"12.34E-15", "0.00000000000001234"},
                                                                                 {"0.5E1", "5"},
                                                                                 {"0.0E5", "0"},
                                                                                 {"1E+05", "100000"},
                                                                                 {"1,299.5E1", "12995"},
                                                                                 {"12E4", "12E4"},
                                                                                 {"1E-3", "1E-3"},
                                                                                 {"1.E4", "1.E4"},
                                                                                 {"1.5E16", "1.5E16"},
                                                                                 {"1.5E-99999999999", "1.5E-99999999999"},
                                                                                 {"1.5E+-2", "1.5E+-2"},
                                                                                 {"1.5EE2", "1.5EE2"},
                                                                                 {"1.5E2.0", "1.5E2.0"},
                                                                                 {"E5", "E5"},
                                                                                 {"tv", "tv"},
                                                                                 {"", ""}})
    CHECK(normalize_number(from) == to);
}

TEST_CASE("record_texts: order, names of the right table, budgets, both forms") {
  const auto left = table("a.csv", "id,title,notes,price\n1,  Sony\tTV ,one two three,\"1,299.00\"\n2,,,\n");
  const auto right = table("b.csv", "id,price,name\n9,5.0,Sony tv\n");
  RecordTextOptions o;
  o.columns = {parse_record_column("title=name"), parse_record_column("price")};
  CHECK(record_texts(left, o, false) == Texts{"Sony TV 1,299.00", ""});
  CHECK(record_texts(right, o, true) == Texts{"Sony tv 5.0"});
  o.serialize = Serialize::columns;
  o.normalize_numbers = true;
  CHECK(record_texts(left, o, false) == Texts{"COL title VAL Sony TV COL price VAL 1299", "COL title VAL COL price VAL"});
  CHECK(record_texts(right, o, true) == Texts{"COL title VAL Sony tv COL price VAL 5"});
  o.columns = {{"notes", "name"}, {"title", "name"}};
  o.serialize = Serialize::plain;
  o.separator = " | ";
  o.words = {{"notes", 2}};
  CHECK(record_texts(left, o, false) == Texts{"one two | Sony TV", ""});
  CHECK(parse_record_text_options(to_json(o), "x") == o);
  expect_error(
      ErrorKind::usage, [] { parse_record_column("=a"); }, "names no column");
  expect_file_error([&] { parse_record_text_options(Json{{"columns", 1}}, "m.lxf"); }, "m.lxf: 'columns' is number");
}

TEST_CASE("resolve_columns: all by default, and what the tables do not have") {
  const auto left = table("a.csv", "id,title,price\n1,x,1\n"), right = table("b.csv", "id,price,title\n1,1,x\n");
  const auto other = table("c.csv", "id,titles,price\n1,x,1\n");
  CHECK(resolve_columns({}, left, right).columns == std::vector<RecordColumn>{{"title", "title"}, {"price", "price"}});
  expect_file_error(
      [&] { resolve_columns({}, left, other); },
      "c.csv: has no column 'title' as a.csv has; did you mean 'titles'?; name the columns to compare: `columns` NAME,LEFT=RIGHT");
  RecordTextOptions o;
  o.columns = {{"tittle", "title"}};
  expect_file_error([&] { resolve_columns(o, left, right); },
                    "a.csv: there is no column 'tittle' among 'title, price'; did you mean 'title'?");
  o.columns = {{"title", "titel"}};
  expect_file_error([&] { resolve_columns(o, left, right); }, "b.csv: there is no column 'titel'");
  o.columns = {{"id", "id"}};
  expect_file_error([&] { resolve_columns(o, left, right); }, "a.csv: the column 'id' has the ids, which are in no text; `columns` names");
  o.columns = {{"title", "title"}, {"title", "price"}};
  expect_error(
      ErrorKind::usage, [&] { resolve_columns(o, left, right); }, "'title' is named twice");
  o.columns = {{"title", "price"}, {"price", "price"}};
  expect_error(
      ErrorKind::usage, [&] { resolve_columns(o, left, right); }, "'price' is named twice");
  o.columns = {};
  o.words = {{"titl", 3}};
  expect_error(
      ErrorKind::usage, [&] { resolve_columns(o, left, right); }, "'titl' is none of the columns 'title, price'; did you mean 'title'?");
}

TEST_CASE("pairs of ids become pairs of texts") {
  const auto records =
      std::make_shared<const RecordPairs>(table("a.csv", "id,n\n1,x\n2,y\n"), table("b.csv", "id,n\n1,u\n7,v\n"), RecordTextOptions{});
  const auto read = [&](const std::string& text, TableFormat format, bool labels = true) {
    std::istringstream in(text);
    PairReader reader(in, "p", format, {.labels = labels, .records = records});
    Texts out;
    for (PairRow row; reader.next(row);) out.push_back(cat(row.left_id, "|", row.right_id, "|", row.left, "|", row.right, "|", row.label));
    return out;
  };
  CHECK(read("label,rtable_id,ltable_id\n1,7,2\n", TableFormat::csv) == Texts{"2|7|y|v|1"});
  CHECK(read("left_id,right_id\n1,1\n", TableFormat::csv, false) == Texts{"1|1|x|u|"});
  CHECK(read("1\t7\t0\n", TableFormat::tsv) == Texts{"1|7|x|v|0"});
  CHECK(read("{\"ltable_id\": 1, \"rtable_id\": \"7\", \"label\": 1}\n", TableFormat::jsonl) == Texts{"1|7|x|v|1"});
  expect_file_error([&] { read("ltable_id,rtable_id,label\n1,2,0\n", TableFormat::csv); },
                    "p: line 2: there is no record with the id '2' in b.csv; a.csv has it: are the tables swapped?");
  expect_file_error([&] { read("7\t7\t0\n", TableFormat::tsv); },
                    "p: line 1: there is no record with the id '7' in a.csv; b.csv has it: are the tables swapped?");
  expect_file_error([&] { read("id1,id2,y\n1,7,0\n", TableFormat::csv); },
                    "p: line 1: there is no record with the id 'id1' in a.csv; a header has the names ltable_id, rtable_id, label");
  const auto end = [&](const std::string& text, TableFormat format) {
    try {
      read(text, format);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(end("1,7,0\n9,7,0\n", TableFormat::csv) == "p: line 2: there is no record with the id '9' in a.csv");
  CHECK(end("{\"left_id\": 9, \"right_id\": 7, \"label\": 1}\n", TableFormat::jsonl) ==
        "p: line 1: there is no record with the id '9' in a.csv");
  expect_file_error([&] { read("a_id,b_id,label\n1,7,0\n", TableFormat::csv); }, "call the columns ltable_id, rtable_id and label");
  const RecordPairs one(table("a.csv", "id,n\n1,x\n2,y\n"), {}, {});
  CHECK(one.one_table());
  CHECK(one.right_texts()[one.right_place("2", "p")] == "y");
}

TEST_CASE("a model keeps how its records became texts") {
  std::map<std::string, std::string> metadata{{"lexformer.seed", "7"}};
  CHECK_FALSE(kept_record_texts(metadata, "m.lxf"));
  const RecordTextOptions options{.columns = {{"n", "n"}}, .words = {{"n", 3}}, .serialize = Serialize::columns};
  const RecordPairs records(table("a.csv", "id,n\n1,x\n"), {}, options);
  keep_record_texts(&records, metadata);
  CHECK(metadata.at("lexformer.records") == to_json(options).dump());
  CHECK(kept_record_texts(metadata, "m.lxf") == options);
  metadata["lexformer.records"] = "x";
  expect_file_error([&] { kept_record_texts(metadata, "m.lxf"); }, "m.lxf: lexformer.records: not JSON");
  const RecordPairs other(table("a.csv", "sku,n\n1,x\n", "sku"), table("b.csv", "nr,n\n1,x\n", "nr"),
                          options);  // their ids have other names
  keep_record_texts(&other, metadata);
  CHECK(kept_record_texts(metadata, "m.lxf")->id == RecordColumn{"sku", "nr"});
  metadata["lexformer.records"].replace(metadata["lexformer.records"].find("\"nr\""), 4, "3");
  expect_file_error([&] { kept_record_texts(metadata, "m.lxf"); }, "m.lxf: lexformer.records: 'id' must have pairs of names");
  keep_record_texts(nullptr, metadata);
  CHECK(metadata == std::map<std::string, std::string>{{"lexformer.seed", "7"}});
}
