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
    v.list(
         "same", same_,
         "blocking keys: columns that must agree in every candidate, e.g. brand,postcode; NAME, or LEFT=RIGHT for other names in the right "
         "table; compared by letters and digits alone")
        .split_at(',');
    v.choice("missing_key", options_.key_columns.missing,
             "what a missing value of --same agrees with; any: every value; none: no value, which is faster")
        .needs("same");
    v.list("also", also_, "columns, e.g. ean, whose equal values make a pair a candidate whatever its texts and --same say").split_at(',');
    v.input("encoder", encoder_, "a sentence encoder: .lxf, or a sentence-transformers folder; for --blocking embeddings or all")
        .shown_as("E.lxf")
        .only_if(source == lx::CandidateSource::embeddings || source == lx::CandidateSource::all, "needs --blocking embeddings or all");
    v.choice("encoder_precision", precision_,
             "numeric precision of --encoder; int8: its linear layers in 8 bits, which is faster, the rest is float32")
        .needs("encoder");
    v.flag("approximate", approximate_, "with --encoder: approximately nearest vectors, by hnswlib; faster from about a million records on")
        .needs("encoder")
        .excludes("same");
  }
  lx::CandidateSource source() const { return options_.source; }
  lx::KeyOptions key_columns() const {
    lx::KeyOptions keys = options_.key_columns;
    for (const auto& name : same_) keys.same.push_back(lx::parse_record_column(name, "same"));
    for (const auto& name : also_) keys.also.push_back(lx::parse_record_column(name, "also"));
    return keys;
  }

  /// The options, with the encoder. weigh_columns: no columns are named.
  lx::CandidateOptions load(bool weigh_columns) const {
    lx::CandidateOptions options = options_;
    options.weigh_columns = weigh_columns;
    options.key_columns = key_columns();
    if (encoder_.empty()) return options;
    const auto model = std::make_shared<lx::SentenceEncoder<float>>(lx::SentenceEncoder<float>::load(encoder_));
    if (precision_ == EncoderPrecision::int8 && !model->quantized()) model->quantize();
    options.embed = [model](std::span<const std::string> texts) { return model->encode(texts); };
    if (approximate_) options.nearest = hnsw_candidates;
    return options;
  }

 private:
  lx::CandidateOptions options_;
  std::vector<std::string> same_, also_;
  std::string encoder_;
  EncoderPrecision precision_ = EncoderPrecision::float32;
  bool approximate_ = false;
};

}  // namespace program
