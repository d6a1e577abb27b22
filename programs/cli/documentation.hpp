// SPDX-License-Identifier: MIT
// Help, pages and completion, from the descriptions of the options.
#pragma once

#include <lexformer/lexformer.hpp>
#include <string>

namespace program {

/// The text of --help. shown: the command as it is called.
std::string help_of(const std::string& shown, const std::string& about, const lexformer::OptionVisitor& options);
/// `lexformer help`: the commands in groups.
std::string list_of_commands();
/// docs/commands.md: all commands.
std::string markdown_of_commands();
/// The manual page of a command, for man.
std::string manual_of(const std::string& name);
/// Completion of command lines for bash, which zsh reads with bashcompinit.
std::string bash_completion();

}  // namespace program
