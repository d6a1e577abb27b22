// SPDX-License-Identifier: MIT
// Arguments of programs that compare several models.
#pragma once

#include <filesystem>
#include <lexformer/models/cross_encoder_options.hpp>

#include <string>
#include <tuple>
#include <utility>

#include "cli/program.hpp"

namespace program {

/// The name and the path of "NAME=PATH", or of "PATH", whose last part is then the name.
inline std::pair<std::string, std::string> name_and_path(const std::string& argument) {
  namespace fs = std::filesystem;
  const auto equals = fs::exists(argument) ? argument.npos : argument.find('=');
  const std::string path = equals == argument.npos ? argument : argument.substr(equals + 1);
  fs::path last(path);
  if (!last.has_filename()) last = last.parent_path();  // "runs/lea/"
  const std::string name = equals == argument.npos ? last.filename().string() : argument.substr(0, equals);
  if (name.empty()) lx::fail_usage("--model", "'", argument, "' has no name; write NAME=PATH");
  return {name, path};
}

/// Errors (usage): two models have another task, other classes or another number of texts.
inline void require_same_task(const std::string& name, const lx::CrossEncoderOptions& model, const std::string& other_name,
                              const lx::CrossEncoderOptions& other) {
  const auto classes = [](const lx::CrossEncoderOptions& o) {
    auto names = o.label_names;
    for (std::size_t c = 0; c < o.labels && o.label_names.empty(); ++c) names.push_back(std::to_string(c));
    return std::tuple(o.task, o.texts, names);
  };
  if (classes(model) != classes(other))
    lx::fail_usage("--model", name, " has another task, other classes or another number of texts than ", other_name,
                   "; compare models of one");
}

}  // namespace program
