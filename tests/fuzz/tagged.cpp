// SPDX-License-Identifier: MIT
// Text with BIO tags: any text is either refused or gives sentences that are the same after writing and reading, and whose entities lie
// within them, in order.
#include "fuzz/fuzz.hpp"
#include "lexformer/data/tagged_text.hpp"
#include "lexformer/metrics/entity_metrics.hpp"

using namespace lexformer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  TaggedTextOptions options;
  options.tags = !in.flag();
  options.max_words = in.flag() ? 2 : 0;
  TaggedText text;
  if (!fuzz::accepts([&] { text = parse_tagged_text(in.rest, "input", options); })) return 0;
  fuzz::require(!text.sentences.empty(), "no sentences, but no error");
  std::string written = "\n";  // so that a word that begins with a byte order mark keeps it
  std::size_t words = 0;
  for (const TaggedSentence& sentence : text.sentences) {
    const std::size_t n = sentence.words.size();
    fuzz::require(n > 0 && (options.max_words == 0 || n <= options.max_words), "a sentence is empty or too long");
    fuzz::require(sentence.tags.size() == (options.tags ? n : 0), "not as many tags as words");
    words += n;
    std::size_t end = 0;
    for (const Entity& entity : entities_of(sentence.tags)) {
      fuzz::require(entity.begin >= end && entity.begin < entity.end && entity.end <= n && !entity.type.empty(),
                    "an entity is out of place");
      end = entity.end;
    }
    for (std::size_t i = 0; i < n; ++i) written += sentence.words[i] + '\t' + (options.tags ? sentence.tags[i] : "O") + '\n';
    written += '\n';
  }
  fuzz::require(words == text.words && (text.cut_words > 0) == (text.cut_sentences > 0), "the counts are wrong");

  TaggedText again;
  fuzz::require(fuzz::accepts([&] { again = parse_tagged_text(written, "again", {.tags = options.tags}); }), "what was written is refused");
  fuzz::require(again.sentences.size() == text.sentences.size(), "sentences were lost in writing");
  for (std::size_t s = 0; s < text.sentences.size(); ++s)
    fuzz::require(again.sentences[s].words == text.sentences[s].words && again.sentences[s].tags == text.sentences[s].tags,
                  "words or tags are not the same after writing");
  return 0;
}
