// SPDX-License-Identifier: MIT
// Writes one HTML page about trained models: LEA's effect on attention, training curves, scores, errors.
#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/records.hpp"
#include "cli/report_footer.hpp"
#include "cli/typo_flags.hpp"
#include "measure/report_dependencies.hpp"
#include "measure/report_reliability.hpp"
#include "measure/report_sections.hpp"

namespace lx = lexformer;

namespace {

int run_report(int argc, char** argv) {
  CLI::App app("Writes a report about one or more trained models: DIR/index.html, and each plot as .svg and its numbers as .csv.",
               "report");
  std::vector<std::string> models, pair;
  std::string test, out, title = "lexformer report";
  program::AttentionView view;
  std::vector<double> noise;
  std::size_t worst = 20;
  lx::TableOptions table;
  lx::TypoOptions typos;
  app.add_option("--model", models,
                 "models to compare, the main one last: NAME=DIR of train_matcher or train_text (one or more seeds) or NAME=M.lxf")
      ->required()
      ->type_name("NAME=DIR");
  app.add_option("--out", out, "folder for the report")->required()->type_name("DIR");
  app.add_option("--title", title, "title of the page")->capture_default_str();
  app.add_option("--test", test, "labelled pairs, or texts if the models read those: scores, errors, noise")->type_name("F");
  app.add_option("--pair", pair,
                 "the two texts whose attention is plotted (default: the first match of --test); not for models of single texts")
      ->expected(2);
  app.add_option("--word", view.word,
                 "word of the left text whose row is plotted (default: the one with the most similar different word on the right)");
  app.add_option("--layer", view.layer, "layer whose attention is plotted, from 0 (default: the last)")->check(program::non_negative());
  app.add_option("--head", view.head, "head, from 0; -1 = mean of all heads")->check(CLI::Range(-1, 1024))->capture_default_str();
  app.add_option("--noise", noise, "evaluate --test with typos in these percentages of the words, e.g. 0,10,20,30,40,50")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100.0));
  program::TypoFlags typo_flags;
  typo_flags.add_to(app, typos);
  app.add_option("--worst", worst, "number of errors to list")->check(program::non_negative())->capture_default_str();
  program::KnowledgeOptions knowledge_options;
  knowledge_options.add_to(app);
  program::LovePlugFlags love;
  love.add_to(app);
  program::add_table_options(app, table);
  program::RecordFlags records;
  records.add_to(app);
  program::add_threads(app);
  const std::string command = program::command_line("report", argc, argv);
  return program::run(app, argc, argv, [&] {
    typo_flags.load(typos);
    const auto knowledge = knowledge_options.load(noise.empty() ? nullptr : "--noise");
    const auto prepare = [&](lx::CrossEncoder<>& model) {
      love.apply(model);
      model.provide(knowledge);
    };
    std::vector<program::Contender> contenders;
    for (const auto& m : models) {
      contenders.push_back(program::Contender::open(m, prepare));
      for (std::size_t i = 0; i + 1 < contenders.size(); ++i)
        if (contenders[i].name == contenders.back().name)
          lx::fail_usage("--model", "two are called '", contenders[i].name, "'; write NAME=DIR");
    }
    const program::Contender& main = contenders.back();
    for (const auto& c : contenders) program::require_same_task(c.name, c.model.options(), main.name, main.model.options());
    std::vector<lx::PairExample> examples;
    table.texts = main.model.options().texts;
    records.apply(table, main.model.records, main.name);
    if (!test.empty()) examples = lx::read_examples(test, table, main.model.options());
    if (test.empty() && !noise.empty()) lx::fail_usage("--noise", "needs --test");
    const auto texts = main.model.options().texts;
    if (texts == 1 && !pair.empty()) lx::fail_usage("--pair", "the models read single texts; the attention of a text of --test is plotted");
    if (texts == 1 && !view.word.empty()) lx::fail_usage("--word", "the models read single texts, which have no right text");
    if (!pair.empty()) {
      view.left = pair[0];
      view.right = pair[1];
    } else if (!examples.empty()) {
      const auto match = std::find_if(examples.begin(), examples.end(), [](const auto& e) { return e.label == 1 && e.left != e.right; });
      const auto& shown = match != examples.end() ? *match : examples.front();
      view.left = shown.left;
      view.right = shown.right;
    }

    for (const auto& c : contenders) {
      if (!pair.empty()) c.model.check_texts(pair, "--pair");
      if (!examples.empty()) c.model.check_texts(program::texts_of(examples, texts), test);
    }
    lx::ReportPage page(title);
    if (!pair.empty() || !examples.empty()) program::attention_section(page, contenders, view);
    if (!pair.empty() || !examples.empty()) program::dependency_section(page, contenders, view, knowledge);
    if (!examples.empty()) {
      std::vector<lx::Evaluation> evaluations;
      for (const auto& c : contenders) evaluations.push_back(lx::evaluate(c.model, c.name, examples, c.model.threshold.value_or(0.5), 64));
      program::scores_section(page, contenders, evaluations, test, examples, worst);
      program::reliability_section(page, contenders, evaluations, examples);
      program::filter_section(page, contenders, evaluations, examples);
    }
    if (!noise.empty()) program::noise_section(page, contenders, examples, noise, typos);
    program::training_section(page, contenders);
    program::report_footer(page, command);
    for (const auto& c : contenders) {
      page.footer(c.origin());
      if (const std::string settings = c.settings(); !settings.empty()) page.footer(settings);
    }
    page.save(out);
    std::cerr << out << "/index.html: written\n";
    return 0;
  });
}

const program::Command command{"report", program::Group::measure,
                               "a page: attention, training curves, precision and recall, the worst errors", run_report};

}  // namespace
