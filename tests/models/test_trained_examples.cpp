// SPDX-License-Identifier: MIT
#include "lexformer/models/trained_examples.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/expect_error.hpp"

using namespace lexformer;

TEST_CASE("trained examples: those that were kept, of several trainings, and no others") {
  std::vector<PairExample> first, second, other;
  for (int i = 0; i < 200; ++i) {
    first.push_back({cat("left ", i), cat("right ", i)});
    second.push_back({cat("left ", i), cat("right ", i + 1)});
    other.push_back({cat("left ", i, "right"), cat(" ", i)});
  }
  std::map<std::string, std::string> metadata;
  CHECK(are_trained(first, metadata, "m") == std::vector<std::uint8_t>(200, 0));
  keep_trained_examples(first, metadata);
  keep_trained_examples(first, metadata);
  CHECK(metadata.at("lexformer.trained_on").size() == 8 * 200);
  CHECK(are_trained(first, metadata, "m") == std::vector<std::uint8_t>(200, 1));
  CHECK(are_trained(second, metadata, "m") == std::vector<std::uint8_t>(200, 0));
  keep_trained_examples(second, metadata);
  CHECK(are_trained(first, metadata, "m") == std::vector<std::uint8_t>(200, 1));
  CHECK(are_trained(second, metadata, "m") == std::vector<std::uint8_t>(200, 1));
  CHECK(are_trained(other, metadata, "m") == std::vector<std::uint8_t>(200, 0));
}

TEST_CASE("trained examples: the form of docs/format.md, and too many of them") {
  std::map<std::string, std::string> metadata;
  keep_trained_examples(std::vector<PairExample>{{"a", "b"}}, metadata);
  // FNV-1a of "a", NUL, "b": by hand from the offset basis 0x811c9dc5 and the prime 0x01000193
  std::uint32_t hash = 0x811c9dc5u;
  for (const std::uint32_t c : {0x61u, 0u, 0x62u}) hash = (hash ^ c) * 0x01000193u;
  std::string digits;
  for (int i = 0; i < 8; ++i) digits += "0123456789abcdef"[hash >> (4 * i) & 15];
  CHECK(metadata.at("lexformer.trained_on") == digits);
  std::vector<PairExample> many;
  for (std::size_t i = 0; i <= most_trained_examples + 10; ++i) many.push_back({cat(i), ""});
  keep_trained_examples(many, metadata);
  CHECK(metadata.at("lexformer.trained_on").empty());
  keep_trained_examples(std::vector<PairExample>{{"a", "b"}}, metadata);  // the others are not forgotten
  CHECK(metadata.at("lexformer.trained_on").empty());
  for (const char* bad : {"1234567", "1234567g"}) {
    metadata["lexformer.trained_on"] = bad;
    expect_file_error([&] { are_trained(many, metadata, "m.lxf"); }, "m.lxf: lexformer.trained_on is not a list of hashes");
  }
}
