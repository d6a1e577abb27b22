// SPDX-License-Identifier: MIT
// Checks whether the tensors of a file match a model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/safetensors.hpp"
#include "lexformer/text/nearest_name.hpp"

namespace lexformer {

/// A tensor that a model needs.
struct ExpectedTensor {
  std::string name;
  Shape shape;
};

struct TensorReport {
  std::vector<std::string> missing;     // needed, not in the file
  std::vector<std::string> unexpected;  // in the file, but not needed
  std::vector<std::string> misshapen;   // "'name' has shape (2, 3), expected (3, 2)"
};

TensorReport compare_tensors(const TensorFile& file, std::span<const ExpectedTensor> expected);

/// Throws one error for all tensors that are missing or have the wrong shape; suggests the nearest unexpected name for a missing one.
void require_tensors(const TensorFile& file, std::span<const ExpectedTensor> expected, const std::string& where);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <set>

namespace lexformer {

LEXFORMER_INLINE TensorReport compare_tensors(const TensorFile& file, std::span<const ExpectedTensor> expected) {
  TensorReport report;
  std::set<std::string> needed;
  for (const auto& [name, shape] : expected) {
    needed.insert(name);
    if (!file.contains(name)) {
      report.missing.push_back(name);
    } else if (!(file.shape(name) == shape)) {
      report.misshapen.push_back(cat(in_quotes(name), " has shape ", file.shape(name), ", expected ", shape));
    }
  }
  for (const std::string& name : file.names())
    if (needed.count(name) == 0) report.unexpected.push_back(name);
  return report;
}

LEXFORMER_INLINE void require_tensors(const TensorFile& file, std::span<const ExpectedTensor> expected, const std::string& where) {
  const TensorReport report = compare_tensors(file, expected);
  std::vector<std::string> lines = report.misshapen;
  for (const std::string& name : report.missing) {
    std::string line = in_quotes(name) + " is missing";
    if (lines.size() < 3) {  // the message shows no more
      if (const std::string near = nearest_name(name, report.unexpected, 0.75); !near.empty()) line += "; the file has " + in_quotes(near);
    }
    lines.push_back(line);
  }
  if (lines.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), std::size_t{3}); ++i) text += (i == 0 ? "" : ". ") + lines[i];
  if (lines.size() > 3) text += cat(". And ", lines.size() - 3, " more");
  fail_file(where, "the config does not fit the tensors: ", text);
}

}  // namespace lexformer
#endif
