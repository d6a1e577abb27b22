// SPDX-License-Identifier: MIT
// Opens a trained model of any kind, precision and device as a Scorer.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/models/analysis.hpp"
#include "lexformer/models/compute.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/rank.hpp"
#include "lexformer/models/scorer.hpp"
#include "lexformer/models/text_cnn.hpp"

namespace lexformer {

namespace detail {

template <class T, class Dev>
class CrossEncoderScorer final : public Scorer {
 public:
  CrossEncoderScorer(ModelFile file, const Compute& compute, const ModelExtras& extras) : model_(file) {
    const std::string path = std::exchange(file, {}).path;  // the file's bytes are of no more use
    complete(model_, path, compute, extras);
    threshold = model_.threshold;
    calibration = model_.calibration;
    metadata = model_.metadata;
  }
  const Task& task() const override { return model_.task(); }
  Tensor<float> logits(std::span<const PairExample> examples, std::size_t batch_size,
                       const std::function<void(std::size_t)>& scored) const override {
    return model_.logits(examples, batch_size, scored);
  }
  void check_texts(std::span<const std::string> texts, const std::string& where) const override { model_.check_texts(texts, where); }
  const TransformerConfig& config() const override { return model_.config(); }
  Encoding encode(std::string_view left, std::string_view right) const override { return model_.encode(left, right); }
  std::vector<double> mean_attention(const Encoding& encoding) const override { return lexformer::mean_attention(model_, encoding); }

 private:
  CrossEncoder<T, Dev> model_;
};

[[noreturn]] inline void no_tokens(const std::string& path) {
  fail_usage("model", path, " is a CNN over word vectors, which has no tokens and no attention");
}

template <class T, class Dev>
class TextCnnScorer final : public Scorer {
 public:
  TextCnnScorer(const ModelFile& file, const Compute& compute, const ModelExtras& extras)
      : path_(file.path), model_(TextCnn<T, Dev>::stored(file)) {
    model_.provide(vectors_for(path_, "a CNN", compute, extras));
  }
  const Task& task() const override { return model_.task(); }
  Tensor<float> logits(std::span<const PairExample> examples, std::size_t batch_size,
                       const std::function<void(std::size_t)>& scored) const override {
    return model_.logits(examples, batch_size, scored);
  }
  void check_texts(std::span<const std::string>, const std::string&) const override {}
  const TransformerConfig& config() const override { no_tokens(path_); }
  Encoding encode(std::string_view, std::string_view) const override { no_tokens(path_); }
  std::vector<double> mean_attention(const Encoding&) const override { no_tokens(path_); }

 private:
  std::string path_;
  TextCnn<T, Dev> model_;
};

template <class T, class Dev>
std::unique_ptr<Scorer> make_scorer(ModelFile file, const Compute& compute, const ModelExtras& extras) {
  if (file.model_type() == "text_cnn") return std::make_unique<TextCnnScorer<T, Dev>>(file, compute, extras);
  return std::make_unique<CrossEncoderScorer<T, Dev>>(std::move(file), compute, extras);
}

// The instances in lexformer::compiled and lexformer::cuda.
#define LEXFORMER_SCORER(word, T, Dev) \
  word template std::unique_ptr<Scorer> make_scorer<T, Dev>(ModelFile, const Compute&, const ModelExtras&);
LEXFORMER_EXTERN_INSTANCES(LEXFORMER_SCORER)

}  // namespace detail

/// Opens a trained model: a .lxf file, or a HuggingFace folder with a classification head.
///   const auto model = lexformer::open_scorer("model.lxf", {.precision = lexformer::Precision::bfloat16});
///   const auto scores = model->scores_of(model->logits(examples));
/// Errors: as CrossEncoder::load, TextCnn and with_compute. Errors (usage): `extras` has something that the model cannot use, or lacks
/// something that it needs.
inline std::unique_ptr<Scorer> open_scorer(ModelFile file, const Compute& compute = {}, const ModelExtras& extras = {}) {
  return with_compute(compute, [&](auto number, auto device) {
    return detail::make_scorer<decltype(number), decltype(device)>(std::move(file), compute, extras);
  });
}
inline std::unique_ptr<Scorer> open_scorer(const std::string& path, const Compute& compute = {}, const ModelExtras& extras = {}) {
  return open_scorer(ModelFile::open(path), compute, extras);
}

/// As rank() of a CrossEncoder.
inline std::vector<RankedDocument> rank(const Scorer& model, const std::string& query, std::span<const std::string> documents,
                                        std::size_t top = 0, std::size_t batch_size = 32) {
  return detail::rank_by_score(model, query, documents, top, batch_size);
}

}  // namespace lexformer
