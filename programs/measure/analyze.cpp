// SPDX-License-Identifier: MIT
// Measures what encoders have learned about positions and how similar their tokens and heads are; writes numbers and plots.
#include <lexformer/io/json.hpp>

#include "cli/knowledge.hpp"
#include "cli/report_footer.hpp"
#include "measure/report_sections.hpp"

namespace lx = lexformer;

namespace {

/// An encoder: a .lxf file, a HuggingFace folder, or an output folder of pretrain.
struct Subject {
  std::string name, folder;  // folder: may contain log.jsonl
  lx::Encoder<> model;

  static Subject open(const std::string& argument) {
    namespace fs = std::filesystem;
    const auto equals = fs::exists(argument) ? argument.npos : argument.find('=');
    if (equals == 0 || equals == argument.npos) lx::fail_usage("--model", "'", argument, "' has no name; write NAME=M.lxf or NAME=DIR");
    if (argument.find('/') < equals)
      lx::fail_usage("--model", "the name in '", argument, "' is used in file names, so it must not contain '/'");
    const std::string path = argument.substr(equals + 1);
    return {argument.substr(0, equals), path, lx::Encoder<>::load(fs::exists(path + "/model.lxf") ? path + "/model.lxf" : path)};
  }
};

/// Plots the vectors or numbers of a relative scheme for each distance i - j, first layer; nothing for absolute positions and rope.
void position_pictures(lx::ReportPage& page, const Subject& subject) {
  const auto& encoder = subject.model.encoder();
  const auto& config = encoder.config;
  const auto& terms = encoder.factories();
  if (std::none_of(terms.begin(), terms.end(), [](const auto& t) { return t.factory->positions(); })) return;
  const std::size_t reach = std::min<std::size_t>(64, config.max_tokens() - 1), heads = config.num_attention_heads;
  lx::Batch one;  // of one sequence
  one.offsets = lx::Offsets::from_lengths(std::vector<std::size_t>{reach + 1});
  one.ids.assign(reach + 1, 0);
  one.type_ids = one.ids;
  for (std::size_t i = 0; i <= reach; ++i) one.position_ids.push_back(static_cast<std::int32_t>(i));
  const lx::DeviceBatch<> batch(one);
  auto scores = encoder.shared_scores(batch);
  for (const auto& term : encoder.layers[0].attention.terms) term->contribute({lx::Var<>(), batch, heads, {}}, scores);
  const std::string scheme = encoder.positions();
  const auto draw = [&](const std::string& kind, const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                        const std::vector<double>& values, const std::string& x, const std::string& y, const std::string& caption) {
    std::vector<std::string> header{y};
    header.insert(header.end(), columns.begin(), columns.end());
    lx::Csv csv(header);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::string> fields{rows[i]};
      for (std::size_t j = 0; j < columns.size(); ++j) fields.push_back(lx::short_number(values[i * columns.size() + j], 9));
      csv.row(fields);
    }
    std::string file = subject.name + "-" + kind;
    std::replace(file.begin(), file.end(), ' ', '-');
    page.picture(file, lx::number_map(rows, columns, values, lx::cat(subject.name, ": ", scheme, ", ", kind), x, y), csv, caption);
  };
  std::vector<std::string> distances;
  for (int x = -static_cast<int>(reach); x <= static_cast<int>(reach); ++x) distances.push_back(std::to_string(x));
  for (const auto& relative : scores.relatives) {
    const std::size_t width = relative.table.dim(2);
    std::vector<double> values;
    for (const auto row : relative.bucket.to_vector())
      for (std::size_t e = 0; e < width; ++e)
        values.push_back(static_cast<double>(relative.table.value().at(0, static_cast<std::size_t>(row), e)));
    std::vector<std::string> features;
    for (std::size_t e = 0; e < width; ++e) features.push_back(std::to_string(e));
    draw(relative.key_side ? "key vectors" : "query vectors", distances, features, values, "feature", "query - key, tokens",
         relative.key_side
             ? "Vectors multiplied with keys, one row per distance; below 0 the key is to the right. First layer and head."
             : "Vectors multiplied with queries, one row per distance; below 0 the key is to the right. First layer and head.");
  }
  if (scores.position_bias.defined()) {
    const std::size_t middle = reach / 2, n = reach + 1;
    std::vector<std::string> names, places;
    std::vector<double> values;
    for (std::size_t j = 0; j < n; ++j) places.push_back(lx::cat(static_cast<int>(j) - static_cast<int>(middle)));
    for (std::size_t h = 0; h < heads; ++h) {
      names.push_back(std::to_string(h));
      for (std::size_t j = 0; j < n; ++j) values.push_back(static_cast<double>(scores.position_bias.value().at(h, middle, j)));
    }
    draw("bias", names, places, values, "key - query, tokens", "head",
         lx::cat("The bias on the scores of the token at position ", middle, "."));
  }
}

/// Figure 4 of the DDRP paper: the attention of the two groups of heads for one text.
void triangle_picture(lx::ReportPage& page, const Subject& subject, const std::string& text, std::size_t max_length) {
  const lx::NoGrad no_grad;
  const auto encoding = subject.model.tokenizer().encode(text, std::min(max_length, subject.model.config().max_tokens()));
  const auto batch = subject.model.batch(std::span(&encoding, 1));
  const auto attentions = subject.model(batch, {}, {.attentions = lx::Attentions::probabilities}).attentions;
  const auto triangle = lx::up_down(attentions, batch.offsets, 0);
  std::vector<std::string> tokens;
  for (const auto id : encoding.ids) tokens.push_back(subject.model.tokenizer().vocabulary().token(id));
  double most = 0;
  for (const auto* panel : {&triangle.one, &triangle.two, &triangle.all})
    most = std::max(most, *std::max_element(panel->begin(), panel->end()));
  lx::Csv csv({"query", "key", "group_1", "group_2", "all"});
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      const std::size_t e = i * tokens.size() + j;
      csv.row({lx::cat(i, " ", tokens[i]), lx::cat(j, " ", tokens[j]), lx::short_number(triangle.one[e], 6),
               lx::short_number(triangle.two[e], 6), lx::short_number(triangle.all[e], 6)});
    }
  page.picture(
      subject.name + "-triangle",
      lx::heat_maps(tokens, {{"group 1", triangle.one, most}, {"group 2", triangle.two, most}, {"all heads", triangle.all, most}},
                    subject.name + ": attention, mean over layers"),
      csv,
      lx::cat("Group 1: the half of the heads with most attention to the right of a token. Share of its attention above the diagonal: ",
              lx::short_number(triangle.up, 3), "; of group 2 below it: ", lx::short_number(triangle.down, 3), "."));
}

/// Figures 2 and 3 of the DDRP paper: similarities against steps, as logged by pretrain.
void curves(lx::ReportPage& page, const std::vector<Subject>& subjects) {
  std::vector<std::vector<std::pair<std::string, lx::Json>>> logs;
  for (const auto& s : subjects) {
    auto& log = logs.emplace_back();
    if (const std::string file = s.folder + "/log.jsonl"; std::filesystem::exists(file)) log = lx::read_log(file);
  }
  for (const auto& [key, title, label] :
       {std::array<const char*, 3>{"eval_token_similarity", "Similarity of tokens, f(S)", "mean cosine of two tokens"},
        {"eval_head_similarity", "Similarity of heads, f(H)", "mean cosine of two heads' scores"}}) {
    std::vector<lx::Series> series;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      lx::Series line{subjects[i].name, {}, {}, {}, true};
      for (const auto& [where, entry] : logs[i]) {
        if (!entry.contains(key) || !entry[key].is_number()) continue;
        line.x.push_back(static_cast<double>(lx::get_size(entry, "step", 0, std::size_t{1} << 40, where)));
        line.y.push_back(entry[key].get<double>());
      }
      if (!line.x.empty()) series.push_back(std::move(line));
    }
    if (!series.empty())
      page.picture(std::string(key).substr(5), lx::line_chart(series, {.title = title, .x_label = "step", .y_label = label}),
                   lx::series_csv(series), "On held-out text, as logged during pre-training.");
  }
}

class Analyze final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("model", models_, "a .lxf file, or an output folder of pretrain (its log is plotted)")
        .named()
        .required()
        .shown_as("NAME=M.lxf");
    v.input("text", texts_file_, "texts, one per line").required();
    v.folder("out", out_, "output folder").required();
    v.text("sentence", sentence_, "text whose attention is plotted (default: the first with at least 10 words)");
    v.size("documents", most_, 1, "number of texts to measure");
    v.size("max_length", max_length_, 3, 1 << 20, "maximum number of tokens per text");
    v.number("least", least_, lx::bounds::share, "minimum share of attention on its side that a group needs for the up-down triangle");
    knowledge_options_.visit(v);
    visit_threads(v);
  }
  int run() override {
    const auto knowledge = knowledge_options_.load();
    std::vector<Subject> subjects;
    for (const auto& m : models_) {
      subjects.push_back(Subject::open(m));
      subjects.back().model.provide(knowledge);
      for (std::size_t i = 0; i + 1 < subjects.size(); ++i)
        if (subjects[i].name == subjects.back().name) lx::fail_usage("--model", "two are called '", subjects[i].name, "'");
    }
    std::vector<std::string> lines;
    std::ifstream in(texts_file_);
    if (!in) lx::fail_file(texts_file_, "cannot open the texts");
    lx::StreamLines reader(in);
    for (std::string line; lines.size() < most_ && reader.next(line);)
      if (line.find_first_not_of(" \t\r") != line.npos) lines.push_back(line);
    if (in.bad()) lx::fail_file(texts_file_, "cannot be read");
    if (lines.empty()) lx::fail_file(texts_file_, "has no text");
    for (const auto& text : lines)
      if (sentence_.empty() && std::count(text.begin(), text.end(), ' ') >= 9) sentence_ = text;
    if (sentence_.empty()) sentence_ = lines.front();

    lx::ReportPage page("What encoders learned");
    lx::Json figures = lx::Json::array();
    std::vector<std::vector<std::string>> rows;
    for (const auto& s : subjects) {
      s.model.check_texts(lines, texts_file_);
      s.model.check_texts(std::span(&sentence_, 1), "--sentence");
      std::vector<lx::Encoding> texts;
      for (const auto& text : lines)
        texts.push_back(s.model.tokenizer().encode(text, std::min(max_length_, s.model.config().max_tokens())));
      const auto f = lx::encoder_figures(s.model, texts, least_);
      rows.push_back({lx::escape_xml(s.name), s.model.encoder().positions(), lx::short_number(f.token_similarity),
                      lx::short_number(f.mean_head_similarity()), lx::short_number(100 * f.up_down), std::to_string(f.texts)});
      lx::Json entry = lx::Json::object();
      entry["name"] = s.name;
      entry["positions"] = s.model.encoder().positions();
      entry["token_similarity"] = f.token_similarity;
      entry["head_similarity"] = f.mean_head_similarity();
      entry["head_similarity_of_layers"] = f.head_similarity;
      entry["head_similarity_after_softmax"] = f.head_similarity_after;
      entry["up_down"] = f.up_down;
      entry["texts"] = f.texts;
      entry["tokens"] = f.tokens;
      figures.push_back(std::move(entry));
      std::cout << s.name << ": f(S) " << rows.back()[2] << ", f(H) " << rows.back()[3] << ", up-down " << rows.back()[4] << " % of "
                << f.texts << " texts\n";
    }
    page.heading("Figures");
    page.paragraph(lx::cat("Means over the first ", lines.size(), " texts of ", texts_file_, "."));
    page.table({"model", "positions", "tokens f(S)", "heads f(H)", "up-down, %", "texts"}, rows);
    page.paragraph(
        "f(S): mean cosine of the last hidden states of two tokens of a text; 1 means that all tokens have become the same vector. f(H): "
        "mean "
        "cosine of the score matrices (before softmax) of two heads of a layer, mean over layers; 1 means that all heads do the same. For "
        "both, lower means more varied.");
    page.paragraph(
        lx::cat("Up-down: percent of the texts in which one half of the heads puts at least ", lx::short_number(least_),
                " of its attention to the right of each token and the other half at least as much to the left (arXiv 2210.04246)."));
    curves(page, subjects);
    page.heading("Where heads look");
    for (const auto& s : subjects)
      if (s.model.config().num_attention_heads > 1) triangle_picture(page, s, sentence_, std::min<std::size_t>(max_length_, 48));
    page.heading("Positions");
    for (const auto& s : subjects) position_pictures(page, s);
    program::report_footer(page, command_line);
    page.save(out_);
    lx::write_file_atomic(out_ + "/figures.json", figures.dump(2) + "\n");
    std::cerr << out_ << "/index.html: written\n";
    return 0;
  }

 private:
  std::vector<std::string> models_;
  std::string texts_file_, sentence_, out_;
  std::size_t max_length_ = 128, most_ = 1000;
  double least_ = 0.7;
  program::KnowledgeOptions knowledge_options_;
};

const program::Registered<Analyze> registered{
    "analyze", program::Group::measure, "what encoders learned: similarity of tokens and heads, direction of attention, position tables",
    "Measures encoders on texts: similarity of tokens f(S) and of heads f(H) and the share of texts with the up-down triangle; plots "
    "attention and position tables. Writes DIR/index.html, figures.json, and each plot as .svg and .csv."};

}  // namespace
