// SPDX-License-Identifier: MIT
// Mutates weight files at the relevant places: numbers, types and names in the header, its length, the bytes of the data. Random bytes
// alone would rarely pass the header's syntax and checksums; after half of the mutations these are repaired.
#include <algorithm>
#include <random>

#include "fuzz/fuzz.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/safetensors.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);

using namespace lexformer;

namespace {

using Random = std::minstd_rand;
std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

struct Parts {
  std::string header, data;
};

/// The maximal runs of characters for which `belongs` is true: (begin, length).
template <class Belongs>
std::vector<std::pair<std::size_t, std::size_t>> pieces(const std::string& text, Belongs belongs) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0, begin = 0; i <= text.size(); ++i) {
    if (i < text.size() && belongs(text[i])) continue;
    if (i > begin) found.emplace_back(begin, i - begin);
    begin = i + 1;
  }
  return found;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '.'; }

/// Replaces a number in the text (in a shape, in data_offsets, in the config).
void change_number(std::string& text, std::size_t data_bytes, Random& random) {
  const auto numbers = pieces(text, is_digit);
  if (numbers.empty()) return;
  const auto [begin, length] = numbers[below(random, numbers.size())];
  static const std::vector<std::string> hard = {"0",
                                                "1",
                                                "2",
                                                "3",
                                                "7",
                                                "-1",
                                                "1.0",
                                                "1e3",
                                                "255",
                                                "65536",
                                                "2147483647",
                                                "2147483648",
                                                "4294967295",
                                                "4294967296",
                                                "1073741824",
                                                "4611686018427387904",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "18446744073709551615",
                                                "18446744073709551616"};
  const std::string old = text.substr(begin, std::min<std::size_t>(length, 18));
  const std::size_t value = std::stoull(old);
  const std::string near[] = {std::to_string(value + 1), std::to_string(value - 1),  std::to_string(value * 2),
                              std::to_string(value / 2), std::to_string(data_bytes), std::to_string(value + 4)};
  text.replace(begin, length, below(random, 2) == 0 ? hard[below(random, hard.size())] : near[below(random, std::size(near))]);
}

/// Replaces a word of the text by another word or a type: keys disappear or occur twice, types no longer match.
void change_word(std::string& text, Random& random) {
  const auto words = pieces(text, is_word);
  if (words.empty()) return;
  const auto [begin, length] = words[below(random, words.size())];
  const auto [from, size] = words[below(random, words.size())];
  const std::string other = below(random, 3) == 0 ? dtype_table[below(random, std::size(dtype_table))].name : text.substr(from, size);
  text.replace(begin, length, other);
}

/// Duplicates or removes a stretch between brackets or commas.
void change_stretch(std::string& text, Random& random) {
  const auto edges = pieces(text, [](char c) { return c == '{' || c == '}' || c == '[' || c == ']' || c == ','; });
  if (edges.size() < 2) return;
  const std::size_t first = below(random, edges.size() - 1), last = std::min(edges.size() - 1, first + 1 + below(random, 6));
  const std::size_t begin = edges[first].first, end = edges[last].first;
  if (below(random, 2) == 0) {
    text.insert(end, text.substr(begin, end - begin));
  } else {
    text.erase(begin, end - begin);
  }
}

/// Sets offsets that follow from the shapes, data of that size and correct checksums. A header that is not JSON is left unchanged.
void repair(Parts& parts) {
  Json header = Json::parse(parts.header, nullptr, false);
  if (!header.is_object()) return;
  std::size_t position = 0;
  Json sums = Json::object();
  for (auto& [name, tensor] : header.items()) {
    if (name == "__metadata__" || !tensor.is_object() || !tensor.contains("dtype") || !tensor.contains("shape")) continue;
    std::size_t bytes = 1;
    for (const auto& info : dtype_table)
      if (tensor["dtype"] == info.name) bytes = info.width;
    for (const Json& d : tensor["shape"])
      if (d.is_number_unsigned()) bytes *= d.get<std::size_t>();
    if (bytes > 4096) return;
    tensor["data_offsets"] = {position, position + bytes};
    parts.data.resize(std::max(parts.data.size(), position + bytes));
    sums[name] = crc32(std::string_view(parts.data).substr(position, bytes));
    position += bytes;
  }
  parts.data.resize(position);
  if (const auto found = header.find("__metadata__"); found != header.end() && found->is_object()) {
    Json& metadata = *found;
    if (metadata.contains("lexformer.crc32")) metadata["lexformer.crc32"] = sums.dump();
    if (metadata.contains("lexformer.vocab") && metadata["lexformer.vocab"].is_string())
      metadata["lexformer.vocab_crc32"] = std::to_string(crc32(metadata["lexformer.vocab"].get_ref<const std::string&>()));
  }
  parts.header = header.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void mutate_bytes(std::string& bytes, std::size_t max_size) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(size, max_size));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  Random random(seed);
  std::uint64_t length = 0;
  if (size >= 8) std::memcpy(&length, data, 8);
  if (size < 10 || below(random, 8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view rest(reinterpret_cast<const char*>(data) + 8, size - 8);
  length = std::min<std::uint64_t>(length, rest.size());
  Parts parts{std::string(rest.substr(0, length)), std::string(rest.substr(length))};
  for (std::size_t changes = 1 + below(random, 3); changes > 0; --changes) {
    const auto kind = below(random, 8);
    if (kind <= 2) change_number(parts.header, parts.data.size(), random);
    if (kind == 3) change_word(parts.header, random);
    if (kind == 4) change_stretch(parts.header, random);
    if (kind == 5) mutate_bytes(parts.header, parts.header.size() + 64);
    if (kind == 6) mutate_bytes(parts.data, parts.data.size() + 16);
    if (kind == 7) parts.data.resize(below(random, 2 * parts.data.size() + 8));
  }
  if (below(random, 2) == 0) repair(parts);
  length = parts.header.size();
  if (below(random, 32) == 0) {
    constexpr std::uint64_t hard[] = {0, 1, 2, 1u << 24, (1u << 24) + 1, 1ull << 32, 1ull << 63, ~0ull - 7, ~0ull};
    const std::uint64_t pick = below(random, std::size(hard) + 3);
    length = pick < std::size(hard) ? hard[pick] : length + pick - std::size(hard) - 1;
  }
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  out += parts.header + parts.data;
  if (out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}
