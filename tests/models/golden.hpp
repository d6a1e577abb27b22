// SPDX-License-Identifier: MIT
// The files of tests/oracles/make_golden*.py, and comparisons with them.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>

#include "lexformer/io/json.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/schedule.hpp"
#include "models/tiny.hpp"

#ifndef LEXFORMER_SOURCE_DIR
#define LEXFORMER_SOURCE_DIR "."
#endif

namespace lexformer::test {

/// A file of tests/golden: of $LEXFORMER_SOURCE_DIR, for a test program that runs on another machine, or of the sources it was built from.
inline std::string golden_path(const std::string& name) {
  const char* const given = std::getenv("LEXFORMER_SOURCE_DIR");
  return std::string(given != nullptr ? given : LEXFORMER_SOURCE_DIR) + "/tests/golden/" + name;
}

/// A golden file.
struct Golden {
  TensorFile file;
  static inline double worst = 0;  // |a - b| / max(1, |b|) of all comparisons so far

  explicit Golden(const std::string& name) : file(TensorFile::read(golden_path("models/" + name + ".safetensors"))), name_(name) {}

  void check(const std::string& name, const Tensor<double>& found) {
    const auto expected = file.get<double>(name);
    REQUIRE_MESSAGE(found.size() == expected.size(), name << ": " << found.shape() << ", expected " << expected.shape());
    double error = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double e = std::abs(found.data()[i] - expected.data()[i]) / std::max(1.0, std::abs(expected.data()[i]));
      if (!(e <= error)) error = e;
    }
    CHECK_MESSAGE(error <= 1e-10, name << " of " << name_ << " differs by " << error);
    if (!(error <= worst)) worst = error;
  }
  Json about(const std::string& key) const { return parse_json(file.metadata.at("about"), name_).at(key); }
  std::vector<std::int32_t> integers(const std::string& name) const {
    const auto values = file.get<std::int64_t>(name);
    return std::vector<std::int32_t>(values.data(), values.data() + values.size());
  }
  /// The initial model of the training.
  ModelFile model(const std::vector<std::string>& vocabulary = {"[UNK]", "[CLS]", "[SEP]"}) const {
    ModelFile m;
    m.config = about("config");
    m.vocabulary = Vocabulary(vocabulary);
    for (const auto& name : file.names())
      if (name.starts_with("start/")) m.tensors.set(name.substr(6), file.get<double>(name));
    return m;
  }
  Batch batch() const {
    Batch b;
    b.ids = integers("ids");
    b.type_ids = integers("types");
    const auto lengths = integers("lengths");
    b.offsets = Offsets::from_lengths(std::vector<std::size_t>(lengths.begin(), lengths.end()));
    for (std::size_t s = 0; s < b.size(); ++s)
      for (std::size_t i = 0; i < b.offsets.length(s); ++i) b.position_ids.push_back(static_cast<std::int32_t>(i));
    if (file.contains("labels")) b.labels = integers("labels");
    return b;
  }

  /// Ten steps: compares losses, norms, the gradients of the first step and the parameters after the last, as far as the file has them.
  template <class Model>
  void check_steps(Model& model, ScheduleKind kind, const std::function<Var<double>(std::uint32_t step)>& loss_of) {
    AdamW<double> optimizer(model.parameters(), {.eps = 1e-7, .weight_decay = 0.03});
    const Schedule schedule{.kind = kind, .base = 2e-3, .warmup = 3, .total = 12};
    std::vector<double> losses, norms;
    for (std::uint32_t k = 0; k < 10; ++k) {
      const auto loss = loss_of(k);
      losses.push_back(loss.item());
      loss.backward();
      if (k == 0)
        for (const auto& p : model.parameters())
          if (file.contains("gradient/" + p.name)) check("gradient/" + p.name, p.var.grad());
      norms.push_back(clip_grad_norm(model.parameters(), 1.0));
      optimizer.set_lr(schedule(k));
      optimizer.step();
    }
    check("losses", Tensor<double>::from(losses, {10}));
    check("norms", Tensor<double>::from(norms, {10}));
    for (const auto& p : model.parameters())
      if (file.contains("end/" + p.name)) check("end/" + p.name, p.var.value());
  }
  void check_training(CrossEncoder<double>& model, const std::vector<Batch>& batches, ScheduleKind kind, bool dropout) {
    check_steps(model, kind, [&](std::uint32_t k) {
      const Batch& b = batches[k % batches.size()];
      return cross_entropy(model(b, {.training = dropout, .seed = 5, .step = k}).logits, b.labels);
    });
    check("end_logits", model(batches.back()).logits.value());
  }

 private:
  std::string name_;
};

inline std::size_t count_names(const TensorFile& file, const std::string& prefix) {
  std::size_t n = 0;
  for (const auto& name : file.names()) n += name.starts_with(prefix) ? 1u : 0u;
  return n;
}

}  // namespace lexformer::test
