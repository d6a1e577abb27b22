// SPDX-License-Identifier: MIT
// Nightly runs of `match`: the state beside the matches, from which --update goes on, and the list of what has changed.
#pragma once

#include <fstream>
#include <lexformer/data/row_writer.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/tables/match_state.hpp>
#include <set>

#include "match/match_options.hpp"

namespace program {

/// Matches, as pairs of ids, in the order of their file.
using MatchList = std::vector<std::pair<std::string, std::string>>;

/// The rows of a file of `match` that are matches.
inline MatchList read_matches(const std::string& path, lx::TableFormat format) {
  lx::TableOptions table;
  table.columns = {"left_id", "right_id"};
  table.ids = true;
  table.keep = {"match"};
  table.labels = false;
  std::ifstream in(path, std::ios::binary);
  if (!in) lx::fail_file(path, "cannot be opened");
  lx::PairReader reader(in, path, format, table);
  MatchList matches;
  for (lx::PairRow row; reader.next(row);) {
    const auto match = lx::find_label(row.kept[0], {"0", "1"});
    if (!match) lx::fail_file(lx::cat(path, ": line ", row.line), "match is ", lx::in_quotes(row.kept[0]), ", expected 0 or 1");
    if (*match == 1) matches.emplace_back(std::move(row.left), std::move(row.right));
  }
  return matches;
}

class UpdateFiles {
 public:
  UpdateFiles(const MatchFlags& o, const OptionVisitor& parsed) : o_(o), parsed_(parsed) {}

  /// The state that --update names, if it is given. Errors (usage): it is of other options, columns or matches, or missing.
  void load(const lx::RecordPairs& records) {
    if (o_.update.empty()) return;
    const std::string file = o_.update + ".state";
    if (!lx::path_exists(file)) lx::fail_usage("--update", o_.update, " has no ", file, " beside it; match --updatable writes it");
    auto state = lx::MatchState::load(file);
    const lx::Json& about = state.about;
    const auto was = [&](const std::string& key) { return about.is_object() ? about.value(key, lx::Json()) : lx::Json(); };
    const auto refuse = [&](const std::string& what) {
      lx::fail_usage("--update", o_.update, " was made with ", what, "; run match without --update to match all records anew");
    };
    if (const auto other = options().difference(was("options"), parsed_); !other.empty()) refuse("another " + other);
    if (was("records") != records.description()) refuse("other columns");
    if (was("matches") != lx::Json(checksum_of_input(o_.update)))
      lx::fail_usage("--update", o_.update, " is not the file that ", file, " was written for; restore it, or run match without --update");
    update_.emplace(std::move(state), records, o_.candidates.key_columns());
  }
  /// For MatchOptions::update: null if there is none, or nothing of the earlier run can stay.
  const lx::MatchUpdate* standing() const { return update_ && update_->keeps_pairs() ? &*update_ : nullptr; }

  /// Writes the state of a run whose matches are in the file `matches`, which is still to get its name.
  void save(const lx::MatchStream& stream, const lx::RecordPairs& records, const std::string& matches) const {
    if (!o_.keeps_state()) return;
    lx::MatchState state = stream.state();
    state.about = lx::Json{{"options", options().values}, {"records", records.description()}, {"matches", checksum_of_input(matches)}};
    state.save(o_.out + ".state");
  }

  /// Writes --changes. Returns what has changed, as one line. matches: as in save().
  std::string changes(const lx::RecordPairs& records, const std::string& matches) const {
    const MatchList before = read_matches(o_.update, lx::table_format(o_.update)), now = read_matches(matches, output_format(o_.out));
    StringWriter list;
    list << "left_id,right_id,change,reason\n";
    std::size_t unchanged = 0;
    const auto write = [&](const MatchList& pairs, const MatchList& others, const char* change) {
      std::set<std::pair<std::string, std::string>> known;
      for (const auto& pair : others) known.insert(sorted(pair));
      std::size_t count = 0;
      for (const auto& pair : pairs) {
        if (known.contains(sorted(pair))) continue;
        const std::string why = reason(records, pair);
        list << lx::csv_field(pair.first) << ',' << lx::csv_field(pair.second) << ',' << change << ',' << why << '\n';
        if (why == "decision") ++unchanged;
        ++count;
      }
      return count;
    };
    const std::size_t added = write(now, before, "new"), gone = write(before, now, "gone");
    if (!o_.changes.empty()) lx::write_file_atomic(o_.changes, list.str());
    return lx::cat(o_.out, ": since ", o_.update, " ", counted(added, "match is", "matches are"), " new and ", gone,
                   " gone, of these between unchanged records ", unchanged, drift(records));
  }

 private:
  /// The options that must stay.
  MadeFrom options() const {
    return MadeFrom(parsed_, {"resume", "overwrite", "quiet", "threads", "left", "right", "update", "updatable", "changes"});
  }
  /// Within one table either order is the same pair.
  std::pair<std::string, std::string> sorted(std::pair<std::string, std::string> pair) const {
    if (o_.records.one_table() && pair.second < pair.first) std::swap(pair.first, pair.second);
    return pair;
  }
  /// new, changed or gone: a record is; decision: neither is, but another candidate of theirs.
  std::string reason(const lx::RecordPairs& records, const std::pair<std::string, std::string>& pair) const {
    using Kind = lx::RecordChanges::Kind;
    const auto of = [](const lx::RecordTable& table, const lx::RecordChanges& changes, const std::string& id) {
      const auto place = table.places.find(id);
      return place == table.places.end() ? std::nullopt : std::optional(static_cast<Kind>(changes.kinds[place->second]));
    };
    const auto left = of(records.left(), update_->left, pair.first), right = of(records.right(), update_->right, pair.second);
    const auto either = [&](std::optional<Kind> kind) { return left == kind || right == kind; };
    if (either(std::nullopt)) return "gone";
    return either(Kind::added) ? "new" : either(Kind::changed) ? "changed" : "decision";
  }
  /// How much of the tables is new since weights and decisions were chosen.
  std::string drift(const lx::RecordPairs& records) const {
    if (standing() == nullptr) return "; nothing of it could stay, so all was matched anew";
    const std::size_t since = update_->state.since + update_->records();
    const std::size_t all = records.left().records.size() + (records.one_table() ? 0 : records.right().records.size());
    return lx::cat("; weights and decisions are of the last full run, ", counted(since, "new or changed record", "new or changed records"),
                   " ago", 10 * since >= all ? ": run match without --update soon" : "");
  }

  const MatchFlags& o_;
  const OptionVisitor& parsed_;
  std::optional<lx::MatchUpdate> update_;
};

}  // namespace program
