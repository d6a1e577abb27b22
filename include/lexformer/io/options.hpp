// SPDX-License-Identifier: MIT
// Options (core/options.hpp) as JSON objects.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lexformer/core/options.hpp"
#include "lexformer/io/config.hpp"

namespace lexformer {

namespace detail {

class OptionWriter final : public OptionVisitor {
 public:
  Json json = Json::object();

  void flag(const char* name, bool& value, const char*) override { json[name] = value; }
  void size(const char* name, std::size_t& value, std::size_t, std::size_t, const char*) override { json[name] = value; }
  void number(const char* name, double& value, double, double, const char*) override { json[name] = value; }
  void text(const char* name, std::string& value, const char*) override { json[name] = value; }
  void layers(std::size_t& first, std::size_t& last, const char*) override {
    json["first_layer"] = first;
    json["last_layer"] = last;
  }

 private:
  void choice_of(const char* name, const std::string& current, const std::vector<std::string>&, const std::function<void(std::size_t)>&,
                 const char*) override {
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
  void layers(std::size_t& first, std::size_t& last, const char* help) override {
    size("first_layer", first, 0, 256, help);
    size("last_layer", last, 0, 256, help);
  }
  void require_no_others() const {
    for (const auto& item : json_.items())
      if (!known_.contains(item.key()))
        fail_file(where_, in_quotes(item.key()), " is not an option; ", known_.empty() ? "there are none" : "expected one of: " + join(known_));
  }

 private:
  const std::string& known(const std::string& name) { return *known_.insert(name).first; }
  void choice_of(const char* name, const std::string& current, const std::vector<std::string>& names,
                 const std::function<void(std::size_t)>& set, const char*) override {
    const std::string found = get_string(json_, known(name), where_, current);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == found) return set(i);
    fail_file(where_, in_quotes(name), " is ", in_quotes(found), ", expected one of: ", join(names));
  }
  const Json& json_;
  std::string where_;
  std::set<std::string> known_;
};

}  // namespace detail

/// Options as a JSON object.
inline Json options_json(const VisitOptions& visit) {
  detail::OptionWriter writer;
  visit(writer);
  return std::move(writer.json);
}
/// Takes options from a JSON object; those that it does not name keep their values. Errors: an unknown name, a value out of range.
inline void read_options(const Json& json, const std::string& where, const VisitOptions& visit) {
  detail::OptionReader reader(json, where);
  visit(reader);
  reader.require_no_others();
}
/// Options as JSON text, for TermConfig.
template <class Options>
std::string options_text(Options options) {
  return options_json([&](OptionVisitor& v) { options.visit(v); }).dump();
}

}  // namespace lexformer
