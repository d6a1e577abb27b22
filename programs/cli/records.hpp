// SPDX-License-Identifier: MIT
// Tables of records as the input of programs: --left and --right, or two file names, and how records become texts.
#pragma once

#include <lexformer/io/json.hpp>
#include <memory>
#include <optional>

#include "cli/program.hpp"

namespace program {

inline void add_record_columns(CLI::App& app, std::vector<std::string>& columns) {
  app.add_option("--columns", columns,
                 "columns of the records, in this order: NAME, or LEFT=RIGHT for other names in the right table (default: all but the id)")
      ->delimiter(',');
}

class RecordFlags {
 public:
  /// --left and --right, beside files of pairs of texts. add_table_options() adds --columns.
  void add_to(CLI::App& app) {
    app.add_option("--left", left_,
                   "table of records: .csv, .tsv, .jsonl; files of pairs then hold pairs of ids: ltable_id, rtable_id, label")
        ->type_name("A.csv");
    app.add_option("--right", right_, "table of the right records (default: those of --left)")->type_name("B.csv");
    add_text_options(app);
  }
  /// The tables as arguments without a name, and --columns. texts: also how a model reads the records.
  void add_arguments(CLI::App& app, bool texts) {
    app.add_option("left", left_, "table of records: .csv, .tsv, .jsonl")->required()->type_name("A.csv");
    app.add_option("right", right_, "the table to match it with; without it, duplicates within the first one are looked for")
        ->type_name("B.csv");
    add_record_columns(app, columns_);
    add_text_options(app, texts);
  }

  bool used() const { return !left_.empty(); }
  std::vector<std::string> files() const { return {left_, right_}; }
  const std::vector<std::string>& columns() const { return columns_; }

  /// Reads the tables. `columns`: those of --columns; `stored`: the options that a model keeps, or "": each option that is not given is
  /// that of the model.
  std::shared_ptr<const lx::RecordPairs> load(const std::vector<std::string>& columns, const std::string& stored,
                                              const std::string& model = "") const {
    auto texts = options(columns, stored, model);
    const std::size_t equals = id_.find('=');
    auto left = lx::read_records(left_, id_.substr(0, equals));
    std::optional<lx::RecordTable> right;
    if (!right_.empty()) right = lx::read_records(right_, equals == id_.npos ? id_ : id_.substr(equals + 1));
    return std::make_shared<const lx::RecordPairs>(std::move(left), std::move(right), std::move(texts));
  }
  /// With --left, lets `table` read pairs of ids.
  void apply(lx::TableOptions& table, const std::string& stored = "", const std::string& model = "") const {
    if (!used()) {
      if (!right_.empty()) lx::fail_usage("--right", "needs --left");
      for (const auto* option : options_)
        if (option->count() > 0) lx::fail_usage(option->get_name(), "needs --left");
      return;
    }
    if (table.texts != 2) lx::fail_usage("--left", "the model reads single texts, not pairs");
    table.records = load(table.columns, stored, model);
    table.columns.clear();
  }

 private:
  void add_text_options(CLI::App& app, bool texts = true) {
    const auto keep = [&](const CLI::Option* option) { options_.push_back(option); };
    keep(app.add_option("--id", id_, "column of the ids; LEFT=RIGHT if the tables differ")->capture_default_str());
    keep(app.add_flag("--normalize-numbers", normalize_, "write 1,299.00 as 1299"));
    if (!texts) return;
    keep(serialize_option_ = add_choice(app, "--serialize", serialize_,
                                        "text of a record; plain: its values, columns: COL name VAL value for each column"));
    keep(words_option_ = app.add_option("--column-words", words_, "the most words of a column, e.g. description=40; one or more")
                             ->delimiter(',')
                             ->type_name("COLUMN=N,..."));
    keep(separator_option_ = app.add_option("--separator", separator_, "text between columns (default: a space)"));
  }

  lx::RecordTextOptions options(const std::vector<std::string>& columns, const std::string& stored, const std::string& model) const {
    const auto given = [](const CLI::Option* option) { return option != nullptr && option->count() > 0; };
    lx::RecordTextOptions o;
    if (!stored.empty()) {
      const std::string where = model + ": lexformer.records";
      o = lx::parse_record_text_options(lx::parse_json(stored, where), where);
    }
    if (!columns.empty()) {
      o.columns.clear();
      for (const auto& name : columns) o.columns.push_back(lx::parse_record_column(name));
      std::erase_if(o.words, [&](const auto& budget) {
        return std::none_of(o.columns.begin(), o.columns.end(), [&](const auto& column) { return column.left == budget.first; });
      });
    }
    if (given(words_option_)) o.words.clear();
    for (const auto& budget : words_) {
      const std::size_t equals = budget.rfind('=');
      std::size_t most = 0;
      if (equals == budget.npos || equals == 0 || !CLI::detail::lexical_cast(budget.substr(equals + 1), most) || most == 0)
        lx::fail_usage("--column-words", lx::in_quotes(budget), " is not COLUMN=N with N above 0");
      o.words[budget.substr(0, equals)] = most;
    }
    if (given(serialize_option_)) o.serialize = serialize_;
    if (given(separator_option_)) o.separator = separator_;
    if (normalize_) o.normalize_numbers = true;
    return o;
  }

  std::string left_, right_, id_ = "id", separator_ = " ";
  std::vector<std::string> columns_, words_;
  lx::Serialize serialize_ = lx::Serialize::plain;
  bool normalize_ = false;
  std::vector<const CLI::Option*> options_;
  const CLI::Option *serialize_option_ = nullptr, *words_option_ = nullptr, *separator_option_ = nullptr;
};

/// The options that a model keeps, "" for a model that reads no pairs.
template <class Model>
std::string records_of(const Model& model) {
  if constexpr (requires { model.records; })
    return model.records;
  else
    return {};
}

/// The options in the form in which a model keeps them, "" for pairs of texts.
inline std::string stored_records(const lx::TableOptions& table) {
  return table.records ? lx::dump_json(lx::to_json(table.records->options()), "--left") : "";
}

}  // namespace program
