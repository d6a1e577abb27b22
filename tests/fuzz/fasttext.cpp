// SPDX-License-Identifier: MIT
// fastText's .bin files: any bytes are either refused or give distinct words; every word has rows within the table and a finite vector.
#include <algorithm>
#include <cmath>
#include <set>

#include "fuzz/fuzz.hpp"
#include "lexformer/words/fasttext.hpp"

using namespace lexformer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::optional<FastText> model;
  if (!fuzz::accepts([&] { model = FastText::parse(bytes, "input"); })) return 0;
  const auto& words = model->words();
  fuzz::require((words.size() + model->buckets()) * model->size() * sizeof(float) < size, "more numbers than the input can have");
  fuzz::require(std::set<std::string>(words.begin(), words.end()).size() == words.size(), "a word twice");
  std::vector<std::string> some(words.begin(), words.begin() + std::min<std::ptrdiff_t>(std::ssize(words), 20));
  for (const char* word : {"", "a", "oven", "\xC3\xA4\xF0\x9F\x98\x80", "\x80\xFF", FastText::end_of_line}) some.emplace_back(word);
  for (const std::string& word : some)
    for (const std::size_t row : model->rows(word))
      fuzz::require(row < words.size() + model->buckets(), "a row that the table does not have");
  const auto vectors = model->vectors(some);
  fuzz::require(vectors.dim(0) == some.size() && vectors.dim(1) == model->size(), "vectors of another shape");
  fuzz::accepts([&] { model->known(); });
  return 0;
}
