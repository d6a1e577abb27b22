// SPDX-License-Identifier: MIT
// Blocking by dense vectors for millions of records.
#pragma once

#include <lexformer/core/tensor.hpp>
#include <lexformer/tables/blocking.hpp>

#include <functional>
#include <vector>

namespace program {

namespace lx = lexformer;

/// vector_candidates(), approximately. right: null for one list. Errors: hnswlib was not installed when the program was built.
std::vector<lx::Candidate> hnsw_candidates(const lx::Tensor<float>& left, const lx::Tensor<float>* right, std::size_t top,
                                           const std::function<void(double done)>& progress);

}  // namespace program
