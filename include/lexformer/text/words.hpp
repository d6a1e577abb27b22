// SPDX-License-Identifier: MIT
// Normalization and word splitting of BERT tokenizers: HuggingFace's BertNormalizer and BertPreTokenizer (the fast, Rust versions).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// A token that is found in a text before the text is split into words.
struct AddedToken {
  std::string content{};
  bool lstrip = false, rstrip = false;  // whether it takes the whitespace before and after it
  bool single_word = false;             // not next to a letter or a digit
  bool normalized = false;              // found in the normalized text, e.g. in lower case
  bool piece = true;                    // whether it is also a piece of words, as are the tokens of a vocab.txt
  bool operator==(const AddedToken&) const = default;
};

class TokenPipeline;  // text/token_pipeline.hpp

/// How a pair becomes tokens: as the tokenizer's template says; as `left separator right separator` where the template puts no tokens after
/// the texts (GPT-2); as `left separator right separator left separator`, in which a causal model reads both texts with the other in view.
enum class PairForm { plain, separated, repeated };
template <>
inline constexpr Named<PairForm> names_of<PairForm>[] = {
    {"plain", PairForm::plain}, {"separated", PairForm::separated}, {"repeated", PairForm::repeated}};

/// The tokenizer's settings, most of them as in HuggingFace's tokenizer_config.json, and the special tokens.
struct TokenizerOptions {
  bool lowercase = true;
  std::optional<bool> strip_accents = std::nullopt;  // default: same as lowercase
  bool handle_chinese_chars = true;                  // each Chinese ideograph is a word of its own
  bool clean_text = true;                            // remove control characters, convert all whitespace to spaces
  unsigned max_word_chars = 100;                     // longer words (in characters, after normalization) are unknown
  bool match_special_tokens = true;                  // [MASK] in a text is the special token, as in HuggingFace; false: the text [ mask ]
  std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
  std::vector<AddedToken> added_tokens{};  // besides the special tokens; with match_special_tokens = false they are all that is found
  bool add_cls = true, add_sep = true;     // whether encodings begin with [CLS] and end with [SEP]
  bool add_middle_sep = true;              // whether [SEP] is between the texts of a pair
  bool two_middle_seps = false;            // whether there are two of them, as in MPNet
  std::uint8_t right_type = 1;             // the token type of the second text and the [SEP] after it
  PairForm pair_form = PairForm::plain;
  std::string pair_separator{};  // of forms that are not plain: the token where the template has none
  /// Splits texts into tokens in place of WordPiece. The settings above then only say what the words of a text are.
  std::shared_ptr<const TokenPipeline> pipeline{};
};

/// Whether one of the characters is a digit 0 to 9.
inline bool has_digit(std::u32string_view text) {
  return std::any_of(text.begin(), text.end(), [](char32_t c) { return c >= U'0' && c <= U'9'; });
}

/// A normalized character and the index of the original character it comes from.
struct TextChar {
  char32_t character;
  std::uint32_t origin;
};

/// Splits texts into words. Reuses its buffers, so use one per thread.
///
/// Steps: remove control characters and convert whitespace to spaces (clean_text); put spaces around Chinese ideographs; decompose
/// canonically and remove nonspacing marks (strip_accents); lowercase character by character; split at whitespace; make each
/// punctuation character a word of its own.
class WordSplitter {
 public:
  explicit WordSplitter(const TokenizerOptions& options)
      : clean_(options.clean_text),
        chinese_(options.handle_chinese_chars),
        strip_(options.strip_accents.value_or(options.lowercase)),
        lowercase_(options.lowercase) {}

  /// Calls word(std::span<const TextChar>, bool joined) for each word, in order; joined means that it directly follows the previous word.
  /// Origins start at first_origin. Returns the number of characters of the text. Errors: origins exceed 32 bits.
  template <class Word>
  std::uint32_t split(std::string_view text, std::uint32_t first_origin, Word&& word) {
    const std::uint32_t characters = normalize(text, first_origin);
    split_characters(0, chars_.size(), word);
    return characters;
  }

  /// The first half of split(): normalizes a text. Returns the number of its characters.
  std::uint32_t normalize(std::string_view text, std::uint32_t first_origin) {
    if (text.size() > std::numeric_limits<std::uint32_t>::max() - first_origin)
      fail("WordSplitter", "a text of ", text.size(), " bytes is too long; split it");
    const std::uint32_t characters = decode(text, first_origin);
    if (strip_ && !ascii_) strip_accents();
    if (lowercase_)
      for (TextChar& c : chars_) c.character = to_lower(c.character);
    return characters;
  }
  /// The normalized text.
  std::span<const TextChar> characters() const { return chars_; }

  /// The second half: the words of the normalized characters first .. last - 1.
  template <class Word>
  void split_characters(std::size_t first, std::size_t last, Word&& word) const {
    std::size_t begin = first;
    bool joined = false;
    const auto end_word = [&](std::size_t end) {
      if (end == begin) return;
      word(std::span<const TextChar>(chars_.data() + begin, end - begin), joined);
      begin = end;
      joined = true;
    };
    for (std::size_t i = first; i < last; ++i) {
      const char32_t c = chars_[i].character;
      if (is_whitespace(c)) {
        end_word(i);
        begin = i + 1;
        joined = false;
      } else if (is_punctuation(c)) {
        end_word(i);
        end_word(i + 1);
      }
    }
    end_word(last);
  }

 private:
  /// Decodes into chars_, applying clean_text and handle_chinese_chars.
  std::uint32_t decode(std::string_view text, std::uint32_t first_origin);

  /// Decomposes chars_ canonically, orders the parts canonically and removes nonspacing marks.
  void strip_accents();

  struct Part {
    char32_t character;
    std::uint8_t combining_class;
    bool first;  // the first part of its original character
  };

  bool clean_, chinese_, strip_, lowercase_;
  bool ascii_ = true;
  std::vector<TextChar> chars_, stripped_;
  std::vector<Part> parts_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::uint32_t WordSplitter::decode(std::string_view text, std::uint32_t first_origin) {
  chars_.clear();
  ascii_ = true;
  std::uint32_t origin = first_origin;
  for (std::size_t i = 0; i < text.size(); ++origin) {
    const Decoded next = decode_utf8(text, i);
    i += next.bytes;
    const char32_t c = next.character;
    if (clean_ && is_dropped(c)) continue;
    if (c >= 0x80) ascii_ = false;
    if (clean_ && is_whitespace(c)) {
      chars_.push_back({' ', origin});
    } else if (chinese_ && is_chinese(c)) {
      chars_.insert(chars_.end(), {{' ', origin}, {c, origin}, {' ', origin}});
    } else if (c == 0x130 && lowercase_ && !strip_) {  // the only character with two lowercase characters
      chars_.insert(chars_.end(), {{'i', origin}, {0x307, origin}});
    } else {
      chars_.push_back({c, origin});
    }
  }
  return origin - first_origin;
}

LEXFORMER_INLINE void WordSplitter::strip_accents() {
  parts_.clear();
  for (const TextChar& c : chars_) {
    bool first = true;
    decompose(c.character, [&](char32_t part) {
      parts_.push_back({part, combining_class(part), first});
      first = false;
    });
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].combining_class == 0) continue;
    const std::size_t begin = i;
    while (i < parts_.size() && parts_[i].combining_class != 0) ++i;
    std::stable_sort(parts_.begin() + static_cast<std::ptrdiff_t>(begin), parts_.begin() + static_cast<std::ptrdiff_t>(i),
                     [](const Part& a, const Part& b) { return a.combining_class < b.combining_class; });
  }
  // Reordered parts are assigned to original characters in their new order, as in HuggingFace.
  std::vector<TextChar>& out = stripped_;
  out.clear();
  std::size_t source = 0;
  for (const Part& part : parts_) {
    if (part.first) ++source;
    if (!is_nonspacing_mark(part.character)) out.push_back({part.character, chars_[source == 0 ? 0 : source - 1].origin});
  }
  chars_.swap(stripped_);
}

}  // namespace lexformer
#endif
