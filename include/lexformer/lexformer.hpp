// SPDX-License-Identifier: MIT
// Everything, floor by floor.
#pragma once

#include "lexformer/version.hpp"

// plain data
#include "lexformer/core/device.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/core/shape.hpp"
#include "lexformer/core/tensor.hpp"

// loops over pointers and sizes
#include "lexformer/kernels/cpu.hpp"
#include "lexformer/kernels/gemm.hpp"
#include "lexformer/kernels/scalar.hpp"

// gradients
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/autograd/var.hpp"

// text to ids, similarities, typos
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/unicode_table.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/wordpiece.hpp"
#include "lexformer/text/words.hpp"

// files
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"
