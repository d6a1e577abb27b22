// SPDX-License-Identifier: MIT
// Command line and exit code: checks option names, reads options from a JSON file, prints every error as one line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <lexformer/lexformer.hpp>
#include <map>
#include <string>
#include <vector>

namespace program {

namespace lx = lexformer;

enum class Group { match, train, use, measure };

/// A command of the program `lexformer`. Each is an object in its source file, which puts itself on the list.
struct Command {
  std::string name;
  Group group;
  std::string summary;  // one line of `lexformer help`
  int (*run)(int argc, char** argv);

  Command(std::string command, Group of, std::string about, int (*main)(int, char**));
  /// All commands, by name.
  static std::map<std::string, const Command*>& all();
};

/// Parses the command line, runs the body, and turns every error into one line and an exit code: 0 done, 1 failed, 2 wrong usage,
/// 3 a bad file, 4 not finite, 130 interrupted and saved. --config FILE stands for the options in that JSON object,
/// {"lr": 1e-5, "test": ["a.tsv", "b.tsv"], "augment": true}; the command line overrides them.
int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// Refuses an output that is also an input. An `output` of "" means that nothing is written; an input folder means the model files in it.
void keep_inputs(const std::string& option, const std::string& output, const std::vector<std::string>& inputs);

/// Refuses an output in a folder that does not exist, before the work for it is done. An `output` of "" means that nothing is written.
void check_folder(const std::string& output);

/// Numbers above 0, and numbers from 0. (CLI11's validators print the range of all doubles, 300 digits each.) The option itself refuses
/// values that are not numbers.
CLI::Validator positive();
CLI::Validator non_negative();
/// Neither nan nor inf.
CLI::Validator finite();

/// One of some names. The error message lists all of them and suggests the nearest.
CLI::Validator one_of(std::vector<std::string> names);

/// An option whose value is one of an enum's names. advice: the end of the message for another name.
template <class E>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, E& value, const std::string& text, const std::string& advice = "") {
  const auto choose = [&value, flag, advice](const std::string& name) {
    if (const std::string wrong = one_of(lx::all_names<E>())(name); !wrong.empty()) lx::fail_usage(flag, wrong, advice);
    value = *lx::find_name<E>(name);
  };
  return app.add_option_function<std::string>(flag, choose, text + ": " + lx::list_names<E>())->default_str(lx::name_of(value));
}

}  // namespace program
