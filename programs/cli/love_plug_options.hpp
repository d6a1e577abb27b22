// SPDX-License-Identifier: MIT
// --love and its options: vectors for words of several pieces.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/models/love_plug.hpp>

#include "cli/program.hpp"

namespace program {

class LovePlugFlags {
 public:
  /// training: with --love-train.
  void visit(OptionVisitor& v, bool training = false) {
    v.input("love", path_, "a LOVE model (train_love), which gives words of several pieces vectors of their own; saved with the model")
        .shown_as("L.lxf");
    const std::size_t first = v.options().size();
    v.nested("love_",
             [&](OptionVisitor& of_plug) { of_plug.leave_out(training ? "" : "train", [&](OptionVisitor& o) { options_.visit(o); }); });
    for (std::size_t i = first; i < v.options().size(); ++i) v.options()[i].needs("love").identity(false);
  }
  template <class T, class Dev, template <class, class> class Model>
  void apply(Model<T, Dev>& model) const {
    if (!path_.empty()) model.plug_in(lx::Love<T, Dev>::load(path_), options_);
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
