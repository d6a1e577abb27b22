// SPDX-License-Identifier: MIT
// The input of one step: plain data without padding (made by data/pair_dataset.hpp), and its copy in device memory.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lexformer/core/indices.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// The items for which a feature has one value each: B examples, N tokens, or P pairs of tokens.
enum class Per { example, token, pair };

/// Values stored as codes: value i is levels[codes[i]].
struct Codes {
  std::vector<std::uint16_t> codes;
  std::vector<double> levels;  // (R), ascending
};

/// A named input of a batch besides its tokens, for attention terms and heads: codes, integers or real numbers.
/// Values for pairs of tokens are ragged: one n x n block per sequence, row-major, blocks concatenated.
struct Feature {
  Per per = Per::pair;
  std::variant<Codes, std::vector<std::int32_t>, std::vector<double>> values;
};

/// B sequences with N tokens in total, concatenated.
struct Batch {
  std::vector<std::int32_t> ids, type_ids;  // (N)
  std::vector<std::int32_t> word_ids;       // (N), the word of each token, -1 for special tokens; may be empty
  std::vector<std::int32_t> position_ids;   // (N), counted from 0 in each sequence
  Offsets offsets;                          // (B + 1)
  std::map<std::string, Feature> features;
  std::map<std::string, std::any> extras{};  // what a plug reads on the host, by its name (words/embedding_plug.hpp)

  // Of B examples, or of B / 2 that each have two sequences (PairDatasetOptions::both_orders).
  std::vector<std::int32_t> labels;  // classes; empty for regression, and if there are no labels
  std::vector<float> targets;        // values of a regression; else empty
  std::vector<std::size_t> index;    // rows in the data set

  std::size_t size() const { return offsets.sequences(); }

  /// Returns a feature of codes. Errors: the batch has no feature of this name, or it is of another kind.
  const Codes& codes(const std::string& name) const {
    const auto found = features.find(name);
    const Codes* codes = found == features.end() ? nullptr : std::get_if<Codes>(&found->second.values);
    if (codes == nullptr) fail("Batch", "there is no feature '", name, "' of codes");
    return *codes;
  }
};

/// A feature in device memory. Only the member for its kind is filled.
template <class T = float, class Dev = Cpu>
struct DeviceFeature {
  Per per = Per::pair;
  Indices<std::uint16_t, Dev> codes;
  std::vector<double> levels;  // of the codes, on the host
  Indices<std::int32_t, Dev> indices;
  Tensor<T, Dev> values;
};

/// The inputs of a model from a Batch, in the memory of its device. Errors: the size of ids, type_ids, position_ids, word_ids or a feature
/// does not match the offsets.
template <class T = float, class Dev = Cpu>
struct DeviceBatch {
  Indices<std::int32_t, Dev> ids, type_ids, position_ids, word_ids;
  Offsets offsets;
  std::map<std::string, DeviceFeature<T, Dev>> features;
  std::map<std::string, std::any> extras;

  DeviceBatch(const Batch& batch);

  /// Returns the feature that `who` needs. Errors: the batch does not have it.
  const DeviceFeature<T, Dev>& feature(const std::string& name, const std::string& who) const {
    const auto found = features.find(name);
    if (found == features.end())
      fail(who, "the batch has no feature '", name,
           "'; make it with the batch() of the model, or of a PairDataset with the model's features");
    return found->second;
  }
};

template <class T, class Dev>
DeviceBatch<T, Dev>::DeviceBatch(const Batch& batch) : offsets(batch.offsets), extras(batch.extras) {
  const auto require = [](const std::string& what, std::size_t found, std::size_t expected) {
    if (found != expected) fail("DeviceBatch", what, " has ", found, " values, the offsets of the batch say ", expected);
  };
  require("ids", batch.ids.size(), offsets.tokens());
  require("type_ids", batch.type_ids.size(), offsets.tokens());
  require("position_ids", batch.position_ids.size(), offsets.tokens());
  if (!batch.word_ids.empty()) require("word_ids", batch.word_ids.size(), offsets.tokens());

  ListUpload<Dev> lists;
  std::deque<std::vector<T>> converted;
  DeviceOffsets<Dev> begins;
  lists.add(offsets.token_begins(), begins.token);
  lists.add(offsets.pair_begins(), begins.pair);
  lists.add(std::span(batch.ids), ids);
  lists.add(std::span(batch.type_ids), type_ids);
  lists.add(std::span(batch.position_ids), position_ids);
  lists.add(std::span(batch.word_ids), word_ids);
  for (const auto& [name, feature] : batch.features) {
    const std::size_t expected = feature.per == Per::example ? offsets.sequences()
                                 : feature.per == Per::token ? offsets.tokens()
                                                             : offsets.pairs();
    auto& copy = features[name];
    copy.per = feature.per;
    const auto add = [&, &name = name](const auto& values, auto& to) {
      require("feature '" + name + "'", values.size(), expected);
      lists.add(std::span(values), to);
    };
    if (const auto* codes = std::get_if<Codes>(&feature.values)) {
      add(codes->codes, copy.codes);
      copy.levels = codes->levels;
    } else if (const auto* numbers = std::get_if<std::vector<std::int32_t>>(&feature.values)) {
      add(*numbers, copy.indices);
    } else {
      const auto& values = std::get<std::vector<double>>(feature.values);
      add(converted.emplace_back(values.begin(), values.end()), copy.values);
    }
  }
  lists.run();
  offsets = batch.offsets.with_device_lists(std::move(begins));  // not the batch's lists, which may outlive this
}

#if defined(LEXFORMER_COMPILED)
extern template struct DeviceBatch<float, Cpu>;
extern template struct DeviceBatch<double, Cpu>;
#endif

}  // namespace lexformer
