// SPDX-License-Identifier: MIT
// A user's program of two files. With ALL_HEADERS both have the same headers, so a function that lacks `inline` fails to link.
#include <cstdio>
#include <string>

#if defined(ALL_HEADERS)
#include "lexformer/lexformer.hpp"
#else
#include "lexformer/core/error.hpp"
#include "lexformer/version.hpp"
#endif

float sum_of_product();  // other.cpp

int main() {
  const std::string text = lexformer::cat("lexformer ", LEXFORMER_VERSION, ": ", sum_of_product());
  std::printf("%s\n", text.c_str());
  return sum_of_product() == 19.0F + 22.0F + 43.0F + 50.0F ? 0 : 1;
}
