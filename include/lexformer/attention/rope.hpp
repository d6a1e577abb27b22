// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lexformer/attention/relative.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/ops/rotary.hpp"

namespace lexformer {

/// Rotary positions (Su et al. 2021): rotates q and k by angles that depend on their positions (ops/rotary.hpp). No parameters.
template <class T = float, class Dev = Cpu>
struct Rope final : AttentionTerm<T, Dev> {
  double base;

  explicit Rope(double b) : base(b) {}
  Var<T, Dev> transform(const AttentionInputs<T, Dev>& in) const override { return rotary(in.qkv, in.batch.position_ids, in.heads, base); }
  void contribute(const AttentionInputs<T, Dev>&, ScoreTerms<T, Dev>& out) const override { out.claim_positions("rope"); }
};

/// Base of the factories of rotary positions.
template <class T = float, class Dev = Cpu>
class RotaryFactory : public PositionFactory<T, Dev> {
 public:
  void check(const EncoderSizes& sizes, const std::string& where) final {
    if (sizes.head_size() % 2 != 0) fail_file(where, "rope rotates pairs of features, but a head has ", sizes.head_size());
  }
};

/// The factory of "rope" in a config.
template <class T = float, class Dev = Cpu>
class RopeFactory final : public RotaryFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override { v.number("base", base_, 1, 1e12, "of the angles' wavelengths"); }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init&, DropoutSites&) override {
    return this->place(true, sizes, [&](std::size_t) { return std::make_shared<Rope<T, Dev>>(base_); });
  }

 private:
  double base_ = 10000;
};

/// The factory of "rope_by_layer": rope with another base in the layers whose number `every` does not divide (ModernBERT).
template <class T = float, class Dev = Cpu>
class RopeByLayerFactory final : public RotaryFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override {
    v.number("base", base_, 1, 1e12, "of the angles' wavelengths in layers whose number `every` divides");
    v.number("local_base", local_base_, 1, 1e12, "in the other layers");
    v.size("every", every_, 1, 256, "layers 0, every, 2 every, ... have `base`");
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init&, DropoutSites&) override {
    return this->place(true, sizes, [&](std::size_t i) { return std::make_shared<Rope<T, Dev>>(i % every_ == 0 ? base_ : local_base_); });
  }

 private:
  double base_ = 160000, local_base_ = 10000;
  std::size_t every_ = 3;
};

}  // namespace lexformer
