// SPDX-License-Identifier: MIT
#include "lexformer/tables/evidence.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace lexformer;

TEST_CASE("candidate_leads: by hand") {
  const std::vector<Candidate> two{{0, 0, 0.75f}, {0, 1, 0.5f}, {1, 1, 0.875f}, {2, 2, 0.25f}, {3, 3, 0.5f}, {3, 4, 0.5f}};
  CHECK(candidate_leads(two, false) == std::vector<float>{0.25f, -0.375f, 0.375f, 0.25f, 0, 0});
  // of one list, text 1 is on the right of (0, 1) and on the left of (1, 2)
  const std::vector<Candidate> one{{0, 1, 0.75f}, {1, 2, 0.5f}};
  CHECK(candidate_leads(one, true) == std::vector<float>{0.25f, -0.25f});
  CHECK(candidate_leads(one, false) == std::vector<float>{0.75f, 0.5f});
  CHECK(candidate_leads({}, true).empty());
}
