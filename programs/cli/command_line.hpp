// SPDX-License-Identifier: MIT
// Command lines as values of options. Only command_line.cpp knows the library that reads them.
#pragma once

#include <lexformer/lexformer.hpp>
#include <string>
#include <vector>

namespace program {

enum class Asked { run, help, version };

/// Reads the arguments into the values of the options. Errors (usage): the arguments are wrong.
Asked read_command_line(lexformer::OptionVisitor& options, const std::vector<std::string>& arguments);

/// An option as messages and the command line name it: "--max-length", or the name of a positional one.
std::string flag_of(const lexformer::Option& option);
/// The same with its second name: "--seed,--seeds".
std::string flags_of(const lexformer::Option& option);
/// A message or help text of the library, which has the names of settings in backquotes: `max_length` becomes --max-length.
std::string with_flags(const lexformer::OptionVisitor& options, const std::string& text);
/// A bound as text: without a fraction or an exponent if it is whole.
std::string number_text(double x);

}  // namespace program
