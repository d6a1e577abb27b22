// SPDX-License-Identifier: MIT
// fastText's .bin models (Bojanowski et al., "Enriching Word Vectors with Subword Information", TACL 2017; versions 11 and 12 of the file,
// as fastText 0.9.2 writes them): vectors of words and of their character n-grams, which give any word a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/words/vectors.hpp"

namespace lexformer {

/// A fastText model. Its table has a row for each known word, then `buckets` rows that all n-grams share, by hashing:
///   vector of a word = mean of its own row, if it is known, and of the rows of the n-grams of `<word>`
/// The n-grams have `shortest` to `longest` characters; `<` and `>` alone are none. Known words and n-grams are the same as in
/// `fasttext print-word-vectors`, bytes as they are: the case counts. The table stays in the bytes of the file, which are kept in memory.
class FastText {
 public:
  static constexpr const char* end_of_line = "</s>";  // a known word without n-grams

  /// Reads a file. Errors (file): as parse() and read_file().
  static FastText load(const std::string& path);
  /// Reads the bytes of a .bin file; `where` names them in messages. Errors (file): other bytes at the start; another version; a quantized
  /// or pruned model; a size that is out of range or does not fit the others; a number of the table is not finite; a word twice; the bytes
  /// end early, or go on after the end.
  static FastText parse(std::string bytes, const std::string& where);

  /// D
  std::size_t size() const { return size_; }
  /// The known words, the most frequent first.
  const std::vector<std::string>& words() const { return words_; }
  std::size_t shortest() const { return shortest_; }
  std::size_t longest() const { return longest_; }
  std::size_t buckets() const { return buckets_; }
  /// Of the file.
  std::uint32_t checksum() const { return checksum_; }

  /// The rows of the table whose mean is the vector of a word; none for an unknown word that is shorter than all n-grams.
  std::vector<std::size_t> rows(std::string_view word) const;
  /// (words, D); zeros for a word without rows.
  Tensor<float> vectors(std::span<const std::string> words) const;
  /// The known words and their vectors; zero vectors are left out. Errors (file): a word is not UTF-8.
  WordVectors known(bool lower_case = true) const;

 private:
  FastText() = default;

  std::shared_ptr<const std::string> bytes_;
  std::string where_;
  std::vector<std::string> words_;
  std::unordered_map<std::string_view, std::size_t, SeededHash> index_;  // of words_; the keys are in bytes_, which copies share
  std::size_t table_ = 0;                                                // the place of the table in bytes_
  std::size_t size_ = 0, shortest_ = 0, longest_ = 0, buckets_ = 0;
  std::uint32_t checksum_ = 0;
};

/// Whether a file begins as a .bin file of fastText does.
bool is_fasttext(const std::string& path);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>

#include "lexformer/core/parallel.hpp"
#include "lexformer/io/file.hpp"

namespace lexformer {

namespace detail {

/// The bytes of a model, from the first to the last.
class FastTextReader {
 public:
  FastTextReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }
  std::string_view take(std::size_t count, const char* what) {
    if (count > left()) fail_file(where_, "is cut off in ", what, ": ", left(), " bytes are left of the ", count, " that it needs");
    position_ += count;
    return bytes_.substr(position_ - count, count);
  }
  template <class Number>
  Number number(const char* what) {
    Number x;
    std::memcpy(&x, take(sizeof x, what).data(), sizeof x);
    return x;
  }
  std::size_t in(std::int64_t least, std::int64_t most, std::int64_t value, const char* what) const {
    if (value < least || value > most) fail_file(where_, what, " is ", value, ", expected ", least, " to ", most);
    return static_cast<std::size_t>(value);
  }
  std::string_view text(const char* what) {
    const std::size_t end = bytes_.find('\0', position_);
    if (end == bytes_.npos) fail_file(where_, "is cut off in ", what, ", which does not end");
    const auto found = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return found;
  }
  /// The bytes of a matrix of this shape, after a flag that tells whether it is quantized.
  std::string_view matrix(std::size_t rows, std::size_t columns, const char* what) {
    if (number<char>(what) != 0)
      fail_file(where_,
                "is quantized; only models of full precision are read (fasttext quantize writes .ftz beside the .bin it was made from)");
    const auto m = number<std::int64_t>(what), n = number<std::int64_t>(what);
    if (m < 0 || n < 0 || static_cast<std::size_t>(m) != rows || static_cast<std::size_t>(n) != columns)
      fail_file(where_, what, " is (", m, ", ", n, "), expected (", rows, ", ", columns, ")");
    std::size_t count = 0;
    if (__builtin_mul_overflow(rows, columns * sizeof(float), &count)) fail_file(where_, what, " is larger than memory");
    return take(count, what);
  }

 private:
  std::string_view bytes_;
  const std::string& where_;
  std::size_t position_ = 0;
};

inline constexpr std::string_view fasttext_magic("\xBA\x16\x4F\x2F", 4);

LEXFORMER_INLINE void check_fasttext_start(std::string_view start, const std::string& path) {
  if (!start.starts_with(fasttext_magic)) fail_file(path, "is no fastText model: it does not begin with the bytes ba 16 4f 2f");
}

/// FNV-1a as fastText computes it: bytes are signed.
inline std::uint32_t fasttext_hash(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5u;
  for (const char c : text)
    hash = (hash ^ static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<signed char>(c)))) * 0x01000193u;
  return hash;
}

}  // namespace detail

LEXFORMER_INLINE bool is_fasttext(const std::string& path) {
  char start[4] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == detail::fasttext_magic;
}

LEXFORMER_INLINE FastText FastText::load(const std::string& path) {
  return parse(read_file(path, max_file_bytes, detail::check_fasttext_start), path);
}

LEXFORMER_INLINE FastText FastText::parse(std::string bytes, const std::string& where) {
  FastText model;
  detail::check_fasttext_start(bytes, where);
  model.bytes_ = std::make_shared<const std::string>(std::move(bytes));
  model.where_ = where;
  model.checksum_ = crc32(*model.bytes_);
  detail::FastTextReader in(*model.bytes_, where);
  in.take(detail::fasttext_magic.size(), "the first bytes");
  const auto version = in.number<std::int32_t>("the version");
  if (version != 11 && version != 12) fail_file(where, "has version ", version, " of fastText's format, expected 11 or 12");

  // The options of the training, of which the sizes of vectors and n-grams count: dim, ws, epoch, minCount, neg, wordNgrams, loss, model,
  // bucket, minn, maxn, lrUpdateRate, t.
  std::int32_t options[12];
  for (std::int32_t& option : options) option = in.number<std::int32_t>("the options");
  in.number<double>("the options");
  constexpr std::int32_t supervised = 3;
  if (version == 11 && options[7] == supervised) options[10] = 0;  // these models had no character n-grams
  model.size_ = in.in(1, 1 << 16, options[0], "the size of the vectors (dim)");
  model.buckets_ = in.in(0, std::int64_t{1} << 31, options[8], "the number of rows of n-grams (bucket)");
  model.shortest_ = in.in(0, 1000, options[9], "the length of the shortest n-grams (minn)");
  model.longest_ = in.in(0, 1000, options[10], "the length of the longest n-grams (maxn)");
  if (model.longest_ > 0 && model.longest_ >= model.shortest_ && model.buckets_ == 0)
    fail_file(where, "has n-grams of up to ", model.longest_, " characters, but no rows for them (bucket is 0)");

  const auto entries = in.number<std::int32_t>("the sizes of the dictionary"),
             words = in.number<std::int32_t>("the sizes of the dictionary"),
             labels = in.number<std::int32_t>("the sizes of the dictionary");
  in.number<std::int64_t>("the sizes of the dictionary");  // tokens of the training text
  const auto pruned = in.number<std::int64_t>("the sizes of the dictionary");
  if (pruned >= 0) fail_file(where, "is pruned: it has no rows for most n-grams; only models of full precision are read");
  if (words < 0 || labels < 0 || std::int64_t{words} + labels != entries)
    fail_file(where, "has ", entries, " entries in the dictionary, but ", words, " words and ", labels, " labels");
  constexpr std::size_t bytes_of_entry = 1 + 8 + 1;  // at least: an empty word, its count, its kind
  if (static_cast<std::size_t>(entries) > in.left() / bytes_of_entry)
    fail_file(where, "is cut off in the dictionary: ", in.left(), " bytes are left for ", entries, " entries");
  for (std::int32_t i = 0; i < entries; ++i) {
    const auto word = in.text("the dictionary");
    in.number<std::int64_t>("the dictionary");  // count
    const auto kind = in.number<signed char>("the dictionary");
    if (kind != (i < words ? 0 : 1))
      fail_file(where, "entry ", i + 1, " of the dictionary is of kind ", +kind, ", expected ", i < words ? "0, a word" : "1, a label");
    if (i >= words) continue;
    model.words_.emplace_back(word);
    if (!model.index_.emplace(word, static_cast<std::size_t>(i)).second) fail_file(where, "has the word ", in_quotes(word), " twice");
  }

  const auto table = in.matrix(model.words_.size() + model.buckets_, model.size_, "the table");
  model.table_ = in.position() - table.size();
  // The other matrix: a row for each word or, of a classifier, each label.
  in.matrix(static_cast<std::size_t>(options[7] == supervised ? labels : words), model.size_, "the output matrix");
  if (in.left() > 0) fail_file(where, "has ", in.left(), " bytes after its end");
  for (std::size_t i = 0; i < table.size() / sizeof(float); ++i) {
    float x = 0;
    std::memcpy(&x, table.data() + i * sizeof x, sizeof x);
    if (!std::isfinite(x)) fail_file(where, "row ", i / model.size_ + 1, " of the table: a number is not finite");
  }
  return model;
}

LEXFORMER_INLINE std::vector<std::size_t> FastText::rows(std::string_view word) const {
  std::vector<std::size_t> rows;
  if (const auto known = index_.find(word); known != index_.end()) rows.push_back(known->second);
  if (word == end_of_line) return rows;
  std::string marked = "<";
  marked.append(word).push_back('>');
  const auto continues = [&](std::size_t i) { return i < marked.size() && (static_cast<unsigned char>(marked[i]) & 0xC0) == 0x80; };
  for (std::size_t first = 0; first < marked.size(); ++first) {
    if (continues(first)) continue;
    std::size_t end = first;
    for (std::size_t length = 1; length <= longest_ && end < marked.size(); ++length) {
      do ++end;
      while (continues(end));
      if (length < shortest_ || (length == 1 && (first == 0 || end == marked.size()))) continue;
      rows.push_back(words_.size() + detail::fasttext_hash(std::string_view(marked).substr(first, end - first)) % buckets_);
    }
  }
  return rows;
}

LEXFORMER_INLINE Tensor<float> FastText::vectors(std::span<const std::string> words) const {
  auto all = Tensor<float>::zeros({words.size(), size_});
  float* const out = all.mutable_data();
  parallel_for(words.size(), 64, [&](std::size_t begin, std::size_t end) {
    std::vector<float> row(size_);
    for (std::size_t w = begin; w < end; ++w) {
      const auto of_word = rows(words[w]);
      float* const sum = out + w * size_;
      for (const std::size_t r : of_word) {
        std::memcpy(row.data(), bytes_->data() + table_ + r * size_ * sizeof(float), size_ * sizeof(float));
        for (std::size_t j = 0; j < size_; ++j) sum[j] += row[j];
      }
      const float share = of_word.empty() ? 0.0f : static_cast<float>(1.0 / static_cast<double>(of_word.size()));
      for (std::size_t j = 0; j < size_; ++j) sum[j] *= share;
    }
  });
  return all;
}

LEXFORMER_INLINE WordVectors FastText::known(bool lower_case) const {
  return WordVectors(words_, vectors(words_), lower_case, where_, ErrorKind::file);
}

}  // namespace lexformer
#endif
