// SPDX-License-Identifier: MIT
// Command-line options for attention terms: --attention lea,mine and, for each option of each term, --NAME-OPTION.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/option_flags.hpp"

namespace program {

/// The attention terms of a run and their options.
class AttentionOptions {
 public:
  /// texts: of an example of the model.
  void add_to(CLI::App& app, const lx::TermFactories<>& own, std::size_t texts = 2) {
    const auto factories = lx::all_terms(own, "--attention");
    auto known = lx::names_of_terms(factories);
    known.insert(known.begin(), "none");
    app.add_option("--attention", names_,
                   texts == 1 ? "comma-separated attention terms: lea (with --lea-within-sentences), syntax, a position scheme; or none"
                              : "comma-separated attention terms: lea, dafa, uerbert, syntax, a position scheme, a custom term; or none")
        ->delimiter(',')
        ->check(one_of(known))
        ->default_str("none");
    for (const auto& [name, make] : factories) {
      auto& term = terms_[name];
      term.factory = make();
      auto* group = app.add_option_group("Attention term " + name);
      OptionFlags flags(*group, name + "-");
      term.factory->visit(flags);
      term.options = flags.added;
    }
  }

  bool has(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }
  /// The terms with their options. Errors: an option of a term that --attention does not name.
  std::vector<lx::TermConfig> terms() const {
    std::vector<lx::TermConfig> configs;
    for (const auto& [name, term] : terms_)
      for (const auto* option : term.options)
        if (option->count() > 0 && !has(name))
          lx::fail_usage(option->get_name(), "is an option of the attention term '", name, "'; add it: --attention ", name);
    for (const auto& name : names_)
      if (name != "none") configs.emplace_back(name, lx::options_text([&](lx::OptionVisitor& v) { terms_.at(name).factory->visit(v); }));
    return configs;
  }

 private:
  struct Term {
    std::shared_ptr<lx::TermFactory<>> factory;  // holds the options
    std::vector<CLI::Option*> options{};
  };
  std::vector<std::string> names_;
  std::map<std::string, Term> terms_;
};

}  // namespace program
