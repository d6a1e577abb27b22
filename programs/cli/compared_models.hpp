// SPDX-License-Identifier: MIT
// Arguments of programs that compare several models.
#pragma once

#include <filesystem>
#include <lexformer/models/task.hpp>

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
inline void require_same_task(const std::string& name, const lx::Task& model, const std::string& other_name, const lx::Task& other) {
  const auto classes = [](const lx::Task& task) { return std::tuple(task.kind, task.texts, task.class_names()); };
  if (classes(model) != classes(other))
    lx::fail_usage("--model", name, " has another task, other classes or another number of texts than ", other_name,
                   "; compare models of one");
}

}  // namespace program
