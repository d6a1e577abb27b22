// SPDX-License-Identifier: MIT
// Charsmaps of any bytes are either refused or applied, after another normalizer; places in the text stay within it and in order, and
// the normalization forms keep their promises.
#include <algorithm>
#include <memory>

#include "fuzz/fuzz.hpp"
#include "lexformer/text/normalizer.hpp"

using namespace lexformer;

namespace {

void check_places(const NormalizedText& text, std::size_t characters) {
  std::uint32_t begin = 0, end = 0;
  for (const NormalizedChar& c : text) {
    fuzz::require(c.begin < c.end && c.end <= characters, "a character stands for none of the text");
    fuzz::require(c.begin >= begin && c.end >= end, "the places are not in order");
    begin = c.begin;
    end = c.end;
  }
}

std::u32string in_form(NormalizedText text, std::initializer_list<UnicodeForm> forms) {
  for (const UnicodeForm form : forms) normalize_unicode(text, form);
  std::u32string out;
  for (const NormalizedChar& c : text) out += c.character;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using enum UnicodeForm;
  fuzz::Input in(data, size);
  const std::size_t kind = in.below(6);
  const NormalizedText text = to_characters(in.until('\0'));
  std::vector<Normalizer> sequence;
  if (kind == 4)
    sequence = {normalizers::Strip{},
                normalizers::Prepend("a\u0301"),
                normalizers::Replace("\\s{2,}|[\\n\\r\\t]", true, "  "),
                normalizers::Replace("a", false, ""),
                normalizers::Lowercase{},
                normalizers::StripAccents{}};
  else if (kind == 5)
    sequence = {normalizers::Bert{}};
  else
    sequence = {normalizers::Unicode{static_cast<UnicodeForm>(kind)}};
  fuzz::accepts([&] { sequence.emplace_back(normalizers::Precompiled{std::make_shared<PrecompiledMap>(std::string(in.rest), "input")}); });

  NormalizedText normalized = text;
  normalize(sequence, normalized);
  check_places(normalized, text.size());
  fuzz::require(in_form(text, {nfc, nfc}) == in_form(text, {nfc}), "NFC changes a text in NFC");
  fuzz::require(in_form(text, {nfd, nfc}) == in_form(text, {nfc}), "NFC of NFD is not NFC");
  fuzz::require(in_form(text, {nfc, nfd}) == in_form(text, {nfd}), "NFD of NFC is not NFD");
  fuzz::require(in_form(text, {nfc, nfkd, nfc}) == in_form(text, {nfkc}), "NFC of NFKD is not NFKC");
  return 0;
}
