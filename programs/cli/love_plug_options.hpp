// SPDX-License-Identifier: MIT
// --love and its options: vectors for words of several pieces.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/words/love_plug.hpp>

#include "cli/program.hpp"

namespace program {

class LovePlugFlags {
 public:
  /// training: with --love-train.
  void visit(OptionVisitor& v, bool training = false) {
    v.input("love", path_,
            std::string("a LOVE model (train_love), which gives words of several pieces vectors of their own") +
                (training ? "; saved with the model" : ""))
        .shown_as("L.lxf");
    const auto visit_plug = [&](OptionVisitor& of_plug) {
      of_plug.leave_out(training ? "" : "train", [&](OptionVisitor& o) { options_.visit(o); });
    };
    for (lx::Option& option : v.nested("love_", visit_plug)) option.needs("love").identity(false);
  }
  /// For lx::open_scorer and its siblings.
  lx::ModelExtras extras(lx::TextKnowledge knowledge) const { return {std::move(knowledge), path_, options_, {}}; }
  template <class T, class Dev, template <class, class> class Model>
  void apply(Model<T, Dev>& model) const {
    if (!path_.empty()) lx::plug_in(model, lx::Love<T, Dev>::load(path_), options_);
  }
  bool used() const { return !path_.empty(); }
  /// The settings of a run.
  lx::Json json() const {
    lx::Json all = lx::options_json([o = options_](lx::OptionVisitor& v) mutable { o.visit(v); });
    const std::string file = lx::is_folder(path_) ? path_ + "/model.lxf" : path_;
    all["model"] = path_;
    all["crc32"] = lx::crc32(lx::read_file(file));
    return all;
  }

 private:
  std::string path_;
  lx::LovePlugOptions options_;
};

}  // namespace program
