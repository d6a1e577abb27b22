// SPDX-License-Identifier: MIT
// Laws for every file, whatever its contents: reading returns what was saved, and saving again gives the same bytes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "lexformer/core/random.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/model_file.hpp"
#include "support/cases.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

std::string random_text(RandomStream& random) {
  static const std::vector<std::string> parts = {"a",  "b.weight",   "\"", "\\", "\n", "\x01", "é",
                                                 "漢", "\U0001F600", "/",  " ",  "{",  "7",    "lexformer"};
  std::string text;
  for (std::uint64_t n = random.below(6); n > 0; --n) text += parts[random.below(parts.size())];
  return text;
}

std::map<std::string, std::string> random_metadata(RandomStream& random) {
  std::map<std::string, std::string> texts;
  for (std::uint64_t n = random.below(4); n > 0; --n) texts["x." + random_text(random)] = random_text(random);
  return texts;
}

/// Any finite value of a type: small, large, subnormal and negative values, and both zeros.
template <class T>
T random_value(RandomStream& random) {
  for (;;) {
    const std::uint64_t high = random.next(), bits = (high << 32) | random.next();
    T value{};
    std::memcpy(&value, &bits, sizeof value);
    if (random.below(8) == 0) value = random.below(2) == 0 ? T{0} : static_cast<T>(-T{0});
    if (std::isfinite(static_cast<double>(value))) return value;
  }
}

template <class T>
void set_random(TensorFile& file, const std::string& name, RandomStream& random, Dtype dtype = dtype_of<T>) {
  std::vector<std::size_t> dims;
  for (std::uint64_t rank = random.below(4); rank > 0; --rank) dims.push_back(random.below(4));
  Tensor<T> tensor(Shape(dims.begin(), dims.end()));
  for (T& x : tensor.mutable_span()) x = dtype == dtype_of<T> ? random_value<T>(random) : static_cast<T>(100 * random.normal());
  file.set(name, tensor, dtype);
}

TensorFile random_tensors(RandomStream& random) {
  TensorFile file;
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    const std::string name = random_text(random);
    const std::uint64_t kind = random.below(5);
    if (kind == 0) set_random<float>(file, name, random);
    if (kind == 1) set_random<double>(file, name, random);
    if (kind == 2) set_random<std::int64_t>(file, name, random);
    if (kind == 3) set_random<float>(file, name, random, Dtype::f16);
    if (kind == 4) set_random<double>(file, name, random, Dtype::bf16);
  }
  return file;
}

bool same_tensors(const TensorFile& a, const TensorFile& b) {
  if (a.names() != b.names()) return false;
  for (const std::string& name : a.names())
    if (a.dtype(name) != b.dtype(name) || !(a.shape(name) == b.shape(name)) || a.bytes(name) != b.bytes(name)) return false;
  return true;
}

Json random_json(RandomStream& random, int depth) {
  const std::uint64_t kind = random.below(depth > 0 ? 8 : 6);
  if (kind == 0) return nullptr;
  if (kind == 1) return random.below(2) == 0;
  if (kind == 2) return random.below(std::uint64_t{1} << random.below(64));
  if (kind == 3) return -1 - static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(63)));
  if (kind == 4) return random_value<double>(random);
  if (kind == 5) return random_text(random);
  Json value = kind == 6 ? Json::array() : Json::object();
  for (std::uint64_t n = random.below(4); n > 0; --n) {
    if (kind == 6) value.push_back(random_json(random, depth - 1));
    if (kind == 7) value[random_text(random)] = random_json(random, depth - 1);
  }
  return value;
}

}  // namespace

TEST_CASE("law: random tensors and texts are read back as they were written, and written again byte for byte") {
  const TemporaryFolder folder;
  RandomStream random(21, random_site::user);
  for (std::size_t n = test::cases(60); n > 0; --n) {
    CAPTURE(n);
    TensorFile file = random_tensors(random);
    file.metadata = random_metadata(random);
    file.write(folder / "a.lxf");
    TensorFile back = TensorFile::read(folder / "a.lxf");
    REQUIRE(same_tensors(back, file));
    back.write(folder / "b.lxf");
    REQUIRE(read_file(folder / "b.lxf") == read_file(folder / "a.lxf"));
    for (const char* ours : {"format", "lexformer.crc32"}) REQUIRE(back.metadata.erase(ours) == 1);
    REQUIRE(back.metadata == file.metadata);
  }
}

TEST_CASE("law: a random model file is read back as it was saved, and saved again byte for byte") {
  const TemporaryFolder folder;
  RandomStream random(22, random_site::user);
  for (std::size_t n = test::cases(60); n > 0; --n) {
    CAPTURE(n);
    ModelFile model;
    model.config = random_json(random, 4);
    if (!model.config->is_object()) model.config = Json{{"value", model.config}};
    model.metadata = random_metadata(random);
    model.tensors = random_tensors(random);
    if (random.below(4) > 0) {
      TokenizerOptions& o = model.tokenizer;
      for (bool* flag : {&o.lowercase, &o.handle_chinese_chars, &o.clean_text, &o.match_special_tokens}) *flag = random.below(2) == 0;
      if (random.below(3) > 0) o.strip_accents = random.below(2) == 0;
      o.max_word_chars = static_cast<unsigned>(1 + random.below(100000));
      std::vector<std::string> tokens;
      for (std::string* special : {&o.unk, &o.cls, &o.sep, &o.pad, &o.mask}) tokens.push_back(*special = cat("[", random.below(1000), "]"));
      for (std::uint64_t words = random.below(20); words > 0; --words) {
        std::string token = random_text(random);  // may be empty (an id without a token), or a duplicate
        std::erase(token, '\n');
        tokens.push_back(token);
      }
      random.shuffle(tokens);
      model.vocabulary = Vocabulary(tokens);
    }
    model.save(folder / "a.lxf");
    const ModelFile back = ModelFile::open(folder / "a.lxf");
    REQUIRE(back.config == model.config);
    REQUIRE(back.vocabulary.tokens() == model.vocabulary.tokens());
    if (model.vocabulary.size() != 0) REQUIRE(tokenizer_json(back.tokenizer) == tokenizer_json(model.tokenizer));
    REQUIRE(back.metadata == model.metadata);
    REQUIRE(same_tensors(back.tensors, model.tensors));
    back.save(folder / "b.lxf");
    REQUIRE(read_file(folder / "b.lxf") == read_file(folder / "a.lxf"));
  }
}
