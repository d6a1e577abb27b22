// SPDX-License-Identifier: MIT
// Trains a cross-encoder on labelled pairs: plain, with typos, with lexical attention (LEA). The loop is lexformer/train/trainer.hpp.
#include "support/matcher_program.hpp"

int main(int argc, char** argv) { return program::train_matcher(argc, argv); }
