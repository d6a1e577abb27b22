// SPDX-License-Identifier: MIT
// --love and its options: vectors for words of several pieces.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/models/love_plug.hpp>

#include "cli/option_flags.hpp"

namespace program {

class LovePlugFlags {
 public:
  /// training: with --love-train.
  void add_to(CLI::App& app, bool training = false) {
    app.add_option("--love", path_,
                   "a LOVE model (train_love), which gives words of several pieces vectors of their own; saved with the model")
        ->type_name("L.lxf");
    OptionFlags flags(app, "love-", training ? "" : "train");
    options_.visit(flags);
    flags_ = flags.added;
  }
  /// Errors: an option of LOVE without --love.
  void check() const {
    for (const auto* flag : flags_)
      if (flag->count() > 0 && path_.empty()) lx::fail_usage(flag->get_name(), "needs --love");
  }
  template <class T, class Dev, template <class, class> class Model>
  void apply(Model<T, Dev>& model) const {
    check();
    if (!path_.empty()) model.plug_in(lx::Love<T, Dev>::load(path_), options_);
  }
  bool used() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
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
  std::vector<CLI::Option*> flags_;
};

}  // namespace program
