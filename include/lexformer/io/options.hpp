// SPDX-License-Identifier: MIT
// Options (core/options.hpp) as JSON objects.
#pragma once

#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// Converts options to a JSON object, or to its text (TermConfig).
Json options_json(const VisitOptions& visit);
std::string options_text(const VisitOptions& visit);
/// Reads options from the text of a JSON object; options that it does not name keep their values. Errors: an unknown name; a value out of
/// range.
void read_options(const std::string& text, const std::string& where, const VisitOptions& visit);
template <class Options>
requires requires(Options& options, OptionVisitor& v) { options.visit(v); }
std::string options_text(Options options) {
  return options_text([&](OptionVisitor& v) { options.visit(v); });
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <set>
#include <vector>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

class OptionWriter final : public OptionVisitor {
 public:
  Json json = Json::object();

  void flag(const char* name, bool& value, const char*) override { json[name] = value; }
  void size(const char* name, std::size_t& value, std::size_t, std::size_t, const char*) override { json[name] = value; }
  void number(const char* name, double& value, double, double, const char*) override { json[name] = value; }
  void text(const char* name, std::string& value, const char*) override { json[name] = value; }
  void counts(const char* name, std::size_t& total, std::map<std::string, std::size_t>& words) override {
    if (total > 0) json[name] = {{"total", total}, {"words", words}};
  }
  void layers(std::size_t& first, std::size_t& last, const char*) override {
    json["first_layer"] = first;
    json["last_layer"] = last;
  }

 private:
  void choice_of(const char* name, const std::string& current, const std::vector<std::string>&, Select, const char*) override {
    json[name] = current;
  }
};

class OptionReader final : public OptionVisitor {
 public:
  OptionReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail_file(where_, "expected a JSON object, found ", json.type_name());
  }

  void flag(const char* name, bool& value, const char*) override { value = get_bool(json_, known(name), where_, value); }
  void size(const char* name, std::size_t& value, std::size_t min, std::size_t max, const char*) override {
    value = get_size(json_, known(name), min, max, where_, value);
  }
  void number(const char* name, double& value, double min, double max, const char*) override {
    value = get_number(json_, known(name), min, max, where_, value);
  }
  void text(const char* name, std::string& value, const char*) override { value = get_string(json_, known(name), where_, value); }
  void counts(const char* name, std::size_t& total, std::map<std::string, std::size_t>& words) override {
    const auto found = json_.find(known(name));
    if (found == json_.end()) return;
    const std::string here = where_ + ": " + name;
    if (!found->is_object() || !found->contains("words") || !(*found)["words"].is_object())
      fail_file(here, "expected an object with 'total' and 'words'");
    constexpr std::size_t most = std::size_t{1} << 48;
    total = get_size(*found, "total", 0, most, here);
    words.clear();
    for (const auto& word : (*found)["words"].items()) words[word.key()] = get_size((*found)["words"], word.key(), 0, total, here);
  }
  void layers(std::size_t& first, std::size_t& last, const char* help) override {
    size("first_layer", first, 0, 256, help);
    size("last_layer", last, 0, 256, help);
  }
  void require_no_others() const {
    for (const auto& item : json_.items())
      if (!known_.contains(item.key()))
        fail_file(where_, in_quotes(item.key()), " is not an option; ",
                  known_.empty() ? "there are none" : "expected one of: " + join(known_));
  }

 private:
  const std::string& known(const std::string& name) { return *known_.insert(name).first; }
  void choice_of(const char* name, const std::string& current, const std::vector<std::string>& names, Select select, const char*) override {
    const std::string found = get_string(json_, known(name), where_, current);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == found) return select(i);
    fail_file(where_, in_quotes(name), " is ", in_quotes(found), ", expected one of: ", join(names));
  }
  const Json& json_;
  std::string where_;
  std::set<std::string> known_;
};

}  // namespace detail

LEXFORMER_INLINE Json options_json(const VisitOptions& visit) {
  detail::OptionWriter writer;
  visit(writer);
  return std::move(writer.json);
}
LEXFORMER_INLINE void read_options(const std::string& text, const std::string& where, const VisitOptions& visit) {
  const Json json = parse_json(text, where);
  detail::OptionReader reader(json, where);
  visit(reader);
  reader.require_no_others();
}
LEXFORMER_INLINE std::string options_text(const VisitOptions& visit) { return options_json(visit).dump(); }

}  // namespace lexformer
#endif
