// SPDX-License-Identifier: MIT
#include "lexformer/data/masked_batch.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/error_message.hpp"

using namespace lexformer;

namespace {

Tokenizer letters() {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
  return Tokenizer(Vocabulary(tokens));
}

}  // namespace

TEST_CASE("masked batch: rows, positions and labels belong together") {
  const auto tokenizer = letters();
  const Masker masker(tokenizer, {.probability = 0.3});
  std::vector<Encoding> documents;
  for (const char* text : {"a b c d e f g h", "i j k", "l m n o p q r s t u v w x y z"}) documents.push_back(tokenizer.encode(text, 64));
  const std::vector<std::size_t> rows{2, 0};
  const auto m = make_masked_batch(documents, rows, masker, 7, 3, 100);
  CHECK(m.batch.index == rows);
  CHECK(m.batch.offsets.length(0) == 17);
  CHECK(m.batch.offsets.length(1) == 10);
  CHECK(m.positions.size() == 8);  // 5 of 17 and 3 of 10
  auto original = documents[2].ids;
  original.insert(original.end(), documents[0].ids.begin(), documents[0].ids.end());
  auto restored = m.batch.ids;
  for (std::size_t k = 0; k < m.positions.size(); ++k) restored[static_cast<std::size_t>(m.positions[k])] = m.labels[k];
  CHECK(restored == original);
  CHECK(m.batch.ids != original);

  // The masks of a document depend on its number, not on its batch.
  const auto alone = make_masked_batch(std::span(documents).subspan(2), std::vector<std::size_t>{0}, masker, 7, 3, 102);
  CHECK(std::equal(alone.batch.ids.begin(), alone.batch.ids.end(), m.batch.ids.begin()));
  CHECK(std::equal(alone.labels.begin(), alone.labels.end(), m.labels.begin()));
  CHECK(make_masked_batch(documents, rows, masker, 7, 4, 100).positions != m.positions);

  CHECK(test::error_message([&] { make_masked_batch(documents, std::vector<std::size_t>{3}, masker, 7, 3); }) ==
        "make_masked_batch: row 3 of 3 documents");
}
