// SPDX-License-Identifier: MIT
// Trains a cross-encoder on labelled pairs: plain, with typos, with lexical attention (LEA). The loop is lexformer/train/trainer.hpp.
#include "train/matcher_program.hpp"

namespace {

int run_train_matcher(int argc, char** argv) { return program::train_matcher(argc, argv); }

const program::Command command{"train_matcher", program::Group::train,
                               "a cross-encoder on labelled pairs of texts: plain, with typos, LEA, DAFA or other attention terms",
                               run_train_matcher};

}  // namespace
