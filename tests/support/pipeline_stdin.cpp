// SPDX-License-Identifier: MIT
// Used by tests/oracles/check_pipeline.py. Reads records "<max_length> <bytes of left> <bytes of right or -1>\n<left><right>\n" and writes
// one line each: ids, type ids, begins, ends, and the pieces of the left text alone (HuggingFace's word ids); five lists of numbers
// separated by '|'.
//   pipeline_stdin FOLDER
#include <cstddef>
#include <iostream>
#include <iterator>
#include <string>

#include "lexformer/io/tokenizer_file.hpp"
#include "lexformer/text/tokenizer.hpp"

namespace lx = lexformer;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  lx::TokenizerFile file = lx::read_tokenizer(argv[1]);
  const auto pipeline = file.options.pipeline;
  const lx::Tokenizer tokenizer(std::move(file.vocabulary), file.options);

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
    try {
      if (right < 0) {
        e = tokenizer.encode(a, max_length);
      } else {
        e = tokenizer.encode_pair(a, input.substr(at, static_cast<std::size_t>(right)), max_length);
      }
    } catch (const lx::Error&) {  // a text without tokens, of a tokenizer without special tokens
    }
    if (right >= 0) at += static_cast<std::size_t>(right);
    ++at;
    const auto same = [](auto x) { return static_cast<long>(x); };
    list(e.ids, same);
    list(e.type_ids, same);
    list(e.offsets, [](const auto& p) { return p.first; });
    list(e.offsets, [](const auto& p) { return p.second; });
    list(pipeline->tokens(a), [](const auto& token) { return token.piece; });
    output += '\n';
  }
  std::cout << output;
}
