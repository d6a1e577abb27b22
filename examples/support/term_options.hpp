// SPDX-License-Identifier: MIT
// Command-line options for attention terms: --attention lea,mine and, for each option of each term, --NAME-OPTION.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program.hpp"

namespace program {

namespace detail {

/// Adds the options of one term to a command line.
class TermFlags final : public lx::OptionVisitor {
 public:
  TermFlags(CLI::App& app, const std::string& term, std::vector<CLI::Option*>& added) : app_(app), term_(term), added_(added) {}

  void flag(const char* name, bool& value, const char* help) override { added_.push_back(app_.add_flag(option(name), value, help)); }
  void size(const char* name, std::size_t& value, std::size_t min, std::size_t max, const char* help) override {
    number(name, value, min, max, help);
  }
  void number(const char* name, double& value, double min, double max, const char* help) override {
    number<double>(name, value, min, max, help);
  }
  void text(const char* name, std::string& value, const char* help) override {
    added_.push_back(app_.add_option(option(name), value, help)->capture_default_str());
  }
  void counts(const char*, std::size_t&, std::map<std::string, std::size_t>&) override {}
  void layers(std::size_t& first, std::size_t& last, const char* help) override {
    const auto set = [&first, &last](const std::vector<std::size_t>& range) {
      first = range[0];
      last = range[1];
    };
    added_.push_back(
        app_.add_option_function<std::vector<std::size_t>>(option("layers"), set, lx::cat(help, "; FIRST,LAST from 0, LAST exclusive"))
            ->delimiter(',')
            ->expected(2)
            ->type_name("FIRST,LAST"));
  }

 private:
  std::string option(std::string name) const {
    std::replace(name.begin(), name.end(), '_', '-');
    return "--" + term_ + "-" + name;
  }
  template <class Number>
  void number(const char* name, Number& value, Number min, Number max, const char* help) {
    const auto in_range = [min, max](const std::string& text) {
      double x = 0;
      const bool good = CLI::detail::lexical_cast(text, x) && x >= static_cast<double>(min) && x <= static_cast<double>(max);
      return good ? std::string() : lx::cat("must be from ", min, " to ", max, ", got ", text);
    };
    added_.push_back(app_.add_option(option(name), value, help)
                         ->check(CLI::Validator(in_range, lx::cat("[", min, " - ", max, "]")))
                         ->capture_default_str());
  }
  void choice_of(const char* name, const std::string& current, const std::vector<std::string>& names,
                 const std::function<void(std::size_t)>& set, const char* help) override {
    const std::string flag = option(name);
    const auto choose = [flag, names, set](const std::string& given) {
      const auto found = std::find(names.begin(), names.end(), given);
      if (found == names.end()) lx::fail_usage(flag, one_of(names)(given));
      set(static_cast<std::size_t>(found - names.begin()));
    };
    added_.push_back(app_.add_option_function<std::string>(flag, choose, lx::cat(help, ": ", lx::join(names)))->default_str(current));
  }

  CLI::App& app_;
  std::string term_;
  std::vector<CLI::Option*>& added_;
};

}  // namespace detail

/// The attention terms of a run and their options.
class AttentionOptions {
 public:
  void add_to(CLI::App& app, const lx::TermFactories<>& own) {
    const auto factories = lx::all_terms(own, "--attention");
    auto known = lx::names_of_terms(factories);
    known.insert(known.begin(), "none");
    app.add_option("--attention", names_,
                   "comma-separated attention terms: lea, dafa, uerbert, syntax, a position scheme, a custom term; or none")
        ->delimiter(',')
        ->check(one_of(known))
        ->default_str("none");
    for (const auto& [name, make] : factories) {
      auto& term = terms_[name];
      term.factory = make();
      auto* group = app.add_option_group("Attention term " + name);
      detail::TermFlags flags(*group, name, term.options);
      term.factory->visit(flags);
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
