// SPDX-License-Identifier: MIT
// Trains a classifier, or a regression, on labelled single texts. The loop is lexformer/train/trainer.hpp.
#include "support/matcher_program.hpp"

int main(int argc, char** argv) { return program::train_text(argc, argv); }
