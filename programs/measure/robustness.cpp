// SPDX-License-Identifier: MIT
// Measures how much models lose on texts with noise: sources of noise, intensities, copies, bootstrap intervals.
#include <lexformer/io/json.hpp>

#include "cli/records.hpp"
#include "cli/report_footer.hpp"
#include "cli/trained_model.hpp"
#include "measure/robustness_page.hpp"

namespace lx = lexformer;

namespace {

class RobustnessCommand final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("model", arguments_,
             "trained models, the one to compare with first: M.lxf, a folder with one, or NAME=M.lxf; all of the same task")
        .named()
        .required()
        .shown_as("M.lxf");
    v.input("test", test_, "labelled pairs or texts: .tsv, .csv, .jsonl").required();
    v.folder("out", out_, "folder for the page, its pictures and robustness.json").required().writes({"robustness.json"});
    noise_.visit(v);
    v.size("batch", batch_, 1, "pairs or texts per batch");
    v.flag("quiet", quiet_, "no progress on standard error");
    flags_.visit(v);
    program::visit_table(v, table_);
    records_.visit(v);
    compute_.visit(v, true);
    visit_threads(v);
  }
  int run() override {
    std::vector<program::MeasuredModel> models;
    for (const auto& argument : arguments_) {
      auto& model = models.emplace_back();
      std::tie(model.name, model.path) = program::name_and_path(argument);
      for (std::size_t i = 0; i + 1 < models.size(); ++i)
        if (models[i].name == models.back().name) lx::fail_usage("--model", "two are called '", models[i].name, "'; write NAME=M.lxf");
    }
    noise_.finish();
    const std::string results = out_ + "/robustness.json";

    const double start = lx::steady_seconds();
    std::size_t done = 0;
    const auto step = [&](const std::string& name, lx::TypoMode source) {
      const std::size_t whole = models.size() * noise_.sources.size();
      if (!quiet_) {
        std::cerr << name << ": " << lx::name_of(source) << ", " << done + 1 << " of " << whole;
        const double each = (lx::steady_seconds() - start) / static_cast<double>(std::max<std::size_t>(done, 1));
        if (done > 0) std::cerr << ", ETA " << lx::format_duration(each * static_cast<double>(whole - done));
        std::cerr << std::endl;
      }
      ++done;
    };
    // Opens a model and reads the test file for it; then measures it, or only checks both, so that bad input is found early.
    const auto open = [&](program::MeasuredModel& m, bool measured) {
      const auto model = lx::open_scorer(m.path, compute_, flags_.extras("--noise"));
      m.task = model->task();
      program::require_same_task(m.name, m.task, models[0].name, models[0].task);
      lx::TableOptions columns = table_;
      columns.texts = m.task.texts;
      records_.apply(columns, model->metadata, m.path);
      const auto examples = lx::read_examples(test_, columns, m.task);
      model->check_texts(lx::texts_of(examples, m.task.texts), test_);
      if (measured)
        program::warn_of_trained(lx::are_trained(examples, model->metadata, m.path), test_, m.name, lx::examples_name(m.task.texts));
      m.threshold = model->threshold.value_or(m.threshold);
      if (measured) program::measure(m, *model, test_, examples, noise_, batch_, [&](lx::TypoMode source) { step(m.name, source); });
    };
    if (models.size() > 1)
      for (auto& m : models) open(m, false);
    for (auto& m : models) open(m, true);
    const auto all = program::robustness_of(models, noise_);
    lx::Json json = program::robustness_json(models, all, noise_);
    json["settings"] = noise_.json();
    json["settings"].update({{"test", test_},
                             {"examples", models[0].labels.size()},
                             {"metric", models[0].clean.primary},
                             {"device", lx::name_of(compute_.device)},
                             {"precision", lx::name_of(compute_.precision)}});
    const std::string metric = program::primary_of(models[0].task).name;
    for (std::size_t s = 0; s < noise_.sources.size(); ++s)
      std::cout << (s > 0 ? "\n" : "") << "Noise " << lx::name_of(noise_.sources[s]) << ": " << metric << ", %\n\n"
                << program::noise_table(models, all, noise_, s).markdown();
    lx::ReportPage page("Robustness to noise");
    page.paragraph(lx::cat(lx::one_line(test_), ", ", models[0].labels.size(), models[0].task.texts == 1 ? " texts" : " pairs", ": ",
                           metric, ". Columns with a difference are against the clean texts, and against the model ", models[0].name, "."));
    program::robustness_pages(page, models, all, noise_);
    program::report_footer(page, command_line);
    page.save(out_);
    lx::write_file_atomic(results, json.dump(2) + "\n");
    if (!quiet_) std::cerr << out_ << "/index.html: written\n";
    return 0;
  }

 private:
  std::vector<std::string> arguments_;
  std::string test_, out_;
  std::size_t batch_ = 32;
  bool quiet_ = false;
  lx::TableOptions table_;
  program::NoiseOptions noise_;
  program::ModelFlags flags_;
  program::RecordFlags records_;
  program::Compute compute_;
};

const program::Registered<RobustnessCommand> registered{
    "robustness", program::Group::measure, "twelve sources of noise: the metric against their intensity, as tables and a page",
    "Measures how robust trained models are to noise in the texts. Prints a Markdown table for each source of noise: the metric that "
    "evaluate compares models by, its mean over copies, what was lost against the clean texts, and intervals of the paired bootstrap over "
    "the test examples. Writes DIR/robustness.json and a page with a picture for each source, DIR/index.html."};

}  // namespace
