// SPDX-License-Identifier: MIT
// The names that tools and data sets give to the columns of pairs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// The columns of a left text, a right text (none for single texts) and a label. A text of several columns is their values, joined by
/// spaces.
struct PairColumns {
  std::vector<std::string> left, right;
  std::string label;
};

/// The columns of a table whose names are known; none on the left if the table has no such pair. texts: of a row, 1 or 2. ids: the
/// rows are pairs of ids. labels: single texts also have a label.
PairColumns known_columns(const std::vector<std::string>& names, std::size_t texts, bool ids, bool labels);

namespace detail {
/// Refuses names of which two are equal or, if their places are known, stand for one column. `option` begins the message.
void check_different(const std::vector<std::string>& names, const std::vector<std::size_t>& places, const std::string& option);
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <set>
#include <string_view>

#include "lexformer/core/error.hpp"

namespace lexformer {

namespace detail {

struct KnownPair {
  const char *left, *right;
  std::vector<const char*> labels;
};

/// The first label is the one that messages name.
inline const std::vector<KnownPair>& known_ids() {
  static const std::vector<KnownPair> list = {{"ltable_id", "rtable_id", {"label"}},
                                              {"left_id", "right_id", {"label"}},
                                              {"unique_id_l", "unique_id_r", {"label", "clerical_match_score"}},  // Splink
                                              {"id_l", "id_r", {"label"}},
                                              {"query-id", "corpus-id", {"score"}},  // BEIR
                                              {"left", "right", {"label"}}};
  return list;
}

inline const std::vector<KnownPair>& known_texts() {
  static const std::vector<KnownPair> list = {{"left", "right", {"label"}},
                                              {"sentence1", "sentence2", {"gold_label", "label", "score"}},  // SNLI, GLUE, STS-B
                                              {"question1", "question2", {"is_duplicate", "label"}},         // Quora
                                              {"#1 String", "#2 String", {"Quality"}},                       // MRPC
                                              {"sentence_A", "sentence_B", {"relatedness_score", "label"}},  // SICK
                                              {"premise", "hypothesis", {"label", "gold_label"}},
                                              {"question", "sentence", {"label"}},
                                              {"text1", "text2", {"label"}}};
  return list;
}

/// The columns of two records in one row: left_name and right_name (DeepMatcher), name_l and name_r (Splink), without their ids.
inline PairColumns record_columns(const std::vector<std::string>& names) {
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  PairColumns found;
  const auto add = [&](const std::string& left, const std::string& right, std::string_view base) {
    if (base == "id" || base == "unique_id" || base == "source_dataset" || !has(right)) return;
    found.left.push_back(left);
    found.right.push_back(right);
  };
  for (const auto& name : names)
    if (name.starts_with("left_")) add(name, "right_" + name.substr(5), name.substr(5));
  for (const auto& name : names)
    if (found.left.empty() || found.left[0].ends_with("_l"))
      if (name.ends_with("_l")) add(name, name.substr(0, name.size() - 1) + "r", name.substr(0, name.size() - 2));
  found.label = !has("label") && has("clerical_match_score") ? "clerical_match_score" : "label";
  return found;
}

}  // namespace detail

LEXFORMER_INLINE void detail::check_different(const std::vector<std::string>& names, const std::vector<std::size_t>& places,
                                              const std::string& option) {
  std::set<std::string_view> seen;
  for (const auto& name : names)
    if (!seen.insert(name).second) fail_usage(option, in_quotes(name), " is named twice");
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto same = static_cast<std::size_t>(std::find(places.begin(), places.end(), places[i]) - places.begin());
    if (same < i) fail_usage(option, in_quotes(names[same]), " and ", in_quotes(names[i]), " are one column");
  }
}

LEXFORMER_INLINE PairColumns known_columns(const std::vector<std::string>& names, std::size_t texts, bool ids, bool labels) {
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (texts == 1) {
    const std::string text = !has("text") && has("sentence") ? "sentence" : "text";
    if (!has(text) || (labels && !has("label"))) return {};
    return {{text}, {}, "label"};
  }
  for (const auto& known : ids ? detail::known_ids() : detail::known_texts()) {
    if (!has(known.left) || !has(known.right)) continue;
    const auto label = std::find_if(known.labels.begin(), known.labels.end(), has);
    return {{known.left}, {known.right}, label == known.labels.end() ? known.labels[0] : *label};
  }
  return ids ? PairColumns{} : detail::record_columns(names);
}

}  // namespace lexformer
#endif
