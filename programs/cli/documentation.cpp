// SPDX-License-Identifier: MIT
#include "cli/documentation.hpp"

#include <iomanip>
#include <sstream>

#include "cli/command.hpp"
#include "cli/command_line.hpp"

namespace program {

namespace {

using lx::Option;
using Kind = lx::Option::Kind;

constexpr std::pair<Group, const char*> titles[] = {
    {Group::match, "Match tables"}, {Group::train, "Train"}, {Group::use, "Use a model"}, {Group::measure, "Measure"}};

/// The values that a number may have: "POSITIVE", "[0 - 1]"; "" if all.
std::string range_of(const Option& option) {
  const auto& [min, max, above] = option.bounds;
  const bool whole = option.kind == Kind::size || option.kind == Kind::sizes || option.kind == Kind::optional_size;
  const bool open = max >= 0x1p53;
  if (open && min == 0 && !above) return "NONNEGATIVE";
  if (open && ((min == 0 && above) || (whole && min == 1))) return "POSITIVE";
  if (open) return min > -0x1p53 ? lx::cat("[", number_text(min), " or more]") : "";
  return lx::cat(above ? "(" : "[", number_text(min), " - ", number_text(max), "]");
}

/// The placeholder of the value: "UINT:POSITIVE", "F.csv ..."; "" for a flag.
std::string value_of(const Option& option) {
  const std::string range = range_of(option);
  const auto number = [&](const char* kind) { return range.empty() ? std::string(kind) : lx::cat(kind, ":", range); };
  std::string type = option.type;
  switch (option.kind) {
    case Kind::flag:
      return "";
    case Kind::size:
    case Kind::optional_size:
    case Kind::sizes:
      if (type.empty()) type = number("UINT");
      break;
    case Kind::integer:
      if (type.empty()) type = number("INT");
      break;
    case Kind::number:
    case Kind::optional_number:
    case Kind::numbers:
      if (type.empty()) type = number("FLOAT");
      break;
    default:
      if (type.empty()) type = option.names.empty() ? "TEXT" : "NAME";
  }
  if (!option.is_list()) return type;
  if (option.separator != 0 && type.find("...") == type.npos) return lx::cat(type, option.separator, "...");
  if (option.separator != 0) return type;
  return option.count > 0 ? lx::cat(type, " x ", option.count) : type + " ...";
}

template <class Values>
std::string joined(const Values& values) {
  std::string out;
  for (const auto& value : values) out += (out.empty() ? "" : ",") + lx::cat(value);
  return out;
}

/// The default as text, "" if there is none.
std::string default_of(const Option& option, const OptionVisitor& all) {
  if (!option.shown_default.empty()) return with_flags(all, option.shown_default);
  switch (option.kind) {
    case Kind::size:
      return std::to_string(option.as<std::size_t>());
    case Kind::integer:
      return std::to_string(option.as<int>());
    case Kind::number:
      return lx::cat(option.as<double>());
    case Kind::text:
      return option.as<std::string>();
    case Kind::sizes:
      return joined(option.as<std::vector<std::size_t>>());
    case Kind::numbers:
      return joined(option.as<std::vector<double>>());
    case Kind::texts:
      return joined(option.as<std::vector<std::string>>());
    case Kind::choice:
      return option.chosen();
    default:
      return "";
  }
}

/// The help text, and what it does not say itself: the names of a choice, and the other options that it needs or excludes.
std::string text_of(const Option& option, const OptionVisitor& all) {
  const std::string help = with_flags(all, option.help);
  std::string text = help;
  const auto says = [&](const std::string& word) { return help.find(word) != std::string::npos; };
  if (!option.names.empty() && !std::all_of(option.names.begin(), option.names.end(), says)) text += ": " + lx::join(option.names);
  const auto add = [&](const char* word, const char* between, const std::vector<std::string>& others) {
    std::vector<std::string> flags;
    for (const auto& other : others)
      if (const std::string flag = flag_of(*all.find(other)); !says(flag)) flags.push_back(flag);
    if (!flags.empty()) text += lx::cat("; ", word, " ", lx::join(flags, between));
  };
  add("needs", " and ", option.needed);
  add("not with", " or ", option.excluded);
  return text;
}

/// Options in the order of the help: those without a group, then by group in the order of the first option of each.
std::vector<std::pair<std::string, std::vector<const Option*>>> by_group(const OptionVisitor& options) {
  std::vector<std::pair<std::string, std::vector<const Option*>>> groups{{"", {}}};
  for (const Option& option : options.options()) {
    if (option.is_positional || option.kind == Kind::counts) continue;
    auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == option.group; });
    if (at == groups.end()) at = groups.insert(groups.end(), {option.group, {}});
    at->second.push_back(&option);
  }
  return groups;
}

constexpr std::size_t help_column = 36, help_width = 120;

/// A text in lines of help_width; the lines after the first begin with so many spaces. used: characters of the first line.
std::string wrapped(const std::string& text, std::size_t used, std::size_t indent) {
  std::string out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool first = out.empty();
    if (!first && used + 1 + word.size() > help_width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out + "\n";
}

/// "  --lr FLOAT:NONNEGATIVE [1e-4]     learning rate", the text in a column of its own.
std::string help_line(const std::string& left, const std::string& text) {
  std::string out = "  " + left;
  if (out.size() + 2 > help_column)
    out += "\n" + std::string(help_column, ' ');
  else
    out.resize(help_column, ' ');
  return out + wrapped(text, help_column, help_column);
}
std::string help_line(const std::string& names, const Option& option, const OptionVisitor& all) {
  std::string left = names, text = text_of(option, all);
  if (const std::string value = value_of(option); !value.empty()) left += " " + value;
  if (const std::string value = default_of(option, all); value.size() > 20)
    text += lx::cat(" (default: ", value, ")");
  else if (!value.empty())
    left += " [" + value + "]";
  if (option.is_required) left += " REQUIRED";
  return help_line(left, text);
}

/// "lexformer match left [right] [OPTIONS]".
std::string usage_of(const std::string& shown, const OptionVisitor& options) {
  std::string out = shown + " [OPTIONS]";
  for (const Option& option : options.options())
    if (option.is_positional)
      out += lx::cat(option.is_required ? " " : " [", option.name, option.is_list() ? " ..." : "", option.is_required ? "" : "]");
  return out;
}

/// The options that every command has.
constexpr std::pair<const char*, const char*> common[] = {
    {"-h,--help", "print this help"},
    {"--version", "print the version and the instructions of this processor"},
    {"--config FILE", "a JSON file with an object of options; the command line overrides it"}};

/// A line of `lexformer help`; f(title) and g(name, entry) for each group and command.
template <class F, class G>
void for_each_command(F&& f, G&& g) {
  for (const auto& [group, title] : titles) {
    bool first = true;
    for (const auto& [name, entry] : commands()) {
      if (entry.group != group) continue;
      if (std::exchange(first, false)) f(title);
      g(name, entry);
    }
  }
}

/// Text of a page for man: a line that begins with a dot or a quote is not a request; a dash can be searched for.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

}  // namespace

std::string help_of(const std::string& shown, const std::string& about, const OptionVisitor& options) {
  std::string out = wrapped(about, 0, 0);
  out += lx::cat("\nUsage: ", usage_of(commands().contains(shown) ? "lexformer " + shown : shown, options), "\n");
  bool first = true;
  for (const Option& option : options.options()) {
    if (!option.is_positional) continue;
    if (std::exchange(first, false)) out += "\nPositionals:\n";
    out += help_line(option.name, option, options);
  }
  for (const auto& [title, members] : by_group(options)) {
    out += lx::cat("\n", title.empty() ? "Options" : title, ":\n");
    if (title.empty())
      for (const auto& [names, text] : common) out += help_line(names, text);
    for (const Option* option : members) out += help_line(flags_of(*option), *option, options);
  }
  return out;
}

std::string list_of_commands() {
  std::ostringstream out;
  out << "lexformer " << LEXFORMER_VERSION << ": matches dirty tables and texts, with attention that knows more than content\n\n"
      << "usage: lexformer COMMAND [OPTION...]\n"
      << "       lexformer help COMMAND        the options of a command\n";
  for_each_command([&](const char* title) { out << "\n"
                                                << title << "\n"; },
                   [&](const std::string& name, const CommandEntry& entry) {
                     out << "  " << std::left << std::setw(18) << name << entry.summary << "\n";
                   });
  return out.str();
}

std::string markdown_of_commands() {
#if defined(LEXFORMER_SOME_COMMANDS)
  lx::fail_usage("help --markdown", "this program has only some commands (LEXFORMER_COMMANDS); the page lists all");
#endif
  std::ostringstream out;
  out << "# Commands\n\n`lexformer COMMAND [OPTION...]`. This page is made from the same descriptions as `lexformer help COMMAND`: "
         "`lexformer help --markdown > docs/commands.md`.\nEvery command also has `--help`, `--version` and `--config FILE`, a JSON file "
         "with an object of options, which the command line overrides.\n";
  const auto escaped = [](std::string text, char special) {
    for (std::size_t at = 0; (at = text.find(special, at)) != text.npos; at += 2) text.insert(at, 1, '\\');
    return text;
  };
  const auto code = [&](const std::string& text) { return escaped(text, '|'); };
  for_each_command([&](const char* title) { out << "\n## " << title << "\n"; },
                   [&](const std::string& name, const CommandEntry& entry) {
                     const auto command = entry.make();
                     OptionVisitor options;
                     command->visit(options);
                     out << "\n### " << name << "\n\n" << entry.about << "\n\n`" << usage_of("lexformer " + name, options) << "`\n";
                     const auto table = [&](const std::string& title, const std::vector<const Option*>& members) {
                       if (members.empty()) return;
                       out << "\n| " << title << " | default | |\n| --- | --- | --- |\n";
                       for (const Option* option : members) {
                         const std::string value = value_of(*option), other = default_of(*option, options);
                         out << "| `" << flags_of(*option) << (value.empty() ? "" : " " + code(value)) << "` | "
                             << (option->is_required ? "required"
                                 : other.empty()     ? ""
                                                     : "`" + code(other) + "`")
                             << " | " << escaped(code(text_of(*option, options)), '@') << " |\n";  // Doxygen has commands that begin with @
                       }
                     };
                     std::vector<const Option*> positionals;
                     for (const Option& option : options.options())
                       if (option.is_positional) positionals.push_back(&option);
                     table("argument", positionals);
                     for (const auto& [group, members] : by_group(options)) table(group.empty() ? "option" : group, members);
                   });
  return out.str();
}

std::string manual_of(const std::string& name) {
  const CommandEntry& entry = commands().at(name);
  const auto command = entry.make();
  OptionVisitor options;
  command->visit(options);
  std::ostringstream out;
  out << ".TH LEXFORMER\\-" << roff(name) << " 1 \"\" \"lexformer " << LEXFORMER_VERSION << "\"\n.SH NAME\nlexformer\\-" << roff(name)
      << " \\- " << roff(entry.summary) << "\n.SH SYNOPSIS\n"
      << roff(usage_of("lexformer " + name, options)) << "\n.SH DESCRIPTION\n"
      << roff(entry.about) << "\n";
  const auto item = [&](const std::string& names, const Option& option) {
    const std::string value = value_of(option), other = default_of(option, options);
    out << ".TP\n.B " << roff(names) << (value.empty() ? "" : " " + roff(value)) << "\n" << roff(text_of(option, options));
    if (option.is_required) out << " (required)";
    if (!other.empty()) out << " (default: " << roff(other) << ")";
    out << "\n";
  };
  out << ".SH OPTIONS\n";
  for (const Option& option : options.options())
    if (option.is_positional) item(option.name, option);
  for (const auto& [group, members] : by_group(options)) {
    if (!group.empty()) out << ".SS " << roff(group) << "\n";
    if (group.empty())
      for (const auto& [names, text] : common) out << ".TP\n.B " << roff(names) << "\n" << text << "\n";
    for (const Option* option : members) item(flags_of(*option), *option);
  }
  out << ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 a bad file, 4 not finite, 130 interrupted and saved.\n";
  return out.str();
}

std::string bash_completion() {
  std::ostringstream out;
  out << "# Completion for bash; for zsh after `autoload -U bashcompinit && bashcompinit`.\n_lexformer() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n  case $COMP_CWORD:${COMP_WORDS[1]} in\n"
         "    1:*) words='help";
  for (const auto& [name, entry] : commands()) out << " " << name;
  out << "' ;;\n    *:help) words='";
  for (const auto& [name, entry] : commands()) out << name << " ";
  out << "' ;;\n";
  for (const auto& [name, entry] : commands()) {
    const auto command = entry.make();
    OptionVisitor options;
    command->visit(options);
    out << "    *:" << name << ")\n      case $before in\n";
    std::string flags = "--help --version --config";
    for (const Option& option : options.options()) {
      if (option.is_positional || option.kind == Kind::counts) continue;
      flags += " " + flag_of(option);
      if (!option.names.empty()) out << "        " << flag_of(option) << ") words='" << lx::join(option.names, " ") << "' ;;\n";
    }
    out << "        *) [[ $word == -* ]] && words='" << flags << "' ;;\n      esac ;;\n";
  }
  out << "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\ncomplete -o default -F _lexformer lexformer\n";
  return out.str();
}

}  // namespace program
