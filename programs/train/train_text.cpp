// SPDX-License-Identifier: MIT
// Trains a classifier, or a regression, on labelled single texts. The loop is lexformer/train/trainer.hpp.
#include "train/matcher_program.hpp"

namespace {

int run_train_text(int argc, char** argv) { return program::train_text(argc, argv); }

const program::Command command{"train_text", program::Group::train, "the same for single texts: classes or numbers", run_train_text};

}  // namespace
