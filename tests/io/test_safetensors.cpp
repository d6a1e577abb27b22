// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "lexformer/core/random.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/safetensors.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {
std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}
void refused(const std::string& bytes, const std::string& part) {
  expect_file_error([&] { TensorFile::parse(bytes, "x.lxf"); }, "x.lxf: ");
  expect_file_error([&] { TensorFile::parse(bytes, "x.lxf"); }, part);
}
/// A file with one tensor 'a' with this dtype, shape and data_offsets.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets, std::size_t data) {
  return file_of(R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", std::string(data, '\0'));
}
const std::string pair = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]})";

/// binary16 by its definition.
double float16_value(unsigned bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1, fraction = bits & 0x3FFu;
  const int exponent = static_cast<int>((bits >> 10) & 31u);
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}
}  // namespace

TEST_CASE("half: every 16-bit pattern, and rounding to the nearest, ties to even") {
  for (unsigned b = 0; b < 65536; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const double value = float16_value(b);
    const float half = from_float16(bits), brain = bfloat16::from_bits(bits);
    if (std::isnan(value)) {
      CHECK(std::isnan(half));
      CHECK(std::isnan(from_float16(to_float16(half))));
    } else if (half != static_cast<float>(value) || std::signbit(half) != (b >= 32768) || to_float16(half) != bits) {
      FAIL_CHECK("float16 ", b);
    }
    if (std::isnan(brain) ? !std::isnan(float{bfloat16(brain)}) : bfloat16(brain).bits != bits) FAIL_CHECK("bfloat16 ", b);
  }
  // Halfway between two adjacent values, and just beside it. The value after the largest stands for infinity.
  for (unsigned b = 0; b < 0x7C00; ++b) {
    const float low = from_float16(static_cast<std::uint16_t>(b));
    const float high = b + 1 == 0x7C00 ? 65536.0f : from_float16(static_cast<std::uint16_t>(b + 1));
    const float middle = (low + high) / 2;
    const auto even = static_cast<std::uint16_t>(b + b % 2);
    const bool right = to_float16(middle) == even && to_float16(std::nextafterf(middle, 0.0f)) == b &&
                       to_float16(std::nextafterf(middle, 1e9f)) == b + 1 && to_float16(-middle) == (even | 0x8000u);
    if (!right) FAIL_CHECK("float16 above ", b);
  }
  for (unsigned b = 0; b < 0x7F80; ++b) {
    const auto middle = std::bit_cast<float>((b << 16) + 0x8000u);
    if (bfloat16(middle).bits != b + b % 2 || bfloat16(std::nextafterf(middle, 0.0f)).bits != b) FAIL_CHECK("bfloat16 above ", b);
  }
}

TEST_CASE("safetensors: what is written is read back, and written again gives the same bytes") {
  const TemporaryFolder folder;
  TensorFile file;
  const auto a = Tensor<float>::from({1.5f, -2, 3, 4, 5, 0.1f}, {2, 3});
  const auto d = Tensor<double>::from({0.1, -1e-300}, {2});
  file.set("z.float", a);
  file.set("double", d);
  file.set("half", a, Dtype::f16);
  file.set("brain", a, Dtype::bf16);
  file.set("wide", a, Dtype::f64);
  file.set("step", Tensor<std::int64_t>::from({-7}, {}));
  file.set("empty", Tensor<float>(Shape{0, 3}));
  file.metadata["key \"\n\xC3\xA9"] = "value \\ \t";
  file.write(folder / "a.lxf");
  const std::string bytes = read_file(folder / "a.lxf");

  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK((length + 8) % 64 == 0);
  CHECK(bytes.substr(8, 18) == R"({"__metadata__":{")");
  // Wide elements first; by name within a width.
  std::size_t position = 0;
  for (const char* name : {"\"double\"", "\"step\"", "\"wide\"", "\"empty\"", "\"z.float\"", "\"brain\"", "\"half\""}) {
    const auto found = bytes.find(name + std::string(":{"));
    CHECK(found > position);
    position = found;
  }

  const TensorFile back = TensorFile::read(folder / "a.lxf");
  CHECK(back.size() == 7);
  CHECK(back.metadata.at("key \"\n\xC3\xA9") == "value \\ \t");
  CHECK(back.metadata.at("format") == "pt");
  CHECK(back.get<float>("z.float").to_vector() == a.to_vector());
  CHECK(back.get<double>("double").to_vector() == d.to_vector());
  CHECK(back.get<double>("z.float").to_vector() == std::vector<double>{1.5, -2, 3, 4, 5, static_cast<double>(0.1f)});
  CHECK(back.get<float>("wide").to_vector() == a.to_vector());
  CHECK(back.get<float>("half").at(1, 2) == 0.0999755859375f);
  CHECK(back.get<float>("brain").at(1, 2) == 0.10009765625f);
  CHECK(back.get<std::int64_t>("step").item() == -7);
  CHECK(back.shape("empty") == Shape{0, 3});
  CHECK(back.dtype("brain") == Dtype::bf16);
  CHECK_FALSE(back.contains("none"));
  TensorFile same;
  Tensor<float> own = a.clone();
  same.set("x", own);
  same.copy_to("x", own.mutable_span());
  CHECK(own.to_vector() == a.to_vector());
  std::vector<double> values(a.size());
  back.copy_to<double>("half", values);
  CHECK(values[5] == 0.0999755859375);
  expect_file_error([&] { back.copy_to<double>("half", std::span(values).first(5)); },
                    "tensor 'half' has shape (2, 3), expected 5 elements");
  expect_file_error([&] { back.get<float>("none"); }, "a.lxf: there is no tensor 'none'");
  expect_file_error([&] { back.get<float>("step"); }, "tensor 'step' is of I64, expected F32");
  expect_file_error([&] { back.get<std::int64_t>("half"); }, "tensor 'half' is of F16, expected I64");
  back.write(folder / "b.lxf");
  CHECK(read_file(folder / "b.lxf") == bytes);

  TensorFile other = back;
  other.rename("half", "halves");
  CHECK(other.contains("halves"));
  CHECK(back.contains("half"));
  expect_file_error([&] { other.rename("none", "some"); }, "there is no tensor 'none'");
  expect_file_error([&] { other.rename("halves", "step"); }, "two tensors would get the name 'step'");
  expect_file_error([&] { other.merge(back); }, "the tensor 'brain' is in two files");

  // Values that the stored or the requested type cannot represent.
  expect_error(
      ErrorKind::numeric, [&] { file.set("x", Tensor<float>::from({70000.0f}), Dtype::f16); }, "70000 is too large for F16");
  file.set("x", Tensor<double>::from({1e300}));
  expect_file_error([&] { file.get<float>("x"); }, "tensor 'x' holds 1e+300");
  expect_error(
      ErrorKind::failure, [&] { file.set("x", Tensor<float>()); }, "is undefined");
  expect_error(
      ErrorKind::failure, [&] { file.set(std::string(513, 'n'), a); }, "not a possible name");
  expect_error(
      ErrorKind::failure, [&] { file.set("__metadata__", a); }, "not a possible name");
  CHECK_NOTHROW(file.set(std::string(512, 'n'), a));
  expect_error(
      ErrorKind::failure, [&] { file.set("x", Tensor<std::int64_t>::from({1}), Dtype::f32); }, "'x': cannot be stored as F32");
  expect_error(
      ErrorKind::failure, [&] { file.set("x", a, Dtype::i64); }, "'x': cannot be stored as I64");
  file.metadata["long"] = std::string(64u << 20, 'm');
  expect_error(
      ErrorKind::failure, [&] { file.write(folder / "long.lxf"); }, "long.lxf: the names and metadata fill 6711");
  CHECK_FALSE(std::filesystem::exists(folder / "long.lxf"));
}

TEST_CASE("safetensors: the bytes of an element of each type") {
  const std::map<std::string, std::size_t> bytes{{"F64", 8},  {"I64", 8}, {"U64", 8}, {"F32", 4}, {"I32", 4}, {"U32", 4}, {"F16", 2},
                                                 {"BF16", 2}, {"I16", 2}, {"U16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  CHECK(bytes.size() == std::size(dtype_table));
  for (const auto& [dtype, width] : bytes) {
    const std::string end = std::to_string(3 * width);
    CHECK_NOTHROW(TensorFile::parse(one(dtype, "[3]", "[0," + end + "]", 3 * width), "x.lxf"));
    refused(one(dtype, "[4]", "[0," + end + "]", 3 * width), "of " + dtype + " needs " + std::to_string(4 * width) + " bytes");
  }
}

TEST_CASE("safetensors: files of other writers (no metadata, unaligned, any order) are read") {
  std::string data(13, '\0');
  const float value = 2.5f;
  std::memcpy(data.data() + 1, &value, 4);
  const auto file = TensorFile::parse(
      file_of(R"({"f":{"dtype":"F32","shape":[],"data_offsets":[1,5]},"u":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
              R"("b":{"dtype":"BOOL","shape":[2,4],"data_offsets":[5,13]},"e":{"dtype":"F32","shape":[0],"data_offsets":[5,5]}} )",
              data),
      "x");
  CHECK(file.get<float>("f").item() == 2.5f);
  CHECK(file.names() == std::vector<std::string>{"b", "e", "f", "u"});
  CHECK(TensorFile::parse(file_of("{}", ""), "x").size() == 0);
}

TEST_CASE("safetensors: damaged and hostile files") {
  const std::string good = file_of("{" + pair + "}", std::string(12, '\0'));
  CHECK_NOTHROW(TensorFile::parse(good, "x.lxf"));
  for (std::size_t n = 0; n < good.size(); ++n) refused(good.substr(0, n), "x.lxf: ");  // truncated anywhere
  refused(good + "tail", "4 bytes follow the last tensor");
  refused(good + good, "bytes follow the last tensor");

  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{7}, std::uint64_t{1} << 63, std::uint64_t{good.size()}}) {
    std::string bytes = good;
    std::memcpy(bytes.data(), &length, 8);
    refused(bytes, "header length");
  }
  refused("left\tright\tlabel\na\tb\t1\n", "x.lxf: is a text, perhaps a table, and no model");
  std::string many = "{";
  for (int i = 0; i < 230000; ++i) many += cat(i == 0 ? "" : ",", "\"", i, "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}");
  refused(file_of(many + "}", ""), "header: has more than 1000000 keys, values and brackets");  // it took 20 s
  refused(file_of(" {" + pair + "}", std::string(12, '\0')), "does not begin with '{'");
  refused(file_of("[]" + std::string(10, ' '), ""), "does not begin with '{'");
  refused(file_of("{" + pair + "} {}", std::string(12, '\0')), "header: not JSON: line 1");
  refused(file_of("{" + pair + "}" + std::string("\0PK", 3), std::string(12, '\0')), "is zero");
  refused(file_of("{\"\xFF\":1}", "12345678"), "header: not JSON");
  refused(file_of("{\"a\":[[[[[]]]]]}", ""), "more than 3 arrays and objects");
  refused(file_of("{\"a\":" + std::string(100000, '['), ""), "more than 3 arrays and objects");

  // Duplicate keys: a tensor, a field, a text.
  refused(file_of("{" + pair + "," + pair + "}", std::string(12, '\0')), "the key 'a' occurs twice");
  refused(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4],"shape":[1]}})", "1234"), "the key 'shape' occurs twice");
  refused(file_of(R"({"__metadata__":{"k":"1","k":"2"}})", ""), "the key 'k' occurs twice");
  refused(file_of(R"({"__metadata__":{"k":1}})", ""), "'k' is number, expected a text");
  refused(file_of(R"({"__metadata__":["k"]})", ""), "__metadata__ is no JSON object");

  // Overlap; gap at the front, in the middle, at the end.
  const auto two = [](const std::string& a, const std::string& b, std::size_t size) {
    return file_of(
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)" + a + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}",
        std::string(size, '\0'));
  };
  refused(two("[0,8]", "[4,8]", 8), "tensor 'b' overlaps the one before it, at byte 4 of the data, expected 8");
  refused(two("[0,8]", "[0,4]", 8), "overlaps the one before it");
  refused(two("[4,12]", "[12,16]", 16), "tensor 'a' follows a hole");
  refused(two("[0,8]", "[12,16]", 16), "tensor 'b' follows a hole, at byte 12 of the data, expected 8");
  refused(two("[0,8]", "[8,12]", 16), "4 bytes follow the last tensor");
  refused(file_of("{}", "x"), "1 bytes follow the last tensor");

  // Ranges.
  refused(one("F32", "[2]", "[0,8]", 4), "no range within the 4 bytes");
  refused(one("F32", "[2]", "[8,0]", 8), "no range");
  refused(one("F32", "[2]", "[18446744073709551608,0]", 8), "no range");
  refused(one("F32", "[2]", "[0]", 8), "no range");
  refused(one("F32", "[2]", "[0,8,8]", 8), "no range");
  refused(one("F32", "[2]", "{}", 8), "data_offsets is missing or no array");
  refused(one("F32", "[2]", "[0,4]", 4), "shape (2,) of F32 needs 8 bytes, its data_offsets give 4");
  refused(one("F16", "[2]", "[0,8]", 8), "needs 4 bytes");
  refused(two("[0,8]", "[8,14]", 14), "shape (1,) of F32 needs 4 bytes, its data_offsets give 6");

  // Shapes: products that overflow, also to zero; negative, fractional, too many dimensions.
  refused(one("F32", "[4294967296,4294967296]", "[0,0]", 0), "overflow");
  refused(one("F32", "[4611686018427387904]", "[0,0]", 0), "overflow");
  refused(one("F32", "[18446744073709551615,18446744073709551615,0]", "[0,0]", 0), "overflow");
  refused(one("F32", "[0,18446744073709551615,18446744073709551615]", "[0,0]", 0), "overflow");
  refused(one("F32", "[18446744073709551616]", "[0,0]", 0), "expected a whole number");
  refused(one("F32", "[-1]", "[0,4]", 4), "shape holds -1, expected a whole number");
  refused(one("F32", "[1.0]", "[0,4]", 4), "shape holds 1.0");
  refused(one("F32", "[1e0]", "[0,4]", 4), "shape holds");
  refused(one("F32", "[\"1\"]", "[0,4]", 4), "shape holds '1'");
  refused(one("F32", "[true]", "[0,4]", 4), "shape holds true");
  refused(one("F32", "[1]", "[0.0,4]", 4), "data_offsets holds 0.0");
  refused(one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]", 4), "rank 9 is more than 8");
  CHECK_NOTHROW(TensorFile::parse(one("F32", "[1,1,1,1,1,1,1,1]", "[0,4]", 4), "x.lxf"));
  refused(one("F32", "[1099511627776]", "[0,4398046511104]", 4), "no range");  // terabytes requested by a small file
  refused(one("F8_E4M3", "[4]", "[0,4]", 4), "unknown dtype 'F8_E4M3'");
  refused(one("f32", "[1]", "[0,4]", 4), "unknown dtype 'f32'");
  refused(file_of(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "1234"), "expected an object of dtype, shape and data_offsets");
  refused(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", "1234"), "expected an object of");
  refused(file_of(R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", "1234"), "'dtype' is 1, expected a text");
  refused(file_of(R"({"a":[]})", ""), "expected an object of");
  refused(file_of("{\"" + std::string(513, 'n') + R"(":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "1234"), "more than 512 bytes");
}

TEST_CASE("safetensors: a sparse file that holds more than its header says is refused before it is read") {
  const std::string path = (std::filesystem::temp_directory_path() / "lexformer-sparse-file.lxf").string();
  std::ofstream(path, std::ios::binary) << file_of("{}", "");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 42);  // more than fits into memory
  expect_file_error([&] { TensorFile::read(path); }, "4398046511094 bytes follow the last tensor");
  std::filesystem::remove(path);
}

TEST_CASE("safetensors: values that are not finite, checksums") {
  const TemporaryFolder folder;
  TensorFile file;
  const float inf = std::numeric_limits<float>::infinity();
  file.set("a", Tensor<float>::from({1, inf, std::nanf("")}));
  file.set("b", Tensor<float>::from({1, -inf}), Dtype::bf16);
  file.set("c", Tensor<float>::from({1, 2}), Dtype::f16);
  file.write(folder / "bad.lxf");
  expect_file_error([&] { TensorFile::read(folder / "bad.lxf"); },
                    "bad.lxf: 3 values are NaN or infinite, in 2 of 3 tensors, first in 'a'");
  CHECK(TensorFile::read(folder / "bad.lxf", {.allow_non_finite = true}).get<float>("b").at(1) == -inf);

  TensorFile fine;
  fine.set("a", Tensor<float>::from({1, 2}));
  fine.write(folder / "fine.lxf");
  const std::string bytes = read_file(folder / "fine.lxf");
  std::string flipped = bytes;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  refused(flipped, "tensor 'a': its checksum does not fit");
  const auto sums = [](const std::string& text) {
    return file_of("{\"__metadata__\":{\"lexformer.crc32\":" + Json(text).dump() + "}," + pair + "}", std::string(12, '\0'));
  };
  refused(sums("{\"a\":1}"), "lexformer.crc32: has 1 entries for 2 tensors");
  refused(sums("{\"c\":1,\"d\":1}"), "lexformer.crc32: the key 'a' is missing");
  refused(sums("{\"a\":4294967296,\"b\":1}"), "lexformer.crc32: 'a' is 4294967296");
  refused(sums("x"), "lexformer.crc32: not JSON");
  CHECK_NOTHROW(TensorFile::parse(sums(cat("{\"a\":", crc32(std::string(8, '\0')), ",\"b\":", crc32(std::string(4, '\0')), "}")), "x"));
}

TEST_CASE("safetensors: 20,000 random changes of a good file are read or refused, nothing else") {
  TensorFile file;
  file.set("a", Tensor<float>::from({1, 2, 3, 4}, {2, 2}));
  file.set("b", Tensor<std::int64_t>::from({1}));
  file.metadata["k"] = "v";
  const TemporaryFolder folder;
  file.write(folder / "x");
  const std::string good = read_file(folder / "x");
  RandomStream random(1, random_site::user);
  std::size_t read = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string bytes = good;
    for (std::uint64_t change = 1 + random.below(3); change > 0; --change) {
      const std::size_t at = random.below(2) == 0 ? random.below(bytes.size()) : 8 + random.below(bytes.size() - 8);
      static const std::string likely = "0123456789[]{},:\"ab -.e";
      const char c = random.below(2) == 0 ? likely[random.below(likely.size())] : static_cast<char>(random.below(256));
      const auto kind = random.below(4);
      if (kind <= 1) bytes[at] = c;
      if (kind == 2) bytes.insert(at, 1, c);
      if (kind == 3) bytes.erase(at, 1);
    }
    try {
      const auto parsed = TensorFile::parse(bytes, "x", {.allow_non_finite = true});
      for (const auto& name : parsed.names()) CHECK(parsed.bytes(name).size() <= bytes.size());
      ++read;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::file) FAIL_CHECK(error.what());
    }
  }
  CHECK(read > 0);
  CHECK(read < 10000);
}
