// SPDX-License-Identifier: MIT
// Matches the records of two tables, or finds duplicates within one (lexformer/tables/matcher.hpp): files, progress, resuming.
#include "cli/part_file.hpp"
#include "match/match_progress.hpp"
#include "match/match_update.hpp"
#include "match/match_writer.hpp"
#include "match/quality_count.hpp"

namespace lx = lexformer;

namespace {

class Match final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    o_.visit(v);
    visit_threads(v);
  }
  int run() override {
    program::output_format(o_.out);
    o_.check_endings();
    const program::Origin origin(*parsed, o_.resume);
    if (o_.is_finished(origin)) return 0;
    const auto model = o_.open_model();
    auto settings = o_.settings(model.get());
    lx::check_match(settings, model.get(), !o_.decision.validation.empty(), o_.records.one_table());
    program::PartFile file(o_.out, o_.resume, o_.overwrite);
    const auto records = o_.load_records(model.get());
    program::UpdateFiles update(o_, *parsed);
    update.load(*records);
    settings.update = update.standing();
    std::optional<lx::LabelledPairs> labelled;
    if (!o_.decision.validation.empty() && settings.update == nullptr)
      labelled = lx::read_labelled_pairs(o_.decision.validation, records, o_.label_names(model.get()), o_.decision.skip_labels);
    const lx::LabelledPairs* const valid = labelled ? &*labelled : nullptr;
    if (labelled && model != nullptr) mark_trained(*labelled, *records, *model);
    if (labelled && o_.records.columns().empty()) warn_of_telling_columns(*labelled, *records);
    settings.candidates = o_.candidates.load(o_.records.columns().empty());
    lx::Progress progress(std::cerr, program::progress_options(o_.quiet ? lx::ProgressMode::none : lx::ProgressMode::automatic, 10));
    const lx::MatchStream stream(
        *records, model.get(), valid, settings,
        {.note = [&](const std::string& text) { note(progress, text); },
         .searching = [&](double done) { progress.update(lx::cat("candidates ", static_cast<int>(100 * done), "%")); }});
    const program::MatchWriter writer(o_, *records, stream.decisions(), model.get());
    file.begin(o_.identity(stream));
    if (file.bytes() == 0 && file.done() == 0) file.append(writer.header(), 0);
    std::optional<program::MatchPage> page;
    if (!o_.report.empty()) page.emplace(*records, stream.decisions(), o_.page_options(valid));
    program::QualityCount quality(valid, stream.decisions(), records->one_table());
    const bool counts = settings.update == nullptr && counts_all(stream, model == nullptr, valid) && file.done() == 0;
    const auto finish = [&] {
      if (!o_.update.empty()) note(progress, update.changes(*records, file.part()));
      update.save(stream, *records, file.part());
      origin.replace(o_.out, [&] { file.finish(); });
    };
    return write(stream, writer, page, file, finish, progress, counts ? &quality : nullptr);
  }

 private:
  /// Marks the labelled pairs that the model was trained on, and warns of them.
  void mark_trained(lx::LabelledPairs& labelled, const lx::RecordPairs& records, const lx::Scorer& model) const {
    std::vector<lx::PairExample> examples;
    for (const auto& [left, right] : labelled.places) examples.push_back({records.left_texts()[left], records.right_texts()[right]});
    labelled.trained = lx::are_trained(examples, model.metadata, o_.model);
    if (records.one_table()) {  // either order
      for (auto& e : examples) std::swap(e.left, e.right);
      const auto turned = lx::are_trained(examples, model.metadata, o_.model);
      for (std::size_t i = 0; i < turned.size(); ++i) labelled.trained[i] |= turned[i];
    }
    program::warn_of_trained(labelled.trained, labelled.name, o_.model, "pairs");
  }
  /// Also with --quiet, since the result may be worthless on other pairs.
  static void warn_of_telling_columns(const lx::LabelledPairs& labelled, const lx::RecordPairs& records) {
    for (const auto& name : lx::telling_columns(labelled, records))
      std::cerr << "warning: the column " << lx::in_quotes(name) << " agrees on all " << labelled.matches()
                << " labelled matches and on none of the " << labelled.labels.size() - labelled.matches()
                << " other pairs; if it holds the answer, as the number of a cluster, leave it out by --columns\n";
  }
  void note(lx::Progress& progress, const std::string& text) const {
    if (!o_.quiet) progress.note(text);
  }
  /// Whether precision and recall can be estimated: by all pairs and their probabilities, and without a model or by labels of a sample.
  bool counts_all(const lx::MatchStream& stream, bool without_model, const lx::LabelledPairs* labelled) const {
    const bool known = labelled != nullptr ? labelled->sampled() > 0 : without_model;
    // The probabilities of cosines, within one table, come from the same few labels.
    return known && (!without_model || stream.decisions().curve) && stream.decisions().gives_probabilities() && o_.top == 0 &&
           lx::Shard::parse(o_.shard).count == 1;
  }
  /// Writes the rows that the file lacks, then calls `finish`. Interrupted, it leaves a file that can be resumed. quality: counts all rows,
  /// or null.
  int write(const lx::MatchStream& stream, const program::MatchWriter& writer, std::optional<program::MatchPage>& page,
            program::PartFile& file, const std::function<void()>& finish, lx::Progress& progress, program::QualityCount* quality) {
    constexpr std::size_t chunk = 512;  // pairs that are written at once, or more
    const std::size_t rows = stream.rows(), pairs = stream.pairs_before(rows);
    const program::MatchProgress lines{pairs, rows, stream.pairs_before(std::min(file.done(), rows))};
    if (file.done() > 0) note(progress, lx::cat(file.done(), " of ", rows, " left records are done already"));
    program::catch_signals();
    std::size_t matches = 0;
    for (std::size_t next = file.done(); next < rows;) {
      program::StringWriter text;
      const std::size_t first = stream.pairs_before(next);
      do {
        const auto row = stream.row(next++);
        if (page) page->add(row);
        if (quality != nullptr) quality->add(row);
        matches += writer.write(text, row);
        if (!o_.model.empty()) progress.update(lines.scored(stream.pairs_before(next), next));  // else they have their scores
      } while (next < rows && program::interrupted == 0 && stream.pairs_before(next) - first < chunk);
      file.append(text.str(), next);
      if (program::interrupted != 0 && next < rows) return lines.interrupted(progress, next, o_.out, page.has_value());
    }
    finish();
    const auto estimate = quality != nullptr ? quality->estimate() : std::nullopt;
    if (page) lx::write_file_atomic(o_.report, page->html(command_line, estimate && estimate->labels > 0 ? estimate : std::nullopt));
    progress.end();
    note(progress, lines.finished(matches, stream.decisions().threshold, o_.out));
    if (estimate) note(progress, lx::cat(o_.out, ": ", quality->text(*estimate)));
    if (quality != nullptr && !quality->fits())
      note(progress, o_.out + ": the probabilities do not fit the labels of the sample, so precision and recall are not estimated");
    if (page) note(progress, o_.report + ": open it in a browser");
    return 0;
  }

  program::MatchFlags o_;
};

const program::Registered<Match> registered{
    "match", program::Group::match, "matches the records of two tables, or finds duplicates within one",
    "Matches two tables of records, or finds duplicates within one: finds candidates, scores them with a trained model, or by their "
    "similarity alone, and writes ids, scores and decisions. Records become texts as in the model's training unless other options are "
    "given."};

}  // namespace
