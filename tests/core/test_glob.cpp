// SPDX-License-Identifier: MIT
#include "lexformer/core/glob.hpp"

#include <doctest/doctest.h>

using namespace lexformer;

TEST_CASE("fits_glob: the whole text, with * for anything") {
  CHECK(fits_glob("encoder.layer.1", "encoder.layer.1"));
  CHECK_FALSE(fits_glob("encoder.layer.1", "encoder.layer.10"));
  CHECK_FALSE(fits_glob("layer.1", "encoder.layer.1"));
  CHECK(fits_glob("encoder.layer.1.*", "encoder.layer.1.output.dense.weight"));
  CHECK_FALSE(fits_glob("encoder.layer.1.*", "encoder.layer.10.output.dense.weight"));
  CHECK(fits_glob("*.bias", "a.bias.bias"));
  CHECK_FALSE(fits_glob("*.bias", "a.bias.weight"));
  CHECK(fits_glob("a*b*c", "a-b-b-c"));
  CHECK_FALSE(fits_glob("a*b*c", "a-b-b-c-"));
  for (const char* all : {"*", "**"}) {
    CHECK(fits_glob(all, ""));
    CHECK(fits_glob(all, "a.b"));
  }
  CHECK(fits_glob("", ""));
  CHECK_FALSE(fits_glob("", "a"));
  CHECK_FALSE(fits_glob("a", ""));
}
