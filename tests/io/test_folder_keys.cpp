// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/json.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

TEST_CASE("check_keys: a key is used, without effect, or an error that names it") {
  const auto refused = [](const char* text, const std::string& section, const std::string& part) {
    expect_file_error([&] { check_keys(parse_json(text, "test"), section, "f.json"); }, "f.json: " + part);
  };
  check_keys(parse_json(R"({"do_lower_case": 1, "padding_side": null, "my_token": "x", "add_bos_token": false})", ""),
             "tokenizer_config.json", "f.json");
  refused(R"({"x": 1})", "tokenizer_config.json", "the key 'x' is not known and may change the results");
  refused(R"({"padding_side": "left"})", "tokenizer_config.json", "'padding_side' is 'left', which is not supported; expected \"right\"");
  refused(R"({"add_bos_token": true})", "tokenizer_config.json", "'add_bos_token' is true, which is not supported; expected false");
  refused(R"({"add_bos_token": 0})", "tokenizer_config.json", "'add_bos_token' is 0");
  refused(R"({"a": 1, "type": "BPE"})", "tokenizer.json: model", "'type' is 'BPE'");  // says more than its first key
  refused("[]", "modules.json", "is array, expected an object");
  CHECK(refused_keys(parse_json(R"({"y": 1, "path": "", "kwargs": [1], "x": 2})", ""), "modules.json") ==
        std::vector<std::string>{"kwargs", "x", "y"});
  const TemporaryFolder folder;
  CHECK(read_keys(folder / "none.json", "modules.json") == JsonValue::object());
}
