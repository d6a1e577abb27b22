// SPDX-License-Identifier: MIT
// Used by tests/oracles/check_tokenizer.py. Reads records "<max_length> <bytes of left> <bytes of right or -1>\n<left><right>\n" and writes
// one line each: ids, type ids, word ids, begins, ends; five lists of numbers separated by '|'.
//   tokenize_stdin VOCAB lowercase=0|1 strip=0|1|none chinese=0|1 clean=0|1 special=0|1
#include <iostream>
#include <string>

#include "lexformer/text/tokenizer.hpp"
#include "text_records.hpp"

namespace lx = lexformer;
using text_records::list;

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

  for (const auto& record : text_records::read_pairs()) {
    const lx::Encoding e = record.right ? tokenizer.encode_pair(record.left, *record.right, record.max_length)
                                        : tokenizer.encode(record.left, record.max_length);
    std::cout << list(e.ids) << list(e.type_ids) << list(e.word_ids) << list(e.offsets, [](const auto& p) { return p.first; })
              << list(e.offsets, [](const auto& p) { return p.second; }) << '\n';
  }
}
