// SPDX-License-Identifier: MIT
// Candidates of two tables of records, or within one: the options, the search, and its quality.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>

#include <lexformer/models/sentence_encoder.hpp>
#include <lexformer/tables/vector_candidates.hpp>

#include "cli/hnsw_candidates.hpp"
#include "cli/records.hpp"

namespace program {

/// lexformer::Blocking, and embeddings.
enum class CandidateSource { ngrams, tokens, embeddings, all, none };

/// Of the linear layers of a sentence encoder.
enum class EncoderPrecision { float32, int8 };

}  // namespace program

template <>
inline constexpr lexformer::Named<program::CandidateSource> lexformer::names_of<program::CandidateSource>[] = {
    {"ngrams", program::CandidateSource::ngrams},
    {"tokens", program::CandidateSource::tokens},
    {"embeddings", program::CandidateSource::embeddings},
    {"all", program::CandidateSource::all},
    {"none", program::CandidateSource::none}};
template <>
inline constexpr lexformer::Named<program::EncoderPrecision> lexformer::names_of<program::EncoderPrecision>[] = {
    {"float32", program::EncoderPrecision::float32}, {"int8", program::EncoderPrecision::int8}};

namespace program {

/// The vectors of texts by a sentence encoder, scaled or not.
inline lx::Tensor<float> embed_texts(const lx::SentenceEncoder<float>& encoder, std::span<const std::string> texts,
                                     const std::function<void(double done)>& progress) {
  constexpr std::size_t chunk = 1024;
  lx::Tensor<float> all({texts.size(), encoder.size()});
  for (std::size_t i = 0; i < texts.size(); i += chunk) {
    const auto part = encoder.encode(texts.subspan(i, std::min(chunk, texts.size() - i)));
    std::copy_n(part.data(), part.size(), all.mutable_data() + i * encoder.size());
    if (progress) progress(static_cast<double>(std::min(i + chunk, texts.size())) / static_cast<double>(texts.size()));
  }
  return all;
}

/// The search for candidates among the texts of two tables, or of one, by all sources that were chosen. Refers to the texts.
class Candidates {
 public:
  Candidates(std::span<const std::string> left, std::span<const std::string> right, bool one_table, CandidateSource source,
             lx::BlockingOptions options, const std::string& encoder, EncoderPrecision precision, bool approximate)
      : left_(left), right_(one_table ? left : right), one_table_(one_table), approximate_(approximate), options_(std::move(options)) {
    const bool all = source == CandidateSource::all;
    if (source != CandidateSource::embeddings) {
      options_.blocking = *lx::find_name<lx::Blocking>(lx::name_of(source));
      if (one_table)
        texts_.emplace(left, options_);
      else
        texts_.emplace(left, right, options_);
    }
    if (source != CandidateSource::embeddings && !(all && !encoder.empty())) return;
    auto model = lx::SentenceEncoder<float>::load(encoder);
    if (precision == EncoderPrecision::int8 && !model.quantized()) model.quantize();
    const double share = 0.9 * static_cast<double>(left_.size()) / static_cast<double>(left_.size() + (one_table ? 0 : right_.size()));
    left_vectors_ = embed_texts(model, left_, part(0, share));
    if (!one_table) right_vectors_ = embed_texts(model, right_, part(share, 0.9 - share));
  }

  /// As CandidateSearch::find(). A pair of several sources has the larger one of the scores by which it is a candidate.
  std::vector<lx::Candidate> find() const {
    std::vector<lx::Candidate> found;
    if (texts_) found = texts_->find();
    if (!left_vectors_) return found;
    const auto near = approximate_ ? hnsw_candidates(*left_vectors_, one_table_ ? nullptr : &*right_vectors_, options_.top, part(0.9, 0.1))
                      : one_table_ ? lx::vector_candidates(*left_vectors_, options_.top, part(0.9, 0.1))
                                   : lx::vector_candidates(*left_vectors_, *right_vectors_, options_.top, part(0.9, 0.1));
    return texts_ ? lx::merge_candidates(found, near) : near;
  }
  std::vector<lx::CandidateReason> explain(std::size_t left, std::size_t right) const {
    std::vector<lx::CandidateReason> reasons;
    if (texts_) reasons = texts_->explain(left, right);
    if (left_vectors_)
      reasons.push_back(lx::explain_vectors(*left_vectors_, one_table_ ? nullptr : &*right_vectors_, left, right, "embeddings"));
    return reasons;
  }
  double pairs() const {
    const auto n = static_cast<double>(left_.size());
    return one_table_ ? n * (n - 1) / 2 : n * static_cast<double>(right_.size());
  }

 private:
  std::function<void(double)> part(double begin, double share) const {
    if (!options_.progress) return {};
    return [begin, share, progress = options_.progress](double done) { progress(begin + share * done); };
  }

  std::span<const std::string> left_, right_;
  bool one_table_, approximate_;
  lx::BlockingOptions options_;
  std::optional<lx::CandidateSearch> texts_;
  std::optional<lx::Tensor<float>> left_vectors_, right_vectors_;
};

class CandidateFlags {
 public:
  /// top: the name of the option for the candidates of a record.
  void visit(OptionVisitor& v, const std::string& top) {
    v.choice(
         "blocking", source_,
         "which pairs are candidates; ngrams: similar character n-grams, which survives typos; tokens: words and model numbers, whatever "
         "their punctuation; embeddings: similar vectors by --encoder; all: those of all of these; none: every pair")
        .only_if(source_ != CandidateSource::embeddings || !encoder_.empty(), "embeddings needs --encoder");
    v.size(top, options_.top, 1, "candidates of each record of either table");
    v.size("ngram", options_.n, 1, "characters of an n-gram");
    v.input("encoder", encoder_, "a sentence encoder: .lxf, or a sentence-transformers folder; for --blocking embeddings or all")
        .shown_as("E.lxf")
        .only_if(source_ == CandidateSource::embeddings || source_ == CandidateSource::all, "needs --blocking embeddings or all");
    v.choice("encoder_precision", precision_,
             "numeric precision of --encoder; int8: its linear layers in 8 bits, which is faster, the rest is float32")
        .needs("encoder");
    v.flag("approximate", approximate_, "with --encoder: approximately nearest vectors, by hnswlib; faster from about a million records on")
        .needs("encoder");
  }
  const lx::BlockingOptions& options() const { return options_; }
  lx::BlockingOptions& options() { return options_; }
  CandidateSource source() const { return source_; }

  /// The search for candidates among texts of the records, which must outlive it.
  Candidates search(std::span<const std::string> left, std::span<const std::string> right, bool one_table) const {
    return {left, right, one_table, source_, options_, encoder_, precision_, approximate_};
  }

 private:
  CandidateSource source_ = CandidateSource::ngrams;
  lx::BlockingOptions options_;
  std::string encoder_;
  EncoderPrecision precision_ = EncoderPrecision::float32;
  bool approximate_ = false;
};

/// The texts that candidates are found by: the values alone, without budgets, which are for the model's limited length.
inline std::pair<std::vector<std::string>, std::vector<std::string>> blocking_texts(const lx::RecordPairs& records) {
  lx::RecordTextOptions plain;
  plain.columns = records.options().columns;
  plain.normalize_numbers = records.options().normalize_numbers;
  return {lx::record_texts(records.left(), plain, false),
          records.one_table() ? std::vector<std::string>() : lx::record_texts(records.right(), plain, true)};
}

/// How many of the labelled matches are among the candidates. A match is a pair with the label 1; a pair given twice counts once.
inline lx::BlockingQuality blocking_quality(const std::vector<std::string>& files, const std::shared_ptr<const lx::RecordPairs>& records,
                                            std::span<const lx::Candidate> candidates, double pairs) {
  const bool one = records->one_table();
  const auto key = [&](std::size_t left, std::size_t right) {
    if (one && left > right) std::swap(left, right);
    return static_cast<std::uint64_t>(left) << 32 | right;
  };
  std::unordered_set<std::uint64_t> found, matches;
  for (const auto& c : candidates) found.insert(key(c.left, c.right));
  for (const auto& file : files) {
    lx::TableOptions table;
    table.records = records;
    const auto labelled = lx::read_pairs(file, table);
    const auto labels = lx::class_labels(labelled);
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == 1)
        matches.insert(key(records->left_place(labelled.rows[i].left_id, file), records->right_place(labelled.rows[i].right_id, file)));
  }
  lx::BlockingQuality quality;
  quality.matches = matches.size();
  quality.found = static_cast<std::size_t>(std::count_if(matches.begin(), matches.end(), [&](auto m) { return found.contains(m); }));
  quality.candidates = candidates.size();
  quality.pairs = pairs;
  return quality;
}

/// A value as a field of a .csv, quoted if needed.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos && !text.starts_with(' ') && !text.ends_with(' ')) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

/// The formats that are written: .csv and .jsonl.
inline lx::TableFormat output_format(const std::string& out) {
  const std::string name = lx::lower_case(out);
  if (name.ends_with(".csv")) return lx::TableFormat::csv;
  if (name.ends_with(".jsonl")) return lx::TableFormat::jsonl;
  lx::fail_usage("--out", out, ": the ending says no format that is written; .csv and .jsonl are");
}

}  // namespace program
