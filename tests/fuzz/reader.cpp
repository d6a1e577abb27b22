// SPDX-License-Identifier: MIT
// Weight and model files: any bytes are either refused with an Error, or are a file whose tensors all lie inside it.
#include "fuzz/fuzz.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/io/tensor_check.hpp"
#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/models/transformer_config.hpp"

using namespace lexformer;

namespace {

void check_tensors(const TensorFile& file, std::size_t header_and_data) {
  std::size_t sum = 0;
  for (const std::string& name : file.names()) {
    const std::string_view bytes = file.bytes(name);
    fuzz::require(file.shape(name).size() * dtype_info(file.dtype(name)).width == bytes.size(), "shape and bytes of a tensor differ");
    sum += bytes.size();
    const bool whole = file.dtype(name) == Dtype::i64;
    fuzz::require(fuzz::accepts([&] { file.get<std::int64_t>(name); }) == whole, "I64 and nothing else is read as std::int64_t");
    const bool wide = fuzz::accepts([&] { file.get<double>(name); });
    fuzz::require(wide == detail::is_float(file.dtype(name)), "each floating-point type and nothing else is read as double");
    if (fuzz::accepts([&] { file.get<float>(name); })) fuzz::require(wide, "read as float, but not as double");
  }
  fuzz::require(sum == header_and_data, "the tensors do not fill the file");
}

/// Runs the loading steps that come before a model is built.
void check_model(const std::string& bytes) {
  const ModelFile model = ModelFile::parse(bytes, "input");
  parse_transformer_config(model.config, "input");
  if (const auto own = model.config->find("lexformer"); own != model.config->end()) parse_cross_encoder_options(*own, "input");
  const auto pair = make_tokenizer(model).encode_pair("the Caf\xC3\xA9 [SEP] 7/8", "a cafe", 16);
  for (const std::int32_t id : pair.ids) model.vocabulary.token(id);
  const ExpectedTensor expected[] = {{"bert.embeddings.word_embeddings.weight", {model.vocabulary.size(), 4}}};
  require_tensors(model.tensors, expected, "input");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  TensorFile file;
  if (!fuzz::accepts([&] { file = TensorFile::parse(bytes, "input", {.allow_non_finite = true}); })) return 0;
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  check_tensors(file, size - 8 - header);
  fuzz::accepts([&] { detail::normalize_names(file, architectures()[size % architectures().size()], size % 2 == 0, 1 + size % 3); });
  fuzz::accepts([&] { check_model(bytes); });
  return 0;
}
