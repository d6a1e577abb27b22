// SPDX-License-Identifier: MIT
// Matches the records of two tables, or finds duplicates within one: candidates, scores of a trained model, decisions.
#include <iomanip>

#include "support/candidates.hpp"
#include "support/knowledge.hpp"
#include "support/love_plug_options.hpp"
#include "support/match_progress.hpp"
#include "support/part_file.hpp"

namespace lx = lexformer;

namespace {

/// --shard i/n: the left records whose hash is i - 1 modulo n. It depends on the id alone, so the shards of any tables are disjoint.
struct Shard {
  std::uint32_t number = 1, count = 1;

  static Shard parse(const std::string& text) {
    Shard s;
    const std::size_t slash = text.find('/');
    const bool numbers = slash != text.npos && CLI::detail::lexical_cast(text.substr(0, slash), s.number) &&
                         CLI::detail::lexical_cast(text.substr(slash + 1), s.count);
    if (!numbers || s.number == 0 || s.number > s.count)
      lx::fail_usage("--shard", lx::in_quotes(text), " is not I/N with I from 1 to N, e.g. 2/4");
    return s;
  }
  bool has(const std::string& id) const { return lx::fnv1a(id) % count == number - 1; }
};

/// The candidates of one left record, which the model scores in batches of their own: so the score of a pair does not depend on shards,
/// on where a run was interrupted, or on threads.
struct Group {
  std::size_t begin, end;
};

struct MatchOptions {
  program::RecordFlags records;
  program::CandidateFlags candidates;
  program::KnowledgeOptions knowledge;
  program::LovePlugFlags love;
  program::Compute compute;
  std::string model, out, shard = "1/1";
  std::optional<double> threshold;
  std::size_t top = 0, batch = 32;
  bool text = false, matches_only = false, resume = false, quiet = false;

  void add_to(CLI::App& app) {
    records.add_arguments(app, true);
    app.add_option("--model", model, "a trained model: a .lxf file, or a folder with one or with a HuggingFace classifier")
        ->required()
        ->type_name("M.lxf");
    app.add_option("--out", out, "file to write: .csv or .jsonl; it grows as F.part and gets its name at the end")
        ->required()
        ->type_name("F.csv");
    candidates.add_to(app, "--candidates");
    app.add_option("--threshold", threshold, "least score of a match")->default_str("the model's, chosen on validation data, else 0.5");
    app.add_option("--top", top, "write at most this many pairs of each left record, those with the largest scores; 0 = all candidates")
        ->check(program::non_negative())
        ->capture_default_str();
    app.add_flag("--matches-only", matches_only, "write only the pairs that reach the threshold");
    app.add_flag("--text", text, "write both texts, too");
    app.add_option("--shard", shard, "do only the part I of N of the left records, e.g. 2/4; the parts together are the whole")
        ->capture_default_str();
    app.add_flag("--resume", resume, "continue a run that was interrupted, to the same bytes");
    app.add_flag("--quiet", quiet, "no progress");
    app.add_option("--batch", batch, "pairs per batch")->check(program::positive())->capture_default_str();
    knowledge.add_to(app);
    love.add_to(app);
    program::add_compute(app, compute, true);
    program::add_threads(app);
  }
};

std::uint32_t checksum(std::span<const std::string> texts, std::uint32_t sum = 0) {
  for (const auto& text : texts) sum = lx::crc32("\n", lx::crc32(text, sum));
  return sum;
}
std::uint32_t checksum(const lx::RecordTable& table, const std::vector<std::string>& texts) {
  std::uint32_t sum = checksum(texts);
  for (const auto& record : table.records) sum = lx::crc32("\n", lx::crc32(record.id, sum));
  return sum;
}
/// Of the weights of a model: its file, or that of its folder.
std::uint32_t checksum_of_model(const std::string& path) {
  if (!lx::is_folder(path)) return lx::crc32(lx::read_file(path));
  for (const char* name : {"/model.lxf", "/model.safetensors", "/model.safetensors.index.json"})
    if (lx::path_exists(path + name)) return lx::crc32(lx::read_file(path + name));
  return 0;
}

/// The lines of the pairs of one left record.
class Writer {
 public:
  Writer(const MatchOptions& o, const lx::RecordPairs& records, double threshold)
      : o_(o), records_(records), threshold_(threshold), csv_(program::output_format(o.out) == lx::TableFormat::csv) {}

  std::string header() const { return csv_ ? lx::cat("left_id,right_id,score,match", o_.text ? ",left,right" : "", "\n") : ""; }
  /// scores: of these candidates. Returns the number of matches, and appends the lines.
  std::size_t write(std::ostream& out, std::span<const lx::Candidate> candidates, const std::vector<double>& scores) const {
    std::vector<std::size_t> order(candidates.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    if (o_.top > 0) order.resize(std::min(order.size(), o_.top));
    std::size_t matches = 0;
    for (const std::size_t i : order) {
      const bool match = scores[i] >= threshold_;
      matches += match ? 1 : 0;
      if (match || !o_.matches_only) line(out, candidates[i], scores[i], match);
    }
    return matches;
  }

 private:
  void line(std::ostream& out, const lx::Candidate& c, double score, bool match) const {
    const auto &a = records_.left().records[c.left].id, &b = records_.right().records[c.right].id;
    const auto &left = records_.left_texts()[c.left], &right = records_.right_texts()[c.right];
    out << std::setprecision(9);
    if (csv_) {
      out << program::csv_field(a) << ',' << program::csv_field(b) << ',' << score << ',' << (match ? 1 : 0);
      if (o_.text) out << ',' << program::csv_field(left) << ',' << program::csv_field(right);
    } else {
      out << "{\"left_id\":" << lx::Json(a).dump() << ",\"right_id\":" << lx::Json(b).dump() << ",\"score\":" << score
          << ",\"match\":" << (match ? "true" : "false");
      if (o_.text) out << ",\"left\":" << lx::Json(left).dump() << ",\"right\":" << lx::Json(right).dump();
      out << '}';
    }
    out << '\n';
  }

  const MatchOptions& o_;
  const lx::RecordPairs& records_;
  double threshold_;
  bool csv_;
};

template <class T, class Dev>
int match(const MatchOptions& o) {
  const Shard shard = Shard::parse(o.shard);
  program::output_format(o.out);
  program::keep_inputs("--out", o.out, o.records.files());
  program::keep_inputs("--out", o.out, {o.model, o.love.path()});
  auto model = lx::CrossEncoder<T, Dev>::load(o.model);
  o.love.apply(model);
  o.compute.apply(model);
  model.provide(o.knowledge.load());
  const lx::CrossEncoderOptions& kind = model.options();
  if (kind.texts != 2) lx::fail_usage("--model", o.model, " reads single texts, not pairs");
  if (kind.labels > 2)
    lx::fail_usage("--model", o.model, " has ", kind.labels, " classes; match needs a model of two, or one that gives numbers");
  if (kind.labels == 1 && !o.threshold) lx::fail_usage("--threshold", "must be given, because the model gives numbers, not probabilities");
  const double threshold = o.threshold.value_or(model.threshold.value_or(0.5));
  const auto records = o.records.load(o.records.columns(), model.records, o.model);
  model.check_texts(records->left_texts(), records->left().path);
  model.check_texts(records->right_texts(), records->right().path);

  const std::size_t left_rows = records->left().records.size(), right_rows = records->right().records.size();
  program::MatchProgress progress(std::cerr, !o.quiet, isatty(2) != 0);
  progress.note(lx::cat(left_rows, records->one_table() ? "" : lx::cat(" x ", right_rows), " records"));
  std::vector<lx::Candidate> candidates;
  double pairs = 0;
  {
    const auto texts = program::blocking_texts(*records);
    auto flags = o.candidates;
    flags.options().progress = [&](double done) { progress.searching(done); };
    const auto search = flags.search(texts.first, texts.second, records->one_table());
    candidates = search.find();
    pairs = search.pairs();
  }
  progress.note(lx::cat(candidates.size(), " candidates of ", std::fixed, std::setprecision(0), pairs, " pairs"));
  std::erase_if(candidates, [&](const auto& c) { return !shard.has(records->left().records[c.left].id); });
  std::vector<Group> groups;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i == 0 || candidates[i].left != candidates[i - 1].left) groups.push_back({i, i});
    groups.back().end = i + 1;
  }

  const Writer writer(o, *records, threshold);
  std::uint32_t sum = 0;
  for (const auto& c : candidates) sum = lx::crc32(lx::cat(c.left, " ", c.right, "\n"), sum);
  program::PartFile file(o.out,
                         {{"left", checksum(records->left(), records->left_texts())},
                          {"right", checksum(records->right(), records->right_texts())},
                          {"candidates", sum},
                          {"model", checksum_of_model(o.model)},
                          {"love", o.love.used() ? o.love.json() : lx::Json()},
                          {"knowledge", {o.knowledge.parses, o.knowledge.wordnet}},
                          {"threshold", threshold},
                          {"top", o.top},
                          {"matches_only", o.matches_only},
                          {"text", o.text},
                          {"batch", o.batch},
                          {"precision", lx::name_of(o.compute.precision)},
                          {"int8_skip", o.compute.int8_skip}},
                         o.resume);
  if (file.empty()) file.append(writer.header(), 0);
  progress.scoring(candidates.size(), groups.size(), file.done() < groups.size() ? groups[file.done()].begin : candidates.size(),
                   file.done());
  program::catch_signals();
  std::size_t matches = 0;
  constexpr std::size_t chunk = 512;  // pairs that are written at once, or more
  for (std::size_t next = file.done(); next < groups.size();) {
    program::StringWriter lines;
    const std::size_t first = next;
    while (next < groups.size() && program::interrupted == 0 && (next == first || groups[next - 1].end - groups[first].begin < chunk)) {
      const auto of_row = std::span<const lx::Candidate>(candidates).subspan(groups[next].begin, groups[next].end - groups[next].begin);
      std::vector<lx::PairExample> examples;
      for (const auto& c : of_row) examples.push_back({records->left_texts()[c.left], records->right_texts()[c.right]});
      const auto y = model.logits(examples, o.batch);
      lx::require_finite(y, o.model, "pair", groups[next].begin + 1);
      matches += writer.write(lines, of_row, model.scores_of(y));
      progress.scored(groups[next].end, next + 1);
      ++next;
    }
    file.append(lines.str(), next);
    if (program::interrupted != 0 && next < groups.size()) {
      progress.end();
      std::cerr << "interrupted after " << next << " of " << groups.size() << " left records; saved in " << o.out
                << ".part, continue with --resume\n";
      return 130;
    }
  }
  file.finish();
  progress.end();
  if (!o.quiet)
    std::cerr << o.out << ": " << candidates.size() << " pairs scored, " << matches << " matches at threshold " << threshold
              << (o.resume ? " since the run was resumed" : "") << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Matches two tables of records, or finds duplicates within one: finds candidates, scores them with a trained model and writes ids, "
      "scores and decisions. Records become texts as in the model's training unless other options are given.",
      "match");
  MatchOptions o;
  o.add_to(app);
  return program::run(app, argc, argv, [&] {
    return program::compute_with(o.compute, [&](auto number, auto device) { return match<decltype(number), decltype(device)>(o); });
  });
}
