// SPDX-License-Identifier: MIT
// A trained classifier or regression of texts or pairs of texts, whatever it is made of: a cross-encoder or a CNN over word vectors, in any
// precision, on any device. models/open_scorer.hpp opens it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/metrics/score_calibration.hpp"
#include "lexformer/models/task.hpp"
#include "lexformer/models/transformer_config.hpp"
#include "lexformer/text/encoding.hpp"

namespace lexformer {

class Scorer {
 public:
  virtual ~Scorer() = default;

  virtual const Task& task() const = 0;
  /// (examples, labels), in input order, on the CPU: CrossEncoder::logits, TextCnn::logits.
  virtual Tensor<float> logits(std::span<const PairExample> examples, std::size_t batch_size = 32,
                               const std::function<void(std::size_t)>& scored = {}) const = 0;
  std::vector<double> scores_of(const Tensor<float>& logits) const { return task().scores_of(logits); }
  /// Errors: Pretrained::check_texts.
  virtual void check_texts(std::span<const std::string> texts, const std::string& where) const = 0;

  /// Of a cross-encoder only. Errors (usage): the model has no tokens.
  virtual const TransformerConfig& config() const = 0;
  virtual Encoding encode(std::string_view left, std::string_view right) const = 0;
  /// models/analysis.hpp: mean_attention
  virtual std::vector<double> mean_attention(const Encoding& encoding) const = 0;

  // As in CrossEncoder; nothing for a model that has none.
  std::optional<double> threshold;
  std::optional<Calibration> calibration;
  std::map<std::string, std::string> metadata;
};

}  // namespace lexformer
