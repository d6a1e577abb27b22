// SPDX-License-Identifier: MIT
// The options of the search for candidates.
#pragma once

#include <lexformer/models/sentence_encoder.hpp>
#include <lexformer/tables/record_search.hpp>
#include <memory>

#include "cli/hnsw_candidates.hpp"
#include "cli/records.hpp"

namespace program {

/// Of the linear layers of a sentence encoder.
enum class EncoderPrecision { float32, int8 };

}  // namespace program

template <>
inline constexpr lexformer::Named<program::EncoderPrecision> lexformer::names_of<program::EncoderPrecision>[] = {
    {"float32", program::EncoderPrecision::float32}, {"int8", program::EncoderPrecision::int8}};

namespace program {

class CandidateFlags {
 public:
  /// top: the name of the option for the candidates of a record.
  void visit(OptionVisitor& v, const std::string& top) {
    lx::CandidateSource& source = options_.source;
    v.choice(
         "blocking", source,
         "which pairs are candidates; ngrams: similar character n-grams, which survives typos; tokens: words and model numbers, whatever "
         "their punctuation; embeddings: similar vectors by --encoder; all: the pairs of all of these; none: every pair")
        .only_if(source != lx::CandidateSource::embeddings || !encoder_.empty(), "embeddings needs --encoder");
    v.size(top, options_.top, 1, "candidates of each record of either table");
    v.size("ngram", options_.ngram, 1, "characters of an n-gram");
    v.input("encoder", encoder_, "a sentence encoder: .lxf, or a sentence-transformers folder; for --blocking embeddings or all")
        .shown_as("E.lxf")
        .only_if(source == lx::CandidateSource::embeddings || source == lx::CandidateSource::all, "needs --blocking embeddings or all");
    v.choice("encoder_precision", precision_,
             "numeric precision of --encoder; int8: its linear layers in 8 bits, which is faster, the rest is float32")
        .needs("encoder");
    v.flag("approximate", approximate_, "with --encoder: approximately nearest vectors, by hnswlib; faster from about a million records on")
        .needs("encoder");
  }
  lx::CandidateSource source() const { return options_.source; }

  /// The options, with the encoder. weigh_columns: no columns are named.
  lx::CandidateOptions load(bool weigh_columns) const {
    lx::CandidateOptions options = options_;
    options.weigh_columns = weigh_columns;
    if (encoder_.empty()) return options;
    const auto model = std::make_shared<lx::SentenceEncoder<float>>(lx::SentenceEncoder<float>::load(encoder_));
    if (precision_ == EncoderPrecision::int8 && !model->quantized()) model->quantize();
    options.embed = [model](std::span<const std::string> texts) { return model->encode(texts); };
    if (approximate_) options.nearest = hnsw_candidates;
    return options;
  }

 private:
  lx::CandidateOptions options_;
  std::string encoder_;
  EncoderPrecision precision_ = EncoderPrecision::float32;
  bool approximate_ = false;
};

}  // namespace program
