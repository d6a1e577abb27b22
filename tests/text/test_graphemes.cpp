// SPDX-License-Identifier: MIT
#include "lexformer/text/graphemes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace lexformer;

namespace {

/// The text with | between grapheme clusters.
std::string clusters(std::string_view text) {
  GraphemeBreaks breaks;
  std::u32string out;
  for (const char32_t c : to_utf32(text)) {
    if (breaks.begins(c) && !out.empty()) out += U'|';
    out += c;
  }
  return to_utf8(out);
}

}  // namespace

TEST_CASE("extending characters, joiners and spacing marks continue a grapheme cluster, also at the beginning of a text") {
  CHECK(clusters("ab") == "a|b");
  CHECK(clusters("e\u0301\u0327x\u200Dy") == "e\u0301\u0327|x\u200D|y");
  CHECK(clusters("\u0B95\u0BCB\u0B95") == "\u0B95\u0BCB|\u0B95");
  CHECK(clusters("\u0301\u0301a") == "\u0301\u0301|a");
  CHECK(GraphemeBreaks{}.begins(0x301));
}

TEST_CASE("control characters are clusters of their own, CR and LF together are one") {
  CHECK(clusters("a\r\nb\n\rc") == "a|\r\n|b|\n|\r|c");
  CHECK(clusters("\n\u0301\u00AD\u0301") == "\n|\u0301|\u00AD|\u0301");
  CHECK(clusters("\u0600\n") == "\u0600|\n");
}

TEST_CASE("prepended characters join the next one") { CHECK(clusters("\u0600\u0600a\u0600") == "\u0600\u0600a|\u0600"); }

TEST_CASE("the parts of a Hangul syllable are one cluster") {
  CHECK(clusters("\u1100\u1100\u1161\u11A8\u1100") == "\u1100\u1100\u1161\u11A8|\u1100");
  CHECK(clusters("\u1100\uAC00\u1161\u11A8\u11A8\u1161") == "\u1100\uAC00\u1161\u11A8\u11A8|\u1161");
  CHECK(clusters("\u1100\uAC01\u11A8\uAC01\u1161") == "\u1100\uAC01\u11A8|\uAC01|\u1161");
  CHECK(clusters("\u11A8\u1100\u11A8") == "\u11A8|\u1100|\u11A8");
}

TEST_CASE("a joiner after a pictograph joins the next pictograph") {
  CHECK(clusters("\u263A\u200D\u263A\u0308\u200D\u263A\u0301") == "\u263A\u200D\u263A\u0308\u200D\u263A\u0301");
  CHECK(clusters("a\u200D\u263A") == "a\u200D|\u263A");
  CHECK(clusters("\u263A\u200D\u200D\u263A") == "\u263A\u200D\u200D|\u263A");
  CHECK(clusters("\u263A\u200D\u0308\u263A") == "\u263A\u200D\u0308|\u263A");
  CHECK(clusters("\u263A\u0903\u200D\u263A") == "\u263A\u0903\u200D|\u263A");
  CHECK(clusters("\U0001F468\u200Da") == "\U0001F468\u200D|a");
}

TEST_CASE("regional indicators are paired from the left") {
  CHECK(clusters("a\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7\U0001F1E9") == "a|\U0001F1E9\U0001F1EA|\U0001F1EB\U0001F1F7|\U0001F1E9");
  CHECK(clusters("\U0001F1E9\u0301\U0001F1EA\U0001F1EB") == "\U0001F1E9\u0301|\U0001F1EA\U0001F1EB");
}

TEST_CASE("a linker between consonants of an Indic script joins them") {
  CHECK(clusters("\u0915\u094D\u0937\u0915") == "\u0915\u094D\u0937|\u0915");
  CHECK(clusters("\u0915\u0301\u094D\u200D\u0301\u0937") == "\u0915\u0301\u094D\u200D\u0301\u0937");
  CHECK(clusters("\u0915\u094D\u200C\u0937") == "\u0915\u094D\u200C|\u0937");
  CHECK(clusters("a\u094D\u0937") == "a\u094D|\u0937");
  CHECK(clusters("\u0915\u200D\u0937") == "\u0915\u200D|\u0937");
}
