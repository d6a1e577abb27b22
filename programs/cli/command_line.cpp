// SPDX-License-Identifier: MIT
// Command lines by CLI11, which splits them into options and their values. The values are read here, so that all messages are of one form.
#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

namespace program {

namespace {

namespace lx = lexformer;
using lx::Option;
using Kind = lx::Option::Kind;

/// Text as a number. Errors (usage): it is none, or outside the bounds.
template <class Number>
Number number_of(const Option& option, const std::string& text) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  if constexpr (std::is_unsigned_v<Number>)
    if (text.starts_with('-')) (void)number_of<double>(option, text);  // is outside the bounds
  Number value{};
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end)
    lx::fail_usage(flag_of(option), lx::in_quotes(text), std::is_integral_v<Number> ? " is not a whole number" : " is not a number",
                   error == std::errc::result_out_of_range ? " of the possible size" : "", option.advice);
  const auto x = static_cast<double>(value);
  const auto& [min, max, above] = option.bounds;
  if (!std::isfinite(x)) lx::fail_usage(flag_of(option), "must be finite, got ", text);
  if (x >= min && x <= max && !(above && x == min)) return value;
  const bool open = max >= 0x1p53;
  if (open && ((min == 0 && above) || (std::is_integral_v<Number> && min == 1)))
    lx::fail_usage(flag_of(option), "must be above 0, got ", text);
  if (open && min == 0) lx::fail_usage(flag_of(option), "must not be below 0, got ", text);
  if (open) lx::fail_usage(flag_of(option), "must be ", number_text(min), " or more, got ", text);
  lx::fail_usage(flag_of(option), "must be from ", number_text(min), " to ", number_text(max), ", got ", text);
}

/// The index of a name. Errors (usage): it is not known.
std::size_t index_of(const Option& option, const std::string& name) {
  const auto found = std::find(option.names.begin(), option.names.end(), name);
  if (found == option.names.end())
    lx::fail_usage(flag_of(option), lx::in_quotes(name), " is not known; use one of: ", lx::join(option.names),
                   lx::did_you_mean(name, option.names), option.advice);
  return static_cast<std::size_t>(found - option.names.begin());
}

template <class Number>
std::vector<Number> numbers_of(const Option& option, const std::vector<std::string>& words) {
  std::vector<Number> all;
  for (const auto& word : words) all.push_back(number_of<Number>(option, word));
  return all;
}

/// Splits each of the words at a separator, but not within an item that begins with a double quote. 0: as they are.
std::vector<std::string> split(const std::vector<std::string>& words, char separator) {
  if (separator == 0) return words;
  std::vector<std::string> items;
  for (const std::string& word : words) {
    bool quoted = false;
    items.emplace_back();
    for (const char c : word) {
      if (c == '"' && (quoted || items.back().empty() || items.back().back() == '=' || items.back().back() == '"')) quoted = !quoted;
      if (c == separator && !quoted)
        items.emplace_back();
      else
        items.back() += c;
    }
  }
  return items;
}

/// Sets the value of an option that is not a list.
void assign(const Option& option, const std::string& word) {
  switch (option.kind) {
    case Kind::size:
      option.as<std::size_t>() = number_of<std::size_t>(option, word);
      return;
    case Kind::integer:
      option.as<int>() = number_of<int>(option, word);
      return;
    case Kind::number:
      option.as<double>() = number_of<double>(option, word);
      return;
    case Kind::text:
      option.as<std::string>() = word;
      return;
    case Kind::optional_size:
      option.as<std::optional<std::size_t>>() = number_of<std::size_t>(option, word);
      return;
    case Kind::optional_number:
      option.as<std::optional<double>>() = number_of<double>(option, word);
      return;
    case Kind::optional_text:
      option.as<std::optional<std::string>>() = word;
      return;
    default:
      return option.select(index_of(option, word));
  }
}

/// Sets the value of an option that was given with these words.
void assign(Option& option, const std::vector<std::string>& given) {
  option.is_given = true;
  const auto words = option.kind == Kind::texts ? split(given, option.separator) : given;
  if (!option.names.empty())
    for (const auto& word : words) index_of(option, word);
  if (option.count > 0 && words.size() != option.count)
    lx::fail_usage(flag_of(option), "needs ", option.count, " values, got ", words.size());
  switch (option.kind) {
    case Kind::sizes:
      option.as<std::vector<std::size_t>>() = numbers_of<std::size_t>(option, words);
      return;
    case Kind::numbers:
      option.as<std::vector<double>>() = numbers_of<double>(option, words);
      return;
    case Kind::texts:
      option.as<std::vector<std::string>>() = words;
      return;
    case Kind::layers:
      option.as<std::size_t>() = number_of<std::size_t>(option, words[0]);
      *static_cast<std::size_t*>(option.second) = number_of<std::size_t>(option, words[1]);
      return;
    default:
      for (const auto& word : words) assign(option, word);
      if (words.size() > 1) lx::fail_usage(flag_of(option), "is given ", words.size(), " times");
  }
}

std::string flag(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

void add(CLI::App& app, Option& option) {
  if (option.kind == Kind::counts) return;
  const std::string names = flags_of(option);
  if (option.kind == Kind::flag) {
    app.add_flag_function(names, [&option](std::int64_t times) {
      option.is_given = true;
      option.as<bool>() = times > 0;
    });
    return;
  }
  CLI::Option* added =
      app.add_option_function<std::vector<std::string>>(names, [&option](const std::vector<std::string>& words) { assign(option, words); });
  added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // assign() counts the values
  const bool many = option.is_list() || option.kind == Kind::layers;
  if (!many)
    added->expected(1)->allow_extra_args(false);  // what follows may be an argument without a name
  else if (option.separator != 0 && option.kind != Kind::texts)
    added->delimiter(option.separator);
  else if (option.count > 0)
    added->expected(1, static_cast<int>(option.count));
  if (option.is_required) added->required();
}

}  // namespace

std::string number_text(double x) {
  return x == std::floor(x) && std::abs(x) < 0x1p53 ? std::to_string(static_cast<std::int64_t>(x)) : lx::cat(x);
}

std::string flag_of(const Option& option) { return option.is_positional ? option.name : flag(option.name); }
std::string flags_of(const Option& option) { return flag_of(option) + (option.alias.empty() ? "" : "," + flag(option.alias)); }

std::string with_flags(const lx::OptionVisitor& options, const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '`' ? text.find('`', at + 1) : text.npos;
    const Option* const option = end == text.npos ? nullptr : options.find(text.substr(at + 1, end - at - 1));
    out += option == nullptr ? text.substr(at, 1) : flag_of(*option);
    at = option == nullptr ? at + 1 : end + 1;
  }
  return out;
}

Asked read_command_line(lx::OptionVisitor& options, const std::vector<std::string>& arguments) {
  CLI::App app;
  bool version = false;
  app.add_flag("--version", version);
  for (Option& option : options.options()) add(app, option);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // reversed, as CLI11 wants it
  } catch (const CLI::CallForHelp&) {
    return Asked::help;
  } catch (const CLI::ExtrasError&) {
    throw lx::Error(lx::ErrorKind::usage,
                    lx::in_quotes(app.remaining(true).front()) + " is neither an option nor the value of one (--help lists the options)");
  } catch (const CLI::ParseError& e) {
    if (version) return Asked::version;
    std::string message = e.what();
    if (const auto at = message.find(": 1 required "); at != message.npos) message = message.substr(0, at) + ": its value is missing";
    throw lx::Error(lx::ErrorKind::usage, message + " (--help lists the options)");
  }
  return version ? Asked::version : Asked::run;
}

}  // namespace program
