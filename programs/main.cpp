// SPDX-License-Identifier: MIT
// The program `lexformer COMMAND ...`: calls a command, or prints what there is to know about the commands.
#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "cli/command.hpp"
#include "cli/documentation.hpp"
#include "cli/model_card.hpp"

namespace {

int refuse(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, entry] : program::commands()) names.push_back(known);
  std::cerr << "lexformer: " << lexformer::in_quotes(name) << " is not a command" << lexformer::did_you_mean(name, names)
            << " (lexformer help lists the commands)\n";
  return static_cast<int>(lexformer::ErrorKind::usage);
}

int print(const std::string& text) { return std::cout << text << std::flush ? 0 : static_cast<int>(lexformer::ErrorKind::file); }

int call(const std::string& name, const std::vector<std::string>& arguments) {
  const auto found = program::commands().find(name);
  if (found == program::commands().end()) return refuse(name);
  const auto command = found->second.make();
  command->command_line = "lexformer " + name;
  for (const auto& argument : arguments) command->command_line += " " + program::shell_word(argument);
  return program::run(*command, name, found->second.about, arguments);
}

/// Writes the manual pages and the completion below a folder such as /usr/share.
int write_pages(const std::string& share) {
  const std::filesystem::path pages = std::filesystem::path(share) / "man/man1",
                              completions = std::filesystem::path(share) / "bash-completion/completions";
  std::filesystem::create_directories(pages);
  std::filesystem::create_directories(completions);
  for (const auto& [name, entry] : program::commands())
    lexformer::write_file_atomic(pages / ("lexformer-" + name + ".1"), program::manual_of(name));
  lexformer::write_file_atomic(completions / "lexformer", program::bash_completion());
  return 0;
}

/// `lexformer help [COMMAND]`; with --markdown, --man COMMAND, --bash-completion or --write FOLDER the same in other forms.
int help(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return print(program::list_of_commands());
  if (arguments[0] == "--markdown") return print(program::markdown_of_commands());
  if (arguments[0] == "--bash-completion") return print(program::bash_completion());
  if (arguments.size() < 2 || !arguments[0].starts_with("--")) return call(arguments[0], {"--help"});
  if (arguments[0] == "--write") return write_pages(arguments[1]);
  if (arguments[0] != "--man" || !program::commands().contains(arguments[1])) return refuse(arguments[arguments[0] == "--man"]);
  return print(program::manual_of(arguments[1]));
}

}  // namespace

/// Opens the standard descriptors that are closed: else a file that is opened next would get them, and messages.
void open_standard_descriptors() {
  for (int file = 0; file < 3; ++file)
    if (::fcntl(file, F_GETFD) == -1 && errno == EBADF) static_cast<void>(::open("/dev/null", O_RDWR));  // the lowest one that is free
}

int main(int argc, char** argv) try {
  open_standard_descriptors();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::cerr << program::list_of_commands();
    return static_cast<int>(lexformer::ErrorKind::usage);
  }
  const std::vector<std::string> others(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "--version") return print(program::version_line());
  if (arguments[0] == "help" || arguments[0] == "--help" || arguments[0] == "-h") return help(others);
  return call(arguments[0], others);
} catch (const lexformer::Error& e) {
  std::cerr << "lexformer: " << e.what() << "\n";
  return e.exit_code();
} catch (const std::filesystem::filesystem_error& e) {
  std::cerr << "lexformer: " << e.what() << "\n";
  return static_cast<int>(lexformer::ErrorKind::file);
} catch (const std::bad_alloc&) {
  std::cerr << "lexformer: out of memory\n";
  return static_cast<int>(lexformer::ErrorKind::failure);
}
