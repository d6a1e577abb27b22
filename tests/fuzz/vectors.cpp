// SPDX-License-Identifier: MIT
// Word vectors: any text is either refused or gives distinct words with finite vectors, none of them zero, that are the same after writing
// and reading.
#include <cmath>
#include <cstring>

#include "fuzz/fuzz.hpp"
#include "lexformer/words/vectors.hpp"

using namespace lexformer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const bool lower_case = !in.flag();
  WordVectors vectors;
  if (!fuzz::accepts([&] { vectors = parse_vectors(in.rest, "input", lower_case); })) return 0;
  fuzz::require(vectors.size() > 0 && vectors.dimension() > 0, "no vectors, but no error");
  fuzz::require(2 * vectors.size() * vectors.dimension() < size, "more numbers than the input can have");
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    fuzz::require(vectors.find(vectors.words()[i]) == i, "a word is not found in its row");
    bool zero = true;
    for (const float x : vectors.row(i)) {
      fuzz::require(std::isfinite(x), "a number is not finite");
      zero = zero && x == 0;
    }
    fuzz::require(!zero, "a vector is zero");
  }
  const auto near = vectors.nearest(vectors.row(0), 2);
  fuzz::require(std::abs(near[0].cosine - 1) < 1e-9, "the first vector is not its own neighbour");
  fuzz::require(near.size() < 2 || near[0].cosine >= near[1].cosine, "neighbours are not in order");

  WordVectors again;
  fuzz::require(fuzz::accepts([&] { again = parse_vectors(vectors_text(vectors.words(), vectors.values()), "again", lower_case); }),
                "what was written is refused");
  fuzz::require(again.words() == vectors.words() && again.dropped() == 0, "words are not the same after writing");
  fuzz::require(again.dimension() == vectors.dimension() &&
                    std::memcmp(again.values().data(), vectors.values().data(), vectors.values().size() * sizeof(float)) == 0,
                "numbers are not the same after writing");
  return 0;
}
