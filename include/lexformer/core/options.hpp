// SPDX-License-Identifier: MIT
// One description of options for files, messages and the command line: an options struct has `visit(OptionVisitor&)`, which names each
// option with its range and help text. File readers and writers (io/options.hpp), the command line, its documentation and the identity of a
// training run are derived from it.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"

namespace lexformer {

/// The values that a number may have: min .. max, or above min. The default is every finite number.
struct Bounds {
  double min = -std::numeric_limits<double>::max(), max = std::numeric_limits<double>::max();
  bool above = false;  // min itself is not allowed
};

namespace bounds {
inline constexpr Bounds any{}, positive{.min = 0, .above = true}, non_negative{.min = 0}, share{.min = 0, .max = 1};
}  // namespace bounds

/// One option: its name, where its value is, and what a command line, a file and a page of documentation say about it. The setters return
/// the option itself.
class Option {
 public:
  enum class Kind {
    flag,             // bool
    size,             // std::size_t
    integer,          // int
    number,           // double
    text,             // std::string
    optional_size,    // std::optional<std::size_t>
    optional_number,  // std::optional<double>
    optional_text,    // std::optional<std::string>
    sizes,            // std::vector<std::size_t>
    numbers,          // std::vector<double>
    texts,            // std::vector<std::string>
    choice,           // an enum with names, or a std::optional of one
    counts,           // a total and the counts of words
    layers,           // first and last layer
  };
  /// The role of a text, or of each text of a list.
  enum class Role { setting, input, output, folder };

  std::string name, help;  // name: lower case with underscores
  std::string group{};     // the title under which help lists the option
  Kind kind = Kind::flag;
  Role role = Role::setting;
  Bounds bounds{};
  std::vector<std::string> names{};  // the values of a choice; of a text or a list, if it may only have these
  bool is_required = false, is_positional = false, in_identity = true, is_given = false, is_named = false;
  char separator = 0;     // between the values of a list; 0: each is an argument of its own
  std::size_t count = 0;  // of the values of a list; 0: any
  std::string json_key{}, alias{}, type{}, shown_default{}, advice{};
  std::vector<std::string> needed{}, excluded{};  // names of other options
  std::vector<std::string> written{};
  std::string unused{};  // why the option has no effect with the values of the others, "" if it has

  /// The command line must have it.
  Option& required() { return is_required = true, *this; }
  /// An argument without a name.
  Option& positional() { return is_positional = true, *this; }
  /// The name in files and in the identity of a run, if it is another one.
  Option& key(std::string in_files) { return json_key = std::move(in_files), *this; }
  /// A second name on the command line.
  Option& also(std::string other) { return alias = std::move(other), *this; }
  /// The value as help shows it: F.csv, NAME=M.lxf.
  Option& shown_as(std::string text) { return type = std::move(text), *this; }
  /// The default as help shows it, if it is not the value.
  Option& default_text(std::string text) { return shown_default = std::move(text), *this; }
  /// The end of the message for a value that is none of the names.
  Option& advise(std::string text) { return advice = std::move(text), *this; }
  /// A text, or each text of a list, is one of these.
  Option& among(std::vector<std::string> values) { return names = std::move(values), *this; }
  /// Of a choice: its last name is not possible here.
  Option& without_last() { return names.pop_back(), *this; }
  /// The values of a list are in one argument, with this character between them.
  Option& split_at(char between) { return separator = between, *this; }
  /// A list has so many values.
  Option& values(std::size_t n) { return count = n, *this; }
  /// Each input is NAME=FILE.
  Option& named() { return is_named = true, *this; }
  /// The files that are written into a folder; of an output: the endings of the files that are written beside it.
  Option& writes(std::vector<std::string> files) { return written = std::move(files), *this; }
  /// Whether the value is part of what identifies a run: a resumed run must have the same. Asked again when all values are known: an option
  /// that is added later says identity(value != default), so that runs from before can be resumed.
  Option& identity(bool is_part) { return in_identity = is_part, *this; }
  /// The command line must also have the other option.
  Option& needs(std::string other) { return needed.push_back(std::move(other)), *this; }
  /// The command line must not have both.
  Option& excludes(std::string other) { return excluded.push_back(std::move(other)), *this; }
  /// Refuses the option, if it is given, unless `holds`: "--NAME: otherwise". Called again when all values are known.
  Option& only_if(bool holds, std::string otherwise) {
    if (!holds && unused.empty()) unused = std::move(otherwise);
    return *this;
  }

  /// The value, of the type of its kind.
  template <class T>
  T& as() const {
    return *static_cast<T*>(target);
  }
  bool is_list() const { return kind == Kind::sizes || kind == Kind::numbers || kind == Kind::texts; }
  /// The name in files.
  const std::string& file_key() const { return json_key.empty() ? name : json_key; }
  /// Of a choice: the name of its value, "" for an optional without one; selects names[i].
  std::string chosen() const { return get(target); }
  void select(std::size_t i) const { set(target, i); }

  void* target = nullptr;
  void* second = nullptr;  // of counts: the words; of layers: the last one
  std::string (*get)(const void* value) = nullptr;
  void (*set)(void* value, std::size_t i) = nullptr;
};

/// Visits options by name: collects what `visit` describes. Names are lower case with underscores; on a command line `-` stands for `_`.
/// The options refer to the values, which must outlive the visitor.
class OptionVisitor {
 public:
  OptionVisitor();
  ~OptionVisitor();
  OptionVisitor(const OptionVisitor&) = delete;
  OptionVisitor& operator=(const OptionVisitor&) = delete;

  Option& flag(std::string_view name, bool& value, std::string_view help);
  /// An integer in min .. max; without max, from min.
  Option& size(std::string_view name, std::size_t& value, std::size_t min, std::size_t max, std::string_view help);
  Option& size(std::string_view name, std::optional<std::size_t>& value, std::size_t min, std::size_t max, std::string_view help);
  Option& size(std::string_view name, std::size_t& value, std::size_t min, std::string_view help);
  Option& size(std::string_view name, std::optional<std::size_t>& value, std::size_t min, std::string_view help);
  Option& integer(std::string_view name, int& value, int min, int max, std::string_view help);
  /// A real number in [min, max].
  Option& number(std::string_view name, double& value, double min, double max, std::string_view help);
  Option& number(std::string_view name, double& value, Bounds bounds, std::string_view help);
  Option& number(std::string_view name, std::optional<double>& value, Bounds bounds, std::string_view help);
  Option& text(std::string_view name, std::string& value, std::string_view help);
  Option& text(std::string_view name, std::optional<std::string>& value, std::string_view help);
  Option& list(std::string_view name, std::vector<std::string>& value, std::string_view help);
  Option& list(std::string_view name, std::vector<std::size_t>& value, std::size_t min, std::size_t max, std::string_view help);
  Option& list(std::string_view name, std::vector<double>& value, Bounds bounds, std::string_view help);
  /// A file, or a folder with a model, that is read.
  Option& input(std::string_view name, std::string& value, std::string_view help);
  Option& inputs(std::string_view name, std::vector<std::string>& value, std::string_view help);
  /// A file that is written. "": nothing is.
  Option& output(std::string_view name, std::string& value, std::string_view help);
  /// A folder that is written to.
  Option& folder(std::string_view name, std::string& value, std::string_view help);
  /// Numbers counted on the training data: a total, and the counts of words. Saved with a model; not an option of a command.
  void counts(std::string_view name, std::size_t& total, std::map<std::string, std::size_t>& words);
  /// A range of layers, first .. last - 1, in files as "first_layer" and "last_layer". Both 0 = the reader's default.
  Option& layers(std::size_t& first, std::size_t& last, std::string_view help);
  /// An enum value, by name (core/names.hpp).
  template <class E>
  Option& choice(std::string_view name, E& value, std::string_view help) {
    return choice_of(
        name, &value, all_names<E>(), help, [](const void* target) { return name_of(*static_cast<const E*>(target)); },
        [](void* target, std::size_t i) { *static_cast<E*>(target) = names_of<E>[i].value; });
  }
  /// One that need not be chosen.
  template <class E>
  Option& choice(std::string_view name, std::optional<E>& value, std::string_view help) {
    using Value = std::optional<E>;
    return choice_of(
        name, &value, all_names<E>(), help,
        [](const void* target) {
          return *static_cast<const Value*>(target) ? name_of(**static_cast<const Value*>(target)) : std::string();
        },
        [](void* target, std::size_t i) { *static_cast<Value*>(target) = names_of<E>[i].value; });
  }

  /// The options that follow belong to this group of the help; "": to none.
  void group(std::string title) { group_ = std::move(title); }
  /// The options of `visit`, with a prefix before their names. Returns them, until another one is added.
  template <class Visit>
  std::span<Option> nested(const std::string& prefix, Visit&& visit) {
    const std::string before = prefix_;
    const std::size_t first = options_.size();
    prefix_ += prefix;
    visit(*this);
    prefix_ = before;
    return std::span(options_).subspan(first);
  }
  /// The options of `visit` except the one with this name.
  template <class Visit>
  void leave_out(const std::string& name, Visit&& visit) {
    const std::size_t first = options_.size();
    visit(*this);
    erase(first, prefix_ + name);
  }

  const std::vector<Option>& options() const { return options_; }
  std::vector<Option>& options() { return options_; }
  /// The option with this name or alias, or null.
  Option* find(const std::string& name);
  const Option* find(const std::string& name) const { return const_cast<OptionVisitor*>(this)->find(name); }
  /// Whether the command line, or its file of options, has the option.
  bool given(const std::string& name) const;

 private:
  Option& add(std::string_view name, Option::Kind kind, void* target, std::string_view help, Bounds bounds = {});
  static Option& with(Option::Role role, Option& option);
  Option& choice_of(std::string_view name, void* target, std::vector<std::string> names, std::string_view help,
                    std::string (*get)(const void*), void (*set)(void*, std::size_t));
  void erase(std::size_t first, const std::string& name);

  std::vector<Option> options_;
  std::string prefix_, group_;
};

/// A type-erased call of `visit` on an options struct.
using VisitOptions = std::function<void(OptionVisitor&)>;

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE OptionVisitor::OptionVisitor() = default;
LEXFORMER_INLINE OptionVisitor::~OptionVisitor() = default;
LEXFORMER_INLINE Option* OptionVisitor::find(const std::string& name) {
  for (Option& option : options_)
    if (option.name == name || (!option.alias.empty() && option.alias == name)) return &option;
  return nullptr;
}
LEXFORMER_INLINE bool OptionVisitor::given(const std::string& name) const {
  const Option* option = find(name);
  return option != nullptr && option->is_given;
}
LEXFORMER_INLINE Option& OptionVisitor::add(std::string_view name, Option::Kind kind, void* target, std::string_view help, Bounds bounds) {
  Option& option = options_.emplace_back();
  option.name = cat(prefix_, name);
  option.kind = kind;
  option.target = target;
  option.help = help;
  option.group = group_;
  option.bounds = bounds;
  return option;
}
LEXFORMER_INLINE Option& OptionVisitor::with(Option::Role role, Option& option) {
  option.role = role;
  option.in_identity = false;
  return option.shown_as(role == Option::Role::folder ? "DIR" : "F");
}
LEXFORMER_INLINE Option& OptionVisitor::flag(std::string_view name, bool& value, std::string_view help) {
  return add(name, Option::Kind::flag, &value, help);
}
LEXFORMER_INLINE Option& OptionVisitor::size(std::string_view name, std::size_t& value, std::size_t min, std::size_t max,
                                             std::string_view help) {
  return add(name, Option::Kind::size, &value, help, {static_cast<double>(min), static_cast<double>(max)});
}
LEXFORMER_INLINE Option& OptionVisitor::size(std::string_view name, std::optional<std::size_t>& value, std::size_t min, std::size_t max,
                                             std::string_view help) {
  return add(name, Option::Kind::optional_size, &value, help, {static_cast<double>(min), static_cast<double>(max)});
}
LEXFORMER_INLINE Option& OptionVisitor::size(std::string_view name, std::size_t& value, std::size_t min, std::string_view help) {
  return add(name, Option::Kind::size, &value, help, {.min = static_cast<double>(min)});
}
LEXFORMER_INLINE Option& OptionVisitor::size(std::string_view name, std::optional<std::size_t>& value, std::size_t min,
                                             std::string_view help) {
  return add(name, Option::Kind::optional_size, &value, help, {.min = static_cast<double>(min)});
}
LEXFORMER_INLINE Option& OptionVisitor::integer(std::string_view name, int& value, int min, int max, std::string_view help) {
  return add(name, Option::Kind::integer, &value, help, {static_cast<double>(min), static_cast<double>(max)});
}
LEXFORMER_INLINE Option& OptionVisitor::number(std::string_view name, double& value, double min, double max, std::string_view help) {
  return add(name, Option::Kind::number, &value, help, {min, max});
}
LEXFORMER_INLINE Option& OptionVisitor::number(std::string_view name, double& value, Bounds bounds, std::string_view help) {
  return add(name, Option::Kind::number, &value, help, bounds);
}
LEXFORMER_INLINE Option& OptionVisitor::number(std::string_view name, std::optional<double>& value, Bounds bounds, std::string_view help) {
  return add(name, Option::Kind::optional_number, &value, help, bounds);
}
LEXFORMER_INLINE Option& OptionVisitor::text(std::string_view name, std::string& value, std::string_view help) {
  return add(name, Option::Kind::text, &value, help);
}
LEXFORMER_INLINE Option& OptionVisitor::text(std::string_view name, std::optional<std::string>& value, std::string_view help) {
  return add(name, Option::Kind::optional_text, &value, help);
}
LEXFORMER_INLINE Option& OptionVisitor::list(std::string_view name, std::vector<std::string>& value, std::string_view help) {
  return add(name, Option::Kind::texts, &value, help);
}
LEXFORMER_INLINE Option& OptionVisitor::list(std::string_view name, std::vector<std::size_t>& value, std::size_t min, std::size_t max,
                                             std::string_view help) {
  return add(name, Option::Kind::sizes, &value, help, {static_cast<double>(min), static_cast<double>(max)});
}
LEXFORMER_INLINE Option& OptionVisitor::list(std::string_view name, std::vector<double>& value, Bounds bounds, std::string_view help) {
  return add(name, Option::Kind::numbers, &value, help, bounds);
}
LEXFORMER_INLINE Option& OptionVisitor::input(std::string_view name, std::string& value, std::string_view help) {
  return with(Option::Role::input, text(name, value, help));
}
LEXFORMER_INLINE Option& OptionVisitor::inputs(std::string_view name, std::vector<std::string>& value, std::string_view help) {
  return with(Option::Role::input, list(name, value, help));
}
LEXFORMER_INLINE Option& OptionVisitor::output(std::string_view name, std::string& value, std::string_view help) {
  return with(Option::Role::output, text(name, value, help));
}
LEXFORMER_INLINE Option& OptionVisitor::folder(std::string_view name, std::string& value, std::string_view help) {
  return with(Option::Role::folder, text(name, value, help));
}
LEXFORMER_INLINE void OptionVisitor::counts(std::string_view name, std::size_t& total, std::map<std::string, std::size_t>& words) {
  add(name, Option::Kind::counts, &total, "").second = &words;
}
LEXFORMER_INLINE Option& OptionVisitor::layers(std::size_t& first, std::size_t& last, std::string_view help) {
  Option& option = add("layers", Option::Kind::layers, &first, help, {0, 256});
  option.second = &last;
  return option.split_at(',').values(2).shown_as("FIRST,LAST");
}
LEXFORMER_INLINE Option& OptionVisitor::choice_of(std::string_view name, void* target, std::vector<std::string> names,
                                                  std::string_view help, std::string (*get)(const void*), void (*set)(void*, std::size_t)) {
  Option& option = add(name, Option::Kind::choice, target, help);
  option.names = std::move(names);
  option.get = get;
  option.set = set;
  return option;
}
LEXFORMER_INLINE void OptionVisitor::erase(std::size_t first, const std::string& name) {
  for (std::size_t i = first; i < options_.size(); ++i)
    if (options_[i].name == name) options_.erase(options_.begin() + static_cast<std::ptrdiff_t>(i--));
}

}  // namespace lexformer
#endif
