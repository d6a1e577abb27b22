// SPDX-License-Identifier: MIT
// tests/golden/tiny.lxf is written by tools/convert_hf.py (tests/tools/test_convert_hf.py --write-golden).
#include <doctest/doctest.h>

#include <string>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/version.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

TEST_CASE("a .lxf file of the converter: what it holds, and the same bytes when it is written again") {
  const std::string golden = std::string(LEXFORMER_SOURCE_DIR) + "/tests/golden/tiny.lxf";
  const TemporaryFolder folder;
  const ModelFile model = ModelFile::open(golden);
  CHECK(get_size(model.config, "num_hidden_layers", 1, 256, "config") == 2);
  CHECK(get_number(model.config, "layer_norm_eps", 0, 1, "config") == 1e-12);
  CHECK(model.config["label"] == "\xC3\xA9\n\x7F");
  CHECK(model.vocabulary.id("caf\xC3\xA9") == 7);
  CHECK(model.vocabulary.id("\\") == 9);
  CHECK(model.vocabulary.size() == 11);
  CHECK_FALSE(model.tokenizer.lowercase);
  CHECK(model.metadata.at("lexformer.source_sha256").size() == 64);
  CHECK(model.tensors.size() == 37);
  CHECK(model.tensors.shape("bert.encoder.layer.1.intermediate.dense.weight") == Shape{8, 4});
  // The first name in sorted order; its values are ((0 + i) * 37 mod 101 - 50) / 64.
  CHECK(model.tensors.get<float>("bert.embeddings.LayerNorm.bias").to_vector() ==
        std::vector<float>{-50 / 64.0f, -13 / 64.0f, 24 / 64.0f, -40 / 64.0f});

  TensorFile::read(golden).write(folder / "tensors.lxf");
  CHECK(read_file(folder / "tensors.lxf") == read_file(golden));
  TensorFile expected = TensorFile::read(golden);
  expected.metadata["lexformer.version"] = LEXFORMER_VERSION;  // save() writes its own version
  expected.write(folder / "expected.lxf");
  model.save(folder / "saved.lxf");
  CHECK(read_file(folder / "saved.lxf") == read_file(folder / "expected.lxf"));
}
