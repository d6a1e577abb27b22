// SPDX-License-Identifier: MIT
// A JSON value for interfaces: headers that only pass it on do not compile nlohmann/json. io/json.hpp gives access to the value.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// Objects are sorted by key, so equal contents give equal text.
using Json = nlohmann::json;

/// Owns a Json behind a pointer. Copies are deep; converts to and from Json. Include io/json.hpp to use the value.
class JsonValue {
 public:
  JsonValue();  // null
  // Explicit, so that braces do not compile: x = {{"a", 1}} would become the array ["a", 1]. Write x = Json{{"a", 1}}.
  explicit JsonValue(const Json& value);
  explicit JsonValue(Json&& value);
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  JsonValue& operator=(const Json& value);
  JsonValue& operator=(Json&& value);
  ~JsonValue();
  static JsonValue object();  // {}
  static JsonValue array();   // []

  operator Json&() { return *value_; }
  operator const Json&() const { return *value_; }
  Json* operator->() { return value_.get(); }
  const Json* operator->() const { return value_.get(); }
  bool operator==(const JsonValue& other) const;
  /// The value of an object's key. The const form requires that the key exists.
  Json& operator[](const std::string& key);
  const Json& operator[](const std::string& key) const;

 private:
  std::unique_ptr<Json> value_;  // null only after a move
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <nlohmann/json.hpp>
#include <utility>

namespace lexformer {

LEXFORMER_INLINE JsonValue::JsonValue() : value_(std::make_unique<Json>()) {}
LEXFORMER_INLINE JsonValue::JsonValue(const Json& value) : value_(std::make_unique<Json>(value)) {}
LEXFORMER_INLINE JsonValue::JsonValue(Json&& value) : value_(std::make_unique<Json>(std::move(value))) {}
LEXFORMER_INLINE JsonValue::JsonValue(const JsonValue& other) : value_(std::make_unique<Json>(*other.value_)) {}
LEXFORMER_INLINE JsonValue::JsonValue(JsonValue&& other) noexcept = default;
LEXFORMER_INLINE JsonValue& JsonValue::operator=(const JsonValue& other) {
  value_ = std::make_unique<Json>(*other.value_);
  return *this;
}
LEXFORMER_INLINE JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
LEXFORMER_INLINE JsonValue& JsonValue::operator=(const Json& value) { return *this = JsonValue(value); }
LEXFORMER_INLINE JsonValue& JsonValue::operator=(Json&& value) { return *this = JsonValue(std::move(value)); }
LEXFORMER_INLINE JsonValue::~JsonValue() = default;
LEXFORMER_INLINE JsonValue JsonValue::object() { return JsonValue(Json::object()); }
LEXFORMER_INLINE JsonValue JsonValue::array() { return JsonValue(Json::array()); }
LEXFORMER_INLINE Json& JsonValue::operator[](const std::string& key) { return (*value_)[key]; }
LEXFORMER_INLINE const Json& JsonValue::operator[](const std::string& key) const { return value_->at(key); }
LEXFORMER_INLINE bool JsonValue::operator==(const JsonValue& other) const { return *value_ == *other.value_; }

}  // namespace lexformer
#endif
