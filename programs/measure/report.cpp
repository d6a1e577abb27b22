// SPDX-License-Identifier: MIT
// Writes one HTML page about trained models: LEA's effect on attention, training curves, scores, errors.
#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/records.hpp"
#include "cli/report_footer.hpp"
#include "cli/trained_model.hpp"
#include "cli/typo_flags.hpp"
#include "measure/report_dependencies.hpp"
#include "measure/report_reliability.hpp"
#include "measure/report_sections.hpp"

namespace lx = lexformer;

namespace {

class Report final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("model", models_,
             "models to compare, the main one last: NAME=DIR of train_matcher or train_text (one or more seeds) or NAME=M.lxf")
        .named()
        .required()
        .shown_as("NAME=DIR");
    v.folder("out", out_, "folder for the report").required();
    v.text("title", title_, "title of the page");
    v.input("test", test_, "labelled pairs, or texts if the models read those: scores, errors, noise");
    v.list("pair", pair_, "the two texts whose attention is plotted (default: the first match of --test); not for models of single texts")
        .values(2);
    v.text("word", view_.word,
           "word of the left text whose row is plotted (default: the one with the most similar different word on the right)");
    v.size("layer", view_.layer, 0, 1024, "layer whose attention is plotted, from 0 (default: the last)");
    v.integer("head", view_.head, -1, 1024, "head, from 0; -1 = mean of all heads");
    v.list("noise", noise_, {.min = 0, .max = 100}, "evaluate --test with typos in these percentages of the words, e.g. 0,10,20,30,40,50")
        .split_at(',')
        .needs("test");
    typo_flags_.visit(v, typos_);
    v.size("worst", worst_, 0, "number of errors to list");
    knowledge_options_.visit(v);
    love_.visit(v);
    program::visit_table(v, table_);
    records_.visit(v);
    visit_threads(v);
  }
  int run() override {
    typo_flags_.load(typos_);
    const auto knowledge = knowledge_options_.load(noise_.empty() ? nullptr : "--noise");
    const auto prepare = [&](lx::CrossEncoder<>& model) {
      love_.apply(model);
      model.provide(knowledge);
    };
    std::vector<program::Contender> contenders;
    for (const auto& m : models_) {
      contenders.push_back(program::Contender::open(m, prepare));
      for (std::size_t i = 0; i + 1 < contenders.size(); ++i)
        if (contenders[i].name == contenders.back().name)
          lx::fail_usage("--model", "two are called '", contenders[i].name, "'; write NAME=DIR");
    }
    const program::Contender& main = contenders.back();
    for (const auto& c : contenders) program::require_same_task(c.name, c.model.task(), main.name, main.model.task());
    std::vector<lx::PairExample> examples;
    table_.texts = main.model.task().texts;
    records_.apply(table_, main.model.metadata, main.name);
    if (!test_.empty()) examples = lx::read_examples(test_, table_, main.model.task());
    const auto texts = main.model.task().texts;
    if (texts == 1 && !pair_.empty())
      lx::fail_usage("--pair", "the models read single texts; the attention of a text of --test is plotted");
    if (texts == 1 && !view_.word.empty()) lx::fail_usage("--word", "the models read single texts, which have no right text");
    if (!pair_.empty()) {
      view_.left = pair_[0];
      view_.right = pair_[1];
    } else if (!examples.empty()) {
      const auto match = std::find_if(examples.begin(), examples.end(), [](const auto& e) { return e.label == 1 && e.left != e.right; });
      const auto& shown = match != examples.end() ? *match : examples.front();
      view_.left = shown.left;
      view_.right = shown.right;
    }

    for (const auto& c : contenders) {
      if (!pair_.empty()) c.model.check_texts(pair_, "--pair");
      if (!examples.empty()) c.model.check_texts(lx::texts_of(examples, texts), test_);
    }
    lx::ReportPage page(title_);
    if (!examples.empty()) {
      std::vector<lx::Evaluation> evaluations;
      for (const auto& c : contenders) {
        program::warn_of_trained(lx::are_trained(examples, c.model.metadata, c.name), test_, c.name, lx::examples_name(texts));
        evaluations.push_back(lx::evaluate(c.model, c.name, examples, c.model.threshold.value_or(0.5), 64));
      }
      program::scores_section(page, contenders, evaluations, test_, examples, worst_);
      program::reliability_section(page, contenders, evaluations, examples);
      program::filter_section(page, contenders, evaluations, examples);
    }
    if (!noise_.empty()) program::noise_section(page, contenders, examples, noise_, typos_);
    if (!pair_.empty() || !examples.empty()) program::attention_section(page, contenders, view_);
    if (!pair_.empty() || !examples.empty()) program::dependency_section(page, contenders, view_, knowledge);
    program::training_section(page, contenders);
    program::report_footer(page, command_line);
    for (const auto& c : contenders) {
      page.footer(c.origin());
      if (const std::string settings = c.settings(); !settings.empty()) page.footer(settings);
    }
    page.save(out_);
    std::cerr << out_ << "/index.html: written\n";
    return 0;
  }

 private:
  std::vector<std::string> models_, pair_;
  std::string test_, out_, title_ = "lexformer report";
  program::AttentionView view_;
  std::vector<double> noise_;
  std::size_t worst_ = 20;
  lx::TableOptions table_;
  lx::TypoOptions typos_;
  program::TypoFlags typo_flags_;
  program::KnowledgeOptions knowledge_options_;
  program::LovePlugFlags love_;
  program::RecordFlags records_;
};

const program::Registered<Report> registered{
    "report", program::Group::measure, "a page: attention, training curves, precision and recall, the worst errors",
    "Writes a report about one or more trained models: DIR/index.html, and each plot as .svg and its numbers as .csv."};

}  // namespace
