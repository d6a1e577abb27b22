// SPDX-License-Identifier: MIT
#include "lexformer/text/pieces.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/io/file.hpp"

using namespace lexformer;

using Kind = PreTokenizer::Kind;
using Prepend = PreTokenizer::Prepend;

namespace {

/// The pieces of a text, each as text:begin-end of the original.
std::vector<std::string> pieces_of(const std::vector<PreTokenizer>& sequence, std::string_view utf8) {
  NormalizedText text = to_characters(utf8);
  std::vector<Piece> pieces;
  pre_tokenize(sequence, text, pieces);
  std::vector<std::string> out;
  for (const Piece& piece : pieces) {
    std::string characters;
    for (std::uint32_t i = piece.first; i < piece.last; ++i) append_utf8(characters, text[i].character);
    out.push_back(characters + ':' + std::to_string(text[piece.first].begin) + '-' + std::to_string(text[piece.last - 1].end));
  }
  return out;
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("the pieces of every code point are those of PyPI tokenizers") {
  const std::pair<PreTokenizer, std::uint32_t> steps[] = {
      // made by tests/oracles/check_pieces.py --golden
      {{.kind = Kind::byte_level, .add_prefix_space = false}, 0x461a0091},
      {{.kind = Kind::whitespace_split}, 0x712534b5},
      {{.kind = Kind::whitespace}, 0x17da29f5},
      {{.kind = Kind::bert}, 0x4cd2f11f},
      {{.kind = Kind::punctuation}, 0x97ea856f},
      {{.kind = Kind::digits, .individual_digits = true}, 0xecde66ef},
  };
  for (const auto& expected : steps) {
    std::uint32_t crc = 0;
    for (char32_t block = 0; block < 0x110000; block += 4096) {
      std::string text;
      for (char32_t c = block; c < block + 4096; ++c) {
        if (c >= 0xD800 && c < 0xE000) continue;
        text += text.empty() ? "a" : " a";
        append_utf8(text, c);
        text += 'b';
      }
      NormalizedText characters = to_characters(text);
      std::vector<Piece> pieces;
      pre_tokenize(std::span(&expected.first, 1), characters, pieces);
      std::string out;
      for (const Piece& piece : pieces) {
        for (std::uint32_t i = piece.first; i < piece.last; ++i) append_utf8(out, characters[i].character);
        out += '\n';
      }
      crc = crc32(out, crc);
    }
    CAPTURE(static_cast<int>(expected.first.kind));
    CHECK(crc == expected.second);
  }
}

TEST_CASE("byte_level: contractions, runs of white space, bytes of a character") {
  const std::vector<PreTokenizer> steps{{.kind = Kind::byte_level, .add_prefix_space = false}};
  CHECK(pieces_of(steps, "I'll  say 'it's' \n 12x") ==
        Pieces{"I:0-1", "'ll:1-4", "Ġ:4-5", "Ġsay:5-9", "Ġ':9-11", "it:11-13", "'s:13-15", "':15-16", "ĠĊ:16-18", "Ġ12:18-21", "x:21-22"});
  CHECK(pieces_of(steps, "it'LL  \t") == Pieces{"it:0-2", "':2-3", "LL:3-5", "ĠĠĉ:5-8"});
  CHECK(pieces_of(steps, " ''ve café½7 x  ") == Pieces{"Ġ'':0-3", "ve:3-5", "ĠcafÃ©:5-10", "Â½7:10-12", "Ġx:12-14", "ĠĠ:14-16"});
  CHECK(pieces_of(steps, "a\u3000\u3000b") == Pieces{"a:0-1", "ãĢĢ:1-2", "ãĢĢ:2-3", "b:3-4"});
  CHECK(pieces_of(steps, "x'") == Pieces{"x:0-1", "':1-2"});
  CHECK(pieces_of(steps, "'r") == Pieces{"':0-1", "r:1-2"});
  CHECK(pieces_of({{.kind = Kind::byte_level}}, "é a") == Pieces{"ĠÃ©:0-1", "Ġa:1-3"});
  CHECK(pieces_of({{.kind = Kind::byte_level}}, " a") == Pieces{"Ġa:0-2"});
  CHECK(pieces_of({{.kind = Kind::byte_level, .use_regex = false}}, "a b'll") == Pieces{"ĠaĠb'll:0-6"});
  NormalizedText text = to_characters("é");
  std::vector<Piece> pieces;
  pre_tokenize(steps, text, pieces);
  REQUIRE(text.size() == 2);  // both bytes stand for the one character
  CHECK(text[0].begin == 0);
  CHECK(text[1].begin == 0);
  CHECK(text[1].end == 1);
}

TEST_CASE("each byte has a visible character of its own") {
  std::set<char32_t> characters;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t c = byte_character(static_cast<unsigned char>(byte));
    CHECK_FALSE((is_whitespace(c) || is_dropped(c)));
    CHECK((c == byte || c >= 0x100));
    characters.insert(c);
  }
  CHECK(characters.size() == 256);
  CHECK(*characters.rbegin() == 0x143);
}

TEST_CASE("metaspace: what begins pieces, and where it is put") {
  const auto metaspace = [](Prepend scheme, bool split = true) {
    return PreTokenizer{.kind = Kind::metaspace, .prepend_scheme = scheme, .split = split};
  };
  const PreTokenizer words{.kind = Kind::whitespace_split};
  CHECK(pieces_of({metaspace(Prepend::always)}, "a  b ") == Pieces{"▁a:0-1", "▁:1-2", "▁b:2-4", "▁:4-5"});
  CHECK(pieces_of({metaspace(Prepend::always, false)}, "a  b ") == Pieces{"▁a▁▁b▁:0-5"});
  CHECK(pieces_of({metaspace(Prepend::never)}, "a b") == Pieces{"a:0-1", "▁b:1-3"});
  CHECK(pieces_of({metaspace(Prepend::first)}, "a b") == Pieces{"▁a:0-1", "▁b:1-3"});
  CHECK(pieces_of({words, metaspace(Prepend::first)}, "a b") == Pieces{"▁a:0-1", "b:2-3"});
  CHECK(pieces_of({words, metaspace(Prepend::first)}, " a b") == Pieces{"a:1-2", "b:3-4"});
  CHECK(pieces_of({words, metaspace(Prepend::always)}, " a ▁b") == Pieces{"▁a:1-2", "▁b:3-5"});
  CHECK(pieces_of({{.kind = Kind::metaspace, .replacement = U'_'}}, "a b_c") == Pieces{"_a:0-1", "_b:1-3", "_c:3-5"});
}

TEST_CASE("punctuation, digits and words") {
  const std::map<SplitBehaviour, Pieces> expected{{SplitBehaviour::isolated, {",:0-1", "a:1-2", ".:2-3", ".:3-4", "b:4-5", "!:5-6"}},
                                                  {SplitBehaviour::removed, {"a:1-2", "b:4-5"}},
                                                  {SplitBehaviour::merged_with_previous, {",:0-1", "a.:1-3", ".:3-4", "b!:4-6"}},
                                                  {SplitBehaviour::merged_with_next, {",a:0-2", ".:2-3", ".b:3-5", "!:5-6"}},
                                                  {SplitBehaviour::contiguous, {",:0-1", "a:1-2", "..:2-4", "b:4-5", "!:5-6"}}};
  for (const auto& [behaviour, pieces] : expected)
    CHECK(pieces_of({{.kind = Kind::punctuation, .behaviour = behaviour}}, ",a..b!") == pieces);
  CHECK(pieces_of({{.kind = Kind::digits, .individual_digits = true}}, "a12 ٣") == Pieces{"a:0-1", "1:1-2", "2:2-3", " :3-4", "٣:4-5"});
  CHECK(pieces_of({{.kind = Kind::digits}}, "a12 ٣5") == Pieces{"a:0-1", "12:1-3", " :3-4", "٣5:4-6"});
  CHECK(pieces_of({{.kind = Kind::whitespace}}, "a_1 ...!b é½") == Pieces{"a_1:0-3", "...!:4-8", "b:8-9", "é:10-11", "½:11-12"});
  CHECK(pieces_of({{.kind = Kind::bert}}, "a.. b") == Pieces{"a:0-1", ".:1-2", ".:2-3", "b:4-5"});
}

TEST_CASE("a sequence splits the pieces of the step before; without steps a text is one piece, without characters none") {
  CHECK(pieces_of({{.kind = Kind::digits, .individual_digits = true}, {.kind = Kind::byte_level}}, "ab 12") ==
        Pieces{"Ġab:0-2", "Ġ:2-3", "Ġ1:3-4", "Ġ2:4-5"});
  CHECK(pieces_of({}, "a b") == Pieces{"a b:0-3"});
  CHECK(pieces_of({{.kind = Kind::byte_level}}, "").empty());
  CHECK(pieces_of({{.kind = Kind::whitespace_split}, {.kind = Kind::metaspace}}, " \n").empty());
}
