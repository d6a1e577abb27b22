// SPDX-License-Identifier: MIT
// Used by tests/oracles/check_normalizers.py. Reads records "<bytes of text>\n<text>" and writes one line for each: the normalized text in
// hexadecimal UTF-8, a space, the offsets as "[(0, 1), (1, 2)]".
//   normalize_stdin NORMALIZER...
// with nfc, nfd, nfkc, nfkd, lowercase, strip_accents, strip:LEFT:RIGHT, replace:IS_REGEX:PATTERN:CONTENT, prepend:TEXT (texts in
// hexadecimal), precompiled:FILE, bert:CLEAN:CHINESE:STRIP:LOWERCASE (0, 1; STRIP also none).
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "lexformer/io/file.hpp"
#include "lexformer/text/normalizer.hpp"
#include "text_records.hpp"

namespace lx = lexformer;

namespace {

std::string from_hex(const std::string& digits) {
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return out;
}

lx::Normalizer parse(const std::string& spec) {
  std::vector<std::string> parts(1);
  for (const char c : spec) c == ':' ? parts.emplace_back() : parts.back() += c;
  const std::string& kind = parts[0];
  const auto flag = [&](std::size_t i) { return parts.at(i) == "1"; };
  if (kind == "nfc") return lx::normalizers::Unicode{lx::UnicodeForm::nfc};
  if (kind == "nfd") return lx::normalizers::Unicode{lx::UnicodeForm::nfd};
  if (kind == "nfkc") return lx::normalizers::Unicode{lx::UnicodeForm::nfkc};
  if (kind == "nfkd") return lx::normalizers::Unicode{lx::UnicodeForm::nfkd};
  if (kind == "lowercase") return lx::normalizers::Lowercase{};
  if (kind == "strip_accents") return lx::normalizers::StripAccents{};
  if (kind == "strip") return lx::normalizers::Strip{flag(1), flag(2)};
  if (kind == "replace") return lx::normalizers::Replace(from_hex(parts.at(2)), flag(1), from_hex(parts.at(3)));
  if (kind == "prepend") return lx::normalizers::Prepend(from_hex(parts.at(1)));
  if (kind == "precompiled") return lx::normalizers::Precompiled{std::make_shared<lx::PrecompiledMap>(lx::read_file(parts.at(1)))};
  lx::normalizers::Bert bert{.clean_text = flag(1), .handle_chinese_chars = flag(2), .lowercase = flag(4)};
  if (parts.at(3) != "none") bert.strip_accents = flag(3);
  return bert;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<lx::Normalizer> sequence;
  for (int i = 1; i < argc; ++i) sequence.push_back(parse(argv[i]));
  const std::string input = text_records::read_all();
  std::string output;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t end = input.find('\n', at), bytes = std::stoul(input.substr(at, end - at));
    lx::NormalizedText text = lx::to_characters(std::string_view(input).substr(end + 1, bytes));
    at = end + 1 + bytes;
    lx::normalize(sequence, text);
    std::string characters;
    for (const lx::NormalizedChar& c : text) lx::append_utf8(characters, c.character);
    for (const char c : characters) {
      output += "0123456789abcdef"[static_cast<unsigned char>(c) / 16];
      output += "0123456789abcdef"[static_cast<unsigned char>(c) % 16];
    }
    output += " [";
    for (std::size_t i = 0; i < text.size(); ++i)
      output += (i == 0 ? "(" : ", (") + std::to_string(text[i].begin) + ", " + std::to_string(text[i].end) + ")";
    output += "]\n";
  }
  std::cout << output;
}
