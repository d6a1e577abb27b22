// SPDX-License-Identifier: MIT
// Used by tests/oracles/check_pipeline.py. Reads records "<max_length> <bytes of left> <bytes of right or -1>\n<left><right>\n" and writes
// one line each: ids, type ids, begins, ends, and the pieces of the left text alone (HuggingFace's word ids); five lists of numbers
// separated by '|'.
//   pipeline_stdin FOLDER
#include <iostream>
#include <utility>

#include "lexformer/io/tokenizer_file.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "text_records.hpp"

namespace lx = lexformer;
using text_records::list;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  lx::TokenizerFile file = lx::read_tokenizer(argv[1]);
  const auto pipeline = file.options.pipeline;
  const lx::Tokenizer tokenizer(std::move(file.vocabulary), file.options);

  for (const auto& record : text_records::read_pairs()) {
    lx::Encoding e;
    try {
      e = record.right ? tokenizer.encode_pair(record.left, *record.right, record.max_length)
                       : tokenizer.encode(record.left, record.max_length);
    } catch (const lx::Error&) {  // a text without tokens, of a tokenizer without special tokens
    }
    std::cout << list(e.ids) << list(e.type_ids) << list(e.offsets, [](const auto& p) { return p.first; })
              << list(e.offsets, [](const auto& p) { return p.second; })
              << list(pipeline->tokens(record.left), [](const auto& token) { return token.piece; }) << '\n';
  }
}
