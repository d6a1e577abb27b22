// SPDX-License-Identifier: MIT
// Command-line options from the description of an options struct (core/options.hpp).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.hpp"

namespace program {

/// Refuses an option that was given but has no effect: "--states: belongs to --method mimick, not bos".
inline void refuse_unused(const CLI::Option& option, bool used, const std::string& belongs_to, const std::string& chosen) {
  if (!used && option.count() > 0) lx::fail_usage(option.get_name(), "belongs to ", belongs_to, ", not ", chosen);
}

/// Adds each visited option to a command line as --PREFIXname, with `-` for `_`, except the one named `skip`.
class OptionFlags final : public lx::OptionVisitor {
 public:
  explicit OptionFlags(CLI::App& app, std::string prefix = "", std::string skip = "")
      : app_(app), prefix_(std::move(prefix)), skip_(std::move(skip)) {}

  std::vector<CLI::Option*> added{};

  void flag(const char* name, bool& value, const char* help) override {
    if (name != skip_) added.push_back(app_.add_flag(option(name), value, help));
  }
  void size(const char* name, std::size_t& value, std::size_t min, std::size_t max, const char* help) override {
    if (name != skip_) number_in(name, value, min, max, help);
  }
  void number(const char* name, double& value, double min, double max, const char* help) override {
    number_in(name, value, min, max, help);
  }
  void text(const char* name, std::string& value, const char* help) override {
    added.push_back(app_.add_option(option(name), value, help)->capture_default_str());
  }
  void counts(const char*, std::size_t&, std::map<std::string, std::size_t>&) override {}
  void layers(std::size_t& first, std::size_t& last, const char* help) override {
    const auto set = [&first, &last](const std::vector<std::size_t>& range) {
      first = range[0];
      last = range[1];
    };
    added.push_back(
        app_.add_option_function<std::vector<std::size_t>>(option("layers"), set, lx::cat(help, "; FIRST,LAST from 0, LAST exclusive"))
            ->delimiter(',')
            ->expected(2)
            ->type_name("FIRST,LAST"));
  }

 private:
  std::string option(std::string name) const {
    std::replace(name.begin(), name.end(), '_', '-');
    return "--" + prefix_ + name;
  }
  template <class Number>
  void number_in(const char* name, Number& value, Number min, Number max, const char* help) {
    const auto in_range = [min, max](const std::string& text) {
      double x = 0;
      const bool good = CLI::detail::lexical_cast(text, x) && x >= static_cast<double>(min) && x <= static_cast<double>(max);
      return good ? std::string() : lx::cat("must be from ", min, " to ", max, ", got ", text);
    };
    added.push_back(app_.add_option(option(name), value, help)
                        ->check(CLI::Validator(in_range, lx::cat("[", min, " - ", max, "]")))
                        ->capture_default_str());
  }
  void choice_of(const char* name, const std::string& current, const std::vector<std::string>& names, Select select,
                 const char* help) override {
    const std::string flag = option(name);
    const auto choose = [flag, names, select](const std::string& given) {
      const auto found = std::find(names.begin(), names.end(), given);
      if (found == names.end()) lx::fail_usage(flag, one_of(names)(given));
      select(static_cast<std::size_t>(found - names.begin()));
    };
    added.push_back(app_.add_option_function<std::string>(flag, choose, lx::cat(help, ": ", lx::join(names)))->default_str(current));
  }

  CLI::App& app_;
  std::string prefix_, skip_;
};

}  // namespace program
