// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/models/scorer.hpp"

namespace lexformer::test {

/// A scorer of which a test says the logits only.
class LogitsOnly : public Scorer {
 public:
  Task kind;

  const Task& task() const final { return kind; }
  void check_texts(std::span<const std::string>, const std::string&) const final {}
  const TransformerConfig& config() const final { fail("LogitsOnly", "has no config"); }
  Encoding encode(std::string_view, std::string_view) const final { fail("LogitsOnly", "has no tokens"); }
  std::vector<double> mean_attention(const Encoding&) const final { fail("LogitsOnly", "has no attention"); }
};

}  // namespace lexformer::test
