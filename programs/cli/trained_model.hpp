// SPDX-License-Identifier: MIT
// Data that a model of any kind may need besides its file: knowledge, LOVE, word vectors.
#pragma once

#include <lexformer/models/open_scorer.hpp>

#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/static_vector_options.hpp"

namespace program {

struct ModelFlags {
  KnowledgeOptions knowledge{};
  LovePlugFlags love{};
  StaticVectorFlags vectors{};

  void visit(OptionVisitor& v) {
    knowledge.visit(v);
    love.visit(v);
    vectors.visit(v, "for a model of train_text_cnn: ");
  }
  /// changes: an option that changes the texts, or nullptr. The result must not outlive the flags.
  lx::ModelExtras extras(const char* changes = nullptr) const {
    lx::ModelExtras all = love.extras(knowledge.load(changes));
    if (vectors.used()) all.vectors = [this] { return vectors.load(); };
    return all;
  }
};

}  // namespace program
