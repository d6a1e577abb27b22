// SPDX-License-Identifier: MIT
// Data that a model of any kind may need besides its file: knowledge, LOVE, word vectors.
#pragma once

#include <algorithm>
#include <lexformer/models/open_scorer.hpp>
#include <lexformer/models/trained_examples.hpp>
#include <span>

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

/// Warns of examples that the model was trained on (lx::are_trained()): figures on them are too good. examples: "pairs" or "texts".
inline void warn_of_trained(std::span<const std::uint8_t> trained, const std::string& file, const std::string& model,
                            const char* examples) {
  const auto count = static_cast<std::size_t>(std::count(trained.begin(), trained.end(), 1));
  if (count > 0)
    std::cerr << "warning: " << lx::one_line(file) << ": " << model << " was trained on " << count << " of these " << trained.size() << ' '
              << examples << "; figures on them say nothing of others\n";
}

}  // namespace program
