// SPDX-License-Identifier: MIT
// The linear layers of an encoder in 8 bits: rounding, reading and writing. In a file such a layer has its integers under the name of its
// weight, of type I8, and their scales (out) under the same name with "_scale", of type F32 (docs/format.md).
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/io/tensor_check.hpp"
#include "lexformer/models/transformer.hpp"

namespace lexformer {

/// Options of Pretrained::quantize().
struct QuantizeOptions {
  /// What stays in float: a number means all products of this layer (from 0), anything else the products whose name contains it:
  /// "intermediate.dense", "layer.3.attention". Query, key and value are one product, which stays if one of them is named.
  std::vector<std::string> skip{};
};

namespace detail {

/// A product of an encoder layer that may be in 8 bits: linear layers on one input.
template <class T, class Dev>
struct Int8Slot {
  std::vector<std::pair<std::string, Linear<T, Dev>*>> layers;  // with their names in a file
  std::shared_ptr<const Int8Weights>* weights;

  std::string weight(std::size_t i) const { return layers[i].first + ".weight"; }
  std::string scale(std::size_t i) const { return weight(i) + "_scale"; }
  /// Replaces the weights of the layers, which are freed.
  void set(const std::vector<Int8Matrix>& rounded) const {
    std::vector<std::vector<float>> biases;
    for (const auto& [name, layer] : layers) biases.push_back(cast<float>(layer->bias).value().template to<Cpu>().to_vector());
    *weights = std::make_shared<const Int8Weights>(rounded, biases);
    for (const auto& [name, layer] : layers) layer->weight = Var<T, Dev>();
  }
};

/// All of them; layer after layer.
template <class T, class Dev>
std::vector<Int8Slot<T, Dev>> int8_slots(Transformer<T, Dev>& encoder) {
  std::vector<Int8Slot<T, Dev>> slots;
  for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
    auto& l = encoder.layers[i];
    const std::string at = cat(encoder.config.architecture().prefix, "encoder.layer.", i, ".");
    slots.push_back({{{at + "attention.self.query", &l.attention.query},
                      {at + "attention.self.key", &l.attention.key},
                      {at + "attention.self.value", &l.attention.value}},
                     &l.attention.int8});
    slots.push_back({{{at + "attention.output.dense", &l.attention.dense}}, &l.attention.dense.int8});
    slots.push_back({{{at + "intermediate.dense", &l.intermediate}}, &l.intermediate.int8});
    if (l.gate) slots.push_back({{{at + "intermediate.gate", &*l.gate}}, &l.gate->int8});
    slots.push_back({{{at + "output.dense", &l.output}}, &l.output.int8});
  }
  return slots;
}

/// Whether `part` of QuantizeOptions::skip means this product.
template <class T, class Dev>
bool is_named(const Int8Slot<T, Dev>& slot, const std::string& part) {
  const bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  const std::string text = number ? ".layer." + part + "." : part;
  return std::any_of(slot.layers.begin(), slot.layers.end(), [&](const auto& l) { return (l.first + ".").find(text) != text.npos; });
}

/// Rounds all products of an encoder that are not skipped. Errors (usage): a name in `skip` fits none; nothing is left to round.
template <class T, class Dev>
void round_to_int8(Transformer<T, Dev>& encoder, const QuantizeOptions& options, const std::string& where) {
  const auto slots = int8_slots(encoder);
  for (const std::string& part : options.skip)
    if (part.empty() || std::none_of(slots.begin(), slots.end(), [&](const auto& s) { return is_named(s, part); }))
      fail_usage(where, "the layers that can be in 8 bits have none with the number or name '", part, "'; they are 0 to ",
                 encoder.layers.size() - 1,
                 ", each with attention.self.query, .key and .value, attention.output.dense, intermediate.dense ", "and output.dense");
  std::vector<std::pair<const Int8Slot<T, Dev>*, std::vector<Int8Matrix>>> all;  // rounded before the first is replaced: rounding may throw
  for (const auto& slot : slots) {
    if (std::any_of(options.skip.begin(), options.skip.end(), [&](const auto& part) { return is_named(slot, part); })) continue;
    auto& rounded = all.emplace_back(&slot, std::vector<Int8Matrix>()).second;
    for (const auto& [name, layer] : slot.layers) {
      const auto w = cast<float>(layer->weight).value().template to<Cpu>();
      rounded.push_back(quantize_rows(w.dim(0), w.dim(1), w.data()));
    }
  }
  if (all.empty()) fail_usage(where, "all layers are to stay in float, so none is in 8 bits");
  for (const auto& [slot, rounded] : all) slot->set(rounded);
}

/// The products that a file holds in 8 bits. Errors: scales are missing or of another shape; only some of query, key and value are in 8
/// bits; a weight is -128.
template <class T, class Dev>
std::vector<std::pair<Int8Slot<T, Dev>, std::vector<Int8Matrix>>> read_int8(Transformer<T, Dev>& encoder, const TensorFile& file,
                                                                            const std::string& where) {
  std::vector<std::pair<Int8Slot<T, Dev>, std::vector<Int8Matrix>>> found;
  for (const auto& slot : int8_slots(encoder)) {
    std::vector<Int8Matrix> stored;
    std::vector<ExpectedTensor> needed;
    for (std::size_t i = 0; i < slot.layers.size(); ++i) {
      const std::string name = slot.weight(i);
      if (!file.contains(name) || file.dtype(name) != Dtype::i8) continue;
      const Shape& shape = slot.layers[i].second->weight.shape();
      needed.push_back({name, shape});
      needed.push_back({slot.scale(i), Shape{shape[0]}});
    }
    if (needed.empty()) continue;
    require_tensors(file, needed, where);
    if (needed.size() != 2 * slot.layers.size())
      fail_file(where, "of query, key and value of a layer, all or none must be in 8 bits; '", needed[0].name, "' is, another is not");
    for (std::size_t i = 0; i < slot.layers.size(); ++i) {
      const auto q = file.template get<std::int8_t>(slot.weight(i));
      if (std::find(q.span().begin(), q.span().end(), -128) != q.span().end())
        fail_file(where, "'", slot.weight(i), "' holds -128, but weights in 8 bits are from -127 to 127");
      stored.push_back({q.dim(0), q.dim(1), q.to_vector(), file.template get<float>(slot.scale(i)).to_vector()});
    }
    found.emplace_back(slot, std::move(stored));
  }
  return found;
}

/// Adds the products in 8 bits to a file.
template <class T, class Dev>
void write_int8(Transformer<T, Dev>& encoder, TensorFile& file) {
  for (const auto& slot : int8_slots(encoder)) {
    if (!*slot.weights) continue;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < slot.layers.size(); ++i) {
      const std::size_t rows = slot.layers[i].second->bias.dim(0);
      const auto q = (*slot.weights)->unpack(begin, rows);
      file.set(slot.weight(i), Tensor<std::int8_t>::from(q.values, {q.rows, q.columns}));
      file.set(slot.scale(i), Tensor<float>::from(q.scales, {q.rows}));
      begin += rows;
    }
  }
}

}  // namespace detail

}  // namespace lexformer
