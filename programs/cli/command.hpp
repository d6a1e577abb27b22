// SPDX-License-Identifier: MIT
// A command of the program `lexformer`: its options, described once, and what it does.
#pragma once

#include <iostream>
#include <lexformer/lexformer.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace program {

namespace lx = lexformer;
using lx::OptionVisitor;

enum class Group { match, train, use, measure };

/// One call of a command. Its members are the values of its options.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// Describes the options. Called before the command line is read, and again when all values are known.
  virtual void visit(OptionVisitor& v) = 0;
  /// Does the work; returns the exit code.
  virtual int run() = 0;

  /// This call, as a line for a shell.
  std::string command_line{};
  /// The options as they were read.
  const OptionVisitor* parsed = nullptr;
  bool given(const std::string& option) const { return parsed->given(option); }
  int threads = 0;  // 0: all cores

 protected:
  void visit_threads(OptionVisitor& v) {
    v.integer("threads", threads, 1, 1024, "number of threads; does not change results").default_text("all cores");
  }
};

/// A command on the list: its name is the key in commands().
struct CommandEntry {
  Group group;
  std::string summary, about;  // one line of `lexformer help`; the first lines of `lexformer help COMMAND`
  std::unique_ptr<Command> (*make)();
};
std::map<std::string, CommandEntry>& commands();

/// Puts a command on the list.
template <class C>
struct Registered {
  Registered(const std::string& name, Group group, std::string summary, std::string about) {
    commands()[name] = {group, std::move(summary), std::move(about), [] { return std::unique_ptr<Command>(new C); }};
  }
};

/// "lexformer 0.3.0 (matrix products: avx2)" and a line end.
std::string version_line();

/// Reads the command line, runs the command, and turns every error into one line and an exit code: 0 done, 1 failed, 2 wrong usage,
/// 3 a bad file, 4 not finite, 130 interrupted and saved. --config FILE stands for the options in that JSON object,
/// {"lr": 1e-5, "test": ["a.tsv", "b.tsv"], "augment": true}; the command line overrides them.
/// shown: the command as messages name it.
int run(Command& command, const std::string& shown, const std::string& about, const std::vector<std::string>& arguments);

/// The main function of a program that is one command.
template <class C>
int run_alone(const char* name, const char* about, int argc, char** argv) {
  C command;
  command.command_line = name;
  return run(command, name, about, {argv + 1, argv + argc});
}

}  // namespace program
