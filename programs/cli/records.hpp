// SPDX-License-Identifier: MIT
// Tables of records as the input of programs: --left and --right, or two file names, and how records become texts.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/tables/record_texts.hpp>
#include <map>
#include <memory>
#include <optional>

#include "cli/program.hpp"

namespace program {

inline void visit_record_columns(OptionVisitor& v, std::vector<std::string>& columns) {
  v.list("columns", columns,
         "columns of the records, in this order: NAME, or LEFT=RIGHT for other names in the right table; a name with a comma or an equals "
         "sign in double quotes (default: all but the id)")
      .split_at(',');
}

class RecordFlags {
  using Metadata = std::map<std::string, std::string>;

 public:
  /// --left and --right, beside files of pairs of texts. visit_table() adds --columns.
  void visit(OptionVisitor& v) {
    v.input("left", left_, "table of records: .csv, .tsv, .jsonl; files of pairs then hold pairs of ids: ltable_id, rtable_id, label")
        .shown_as("A.csv");
    v.input("right", right_, "table of the right records (default: the table of --left)").shown_as("B.csv").needs("left");
    for (lx::Option& option : v.nested("", [&](OptionVisitor& o) { visit_texts(o); })) option.needs("left");
  }
  /// --left, --right and --columns, beside files of pairs of ids alone.
  void visit_with_columns(OptionVisitor& v, std::vector<std::string>& columns) {
    visit(v);
    visit_record_columns(v, columns);
    visit_delimiter(v, delimiter_);
  }
  /// The tables as arguments without a name, and --columns. texts: also how a model reads the records.
  void visit_arguments(OptionVisitor& v, bool texts) {
    v.input("left", left_, "table of records: .csv, .tsv, .jsonl").positional().required().shown_as("A.csv");
    v.input("right", right_, "the table to match it with; without it, duplicates within the first one are looked for")
        .positional()
        .shown_as("B.csv");
    visit_record_columns(v, columns_);
    visit_texts(v, texts);
    visit_delimiter(v, delimiter_);
  }

  bool used() const { return !left_.empty(); }
  bool one_table() const { return right_.empty(); }
  const std::vector<std::string>& columns() const { return columns_; }

  /// Reads the tables. `columns`: as in --columns; `kept`: of a model (Scorer::metadata), whose options stand for options that are not
  /// given.
  std::shared_ptr<const lx::RecordPairs> load(const std::vector<std::string>& columns, const Metadata& kept = {},
                                              const std::string& model = "", lx::Delimiter delimiter = lx::Delimiter::automatic) const {
    if (delimiter == lx::Delimiter::automatic) delimiter = delimiter_;
    auto texts = options(columns, kept, model);
    auto left = lx::read_records(left_, texts.id.left, delimiter);
    std::optional<lx::RecordTable> right;
    if (!right_.empty()) right = lx::read_records(right_, texts.id.right, delimiter);
    return std::make_shared<const lx::RecordPairs>(std::move(left), std::move(right), std::move(texts));
  }
  /// With --left, lets `table` read pairs of ids.
  void apply(lx::TableOptions& table, const Metadata& kept, const std::string& model) const {
    if (!used()) return;
    if (table.texts != 2) lx::fail_usage("--left", "the model reads single texts, not pairs");
    table.records = load(table.columns, kept, model, table.delimiter);
    table.columns.clear();
  }

 private:
  void visit_texts(OptionVisitor& v, bool texts = true) {
    v.text("id", id_, "column of the ids; LEFT=RIGHT if the tables differ")
        .default_text(texts ? "as of the model, else id" : "id")
        .identity(false);
    v.flag("normalize_numbers", normalize_, "write 1,299.00 as 1299").identity(false);
    if (!texts) return;
    v.choice("serialize", serialize_, "text of a record; plain: its values, columns: COL name VAL value for each column")
        .default_text("plain")
        .identity(false);
    v.list("column_words", words_, "the most words of a column, e.g. description=40; one or more")
        .split_at(',')
        .shown_as("COLUMN=N,...")
        .identity(false);
    v.text("separator", separator_, "text between columns (default: a space)").identity(false);
  }

  lx::RecordTextOptions options(const std::vector<std::string>& columns, const Metadata& kept, const std::string& model) const {
    auto o = lx::kept_record_texts(kept, model).value_or(lx::RecordTextOptions{});
    if (!columns.empty()) {
      o.columns.clear();
      for (const auto& name : columns) o.columns.push_back(lx::parse_record_column(name));
      std::erase_if(o.words, [&](const auto& budget) {
        return std::none_of(o.columns.begin(), o.columns.end(), [&](const auto& column) { return column.left == budget.first; });
      });
    }
    if (!words_.empty()) o.words.clear();
    for (const auto& budget : words_) {
      const std::size_t equals = budget.rfind('=');
      const auto most = equals == budget.npos ? std::nullopt : whole_number(std::string_view(budget).substr(equals + 1));
      if (equals == 0 || most.value_or(0) == 0) lx::fail_usage("--column-words", lx::in_quotes(budget), " is not COLUMN=N with N above 0");
      const std::string name = lx::unquoted_name(budget.substr(0, equals));
      if (!o.words.emplace(name, *most).second) lx::fail_usage("--column-words", lx::in_quotes(name), " is named twice");
    }
    if (id_) {
      const std::size_t equals = id_->find('=', id_->starts_with('"') ? id_->find('"', 1) : 0);
      o.id = {id_->substr(0, equals), equals == id_->npos ? *id_ : id_->substr(equals + 1)};
    }
    if (serialize_) o.serialize = *serialize_;
    if (separator_) o.separator = *separator_;
    if (normalize_) o.normalize_numbers = true;
    return o;
  }

  std::string left_, right_;
  std::optional<std::string> id_;
  std::vector<std::string> columns_, words_;
  std::optional<std::string> separator_;
  std::optional<lx::Serialize> serialize_;
  lx::Delimiter delimiter_ = lx::Delimiter::automatic;
  bool normalize_ = false;
};

}  // namespace program
