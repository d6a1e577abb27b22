// SPDX-License-Identifier: MIT
// Measures how much models lose on texts with noise: sources of noise, intensities, copies, bootstrap intervals.
#include <lexformer/io/json.hpp>

#include "cli/records.hpp"
#include "cli/report_footer.hpp"
#include "cli/trained_model.hpp"
#include "measure/robustness_page.hpp"

namespace lx = lexformer;

namespace {

int run_robustness(int argc, char** argv) {
  CLI::App app(
      "Measures how robust trained models are to noise in the texts. Prints a Markdown table for each source of noise: the metric that "
      "evaluate compares models by, its mean over copies, what was lost against the clean texts, and intervals of the paired bootstrap "
      "over "
      "the test examples. Writes DIR/robustness.json and a page with a picture for each source, DIR/index.html.",
      "robustness");
  std::vector<std::string> arguments;
  std::string test, out;
  std::size_t batch = 32;
  bool quiet = false;
  lx::TableOptions table;
  program::NoiseOptions noise;
  app.add_option("--model", arguments,
                 "trained models, the one to compare with first: M.lxf, a folder with one, or NAME=M.lxf; all of the same task")
      ->required()
      ->type_name("M.lxf");
  app.add_option("--test", test, "labelled pairs or texts: .tsv, .csv, .jsonl")->required()->type_name("F");
  app.add_option("--out", out, "folder for the page, its pictures and robustness.json")->required()->type_name("DIR");
  noise.add_to(app);
  app.add_option("--batch", batch, "pairs or texts per batch")->check(program::positive())->capture_default_str();
  app.add_flag("--quiet", quiet, "no progress on standard error");
  program::ModelFlags flags;
  flags.add_to(app);
  program::add_table_options(app, table);
  program::RecordFlags records;
  records.add_to(app);
  program::Compute compute;
  program::add_compute(app, compute, true);
  program::add_threads(app);
  const std::string command = program::command_line("robustness", argc, argv);
  return program::run(app, argc, argv, [&] {
    std::vector<program::MeasuredModel> models;
    for (const auto& argument : arguments) {
      auto& model = models.emplace_back();
      std::tie(model.name, model.path) = program::name_and_path(argument);
      for (std::size_t i = 0; i + 1 < models.size(); ++i)
        if (models[i].name == models.back().name) lx::fail_usage("--model", "two are called '", models[i].name, "'; write NAME=M.lxf");
    }
    noise.finish();
    const std::string results = out + "/robustness.json";
    program::keep_inputs("--out", results, {test, noise.misspellings(), flags.love.path()});
    for (const auto& m : models) program::keep_inputs("--out", results, {m.path});
    program::keep_inputs("--out", results, flags.vectors.files());
    program::keep_inputs("--out", results, records.files());

    const double start = lx::Progress::steady_seconds();
    std::size_t done = 0;
    const auto step = [&](const std::string& name, lx::TypoMode source) {
      const std::size_t whole = models.size() * noise.sources.size();
      if (!quiet) {
        std::cerr << name << ": " << lx::name_of(source) << ", " << done + 1 << " of " << whole;
        const double each = (lx::Progress::steady_seconds() - start) / static_cast<double>(std::max<std::size_t>(done, 1));
        if (done > 0) std::cerr << ", ETA " << lx::format_duration(each * static_cast<double>(whole - done));
        std::cerr << std::endl;
      }
      ++done;
    };
    // Opens a model and reads the test file for it; then measures it, or only checks both, so that bad input is found early.
    const auto open = [&](program::MeasuredModel& m, bool measured) {
      const auto body = [&](const auto& model) {
        m.options = model.options();
        program::require_same_task(m.name, m.options, models[0].name, models[0].options);
        lx::TableOptions columns = table;
        columns.texts = m.options.texts;
        records.apply(columns, program::records_of(model), m.path);
        const auto examples = lx::read_examples(test, columns, m.options);
        if constexpr (requires { model.threshold; }) {
          model.check_texts(program::texts_of(examples, m.options.texts), test);
          m.threshold = model.threshold.value_or(m.threshold);
        }
        if (measured) program::measure(m, model, test, examples, noise, batch, [&](lx::TypoMode source) { step(m.name, source); });
        return 0;
      };
      program::compute_with(compute, [&](auto number, auto device) {
        return program::with_trained_model<decltype(number), decltype(device)>(lx::ModelFile::open(m.path), flags, compute, "--noise",
                                                                               body);
      });
    };
    if (models.size() > 1)
      for (auto& m : models) open(m, false);
    for (auto& m : models) open(m, true);
    const auto all = program::robustness_of(models, noise);
    lx::Json json = program::robustness_json(models, all, noise);
    json["settings"] = noise.json();
    json["settings"].update({{"test", test},
                             {"examples", models[0].labels.size()},
                             {"metric", models[0].clean.primary},
                             {"device", lx::name_of(compute.device)},
                             {"precision", lx::name_of(compute.precision)}});
    const std::string metric = program::primary_of(models[0].options).name;
    for (std::size_t s = 0; s < noise.sources.size(); ++s)
      std::cout << (s > 0 ? "\n" : "") << "Noise " << lx::name_of(noise.sources[s]) << ": " << metric << ", %\n\n"
                << program::noise_table(models, all, noise, s).markdown();
    lx::ReportPage page("Robustness to noise");
    page.paragraph(lx::cat(lx::one_line(test), ", ", models[0].labels.size(), models[0].options.texts == 1 ? " texts" : " pairs", ": ",
                           metric, ". Columns with a difference are against the clean texts, and against the model ", models[0].name, "."));
    program::robustness_pages(page, models, all, noise);
    program::report_footer(page, command);
    page.save(out);
    lx::write_file_atomic(results, json.dump(2) + "\n");
    if (!quiet) std::cerr << out << "/index.html: written\n";
    return 0;
  });
}

const program::Command command{"robustness", program::Group::measure,
                               "twelve sources of noise: the metric against their intensity, as tables and a page", run_robustness};

}  // namespace
