// SPDX-License-Identifier: MIT
// Options for attention terms: --attention lea,dafa and, for each option of each term, --NAME-OPTION.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/program.hpp"

namespace program {

/// The attention terms of a run and their options.
class AttentionOptions {
 public:
  AttentionOptions() {
    for (const auto& [name, make] : lx::attention_terms<>()) terms_[name] = make();
  }
  /// texts: of an example of the model.
  void visit(OptionVisitor& v, std::size_t texts = 2) {
    std::vector<std::string> known{"none"};
    for (const auto& [name, term] : terms_) known.push_back(name);
    v.list("attention", names_,
           texts == 1 ? "comma-separated attention terms: lea (with --lea-within-sentences), syntax, a position scheme, own ones"
                      : "comma-separated attention terms: lea, dafa, uerbert, syntax, a position scheme, own ones")
        .split_at(',')
        .among(known)
        .default_text("none")
        .identity(false);
    for (const auto& item : terms_) {
      const std::string& name = item.first;
      v.group("Attention term " + name);
      for (lx::Option& option : v.nested(name + "_", [&](OptionVisitor& of_term) { item.second->visit(of_term); }))
        option.only_if(has(name), lx::cat("is an option of the attention term '", name, "'; add it: --attention ", name)).identity(false);
    }
  }

  bool has(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }
  /// The terms with their options.
  std::vector<lx::TermConfig> terms() const {
    std::vector<lx::TermConfig> configs;
    for (const auto& name : names_)
      if (name != "none") configs.emplace_back(name, [term = terms_.at(name)](OptionVisitor& v) { term->visit(v); });
    return configs;
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::shared_ptr<lx::TermFactory<>>> terms_;  // a factory holds the options of its term
};

}  // namespace program
