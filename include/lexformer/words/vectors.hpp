// SPDX-License-Identifier: MIT
// Word vectors: text files in the form of word2vec and of GloVe, .npy with a word list, the word table of a model (docs/format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/text/vocabulary.hpp"

namespace lexformer {

/// Words and one vector for each; words are distinct, vectors are finite and not zero.
class WordVectors {
 public:
  struct Neighbor {
    std::size_t row;
    double cosine;
  };

  WordVectors() = default;

  /// Row i of `values` (words, dimension) is the vector of words[i]. With `lower_case` words are converted to lower case. The first of
  /// equal words stays. `where` begins error messages of this kind. Errors: no words; the shape is not (number of words, 1 or more); a word
  /// is empty, no UTF-8, or has a space, tab or line break; a vector is not finite, or zero. Of a file (kind file), zero vectors are left
  /// out. unread: lines of the file that were left out before.
  WordVectors(std::vector<std::string> words, Tensor<float> values, bool lower_case = true, const std::string& where = "WordVectors",
              ErrorKind kind = ErrorKind::failure, std::size_t unread = 0);

  std::size_t size() const { return words_.size(); }
  std::size_t dimension() const { return values_.defined() ? values_.dim(1) : 0; }
  /// The number of rows that were left out, because an earlier row has the same word.
  std::size_t dropped() const { return dropped_; }
  /// The number of rows of the file that were left out, because the vector is zero or the word has spaces.
  std::size_t left_out() const { return left_out_; }
  const std::vector<std::string>& words() const { return words_.tokens(); }
  const Tensor<float>& values() const { return values_; }

  /// The row of a word, which is compared as it is: in lower case if the words were converted.
  std::optional<std::size_t> find(std::string_view word) const;

  /// The vector of a row. Errors: there is no such row.
  std::span<const float> row(std::size_t row) const;

  /// The k rows (all, if there are fewer) of largest cosine dot(row, query) / (|row| |query|), in descending order; of equal ones the
  /// lower row first. The result does not depend on the number of threads. Errors: the query has another size, is zero or not finite.
  std::vector<Neighbor> nearest(std::span<const float> query, std::size_t k) const;

  /// The mean length of the vectors.
  double mean_norm() const;

  /// Number, dimension and a checksum of words and vectors: `21719 words of 384 numbers, crc32 01234567`.
  std::string describe() const;

  /// Writes vectors_text() of all words atomically.
  void write(const std::string& path) const;

 private:
  Vocabulary words_;
  Tensor<float> values_;
  std::vector<double> norms_;
  /// Keeps these rows.
  void keep(std::vector<std::string>& words, const std::vector<std::size_t>& kept);

  std::size_t dropped_ = 0, left_out_ = 0;
};

struct VectorOptions {
  bool lower_case = true;   ///< convert words to lower case
  std::string word_list{};  ///< for .npy: a file with one word per line, as many as the array has rows
};

/// The mistake in a word of a file of vectors: empty, not UTF-8, a space, a tab or a line break. Empty: none.
std::string word_fault(std::string_view word);

/// Word vectors as text: a line with number and dimension, then in each line a word and its numbers, separated by spaces. Numbers have as
/// few digits as read back to the same float. values (words, dimension). A word may occur more than once.
std::string vectors_text(std::span<const std::string> words, const Tensor<float>& values);

/// Parses text in the form of word2vec (a first line of two whole numbers: how many vectors, and their dimension) or of GloVe (without).
/// Each other line is a word and its numbers, separated by spaces or tabs. Lines whose word has spaces, as some of GloVe, and zero vectors
/// are left out. Without a first line, most of the first lines tell the dimension. `where` begins error messages, followed by the line.
/// Errors (kind file): a row of another length; text that is not a finite number; a wrong number of vectors in the first line; a word that
/// is empty or no UTF-8; no vectors.
WordVectors parse_vectors(std::string_view text, const std::string& where, bool lower_case = true);

/// Parses the binary form of word2vec: a line with number and dimension, then for each word its bytes, a space and its floats, and perhaps
/// a line feed. Words that are no UTF-8 are left out. Errors (kind file): the text is cut off or goes on; a number is not finite.
WordVectors parse_binary_vectors(std::string_view bytes, const std::string& where, bool lower_case = true);

/// Reads a text file (see parse_vectors), the binary form of word2vec with the extension .bin, or with the extension .npy a float array
/// (words, dimension) and its word list. Errors: as parse_vectors and load_npy; the array has another shape, the word list another
/// number of lines (kind file); .npy without word list, or another file with one (kind usage).
WordVectors read_vectors(const std::string& path, const VectorOptions& options = {});

/// The rows of a model's word table (tokens or more, dimension) whose token is a word: two or more letters a-z or A-Z and nothing else, so
/// neither `##` pieces nor special tokens. `where` names the model in error messages. Errors (kind file): the table has fewer rows than the
/// vocabulary has tokens, or another rank; no token is a word; a row is zero or not finite.
WordVectors whole_word_vectors(const Vocabulary& vocabulary, const Tensor<float>& table, const std::string& where, bool lower_case = true);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <iterator>
#include <system_error>
#include <utility>

#include "lexformer/core/parallel.hpp"
#include "lexformer/data/lines.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/npy.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// dot(a, b). Several sums, so that the compiler can use vector instructions; their number is fixed.
inline double dot(const float* a, const float* b, std::size_t size) {
  constexpr std::size_t lanes = 8;
  double sums[lanes] = {};
  const auto product = [&](std::size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); };
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += product(i + lane);
  for (; i < size; ++i) sums[0] += product(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// The indices of those words that no earlier one is equal to, in order.
inline std::vector<std::size_t> first_of_equal(const std::vector<std::string>& words) {
  const std::size_t count = words.size();
  const Vocabulary reversed(std::vector<std::string>(words.rbegin(), words.rend()));  // it finds the last of equal tokens
  std::vector<std::size_t> kept;
  kept.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    if (static_cast<std::size_t>(reversed.id(words[i]).value_or(-1)) == count - 1 - i) kept.push_back(i);
  return kept;
}

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Reads `word number number ...`. Returns what is wrong with the line; empty: nothing.
inline std::string parse_vector(std::string_view line, std::string_view& word, std::span<float> row) {
  word = line.substr(0, line.find_first_of(" \t"));
  if (std::string fault = word_fault(word); !fault.empty()) return fault;
  const char *p = line.data() + word.size(), *const end = line.data() + line.size();
  for (std::size_t i = 0;; ++i) {
    while (p != end && is_blank(*p)) ++p;
    if (p == end && i == row.size()) break;
    if (p == end || i == row.size()) return cat("expected ", row.size(), " numbers after the word, found ", split_fields(line).size() - 1);
    auto got = std::from_chars(p, end, row[i]);
    if (got.ec == std::errc::result_out_of_range) {  // too large, or so small that it is 0
      double wide = 0;
      got = std::from_chars(p, end, wide);
      row[i] = static_cast<float>(wide);
    }
    if (got.ec != std::errc() || (got.ptr != end && !is_blank(*got.ptr)) || !std::isfinite(row[i]))
      return cat("number ", i + 1, " is ", in_quotes({p, std::find_if(p, end, is_blank)}), ", expected a finite number");
    p = got.ptr;
  }
  return {};
}

/// Whether the word of a line has spaces: the last `dimension` fields are numbers, and not all between them and the first field.
inline bool has_spaced_word(std::string_view line, std::size_t dimension) {
  const auto fields = split_fields(line);
  if (fields.size() < dimension + 2) return false;
  const auto is_number = [](std::string_view field) {
    double x = 0;
    const auto got = std::from_chars(field.data(), field.data() + field.size(), x);
    return got.ec == std::errc() && got.ptr == field.data() + field.size() && std::isfinite(x);
  };
  const auto numbers = fields.end() - static_cast<std::ptrdiff_t>(dimension);
  return std::all_of(numbers, fields.end(), is_number) && !std::all_of(fields.begin() + 1, numbers, is_number);
}

/// The number of numbers that most of these lines have; the first of equally frequent ones.
inline std::size_t usual_dimension(std::span<const std::string_view> lines) {
  std::vector<std::size_t> counts;
  for (const std::string_view line : lines) counts.push_back(std::max<std::size_t>(split_fields(line).size(), 1) - 1);
  const auto frequency = [&](std::size_t n) { return std::count(counts.begin(), counts.end(), n); };
  return *std::max_element(counts.begin(), counts.end(), [&](std::size_t a, std::size_t b) { return frequency(a) < frequency(b); });
}

/// Removes the rows without a word; returns their number.
inline std::size_t erase_empty(std::vector<std::string>& words, Tensor<float>& values) {
  const auto unread = static_cast<std::size_t>(std::count(words.begin(), words.end(), ""));
  if (unread == 0) return 0;
  Tensor<float> rows(Shape{words.size() - unread, values.dim(1)});
  float* out = rows.mutable_data();
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!words[i].empty()) out = std::copy_n(values.data() + i * values.dim(1), values.dim(1), out);
  values = rows;
  std::erase(words, "");
  return unread;
}

/// A first line of two whole numbers.
struct VectorHeader {
  std::size_t count = 0, dimension = 0;
};
inline std::optional<VectorHeader> parse_vector_header(std::string_view line) {
  const auto fields = split_fields(line);
  VectorHeader header;
  const auto whole = [](std::string_view field, std::size_t& out) {
    const auto got = std::from_chars(field.data(), field.data() + field.size(), out);
    return got.ec == std::errc() && got.ptr == field.data() + field.size();
  };
  if (fields.size() == 2 && whole(fields[0], header.count) && whole(fields[1], header.dimension)) return header;
  return std::nullopt;
}

inline std::vector<std::string> read_word_list(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::string> words;
  for (const std::string_view line : split_lines(text)) {
    if (const std::string fault = word_fault(line); !fault.empty()) fail_file(cat(path, ": line ", words.size() + 1), fault);
    words.emplace_back(line);
  }
  return words;
}

}  // namespace detail

LEXFORMER_INLINE std::string word_fault(std::string_view word) {
  if (word.empty()) return "the word is empty";
  if (const std::size_t invalid = find_invalid_utf8(word); invalid != word.npos) return cat("byte ", invalid + 1, " is not UTF-8");
  if (word.find_first_of(" \t\r\n") != word.npos) return cat("the word ", in_quotes(word), " has a space, a tab or a line break");
  return {};
}

LEXFORMER_INLINE WordVectors::WordVectors(std::vector<std::string> words, Tensor<float> values, bool lower, const std::string& where,
                                          ErrorKind kind, std::size_t unread)
    : values_(std::move(values)), left_out_(unread) {
  const auto stop = [&](const auto&... parts) { throw Error(kind, cat(where, ": ", parts...)); };
  if (words.empty()) stop("there are no word vectors");
  if (values_.rank() != 2 || values_.dim(0) != words.size() || values_.dim(1) == 0)
    stop("the vectors have shape ", values_.shape(), ", expected (", words.size(), ", dimension): one row for each word");
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const std::string fault = word_fault(words[i]); !fault.empty()) stop("word ", i + 1, ": ", fault);
    if (lower) words[i] = lexformer::lower_case(words[i]);
  }
  norms_.resize(words.size());
  parallel_for(norms_.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* x = values_.data() + i * dimension();
      norms_[i] = std::sqrt(detail::dot(x, x, dimension()));  // the squares of floats are neither too large nor too small for a double
    }
  });
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!std::isfinite(norms_[i]) || (norms_[i] == 0 && kind != ErrorKind::file))
      stop("row ", i + 1, ", ", in_quotes(words[i]), ": ", norms_[i] == 0 ? "the vector is zero" : "a number is not finite");
    if (norms_[i] != 0) kept.push_back(i);
  }
  if (kept.empty()) stop("all vectors are zero");
  left_out_ += words.size() - kept.size();
  keep(words, kept);
  kept = detail::first_of_equal(words);
  dropped_ = words.size() - kept.size();
  keep(words, kept);
  words_ = Vocabulary(std::move(words));
}

LEXFORMER_INLINE void WordVectors::keep(std::vector<std::string>& words, const std::vector<std::size_t>& kept) {
  if (kept.size() == words.size()) return;
  Tensor<float> rows(Shape{kept.size(), dimension()});
  float* out = rows.mutable_data();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    std::memcpy(out + i * dimension(), values_.data() + kept[i] * dimension(), dimension() * sizeof(float));
    norms_[i] = norms_[kept[i]];
    if (kept[i] != i) words[i] = std::move(words[kept[i]]);
  }
  norms_.resize(kept.size());
  words.resize(kept.size());
  values_ = rows;
}

LEXFORMER_INLINE std::optional<std::size_t> WordVectors::find(std::string_view word) const {
  const auto id = words_.id(word);
  return id ? std::optional(static_cast<std::size_t>(*id)) : std::nullopt;
}

LEXFORMER_INLINE std::span<const float> WordVectors::row(std::size_t row) const {
  if (row >= size()) fail("WordVectors", "row ", row, " is out of range; there are ", size());
  return values_.span().subspan(row * dimension(), dimension());
}

LEXFORMER_INLINE std::vector<WordVectors::Neighbor> WordVectors::nearest(std::span<const float> query, std::size_t k) const {
  if (query.size() != dimension()) fail("WordVectors::nearest", "the query has ", query.size(), " numbers, expected ", dimension());
  const double norm = std::sqrt(detail::dot(query.data(), query.data(), query.size()));
  if (norm == 0 || !std::isfinite(norm)) fail("WordVectors::nearest", "the query is zero or not finite, so it has no cosines");
  std::vector<Neighbor> all(size());
  parallel_for(size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      all[i] = {i, detail::dot(values_.data() + i * dimension(), query.data(), dimension()) / (norms_[i] * norm)};
  });
  k = std::min(k, all.size());
  std::partial_sort(all.begin(), std::next(all.begin(), static_cast<std::ptrdiff_t>(k)), all.end(),
                    [](const auto& a, const auto& b) { return a.cosine != b.cosine ? a.cosine > b.cosine : a.row < b.row; });
  all.resize(k);
  return all;
}

LEXFORMER_INLINE double WordVectors::mean_norm() const {
  double sum = 0;
  for (const double norm : norms_) sum += norm;
  return size() == 0 ? 0 : sum / static_cast<double>(size());
}

LEXFORMER_INLINE std::string WordVectors::describe() const {
  std::uint32_t sum = 0;
  for (const std::string& word : words()) sum = crc32(word + "\n", sum);
  if (size() > 0) sum = crc32({reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(float)}, sum);
  return cat(size(), " words of ", dimension(), " numbers, crc32 ", std::hex, std::setw(8), std::setfill('0'), sum);
}

LEXFORMER_INLINE std::string vectors_text(std::span<const std::string> words, const Tensor<float>& values) {
  if (values.rank() != 2 || values.dim(0) != words.size()) fail("vectors_text", words.size(), " words for vectors ", values.shape());
  std::string text = cat(words.size(), ' ', values.dim(1), '\n');
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += words[i];
    for (const float x : values.span().subspan(i * values.dim(1), values.dim(1))) {
      char digits[32];
      text += ' ';
      text.append(digits, std::to_chars(std::begin(digits), std::end(digits), x).ptr);
    }
    text += '\n';
  }
  return text;
}

LEXFORMER_INLINE void WordVectors::write(const std::string& path) const { write_file_atomic(path, vectors_text(words(), values_)); }

LEXFORMER_INLINE WordVectors parse_vectors(std::string_view text, const std::string& where, bool lower) {
  const std::vector<std::string_view> lines = detail::split_lines(text);
  const auto line = [&](std::size_t i) { return cat(where, ": line ", i + 1); };
  const auto header = lines.empty() ? std::nullopt : detail::parse_vector_header(lines[0]);
  const std::size_t first = header ? 1 : 0, count = lines.size() - first;
  if (header && header->count != count) fail_file(line(0), "the header says ", header->count, " vectors, the file has ", count);
  if (count == 0) fail_file(where, "has no word vectors");
  const std::size_t dimension =
      header ? header->dimension : detail::usual_dimension(std::span(lines).subspan(first, std::min<std::size_t>(count, 100)));
  if (dimension == 0) fail_file(line(0), "expected a word and its numbers, or how many vectors follow and their dimension");
  // A number takes two bytes with the space before it. So memory is at most twice the size of the file, whatever the first line says.
  for (std::size_t i = first; i < lines.size(); ++i)
    if (lines[i].size() / 2 < dimension)
      fail_file(line(i), "expected a word and ", dimension, " numbers, found ", detail::split_fields(lines[i]).size(), " fields");

  std::vector<std::string> words(count);
  Tensor<float> values(Shape{count, dimension});
  const std::span<float> out = values.mutable_span();
  std::atomic<std::size_t> bad{count};  // the first bad line, for any number of threads
  parallel_for(count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::string_view word;
      if (!detail::parse_vector(lines[first + i], word, out.subspan(i * dimension, dimension)).empty()) {
        if (detail::has_spaced_word(lines[first + i], dimension)) continue;  // words[i] stays empty
        for (std::size_t least = bad; i < least && !bad.compare_exchange_weak(least, i);) {
        }
        return;
      }
      words[i] = lower ? lexformer::lower_case(word) : std::string(word);
    }
  });
  if (bad < count) {
    std::string_view word;
    fail_file(line(first + bad), detail::parse_vector(lines[first + bad], word, out.first(dimension)));
  }
  const std::size_t unread = detail::erase_empty(words, values);
  return WordVectors(std::move(words), std::move(values), false, where, ErrorKind::file, unread);
}

LEXFORMER_INLINE WordVectors parse_binary_vectors(std::string_view bytes, const std::string& where, bool lower) {
  const auto header = detail::parse_vector_header(bytes.substr(0, std::min<std::size_t>(bytes.find('\n'), 64)));
  if (!header || header->count == 0 || header->dimension == 0)
    fail_file(
        where,
        "is neither a model of fastText nor a binary file of word2vec: its first line is not how many vectors follow and their dimension");
  bytes.remove_prefix(std::min(bytes.find('\n') + 1, bytes.size()));
  const std::size_t width = header->dimension * sizeof(float);
  if (header->dimension > bytes.size() || header->count > bytes.size() / (width + 1))
    fail_file(where, "the header says ", header->count, " vectors of ", header->dimension, " numbers, more than the file has");
  std::vector<std::string> words(header->count);
  Tensor<float> values(Shape{header->count, header->dimension});
  float* out = values.mutable_data();
  for (std::size_t i = 0; i < header->count; ++i, out += header->dimension) {
    while (bytes.starts_with('\n')) bytes.remove_prefix(1);
    const std::size_t space = bytes.find(' ');
    if (space == bytes.npos || bytes.size() - space - 1 < width) fail_file(where, "is cut off in vector ", i + 1);
    const std::string_view word = bytes.substr(0, space);
    if (word_fault(word).empty()) words[i] = lower ? lexformer::lower_case(word) : std::string(word);
    std::memcpy(out, bytes.data() + space + 1, width);
    bytes.remove_prefix(space + 1 + width);
  }
  if (bytes.find_first_not_of("\r\n") != bytes.npos) fail_file(where, "has ", bytes.size(), " bytes after its end");
  const std::size_t unread = detail::erase_empty(words, values);
  return WordVectors(std::move(words), std::move(values), false, where, ErrorKind::file, unread);
}

LEXFORMER_INLINE WordVectors read_vectors(const std::string& path, const VectorOptions& options) {
  const bool npy = path.ends_with(".npy");
  if (npy == options.word_list.empty())
    fail_usage(path, npy ? "an .npy file has no words; give a word list, one word per line" : "a word list is for .npy files only");
  if (path.ends_with(".bin")) return parse_binary_vectors(read_file(path), path, options.lower_case);
  if (!npy) return parse_vectors(read_file(path), path, options.lower_case);
  std::vector<std::string> words = detail::read_word_list(options.word_list);
  Tensor<float> values = load_npy<float>(path);
  if (values.rank() != 2 || values.dim(1) == 0) fail_file(path, "has shape ", values.shape(), ", expected (words, dimension)");
  if (words.size() != values.dim(0))
    fail_file(options.word_list, "has ", words.size(), " words, but ", path, " has ", values.dim(0), " rows");
  return WordVectors(std::move(words), std::move(values), options.lower_case, path, ErrorKind::file);
}

LEXFORMER_INLINE WordVectors whole_word_vectors(const Vocabulary& vocabulary, const Tensor<float>& table, const std::string& where,
                                                bool lower) {
  if (table.rank() != 2 || table.dim(0) < vocabulary.size())
    fail_file(where, "the word table has shape ", table.shape(), ", expected (tokens, dimension) for ", vocabulary.size(), " tokens");
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::vector<std::string> words;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const std::string& token = vocabulary.tokens()[i];
    if (token.size() < 2 || !std::all_of(token.begin(), token.end(), is_letter)) continue;
    words.push_back(token);
    rows.push_back(i);
  }
  const std::size_t dimension = table.dim(1);
  Tensor<float> values(Shape{rows.size(), dimension});
  float* out = values.mutable_data();
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(out + i * dimension, table.data() + rows[i] * dimension, dimension * sizeof(float));
  return WordVectors(std::move(words), std::move(values), lower, where, ErrorKind::file);
}

}  // namespace lexformer
#endif
