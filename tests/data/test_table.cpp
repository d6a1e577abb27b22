// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "lexformer/data/labels.hpp"
#include "lexformer/io/file.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {
using Rows = std::vector<std::string>;  // "left|right|label|line"

Rows rows(const std::string& text, TableFormat format, TableOptions options = {}) {
  std::istringstream in(text);
  PairReader reader(in, "x", format, std::move(options));
  Rows out;
  for (PairRow row; reader.next(row);) out.push_back(cat(row.left, "|", row.right, "|", row.label, "|", row.line));
  return out;
}
void refused(const std::string& text, TableFormat format, const std::string& part, TableOptions options = {}) {
  expect_file_error([&] { rows(text, format, options); }, part);
}
const TableOptions unlabelled = {.columns = {}, .header = TableHeader::automatic, .labels = false};
}  // namespace

TEST_CASE("tsv: tabs alone, quotes are text, LF and CRLF, a mark at the front") {
  const Rows expected = {"\"13\" screen|tv, 13|1|1", "a b|\"|0|2"};
  CHECK(rows("\"13\" screen\ttv, 13\t1\na b\t\"\t0\n", TableFormat::tsv) == expected);
  CHECK(rows("\xEF\xBB\xBF\"13\" screen\ttv, 13\t1\r\na b\t\"\t0", TableFormat::tsv) == expected);
  CHECK(rows("a\tb\t1\textra\nc\t\t0\t\n", TableFormat::tsv) == Rows{"a|b|1|1", "c||0|2"});
  CHECK(rows("a\tb\nc\td\n", TableFormat::tsv, unlabelled) == Rows{"a|b||1", "c|d||2"});
  CHECK(rows("", TableFormat::tsv).empty());
}

TEST_CASE("columns by name and number, header given, found or none") {
  const auto with = [](std::vector<std::string> columns, TableHeader header = TableHeader::automatic) {
    return TableOptions{.columns = std::move(columns), .header = header};
  };
  const std::string table = "id\ty\ttitle\tother\n7\t1\tA\tB\n";
  CHECK(rows(table, TableFormat::tsv, with({"title", "other", "y"})) == Rows{"A|B|1|2"});
  CHECK(rows(table, TableFormat::tsv, with({"3", "4", "2"}, TableHeader::yes)) == Rows{"A|B|1|2"});
  CHECK(rows(table, TableFormat::tsv, with({"3", "4", "2"})) == Rows{"title|other|y|1", "A|B|1|2"});
  CHECK(rows(table, TableFormat::tsv, with({"3", "other", "2"})) == Rows{"A|B|1|2"});
  CHECK(rows("label\tright\tleft\n1\tR\tL\n", TableFormat::tsv) == Rows{"L|R|1|2"});
  CHECK(rows("label\tright\tleft\n1\tR\tL\n", TableFormat::tsv, {.columns = {}, .header = TableHeader::no}).size() == 2);
  CHECK(rows("q1\tq2\tsame\na\tb\t1\n", TableFormat::tsv, with({}, TableHeader::yes)) == Rows{"a|b|1|2"});
  CHECK(rows("left\ta\t1\nb\tright\t0\n", TableFormat::tsv) == Rows{"left|a|1|1", "b|right|0|2"});  // one of the header names is a text

  const TableOptions for_scoring = {.columns = {"title", "other", "y"}, .header = TableHeader::automatic, .labels = false};
  CHECK(rows(table, TableFormat::tsv, for_scoring) == Rows{"A|B||2"});
  CHECK(rows("title\tother\nA\tB\n", TableFormat::tsv, for_scoring) == Rows{"A|B||2"});  // the label column may be missing
  const TableOptions two = {.columns = {"other", "title"}, .header = TableHeader::automatic, .labels = false};
  CHECK(rows(table, TableFormat::tsv, two) == Rows{"B|A||2"});
  refused(table, TableFormat::tsv, "x: line 1: there is no column 'tittle' among 'id, y, title, other'", with({"tittle", "other", "y"}));
  refused(table, TableFormat::tsv, "x: line 1: the table has 4 columns; column 5 (right) is missing", with({"3", "5", "2"}));
  refused(table, TableFormat::tsv, "column 0 (left) is missing", with({"0", "4", "2"}));
  refused(table, TableFormat::tsv, "column 0 (left) is missing", with({"99999999999999999999999", "4", "2"}));
  refused("a\tb\n", TableFormat::tsv, "x: line 1: the table has 2 columns; column 3 (label) is missing");
  refused("left\tright\tx\na\tb\t1\n", TableFormat::tsv, "there is no column 'label'");
  expect_error(
      ErrorKind::usage,
      [&] {
        rows(table, TableFormat::tsv, with({"title", "other"}));
      },
      "2 columns are named, expected 3");
  expect_error(
      ErrorKind::usage,
      [&] {
        rows(table, TableFormat::tsv, with({"title", "other", "y"}, TableHeader::no));
      },
      "columns are given by name, but the table has no header");
}

TEST_CASE("columns that are kept: by name, by number, of .jsonl") {
  const auto kept = [](const std::string& text, TableFormat format, const TableOptions& options) {
    std::istringstream in(text);
    PairReader reader(in, "x", format, options);
    std::string out;
    for (PairRow row; reader.next(row);) {
      out += row.left + "|" + row.right;
      for (const auto& value : row.kept) out += "|" + value;
      out += "\n";
    }
    for (const auto& name : reader.kept_names()) out += name + " ";
    return out;
  };
  const auto options = [](std::vector<std::string> columns, std::vector<std::string> keep) {
    return TableOptions{.columns = std::move(columns), .labels = false, .keep = std::move(keep)};
  };
  const std::string table = "id\ta\tb\tnote\n7\tA\tB\t\n8\tC\tD\tx y\n";
  CHECK(kept(table, TableFormat::tsv, options({"a", "b"}, {"note", "id"})) == "A|B||7\nC|D|x y|8\nnote id ");
  CHECK(kept(table, TableFormat::tsv, options({"a", "b"}, {"1"})) == "A|B|7\nC|D|8\nid ");
  CHECK(kept(table, TableFormat::tsv, options({"2", "3"}, {"1", "1"})) == "a|b|id|id\nA|B|7|7\nC|D|8|8\n1 1 ");
  CHECK(kept("id,left,right\n7,A,B\n", TableFormat::csv, options({}, {"id", "left"})) == "A|B|7|A\nid left ");
  CHECK(kept("id,left,right\n", TableFormat::csv, options({}, {"1"})) == "id ");
  CHECK(kept("", TableFormat::csv, options({}, {"id"})) == "id ");
  CHECK(kept("{\"left\": \"A\", \"right\": \"B\", \"id\": 7, \"x\": \"a\\tb\", \"y\": null, \"z\": [1, true]}", TableFormat::jsonl,
             options({}, {"id", "x", "y", "z"})) == "A|B|7|a\tb||[1,true]\nid x y z ");
  CHECK(kept("a\tb\n", TableFormat::tsv, options({}, {})) == "a|b\n");

  refused(table, TableFormat::tsv, "x: line 1: there is no column 'ID' among 'id, a, b, note'; did you mean 'id'?",
          options({"a", "b"}, {"ID"}));
  refused(table, TableFormat::tsv, "x: line 1: the table has 4 columns; column 5 (to keep) is missing", options({"a", "b"}, {"5"}));
  refused(table, TableFormat::tsv, "column 0 (to keep) is missing", options({"a", "b"}, {"0"}));
  refused("{\"left\": \"A\", \"right\": \"B\"}", TableFormat::jsonl, "x: line 1: there is no key 'id'", options({}, {"id"}));
  expect_error(
      ErrorKind::usage, [&] { rows(table, TableFormat::tsv, options({}, {"id"})); }, "has no columns 'left' and 'right'; name the columns");
  expect_error(
      ErrorKind::usage,
      [&] {
        rows(table, TableFormat::tsv, {.columns = {"2", "3"}, .header = TableHeader::no, .labels = false, .keep = {"id"}});
      },
      "columns are given by name, but the table has no header");

  const TemporaryFolder folder;
  write_file_atomic(folder / "a.csv", "id,left,right,label\n7,A,B,1\n8,C,D,0\n");
  const auto pairs = read_pairs(folder / "a.csv", {.keep = {"1"}});
  CHECK(pairs.kept_names == std::vector<std::string>{"id"});
  CHECK(pairs.rows[1].kept == std::vector<std::string>{"8"});
}

TEST_CASE("csv: RFC 4180") {
  CHECK(rows("left,right,label\r\n\"a, \"\"b\"\"\",c,1\r\n", TableFormat::csv) == Rows{"a, \"b\"|c|1|2"});
  CHECK(rows("\"two\r\nlines\",\"\",0\n,x,1\n", TableFormat::csv) == Rows{"two\nlines||0|1", "|x|1|3"});
  CHECK(rows("\"a\",\"b\",\"1\"", TableFormat::csv) == Rows{"a|b|1|1"});
  CHECK(rows("a b,c,1\n", TableFormat::csv) == Rows{"a b|c|1|1"});
  CHECK(rows("a,\"b\r\r\nc\",1\r\r\n\r\r\nd,\"e\",\"0\"\r\r\n", TableFormat::csv) == Rows{"a|b\nc|1|1", "d|e|0|4"});  // Windows' text mode
  CHECK(rows("sep=,\nleft,right,label\na,b,1\n", TableFormat::csv) == Rows{"a|b|1|3"});
  refused("a,b,1\nc,\"d,0\ne,f,1\n", TableFormat::csv, "x: line 2: column 2: the quote is never closed");
  refused("a,\"b\"c,1\n", TableFormat::csv, "x: line 1: column 2: text after the end of a quoted field; double the quotes within it");
  refused("a,\"15\\\" sleeve\",1\n", TableFormat::csv, "a backslash escapes nothing in a .csv, a quote is doubled: sed 's/");
  refused("a,\"15\\\"\",1\n", TableFormat::csv, "the quote is never closed; a backslash escapes nothing");
}

TEST_CASE("csv: quotes within a field that begins with another character are text, spaces around a quoted field are not") {
  CHECK(rows("a 15.6\" b,c\"\"d,1\n", TableFormat::csv) == Rows{"a 15.6\" b|c\"\"d|1|1"});
  CHECK(rows("a, \"b, c\" ,1\n", TableFormat::csv) == Rows{"a|b, c|1|1"});
  CHECK(rows(" a, b,1\n", TableFormat::csv) == Rows{" a| b|1|1"});                                    // spaces of other fields stay
  CHECK(rows("a, \"b\" c,1\nd, \"e,0\n", TableFormat::csv) == Rows{"a| \"b\" c|1|1", "d| \"e|0|2"});  // no quoted fields
  CHECK(rows("left , right,label\na,b,1\n", TableFormat::csv) == Rows{"a|b|1|2"});
  CHECK(rows(" title,other ,y\na,b,1\n", TableFormat::csv, {.columns = {"title", " other", "y"}}) == Rows{"a|b|1|2"});
}

TEST_CASE("the separator: that of the first line, of the option, or of a header with the columns that are sought") {
  const Rows expected = {"a|b, c|1|2"};
  for (const char* name : {"left;right;label\na;b, c;1\n", "left|right|label\na|b, c|1\n", "left\tright\tlabel\na\tb, c\t1\n"}) {
    CHECK(rows(name, TableFormat::csv) == expected);
    CHECK(rows(name, TableFormat::tsv) == expected);
  }
  CHECK(rows("left,right,label\na,\"b, c\",1\n", TableFormat::tsv) == expected);
  CHECK(rows("sep=;\na;b;1\n", TableFormat::csv) == Rows{"a|b|1|2"});
  // After a first field in quotes there is its separator.
  CHECK(rows("\n\"left, \"\"a\"\"\" ;\"b\";1\nc;d;0\n", TableFormat::csv) == Rows{"left, \"a\"|b|1|2", "c|d|0|3"});
  CHECK(rows("left\tright\tlabel\na\t\"b \"\"c\"\t1\n", TableFormat::csv) == Rows{"a|b \"c|1|2"});
  CHECK(rows("\xEF\xBB\xBF\"sep=|\"\na|b|1\n", TableFormat::csv) == Rows{"a|b|1|2"});
  CHECK(rows("sep=\t\na\t\"b \"\"c\"\t1\n", TableFormat::tsv) == Rows{"a|b \"c|1|2"});
  const auto with = [](Delimiter delimiter) { return TableOptions{.delimiter = delimiter}; };
  CHECK(rows("a;\"b;c\";1\n", TableFormat::csv, with(Delimiter::semicolon)) == Rows{"a|b;c|1|1"});
  CHECK(rows("a\t\"b\nc\"\t1\n", TableFormat::tsv, with(Delimiter::tab)) == Rows{"a|b\nc|1|1"});
  CHECK(rows("a  b\t 1\n", TableFormat::csv, with(Delimiter::space)) == Rows{"a|b|1|1"});
  // A header in quotes is a sign that the fields are quoted; one without quotes is none.
  CHECK(rows("\"left\"\t\"right\"\t\"label\"\n\"a\"\t\"b\"\t\"1\"\n", TableFormat::tsv) == Rows{"a|b|1|2"});
  CHECK(rows("left\tright\tlabel\n\"a\"\tb\t1\n", TableFormat::tsv) == Rows{"\"a\"|b|1|2"});
  refused("left\tright\tlabel\n\"a\nb\"\tc\t1\n", TableFormat::tsv, "the row has 1 column, expected 3 as in the rows above");
  refused("left\tright\tlabel\nb\t\"c\n\"\t1\n", TableFormat::tsv, "a field begins with a quote");
  // Without a header, quotes are text, and spaces separate nothing if tabs do.
  CHECK(rows("\"a b\"\t\"c\"\t\"1\"\n", TableFormat::tsv, {.ids = true}) == Rows{"\"a b\"|\"c\"|\"1\"|1"});
  CHECK(rows("\"\"\"a\tb\",\"\"\"c\td\",\"\"\"\"\n", TableFormat::csv) == Rows{"\"a\tb|\"c\td|\"|1"});
  // Tabs in a .csv need no header, semicolons do: they may be text.
  CHECK(rows("a, b\tc\t1\n", TableFormat::csv) == Rows{"a, b|c|1|1"});
  CHECK(rows("a; b\nc; d\n", TableFormat::csv, {.labels = false, .texts = 1}) == Rows{"a; b|||1", "c; d|||2"});
  CHECK(rows("id;text\n1;c, d\n", TableFormat::csv, {.labels = false, .texts = 1}) == Rows{"c, d|||2"});
  CHECK(rows("a\tb\n", TableFormat::csv, {.labels = false, .texts = 1}) == Rows{"a\tb|||1"});
}

TEST_CASE("tables of tabs without a header may have more columns in some rows") {
  const TableOptions numbers = {.columns = {"2", "3", "1"}};
  CHECK(rows("1\ta\tb\tx\n0\tc\td\n1\te\tf\tx\ty\n", TableFormat::tsv, numbers) == Rows{"a|b|1|1", "c|d|0|2", "e|f|1|3"});
  refused("1\ta\tb\tx\n0\tc\n", TableFormat::tsv, "x: line 2: the row has 2 columns, expected 4", numbers);
  refused("1,a,b\n0,c,d,e\n", TableFormat::csv, "the row has 4 columns, expected 3 as in the rows above; a text with ',' needs quotes",
          numbers);
}

TEST_CASE("two columns of one name are refused where a name says which is meant") {
  const std::string table = "id,title,id,title,label\n1,a,2,b,1\n";
  refused(table, TableFormat::csv, "x: line 1: two columns are called 'title'", {.columns = {"title", "title"}, .labels = false});
  refused(table, TableFormat::csv, "two columns are called 'id'; rename one of them, or give the columns by their numbers",
          {.columns = {"2", "4"}, .labels = false, .keep = {"id"}});
  CHECK(rows(table, TableFormat::csv, {.columns = {"2", "4", "label"}}) == Rows{"a|b|1|2"});
}

TEST_CASE("a column whose name has a comma or a quote is named in double quotes") {
  CHECK(unquoted_name("\"name, full\"") == "name, full");
  CHECK(unquoted_name(" \"a \"\"b\"\"\" ") == "a \"b\"");
  CHECK(unquoted_name("\"") == "\"");
  CHECK(rows("\"name, full\",other,y\na,b,1\n", TableFormat::csv, {.columns = {"\"name, full\"", "other", "y"}}) == Rows{"a|b|1|2"});
}

TEST_CASE("columns of other tools are known by name") {
  CHECK(rows("gold_label\tsentence1\tsentence2\n-\ta\tb\n", TableFormat::tsv) == Rows{"a|b|-|2"});
  CHECK(rows("id\tquestion1\tquestion2\tis_duplicate\n1\ta\tb\t0\n", TableFormat::tsv) == Rows{"a|b|0|2"});
  CHECK(rows("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\ta\tb\n", TableFormat::tsv) == Rows{"a|b|1|2"});
  CHECK(rows("id,label,left_name,left_price,right_name,right_price\n0,1,a,2,,3\n", TableFormat::csv) == Rows{"a 2|3|1|2"});
  CHECK(rows("unique_id_l,unique_id_r,name_l,name_r,label\n1,2,a,b,1\n", TableFormat::csv) == Rows{"a|b|1|2"});
  CHECK(rows("{\"left_a\": \"x\", \"left_b\": 2.50, \"right_a\": \"y\", \"right_b\": null, \"label\": 1}", TableFormat::jsonl) ==
        Rows{"x 2.50|y|1|1"});
  const TableOptions ids = {.ids = true};
  CHECK(rows("query-id\tcorpus-id\tscore\nq\td\t1\n", TableFormat::tsv, ids) == Rows{"q|d|1|2"});
  CHECK(rows("name_l,name_r,unique_id_l,unique_id_r,label\na,b,1,2,1\n", TableFormat::csv, ids) == Rows{"1|2|1|2"});
  const TableOptions judgements = {.ids = true, .judgements = true};
  CHECK(rows("q 0 d 1\nq 0 e 0\n", TableFormat::tsv, judgements) == Rows{"q|d|1|1", "q|e|0|2"});
  CHECK(rows("q\t0\td\t1\n", TableFormat::tsv, judgements) == Rows{"q|d|1|1"});
}

TEST_CASE("rows with a label to skip are left out") {
  const TableOptions skip = {.skip_labels = {"-", ""}};
  CHECK(rows("a\tb\t-\nc\td\t1\ne\tf\t \n", TableFormat::tsv, skip) == Rows{"c|d|1|2"});
  CHECK(rows("{\"left\": \"a\", \"right\": \"b\", \"label\": null}\n{\"left\": \"c\", \"right\": \"d\", \"label\": true}",
             TableFormat::jsonl, skip) == Rows{"c|d|true|2"});
}

TEST_CASE("jsonl") {
  CHECK(rows("{\"left\": \"a\\tb\", \"right\": \"\", \"label\": 1, \"more\": [1]}\n{\"left\": \"c\", \"right\": \"d\", \"label\": "
             "\"yes\"}\r\n",
             TableFormat::jsonl) == Rows{"a\tb||1|1", "c|d|yes|2"});
  CHECK(rows("{\"p\": \"a\", \"q\": \"b\", \"s\": 2.5}", TableFormat::jsonl, {.columns = {"p", "q", "s"}}) == Rows{"a|b|2.5|1"});
  CHECK(rows("{\"left\": \"a\", \"right\": \"b\"}", TableFormat::jsonl, unlabelled) == Rows{"a|b||1"});
  refused("{\"left\": \"a\", \"right\": \"b\", \"label\": 1}\n{\"left\": \"a\"}", TableFormat::jsonl, "x: line 2: there is no key 'right'");
  refused("{\"left\": 1, \"right\": \"b\", \"label\": 1}", TableFormat::jsonl, "x: line 1: 'left' is number, expected a text");
  CHECK(rows("{\"left\": null, \"right\": \"b\", \"label\": 1.50}", TableFormat::jsonl) == Rows{"|b|1.50|1"});
  refused("{\"left\" 1}", TableFormat::jsonl, "x: line 1: not JSON: column 9: syntax error");
  refused("[1]", TableFormat::jsonl, "x: line 1: expected a JSON object, found array");
  refused("{\"left\": \"a\"\n", TableFormat::jsonl,
          "x: line 1: not JSON: the line ends inside an object; a .jsonl has one object in each line");
}

TEST_CASE("tables: rows that do not fit, bytes that are no text") {
  for (const auto format : {TableFormat::tsv, TableFormat::csv}) {
    const std::string s = format == TableFormat::tsv ? "\t" : ",";
    const std::string good = "a" + s + "b" + s + "1\n";
    refused(good + good + "a" + s + "b\n", format, "x: line 3: the row has 2 columns, expected 3");
    refused(good + "a" + s + "b" + s + "1" + s + "2\n", format, "x: line 2: the row has 4 columns, expected 3");
    CHECK(rows("\n" + good + "\r\n \n" + good + "\n", format) == Rows{"a|b|1|2", "a|b|1|5"});  // blank lines are skipped
    refused(good + "caf\xC3\xA9" + s + "b" + s + "1\n" + "caf\xE9" + s + "b" + s + "1\n", format,
            "x: line 3: byte 4 is not UTF-8, but text before it is: the file mixes encodings");
    refused(good + "caf\xE9" + s + "b" + s + "1\n", format, "x: line 2: byte 4 is not UTF-8");
    refused("a\xC3" + s + "b" + s + "1\n", format, "x: line 1: byte 2 is not UTF-8");
    refused("a" + s + "b" + s + "\xF0\x9F", format, "x: line 1: byte 5 is not UTF-8");
    refused("a" + s + "\xED\xA0\x80" + s + "1", format, "x: line 1: byte 3 is not UTF-8");
    refused(std::string("a\0", 2) + s + "b" + s + "1\n", format, "x: line 1: byte 2 is zero");
    CHECK(rows("a\xEF\xBF\xBD" + s + "b" + s + "1\n", format).size() == 1);  // U+FFFD itself is valid text
    std::string wide(20000, s[0]);
    refused(wide, format, "x: line 1: has more than 10000 columns");
  }
  std::string lines = "a,b,\"";
  for (int i = 0; i < 17; ++i) lines += std::string(1u << 20, 'a') + "\n";
  refused(lines, TableFormat::csv, "x: line 1: column 3: the quoted field is longer than 16777216 bytes");
  refused(std::string((16u << 20) + 1, 'a'), TableFormat::tsv, "x: line 1: is longer than 16777216 bytes");
}

TEST_CASE("lines of any length are read whole") {
  const TableOptions text = {.columns = {}, .header = TableHeader::no, .labels = false, .keep = {}, .keep_advice = {}, .texts = 1};
  for (const std::size_t block : {64u, 4096u, 8192u, 65536u})  // of reader and streams
    for (std::size_t length = block - 3; length <= block + 2; ++length) {
      const std::string first(length, 'a'), second(length, 'b');
      const Rows expected = {first + "|||1", second + "|||2"};
      for (const char* end : {"\n", "\r\n"}) {
        CHECK(rows(first + end + second + end, TableFormat::tsv, text) == expected);
        CHECK(rows(first + end + second, TableFormat::tsv, text) == expected);
      }
      refused(first + "\n" + second + '\xE9' + "\n", TableFormat::tsv, cat("x: line 2: byte ", length + 1, " is not UTF-8"), text);
    }
}

TEST_CASE("read_pairs and labels") {
  const TemporaryFolder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    write_file_atomic(folder / name, text);
    return folder / name;
  };
  const auto table = read_pairs(put("a.tsv", "a\tb\t1\nc\td\t0\ne\tf\t2.5\n"));
  CHECK(number_labels(table) == std::vector<double>{1, 0, 2.5});
  CHECK(number_labels(read_pairs(put("a.txt", "a\tb\t-3\n"))) == std::vector<double>{-3});
  const auto objects = read_pairs(put("a.jsonl", "{\"left\": \"a\", \"right\": \"b\", \"label\": \"x\"}\n"));
  expect_file_error([&] { class_labels(objects); }, "a.jsonl: line 1: unknown label 'x'; the labels are 0, 1");
  CHECK(class_labels(table, {"1", "0", "2.5"}) == std::vector<std::size_t>{0, 1, 2});
  // Where the names are words, a label may be the number of a class.
  CHECK(class_labels(read_pairs(put("n.tsv", "a\tb\t1\nc\td\tno\n")), {"no", "yes"}) == std::vector<std::size_t>{1, 0});
  expect_file_error(
      [&] {
        class_labels(read_pairs(put("n.tsv", "a\tb\t2\n")), {"no", "yes"});
      },
      "unknown label '2'; the labels are no, yes");
  expect_file_error([&] { class_labels(read_pairs(put("n.tsv", "a\tb\t1\n")), {"2019", "2020"}); }, "unknown label '1'");
  expect_file_error([&] { class_labels(table); }, "a.tsv: line 3, column 3: unknown label '2.5'; the labels are 0, 1");
  for (const char* bad : {"x", "", "1x", "nan", "inf", "1e999", "1e39"}) {
    const auto other = read_pairs(put("b.csv", std::string("a,b,3\na,b,") + bad + "\n"));
    expect_file_error([&] { number_labels(other); }, "b.csv: line 2, column 3: the label '");
  }
  expect_file_error([&] { read_pairs(put("empty.tsv", "")); }, "empty.tsv: the table has no rows");
  expect_file_error([&] { read_pairs(put("head.csv", "left,right,label\n")); }, "head.csv: the table has no rows");
  expect_file_error([&] { read_pairs(folder / "none.tsv"); }, "none.tsv: cannot be opened: No such file");
  expect_file_error([&] { read_pairs(folder / "none"); }, "none: cannot be opened: No such file");
  std::filesystem::create_directory(folder / "d.tsv");
  expect_file_error([&] { read_pairs(folder / "d.tsv"); }, "d.tsv: is a folder");
  expect_error(
      ErrorKind::usage, [&] { read_pairs(put("a.xlsx", "a,b,1\n")); }, "a.xlsx: the ending says no table format");
}

TEST_CASE("labels as other programs write them") {
  const std::vector<std::string> binary = {"0", "1"}, named = {"no", "1.0", "1", "True"};
  for (const char* one : {"1", " 1", "1 ", "1.0", "1.000", "true", "True", "TRUE"}) CHECK(find_label(one, binary) == 1u);
  for (const char* zero : {"0", "0.0", "false", "False", "FALSE "}) CHECK(find_label(zero, binary) == 0u);
  for (const char* none : {"", "-", "2", "1.5", "1.", ".0", "tRUE", "yes", "nan"}) CHECK(!find_label(none, binary).has_value());
  CHECK(find_label("1.0", named) == 1u);  // a name is taken as it is
  CHECK(find_label("True", named) == 3u);
  CHECK(find_label("true", named) == 2u);
  CHECK(!find_label("true", {"a", "b"}).has_value());
  PairTable table{"x", {{"a", "b", "NaN", 2, 3}}};
  expect_file_error([&] { class_labels(table); }, "the labels are 0, 1; the row has no label: `skip_label` NaN");
  table.label_advice = " (`labels` names others: no,yes)";
  expect_file_error([&] { class_labels(table); },
                    "the labels are 0, 1 (`labels` names others: no,yes); the row has no label: `skip_label` NaN");
  expect_file_error([&] { class_labels(table); }, "the row has no label: `skip_label` NaN leaves such rows out");
  table.rows[0].label = "";
  expect_file_error([&] { number_labels(table); }, "is not a number, or too large for a float; the row has no label: `skip_label` ''");
  table.rows[0].label = "-";
  expect_file_error([&] { class_labels(table); }, "no,yes); `skip_label` - leaves such rows out");
  table.rows[0].label = "True";
  CHECK(number_labels(table) == std::vector<double>{1});
}

TEST_CASE("a first row that looks like a header with other names is refused, with what to do") {
  const std::string hint =
      "looks like a header, but has no columns 'left' and 'right'; name the columns of left and right text (`columns` NAME,NAME)";
  refused("name_a,name_b\ncamera,kamera\n", TableFormat::csv, "x: line 1: 'name_a, name_b' " + hint, unlabelled);
  refused("name_a\tname_b\n", TableFormat::tsv, hint, unlabelled);
  refused("text_a\ttext_b\tlabel\na\tb\t1\n", TableFormat::tsv, "text and label (`columns` NAME,NAME,NAME), or say `header` yes");
  const TableOptions ids{.labels = false, .ids = true};
  refused("name_a,name_b\n", TableFormat::csv, "and label; if this row is a pair, write a row of these names above it", ids);
  refused("a_id;b_id\n", TableFormat::csv, "this row has ';': if they separate the columns, write a first line sep=;", ids);
  refused("id,Title,price\n1,a,2\n", TableFormat::csv, "'id, Title, price' looks like a header", unlabelled);
  const TableOptions no = {.columns = {}, .header = TableHeader::no, .labels = false},
                     yes = {.columns = {}, .header = TableHeader::yes, .labels = false};
  CHECK(rows("name_a,name_b\na,b\n", TableFormat::csv, no) == Rows{"name_a|name_b||1", "a|b||2"});
  CHECK(rows("name_a,name_b\na,b\n", TableFormat::csv, yes) == Rows{"a|b||2"});
  CHECK(rows("name_a,name_b\na,b\n", TableFormat::csv, {.columns = {"1", "2"}, .header = TableHeader::automatic, .labels = false}).size() ==
        2);
  // A first row that may be a pair is no header: a word that is no column name, spaces, numbers, the same text twice, an empty text.
  for (const char* pair : {"title,camera", "name a,name b", "1,2", "name,name", "title,", "name_a,5", "caf\xC3\xA9_a,name_b", "_,name"})
    CHECK(rows(pair + std::string("\n"), TableFormat::csv, unlabelled).size() == 1);
  CHECK(rows("title\tname\t1\n", TableFormat::tsv).size() == 1);
}

TEST_CASE("tables of single texts: text and label") {
  const auto with = [](std::vector<std::string> columns, TableHeader header = TableHeader::automatic, bool labels = true) {
    return TableOptions{.columns = std::move(columns), .header = header, .labels = labels, .texts = 1};
  };
  const TableOptions first = with({}), scored = with({}, TableHeader::automatic, false);
  for (const auto format : {TableFormat::tsv, TableFormat::csv}) {
    const std::string s = format == TableFormat::tsv ? "\t" : ",";
    CHECK(rows("good film" + s + "1\nbad" + s + "0\n", format, first) == Rows{"good film||1|1", "bad||0|2"});
    CHECK(rows("sentence" + s + "label\ngood" + s + "1\n", format, first) == Rows{"good||1|2"});
    CHECK(rows("label" + s + "sentence" + s + "text\n1" + s + "a" + s + "b\n", format, first) == Rows{"b||1|2"});
    CHECK(rows("id" + s + "y" + s + "review\n7" + s + "1" + s + "good\n", format, with({"review", "y"})) == Rows{"good||1|2"});
    CHECK(rows("7" + s + "good" + s + "1\n", format, with({"2", "3"})) == Rows{"good||1|1"});
    CHECK(rows("good" + s + "1\n", format, scored) == Rows{"good|||1"});
    CHECK(rows("id" + s + "text\n7" + s + "good\n", format, scored) == Rows{"good|||2"});
    CHECK(rows("a" + s + "b\n", format, with({"b", "a"}, TableHeader::automatic, false)).empty());
    refused("title" + s + "label\n", format,
            "looks like a header, but has no columns 'text' and 'label'; name the columns of text and label (`columns` NAME,NAME), or say "
            "`header` yes to "
            "take the first ones, `header` no if this row is a text",
            first);
    refused("good" + s + "1\nbad\n", format, "x: line 2: the row has 1 column, expected 2", first);
  }
  CHECK(rows("good, film\nbad\n", TableFormat::tsv, scored) == Rows{"good, film|||1", "bad|||2"});
  CHECK(rows("text\t1\n", TableFormat::tsv, first) == Rows{"text||1|1"});  // a text: there is no column 'label'
  CHECK(rows("\t1\n", TableFormat::tsv, first) == Rows{"||1|1"});
  CHECK(rows("{\"text\": \"a\", \"label\": 1}\n{\"label\": \"x\", \"sentence\": \"b\"}\n", TableFormat::jsonl, first) ==
        Rows{"a||1|1", "b||x|2"});
  CHECK(rows("{\"q\": \"a\"}", TableFormat::jsonl, with({"q", "y"}, TableHeader::automatic, false)) == Rows{"a|||1"});
  refused("{\"left\": \"a\", \"label\": 1}", TableFormat::jsonl, "x: line 1: there is no key 'text'", first);
  refused("{\"text\": 5, \"label\": 1}", TableFormat::jsonl, "x: line 1: 'text' is number, expected a text", first);
  refused("name\n", TableFormat::tsv, "'name' looks like a header, but has no column 'text'; name the columns of text (`columns` NAME)",
          scored);
  refused("good\n", TableFormat::tsv, "x: line 1: the table has 1 column; column 2 (label) is missing", first);
  const auto usage = [&](const TableOptions& options, const std::string& message) {
    expect_error(
        ErrorKind::usage, [&] { rows("a\tb\n", TableFormat::tsv, options); }, message);
  };
  TableOptions queries = scored;
  queries.columns_setting = "query_column";
  refused("name\n", TableFormat::tsv, "name the columns of text (`query_column` NAME), or say `header` yes", queries);
  usage(with({"a"}), "x: 1 column is named, expected 2 (text, label)");
  usage(with({"a", "b", "c"}, TableHeader::automatic, false), "x: 3 columns are named, expected 1 (text)");
  usage({.keep = {"b"}, .texts = 1}, "the table has no columns 'text' and 'label'; name the columns, too");
  usage({.texts = 3}, "x: rows have 1 or 2 texts, not 3");
}

TEST_CASE("columns that are separated by something else, or almost have the name that was given") {
  refused(
      "a;b;1\n", TableFormat::csv,
      "the table has 1 column; column 2 (right) is missing; this row has ';': if they separate the columns, give `delimiter` semicolon");
  refused("a;b;1\n", TableFormat::csv, "if they separate the columns, give `delimiter` semicolon, or write a first line sep=;");
  refused("a\tb\n", TableFormat::csv,
          "is missing; this row has tabs: if they separate the columns, give `delimiter` tab, or write a first line sep=TAB");
  refused("a,b,1\n", TableFormat::tsv,
          "is missing; this row has commas: if they separate the columns, give `delimiter` comma, or write a first line sep=,");
  refused("tittle\tother\n", TableFormat::tsv, "there is no column 'title' among 'tittle, other'; did you mean 'tittle'?",
          {.columns = {"title", "other"}, .header = TableHeader::automatic, .labels = false});
}

TEST_CASE("a table that cannot be read to its end is an error of kind file") {
  struct Broken : std::streambuf {
    int_type underflow() override { throw std::ios_base::failure("disk"); }
  } broken;
  std::istream in(&broken);
  PairReader reader(in, "x", TableFormat::tsv, unlabelled);
  PairRow row;
  expect_file_error([&] { reader.next(row); }, "x: cannot be read to its end");
}

TEST_CASE("a column that is given twice, by its name or its number, is refused") {
  const std::string text = "left,right,label\na,b,1\n";
  const auto twice = [&](std::vector<std::string> columns, const std::string& part) {
    expect_error(
        ErrorKind::usage, [&] { rows(text, TableFormat::csv, {.columns = std::move(columns)}); }, part);
  };
  twice({"left", "left", "label"}, "columns: 'left' is named twice");
  twice({"1", "1", "3"}, "columns: '1' is named twice");
  twice({"left", "right", "2"}, "columns: 'right' and '2' are one column");
  twice({"2", "left", "1"}, "columns: 'left' and '1' are one column");
  expect_error(
      ErrorKind::usage,
      [&] {
        rows("{\"a\": \"x\"}\n", TableFormat::jsonl, {.columns = {"a", "a"}, .labels = false});
      },
      "'a' is named twice");
  CHECK(rows(text, TableFormat::csv, {.columns = {"left", "right", "label"}, .keep = {"left"}}) == Rows{"a|b|1|2"});
}
