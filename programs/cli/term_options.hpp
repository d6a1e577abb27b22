// SPDX-License-Identifier: MIT
// Options for attention terms: --attention lea,dafa and, for each option of each term, --NAME-OPTION.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/io/options.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
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
        .default_text("as in --model, else none")
        .identity(false);
    for (const auto& item : terms_) {
      const std::string& name = item.first;
      v.group(group_of(name));
      for (lx::Option& option : v.nested(name + "_", [&](OptionVisitor& of_term) { item.second->visit(of_term); }))
        option.only_if(has(name) || names_.empty(), belongs(name)).identity(false);
    }
  }
  /// Takes over the terms of the model that a training starts from, except a position scheme, which the model itself keeps: all terms if
  /// --attention does not name any, and of each term the options that are not given. texts: of an example; terms that compare two texts
  /// are for pairs. Returns the names of the terms that are not named. Errors (usage): an option of a term that the new model will not
  /// have.
  std::vector<std::string> take_over(const std::vector<lx::TermConfig>& stored, const std::string& model, const OptionVisitor& parsed,
                                     std::size_t texts) {
    const bool all = names_.empty();
    std::vector<std::string> kept;
    for (const lx::TermConfig& config : stored) {
      const auto found = terms_.find(config.name);
      if (found == terms_.end() || found->second->positions() || (!all && !has(config.name))) continue;
      const auto visit = [&](OptionVisitor& v) { found->second->visit(v); };
      const lx::Json values = lx::options_json(visit);
      config.set(visit, model + ": config: attention: " + lx::in_quotes(config.name));
      lx::set_options(given_of(config.name, values, parsed), "command line", visit);
      if (all && (texts == 2 || !found->second->needs_pairs())) kept.push_back(config.name);
    }
    if (all) names_ = kept;
    for (const auto& item : terms_)
      for (const lx::Option& option : parsed.options())
        if (option.is_given && option.group == group_of(item.first) && !has(item.first))
          lx::fail_usage(flag_of(option), belongs(item.first));
    return kept;
  }

  /// Puts LEA, if it is new and --lea-every is not given, only into the layers that see texts of `longest` tokens, if `reach` of the model
  /// limits what the other layers see. Returns what to tell the user, "" if nothing.
  std::string place_lea(const lx::TransformerConfig& config, std::size_t longest, const OptionVisitor& parsed) {
    const auto reach = std::find_if(config.attention.begin(), config.attention.end(), [](const auto& t) { return t.name == "reach"; });
    const bool stored = std::any_of(config.attention.begin(), config.attention.end(), [](const auto& t) { return t.name == "lea"; });
    if (!has("lea") || stored || has("reach") || reach == config.attention.end() || parsed.given("lea_every")) return "";
    const lx::Json limit = reach->json();
    const std::size_t distance = limit.value("distance", std::size_t{0}), every = limit.value("every", std::size_t{0});
    if (distance == 0 || every < 2 || distance + 1 >= longest) return "";
    const auto visit = [&](OptionVisitor& v) { terms_.at("lea")->visit(v); };
    const lx::Json lea = lx::options_json(visit);
    std::size_t first = lea.at("first_layer").get<std::size_t>(), last = lea.at("last_layer").get<std::size_t>();
    lx::resolve_layers("lea", first, last, config.num_hidden_layers / 2, config.num_hidden_layers);
    if ((last - 1) / every * every < first) return "";
    lx::set_options(lx::Json{{"every", every}}, "--lea-every", visit);
    return lx::cat("LEA is in the layers of ", first, " to ", last - 1, " that ", every, " divides, since the others see no further than ",
                   distance, " tokens; --lea-every 1 puts it into all");
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
  static std::string group_of(const std::string& term) { return "Attention term " + term; }
  static std::string belongs(const std::string& name) {
    return lx::cat("is an option of the attention term '", name, "'; add it: --attention ", name);
  }
  /// The part of a term's options that the command line has.
  static lx::Json given_of(const std::string& term, const lx::Json& values, const OptionVisitor& parsed) {
    lx::Json given = lx::Json::object();
    for (const auto& item : values.items()) {
      const bool layer = item.key() == "first_layer" || item.key() == "last_layer";
      if (parsed.given(term + "_" + (layer ? "layers" : item.key()))) given[item.key()] = item.value();
    }
    return given;
  }

  std::vector<std::string> names_;
  std::map<std::string, std::shared_ptr<lx::TermFactory<>>> terms_;  // a factory holds the options of its term
};

}  // namespace program
