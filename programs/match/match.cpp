// SPDX-License-Identifier: MIT
// Matches the records of two tables, or finds duplicates within one (lexformer/tables/matcher.hpp): files, progress, resuming.
#include "cli/part_file.hpp"
#include "match/match_progress.hpp"
#include "match/match_writer.hpp"

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
    if (o_.resume && program::PartFile::is_finished(o_.out)) {
      if (!o_.quiet) std::cerr << o_.out << ": already finished; without --resume it is made anew\n";
      return 0;
    }
    const auto model = o_.open_model();
    auto settings = o_.settings(model.get());
    lx::check_match(settings, model.get(), !o_.decision.validation.empty(), o_.records.one_table());
    program::PartFile file(o_.out, o_.resume, o_.overwrite);
    const auto records = o_.load_records(model.get());
    std::optional<lx::LabelledPairs> labelled;
    if (!o_.decision.validation.empty())
      labelled = lx::read_labelled_pairs(o_.decision.validation, records, o_.label_names(model.get()), o_.decision.skip_labels);
    settings.candidates = o_.candidates.load();
    program::MatchProgress progress(std::cerr, !o_.quiet, isatty(2) != 0);
    const lx::MatchStream stream(
        *records, model.get(), labelled ? &*labelled : nullptr, settings,
        {.note = [&](const std::string& text) { progress.note(text); }, .searching = [&](double done) { progress.searching(done); }});
    const program::MatchWriter writer(o_, *records, stream.decisions(), model.get());
    file.begin(o_.identity(stream));
    if (file.bytes() == 0 && file.done() == 0) file.append(writer.header(), 0);
    return write(stream, writer, file, progress);
  }

 private:
  /// Writes the rows that the file lacks. Interrupted, it leaves a file that can be resumed.
  int write(const lx::MatchStream& stream, const program::MatchWriter& writer, program::PartFile& file, program::MatchProgress& progress) {
    constexpr std::size_t chunk = 512;  // pairs that are written at once, or more
    const std::size_t rows = stream.rows(), pairs = stream.pairs_before(rows);
    progress.scoring(pairs, rows, stream.pairs_before(std::min(file.done(), rows)), file.done());
    program::catch_signals();
    std::size_t matches = 0;
    for (std::size_t next = file.done(); next < rows;) {
      program::StringWriter lines;
      const std::size_t first = stream.pairs_before(next);
      do {
        matches += writer.write(lines, stream.row(next++));
        progress.scored(stream.pairs_before(next), next);
      } while (next < rows && program::interrupted == 0 && stream.pairs_before(next) - first < chunk);
      file.append(lines.str(), next);
      if (program::interrupted != 0 && next < rows) return progress.interrupted(next, o_.out);
    }
    file.finish();
    progress.finished(matches, stream.decisions().threshold, o_.out, o_.resume);
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
