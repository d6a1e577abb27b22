// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// An entry of a config's list of attention terms: a name, and options, which are kept as they were given:
///   "lea"                                         the term's defaults
///   {"lea", LeaOptions{.levels = 50}}             a struct of options
///   {"ddrp", R"({"size": 128})"}                  a JSON object as text, for terms without a public struct
/// They are checked when the term is made, and become JSON when they are written.
class TermConfig {
 public:
  std::string name;

  TermConfig(const char* n) : TermConfig(std::string(n)) {}
  TermConfig(std::string n) : TermConfig(std::move(n), JsonValue::object()) {}
  template <class Options>
  requires requires(Options& o, OptionVisitor& v) { o.visit(v); }
  TermConfig(std::string n, Options options)
      : TermConfig(std::move(n), VisitOptions([o = std::move(options)](OptionVisitor& v) mutable { o.visit(v); })) {}
  TermConfig(std::string n, VisitOptions options) : name(std::move(n)), values_(std::move(options)) {}
  TermConfig(std::string n, JsonValue object) : name(std::move(n)), object_(std::move(object)) {}
  TermConfig(std::string n, const std::string& json);

  /// Sets the options that `visit` names; options that are not given keep their values. Errors (file): an option is not known to `visit`,
  /// or is out of range. `where` begins the message.
  void set(const VisitOptions& visit, const std::string& where) const;
  /// The options as a struct:   config.get<LeaOptions>().columns
  template <class Options>
  Options get() const {
    Options options;
    set([&](OptionVisitor& v) { options.visit(v); }, name);
    return options;
  }
  /// The options as a JSON object, for files and logs.
  Json json() const;

 private:
  VisitOptions values_;  // of a struct; else
  JsonValue object_;     // of a file
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"

namespace lexformer {

LEXFORMER_INLINE TermConfig::TermConfig(std::string n, const std::string& json) : name(std::move(n)), object_(parse_json(json, name)) {}
LEXFORMER_INLINE void TermConfig::set(const VisitOptions& visit, const std::string& where) const { set_options(json(), where, visit); }
LEXFORMER_INLINE Json TermConfig::json() const { return values_ ? options_json(values_) : static_cast<const Json&>(object_); }

}  // namespace lexformer
#endif
