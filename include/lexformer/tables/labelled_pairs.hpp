// SPDX-License-Identifier: MIT
// Labelled pairs of records: the label 1 is a match, 0 another pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/tables/record_texts.hpp"

namespace lexformer {

/// The key of a pair of ids. Within one table the order of the two does not matter.
inline std::pair<std::string, std::string> pair_key(const std::string& left, const std::string& right, bool one_table) {
  return one_table && right < left ? std::pair(right, left) : std::pair(left, right);
}

/// The labels of pairs of ids. A pair may have its label several times, but no two different ones.
class GivenLabels {
 public:
  explicit GivenLabels(bool one_table) : one_table_(one_table) {}

  /// Whether the pair is new. Errors (file): it had another label.
  bool add(const std::string& left, const std::string& right, const std::string& label, const std::string& file, std::size_t line);

 private:
  bool one_table_;
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> labels_;  // of a pair: its label, and where that is
};

/// How pairs were chosen to be labelled.
/// sample       by chance, those that are hard to tell more often (sample_pairs()): for validation, and for a first set of labels
/// uncertainty  pairs near the threshold that differ from each other: for a model that is to be trained further
/// spread       one pair of each of `count` equally wide intervals of the score, so that matches are found among the many other pairs:
///              for a first set of labels, without a model
/// random       each pair with the same probability
enum class SuggestBy { sample, uncertainty, spread, random };
template <>
inline constexpr Named<SuggestBy> names_of<SuggestBy>[] = {
    {"sample", SuggestBy::sample}, {"uncertainty", SuggestBy::uncertainty}, {"spread", SuggestBy::spread}, {"random", SuggestBy::random}};
/// Whether pairs that were chosen so tell something of all pairs.
constexpr bool is_sample(SuggestBy by) { return by == SuggestBy::sample || by == SuggestBy::random; }

struct LabelledPairs {
  std::string name;                                         // for messages, such as the files
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of the left and the right record
  std::vector<std::int32_t> labels;
  std::vector<std::optional<SuggestBy>> chosen{};  // from the column `chosen`; nothing: unknown
  std::vector<std::uint8_t> trained{};             // whether the model was trained on the pair; empty: on none

  std::size_t matches() const;
  /// Whether a pair is known to be of a sample that the model has not seen, and whether it is known to be of none.
  bool is_sampled(std::size_t i) const { return i < chosen.size() && chosen[i] && is_sample(*chosen[i]) && !was_trained(i); }
  bool is_selected(std::size_t i) const { return was_trained(i) || (i < chosen.size() && chosen[i] && !is_sample(*chosen[i])); }
  bool was_trained(std::size_t i) const { return i < trained.size() && trained[i] != 0; }
  std::size_t sampled() const;  // how many of the pairs are
  /// Errors (file): all labels are equal.
  void require_both_labels() const;
};

/// The columns in which `suggest` and `label` keep how a pair was chosen, and how many pairs it stands for.
inline const std::vector<std::string> choice_columns{"chosen", "weight"};

/// Parses a value of the column `chosen`; nothing if it is empty. Errors (file): another name.
std::optional<SuggestBy> parse_choice(const std::string& text, const std::string& where);

/// Reads pairs of ids of the records, and how they were chosen, if the file has the column `chosen`. label_names: the label of other pairs
/// and the label of matches; skip_labels: as in TableOptions. Errors (file): as read_pairs; a pair has two different labels; an unknown
/// name in `chosen`.
LabelledPairs read_labelled_pairs(const std::vector<std::string>& files, const std::shared_ptr<const RecordPairs>& records,
                                  const std::vector<std::string>& label_names = {"0", "1"},
                                  const std::vector<std::string>& skip_labels = {});

/// The compared columns, by their left names, that tell the labels: both values are equal and not empty in every labelled match and in no
/// other labelled pair. Such a column may hold the answer, as the number of a cluster. Empty with fewer than ten matches or ten other
/// pairs, and if there is one column.
std::vector<std::string> telling_columns(const LabelledPairs& pairs, const RecordPairs& records);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

#include "lexformer/core/error.hpp"
#include "lexformer/data/labels.hpp"

namespace lexformer {

LEXFORMER_INLINE bool GivenLabels::add(const std::string& left, const std::string& right, const std::string& label, const std::string& file,
                                       std::size_t line) {
  const auto [found, is_new] = labels_.try_emplace(pair_key(left, right, one_table_), label, cat(file, ": line ", line));
  const auto& place = found->second;
  if (place.first != label)
    fail_file(cat(file, ": line ", line), "the pair ", in_quotes(left), ", ", in_quotes(right), " has the label ", in_quotes(label),
              ", but ", in_quotes(place.first), " in ", place.second, "; keep one of them");
  return is_new;
}

LEXFORMER_INLINE std::size_t LabelledPairs::matches() const {
  return static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1));
}

LEXFORMER_INLINE std::size_t LabelledPairs::sampled() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) count += std::size_t{is_sampled(i)};
  return count;
}

LEXFORMER_INLINE void LabelledPairs::require_both_labels() const {
  if (matches() == 0 || matches() == labels.size())
    fail_file(name, labels.size() == 1 ? "the only pair has one label" : cat("all ", labels.size(), " pairs have the same label"),
              "; validation needs matches and other pairs");
}

LEXFORMER_INLINE std::optional<SuggestBy> parse_choice(const std::string& text, const std::string& where) {
  if (text.empty()) return std::nullopt;
  if (const auto by = find_name<SuggestBy>(text)) return by;
  fail_file(where, "'chosen' is ", in_quotes(text), ", expected ", list_names<SuggestBy>());
}

LEXFORMER_INLINE LabelledPairs read_labelled_pairs(const std::vector<std::string>& files, const std::shared_ptr<const RecordPairs>& records,
                                                   const std::vector<std::string>& label_names,
                                                   const std::vector<std::string>& skip_labels) {
  LabelledPairs out;
  GivenLabels given(records->one_table());
  for (const auto& file : files) {
    out.name += (out.name.empty() ? "" : ", ") + file;
    TableOptions table;
    table.records = records;
    table.skip_labels = skip_labels;
    table.keep_optional = {choice_columns[0]};
    const auto rows = read_pairs(file, table);
    const auto classes = class_labels(rows, label_names);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const PairRow& row = rows.rows[i];
      const bool is_new = given.add(row.left_id, row.right_id, label_names[classes[i]], file, row.line);
      out.places.emplace_back(records->left_place(row.left_id, file), records->right_place(row.right_id, file));
      out.labels.push_back(static_cast<std::int32_t>(classes[i]));
      const auto chosen = parse_choice(row.kept[0], cat(file, ": line ", row.line));
      out.chosen.push_back(is_new ? chosen : std::nullopt);  // a repeated pair is once in the sample
    }
  }
  return out;
}

LEXFORMER_INLINE std::vector<std::string> telling_columns(const LabelledPairs& pairs, const RecordPairs& records) {
  std::vector<std::string> found;
  const auto& columns = records.options().columns;
  if (columns.size() < 2 || std::min(pairs.matches(), pairs.labels.size() - pairs.matches()) < 10) return found;
  const auto place = [](const RecordTable& table, const std::string& name) {
    return static_cast<std::size_t>(std::find(table.columns.begin(), table.columns.end(), name) - table.columns.begin());
  };
  for (const RecordColumn& column : columns) {
    const std::size_t left = place(records.left(), column.left), right = place(records.right(), column.right);
    bool tells = true;
    for (std::size_t i = 0; i < pairs.labels.size() && tells; ++i) {
      const auto& a = records.left().records[pairs.places[i].first].values[left];
      const auto& b = records.right().records[pairs.places[i].second].values[right];
      tells = (!a.empty() && a == b) == (pairs.labels[i] == 1);
    }
    if (tells) found.push_back(column.left);
  }
  return found;
}

}  // namespace lexformer
#endif
