// SPDX-License-Identifier: MIT
#include "lexformer/text/column_marks.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

#include "lexformer/core/error.hpp"
#include "lexformer/noise/typos.hpp"
#include "lexformer/text/unicode.hpp"

using namespace lexformer;

namespace {
/// name[begin-end, first-last] of each mark.
std::string listed(std::string_view text) {
  std::string out;
  for (const ColumnMark& m : column_marks(text))
    out += cat(out.empty() ? "" : " ", m.name, "[", m.begin, "-", m.end, ",", m.first_character, "-", m.end_character, "]");
  return out;
}
}  // namespace

TEST_CASE("column marks: where they are in bytes and characters") {
  CHECK(listed("COL name VAL Sony tv COL price VAL 5") == "name[0-12,0-12] price[21-34,21-34]");
  CHECK(listed("  COL  model \u00e9  VAL \u00e9 COL b VAL") == "model \u00e9[2-20,2-19] b[24-33,22-31]");
  CHECK(listed("") == "");
  CHECK(listed("Sony COL name VAL tv") == "");  // not the first word
  CHECK(listed("col name val tv") == "");
  CHECK(listed("COL VAL tv") == "");
  CHECK(listed("COL name") == "");
  CHECK(listed("COL a COL b VAL VAL x") == "b[6-15,6-15]");
  CHECK(listed("COL a VAL see VAL b COLA x") == "a[0-9,0-9]");
}

TEST_CASE("typos: the marks of a record stay as they are, in every mode") {
  MisspellingTable misspelt;
  misspelt.add("available", "availible");
  const auto table = std::make_shared<const MisspellingTable>(misspelt);
  const std::string text = "COL product name VAL available camera 16 gb COL price VAL COL maker VAL Panasonic Two right";
  for (const auto& named : names_of<TypoMode>) {
    CAPTURE(named.name);
    std::size_t changed = 0;
    for (std::uint32_t i = 0; i < 50; ++i) {
      RandomStream random = typo_stream(1, 0, i);
      const std::string noisy = add_typos(text, {.mode = named.value, .word_share = 1, .misspellings = table}, random);
      CAPTURE(noisy);
      const auto marks = column_marks(noisy);
      REQUIRE(marks.size() == 3);
      CHECK(marks[0].name == "product name");
      CHECK(marks[0].begin == 0);
      CHECK(marks[1].name == "price");
      CHECK(marks[2].name == "maker");
      if (noisy != text) ++changed;
    }
    CHECK(changed > 25);
  }
  RandomStream random = typo_stream(1, 0, 0);
  CHECK(add_typos(text, {.word_share = 0}, random) == text);
}
