// SPDX-License-Identifier: MIT
// Used by tests/oracles/check_tokenizer.py. Reads records "<max_length> <bytes of left> <bytes of right or -1>\n<left><right>\n" and writes
// one line each: ids, type ids, word ids, begins, ends; five lists of numbers separated by '|'.
//   tokenize_stdin VOCAB lowercase=0|1 strip=0|1|none chinese=0|1 clean=0|1 special=0|1
#include <cstddef>
#include <iostream>
#include <iterator>
#include <string>

#include "lexformer/text/tokenizer.hpp"

namespace lx = lexformer;

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const auto value = [&](int i) { return std::string(argv[i]).substr(std::string(argv[i]).find('=') + 1); };
  lx::TokenizerOptions options;
  options.lowercase = value(2) == "1";
  if (value(3) != "none") options.strip_accents = value(3) == "1";
  options.handle_chinese_chars = value(4) == "1";
  options.clean_text = value(5) == "1";
  options.match_special_tokens = value(6) == "1";
  const lx::Tokenizer tokenizer(lx::Vocabulary::load_vocab_txt(argv[1]), options);

  std::ios::sync_with_stdio(false);
  const std::string input{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  std::string output;
  const auto list = [&](const auto& values, auto number) {
    for (std::size_t i = 0; i < values.size(); ++i) output += (i == 0 ? "" : " ") + std::to_string(number(values[i]));
    output += '|';
  };
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t end = input.find('\n', at), space = input.find(' ', at), space2 = input.find(' ', space + 1);
    const std::size_t max_length = std::stoul(input.substr(at, space - at)), left = std::stoul(input.substr(space + 1, space2 - space));
    const long right = std::stol(input.substr(space2 + 1, end - space2));
    const std::string a = input.substr(end + 1, left);
    at = end + 1 + left;
    lx::Encoding e;
    if (right < 0) {
      e = tokenizer.encode(a, max_length);
    } else {
      e = tokenizer.encode_pair(a, input.substr(at, static_cast<std::size_t>(right)), max_length);
      at += static_cast<std::size_t>(right);
    }
    ++at;
    const auto same = [](auto x) { return static_cast<long>(x); };
    list(e.ids, same);
    list(e.type_ids, same);
    list(e.word_ids, same);
    list(e.offsets, [](const auto& p) { return p.first; });
    list(e.offsets, [](const auto& p) { return p.second; });
    output += '\n';
  }
  std::cout << output;
}
