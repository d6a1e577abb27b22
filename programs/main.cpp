// SPDX-License-Identifier: MIT
// The program `lexformer COMMAND ...`: the list of its commands, and the call of one.
#include <csignal>
#include <iomanip>

#include "cli/command_line.hpp"

namespace {

using program::Command;
using program::Group;

void print_commands(std::ostream& out) {
  out << "lexformer " << LEXFORMER_VERSION << ": matches dirty tables and texts, with attention that knows more than content\n\n"
      << "usage: lexformer COMMAND [OPTION...]\n"
      << "       lexformer help COMMAND        the options of a command\n";
  for (const auto& [group, title] :
       {std::pair{Group::match, "Match tables"}, {Group::train, "Train"}, {Group::use, "Use a model"}, {Group::measure, "Measure"}}) {
    bool first = true;
    for (const auto& [name, command] : Command::all()) {
      if (command->group != group) continue;
      if (std::exchange(first, false)) out << "\n" << title << "\n";
      out << "  " << std::left << std::setw(18) << name << command->summary << "\n";
    }
  }
}

int refuse(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, command] : Command::all()) names.push_back(known);
  std::cerr << "lexformer: " << lexformer::in_quotes(name) << " is not a command" << lexformer::did_you_mean(name, names)
            << " (lexformer help lists the commands)\n";
  return static_cast<int>(lexformer::ErrorKind::usage);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--version") {
    std::cout << "lexformer " << LEXFORMER_VERSION << " (matrix products: " << lexformer::name_of(lexformer::instructions()) << ")\n";
    return std::cout.flush() ? 0 : static_cast<int>(lexformer::ErrorKind::file);
  }
  const bool help = first == "help" || first == "--help" || first == "-h";
  if (first.empty() || (help && argc == 2)) {
    print_commands(help ? std::cout : std::cerr);
    return !help ? static_cast<int>(lexformer::ErrorKind::usage) : std::cout.flush() ? 0 : static_cast<int>(lexformer::ErrorKind::file);
  }
  const std::string name = help ? argv[2] : first;
  const auto found = Command::all().find(name);
  if (found == Command::all().end()) return refuse(name);
  if (!help) return found->second->run(argc - 1, argv + 1);
  std::string option = "--help";
  char* arguments[] = {argv[2], option.data(), nullptr};
  return found->second->run(2, arguments);
} catch (const std::bad_alloc&) {
  std::cerr << "lexformer: out of memory\n";
  return static_cast<int>(lexformer::ErrorKind::failure);
}
