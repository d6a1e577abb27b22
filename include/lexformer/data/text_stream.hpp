// SPDX-License-Identifier: MIT
// Plain text for training, one document per line, in files that may be larger than memory. Files are read block by block. The contents
// and order of a block are a function of (files, options, seed, epoch, block), so a run can resume at any batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/lines.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

struct TextStreamOptions {
  std::size_t max_length = 512;  // tokens of a document; the rest is cut off, and documents are never joined
  std::size_t min_words = 8;     // documents with fewer words (separated by white space) are dropped
  std::size_t block = 16384;     // documents in memory at a time; each block is shuffled separately
  std::size_t held_out = 100;    // every `held_out`-th document is for validation, never for training; 0: none
};

/// Whether a text has at least `count` words separated by white space.
bool has_words(std::string_view text, std::size_t count);

/// A block of the training documents.
struct TextBlock {
  std::vector<Encoding> documents;                // without their texts, which may be much longer than the encoded part
  std::uint64_t first = 0;                        // index of the first document among all training documents
  std::vector<std::vector<std::size_t>> batches;  // rows of `documents`; similar lengths within a batch
};

class TextStream {
 public:
  /// Scans the files once to count documents. Errors: a file is missing or is not text; there is no training document.
  TextStream(std::vector<std::string> files, TextStreamOptions options = {});

  std::uint64_t documents() const { return documents_; }  // for training
  std::uint64_t held_out() const { return held_out_; }
  std::uint64_t dropped() const { return dropped_; }  // too short
  const TextStreamOptions& options() const { return options_; }

  std::size_t blocks() const { return blocks_.size(); }
  /// The number of batches of this size in an epoch; the last batch of each block may be smaller.
  std::size_t batches(std::size_t size) const;

  /// Number and checksum of the documents. A resumed run compares it: its data must be the same.
  std::string describe() const;

  /// Reads block `block` of an epoch; only plan.size, seed, epoch and order are used.
  TextBlock read(std::size_t block, const Tokenizer& tokenizer, BatchPlan plan) const;

  /// Reads the first `most` held-out documents.
  std::vector<Encoding> read_held_out(std::size_t most, const Tokenizer& tokenizer) const;

 private:
  /// The position of a document: file, offset in bytes, and index among the documents that are long enough.
  struct Place {
    std::size_t file;
    std::uint64_t offset, number;
  };

  bool is_held_out(std::uint64_t number) const { return options_.held_out > 0 && number % options_.held_out == options_.held_out - 1; }

  /// Reads `count` documents from a place on, either held-out or training documents.
  std::vector<std::string> texts(Place place, std::size_t count, bool held_out) const;

  std::vector<Encoding> encode(const std::vector<std::string>& texts, const Tokenizer& tokenizer) const;

  std::vector<std::string> files_;
  TextStreamOptions options_;
  std::vector<Place> blocks_;
  std::uint64_t documents_ = 0, held_out_ = 0, dropped_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE TextStream::TextStream(std::vector<std::string> files, TextStreamOptions options)
    : files_(std::move(files)), options_(options) {
  if (options_.block == 0) fail_usage("TextStream", "a block has at least one document");
  if (options_.held_out == 1) fail_usage("TextStream", "if every document is held out, none is left to train on");
  std::uint64_t used = 0, lines = 0;
  for (std::size_t f = 0; f < files_.size(); ++f) {
    LineReader reader(files_[f]);
    std::string line;
    for (std::uint64_t begin = 0; reader.next(line); begin = reader.offset()) {
      ++lines;
      if (!has_words(line, options_.min_words)) continue;
      crc_ = crc32(std::string_view("\n", 1), crc32(line, crc_));
      if (is_held_out(used++)) {
        ++held_out_;
      } else if (documents_++ % options_.block == 0) {
        blocks_.push_back({f, begin, used - 1});
      }
    }
  }
  dropped_ = lines - used;
  if (documents_ > 0) return;
  fail_file(files_.empty() ? "TextStream" : join(files_), "holds no document to train on: of ", lines, " lines ", used, " have ",
            options_.min_words, " words or more", held_out_ > 0 ? ", and these are held out" : "", "; expected one document a line");
}

LEXFORMER_INLINE std::size_t TextStream::batches(std::size_t size) const {
  const auto in_block = [size](std::uint64_t documents) { return batches_of(static_cast<std::size_t>(documents), size); };
  return (blocks() - 1) * in_block(options_.block) + in_block(documents_ - (blocks() - 1) * options_.block);
}

LEXFORMER_INLINE std::string TextStream::describe() const {
  return cat(documents_, " documents, ", held_out_, " held out, crc32 ", std::hex, std::setw(8), std::setfill('0'), crc_);
}

LEXFORMER_INLINE TextBlock TextStream::read(std::size_t block, const Tokenizer& tokenizer, BatchPlan plan) const {
  if (block >= blocks()) fail("TextStream", "there is no block ", block, "; there are ", blocks());
  TextBlock out;
  out.first = static_cast<std::uint64_t>(block) * options_.block;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(options_.block, documents_ - out.first));
  out.documents = encode(texts(blocks_[block], count, false), tokenizer);
  plan.block = static_cast<std::uint32_t>(block);
  out.batches = plan_batches(token_counts(out.documents), plan);
  return out;
}

LEXFORMER_INLINE std::vector<Encoding> TextStream::read_held_out(std::size_t most, const Tokenizer& tokenizer) const {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, held_out_));
  return encode(texts({0, 0, 0}, count, true), tokenizer);
}

LEXFORMER_INLINE std::vector<std::string> TextStream::texts(Place place, std::size_t count, bool held_out) const {
  std::vector<std::string> found;
  std::string line;
  for (std::size_t f = place.file; f < files_.size() && found.size() < count; ++f) {
    LineReader reader(files_[f], f == place.file ? place.offset : 0);
    while (found.size() < count && reader.next(line))
      if (has_words(line, options_.min_words) && is_held_out(place.number++) == held_out) found.push_back(line);
  }
  if (found.size() < count) fail_file(files_.back(), "or a file before it was changed while it was read");
  return found;
}

LEXFORMER_INLINE std::vector<Encoding> TextStream::encode(const std::vector<std::string>& texts, const Tokenizer& tokenizer) const {
  std::vector<Encoding> encodings(texts.size());
  parallel_for(texts.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      encodings[i] = tokenizer.encode(texts[i], options_.max_length);
      encodings[i].texts = {};
    }
  });
  return encodings;
}

LEXFORMER_INLINE bool has_words(std::string_view text, std::size_t count) {
  bool inside = false;
  for (std::size_t i = 0; count > 0 && i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    i += next.bytes;
    const bool space = is_whitespace(next.character);
    if (!space && !inside) --count;
    inside = !space;
  }
  return count == 0;
}

}  // namespace lexformer
#endif
