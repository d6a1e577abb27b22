// SPDX-License-Identifier: MIT
// A tagger over fixed word vectors: an LSTM in both directions and a conditional random field (Huang et al. 2015; LOVE, appendix B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/models/tagger.hpp"
#include "lexformer/nn/crf.hpp"
#include "lexformer/nn/lstm.hpp"
#include "lexformer/words/love_layers.hpp"
#include "lexformer/words/static_vectors.hpp"
#include "lexformer/words/word_model.hpp"

namespace lexformer {

struct LstmTaggerOptions {
  std::size_t size = 0;        // D, of the word vectors
  std::size_t projection = 0;  // of a trained linear layer over the vectors; 0: none
  std::size_t states = 100;    // H, of each direction of an LSTM layer
  std::size_t layers = 1;
  double dropout = 0.5;
  bool zero_digits = false;

  void visit(OptionVisitor& v) {
    v.size("size", size, 1, 1 << 16, "size of the word vectors");
    v.size("projection", projection, 0, 1 << 16, "size of a trained linear layer over the word vectors; 0: none");
    v.size("states", states, 1, 1 << 16, "states of each direction of the LSTM");
    v.size("layers", layers, 1, 16, "layers of the LSTM");
    v.number("dropout", dropout, 0, 0.99, "dropout of the inputs and outputs of the LSTM");
    v.flag("zero_digits", zero_digits, "read each digit in a word as 0");
  }
};

namespace detail {
/// The word as its vector is looked up: in lower case, with 0 for each of the digits 0-9 if `zero_digits`.
std::string tagger_word(std::string_view word, bool zero_digits);
void write_lstm_tagger(const LstmTaggerOptions& options, const TagLabels& labels, ModelFile& file);
/// Errors (file): another kind of model; an option or the labels do not fit the tensors.
std::pair<TagLabels, LstmTaggerOptions> read_lstm_tagger(const ModelFile& file);

/// Sentences as numbers of distinct words, with the vectors of these.
struct LstmTagData : TagData {
  Tensor<float> table;                            // (V, D); zeros for a word without a vector
  std::vector<float> missing;                     // (V): 1 for a word without a vector, else 0
  std::vector<std::vector<std::int32_t>> inputs;  // (S): rows of the table
};
LstmTagData lstm_tag_data(std::span<const TaggedSentence> sentences, const TagLabels& labels, bool with_labels,
                          const StaticVectors& vectors, bool zero_digits);

struct LstmTagBatch : TagBatch {
  Tensor<float> vectors, missing;  // (N, D), (N, 1)

  LstmTagBatch(const LstmTagData& data, std::span<const std::size_t> rows);
};
}  // namespace detail

/// x (N, D) the fixed vectors of the words of sentences, u for a word without a vector (u is trained):
///   h = dropout(BiLSTM(dropout(W_p x + b_p))), (N, 2 H); without projection, of x itself; further layers read dropout(h)
///   emissions = W_o h + b_o, (N, L), of a conditional random field (ops/crf.hpp)
/// The file holds labels and parameters. The vectors are given at use: provide().
template <class T = float, class Dev = Cpu>
class LstmTagger : public SavedModel<LstmTagger<T, Dev>, T, Dev> {
 public:
  using Data = detail::LstmTagData;
  using Batch = detail::LstmTagBatch;

  Var<T, Dev> unknown;  // u, (1, D)
  std::optional<Linear<T, Dev>> projection;
  std::vector<BiLstm<T, Dev>> lstm;
  Linear<T, Dev> output;
  Crf<T, Dev> crf;

  LstmTagger(TagLabels labels, const LstmTaggerOptions& options, std::uint64_t seed)
      : LstmTagger({std::move(labels), options}, Init(seed)) {}
  /// Errors (file): as detail::read_lstm_tagger.
  explicit LstmTagger(const ModelFile& file) : LstmTagger(detail::read_lstm_tagger(file), Init::none()) { this->restore(file); }

  const LstmTaggerOptions& options() const { return options_; }
  const TagLabels& labels() const { return labels_; }
  /// Sets the word vectors. Errors (usage): their size is not the model's.
  void provide(std::shared_ptr<const StaticVectors> vectors) {
    if (vectors->size() != options_.size)
      fail_usage("LstmTagger", "the word vectors have ", vectors->size(), " numbers, those that the model was trained with ",
                 options_.size);
    vectors_ = std::move(vectors);
  }

  /// Looks up the vectors of all words of sentences. Errors: there are no word vectors; a tag is not one of the labels.
  Data prepare(std::span<const TaggedSentence> sentences, bool with_labels) const {
    if (!vectors_) fail("LstmTagger", "there are no word vectors; call provide()");
    return detail::lstm_tag_data(sentences, labels_, with_labels, *vectors_, options_.zero_digits);
  }
  Batch batch(const Data& data, std::span<const std::size_t> rows) const { return Batch(data, rows); }

  /// (N, L)
  Var<T, Dev> emissions(const Batch& batch, const ForwardOptions& forward = {}) const {
    const auto input = [](const Tensor<float>& x) { return cast<T>(Var<float, Dev>(x.template to<Dev>())); };
    auto x = add(input(batch.vectors), matmul(input(batch.missing), unknown));
    if (projection) x = (*projection)(x);
    std::uint32_t site = 0;
    for (const auto& layer : lstm) x = layer(dropout(x, forward.dropout(options_.dropout, site++)), batch.words);
    return output(dropout(x, forward.dropout(options_.dropout, site)));
  }
  /// The negative log-likelihood of the labels, mean over the sentences.
  Var<accumulate_t<T>, Dev> loss(const Batch& batch, const ForwardOptions& forward = {}) const {
    return crf.loss(emissions(batch, forward), batch.words, batch.labels);
  }
  /// What loss() is a mean over.
  double weight(const Batch& batch) const { return static_cast<double>(batch.words.sequences()); }
  /// The most probable labels of the words: (N).
  std::vector<std::int32_t> decode(const Batch& batch) const { return crf.decode(emissions(batch), batch.words); }

  void write_settings(ModelFile& file) const { detail::write_lstm_tagger(options_, labels_, file); }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("tagger.unknown", unknown);
    if (projection) v("tagger.projection", *projection);
    for (std::size_t i = 0; i < lstm.size(); ++i) v(cat("tagger.lstm.", i), lstm[i]);
    v("tagger.output", output);
    v("tagger.crf", crf);
  }

 private:
  LstmTagger(std::pair<TagLabels, LstmTaggerOptions> parts, Init init)
      : unknown(init.template uniform<T, Dev>({1, parts.second.size}, std::sqrt(3 / static_cast<double>(parts.second.size)))),
        projection(make_projection(parts.second, init)),
        lstm(make_layers(parts.second, init)),
        output(Linear<T, Dev>::uniform(2 * parts.second.states, parts.first.size(), init)),
        crf(parts.first.size(), init),
        labels_(std::move(parts.first)),
        options_(parts.second) {}
  static std::optional<Linear<T, Dev>> make_projection(const LstmTaggerOptions& o, Init& init) {
    if (o.projection == 0) return std::nullopt;
    return Linear<T, Dev>::uniform(o.size, o.projection, init);
  }
  static std::vector<BiLstm<T, Dev>> make_layers(const LstmTaggerOptions& o, Init& init) {
    std::vector<BiLstm<T, Dev>> all;
    for (std::size_t i = 0; i < o.layers; ++i)
      all.emplace_back(i > 0 ? 2 * o.states : o.projection > 0 ? o.projection : o.size, o.states, init);
    return all;
  }

  TagLabels labels_;
  LstmTaggerOptions options_;
  std::shared_ptr<const StaticVectors> vectors_;
};

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_LSTM_TAGGER(word, T) word template class LstmTagger<T, Cpu>;
#if defined(LEXFORMER_COMPILED)
LEXFORMER_LSTM_TAGGER(extern, float)
#endif

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <unordered_map>

#include "lexformer/core/hash.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE std::string tagger_word(std::string_view word, bool zero_digits) {
  std::string out = lower_case(word);
  if (zero_digits)
    for (char& c : out)
      if (c >= '0' && c <= '9') c = '0';
  return out;
}

LEXFORMER_INLINE void write_lstm_tagger(const LstmTaggerOptions& options, const TagLabels& labels, ModelFile& file) {
  write_word_model(file, "lstm_tagger", [o = options](OptionVisitor& v) mutable { o.visit(v); });
  labels.write(file);
}

LEXFORMER_INLINE std::pair<TagLabels, LstmTaggerOptions> read_lstm_tagger(const ModelFile& file) {
  LstmTaggerOptions o;
  read_word_model(file, "lstm_tagger", [&](OptionVisitor& v) { o.visit(v); });
  if (o.size == 0) fail_file(file.path, "'size', of the word vectors, is missing in the config");
  auto labels = TagLabels::of(file);
  const std::size_t last = o.layers - 1, width = o.projection > 0 ? o.projection : o.size;
  // Checked before memory is allocated.
  std::vector<ExpectedTensor> expected{{"tagger.unknown", {1, o.size}},
                                       {"tagger.lstm.0.forward.weight_ih", {4 * o.states, width}},
                                       {cat("tagger.lstm.", last, ".reverse.weight_hh"), {4 * o.states, o.states}},
                                       {"tagger.output.weight", {labels.size(), 2 * o.states}},
                                       {"tagger.crf.transitions", {labels.size(), labels.size()}}};
  if (o.projection > 0) expected.push_back({"tagger.projection.weight", {o.projection, o.size}});
  require_tensors(file.tensors, expected, file.path);
  return {std::move(labels), o};
}

LEXFORMER_INLINE LstmTagData lstm_tag_data(std::span<const TaggedSentence> sentences, const TagLabels& labels, bool with_labels,
                                           const StaticVectors& vectors, bool zero_digits) {
  LstmTagData data;
  std::vector<std::string> distinct;
  std::unordered_map<std::string, std::int32_t, SeededHash> rows;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    const TaggedSentence& sentence = sentences[s];
    if (sentence.words.empty()) continue;
    data.sentence.push_back(s);
    data.lengths.push_back(sentence.words.size());
    auto& inputs = data.inputs.emplace_back();
    auto& words = data.words.emplace_back();
    for (std::size_t i = 0; i < sentence.words.size(); ++i) {
      const auto [at, added] = rows.emplace(tagger_word(sentence.words[i], zero_digits), static_cast<std::int32_t>(distinct.size()));
      if (added) distinct.push_back(at->first);
      inputs.push_back(at->second);
      words.push_back(i);
    }
    if (!with_labels) continue;
    auto& of_sentence = data.labels.emplace_back();
    for (const std::string& tag : sentence.tags) of_sentence.push_back(labels.label(tag));
  }
  const auto found = vectors.rows(distinct);
  data.table = found.values;
  for (const bool has_vector : found.found) data.missing.push_back(has_vector ? 0.0f : 1.0f);
  return data;
}

LEXFORMER_INLINE LstmTagBatch::LstmTagBatch(const LstmTagData& data, std::span<const std::size_t> rows) : TagBatch(data, rows) {
  const std::size_t size = data.table.dim(1);
  vectors = Tensor<float>({words.tokens(), size});
  missing = Tensor<float>({words.tokens(), 1});
  float *x = vectors.mutable_data(), *m = missing.mutable_data();
  for (const std::size_t row : rows)
    for (const std::int32_t word : data.inputs[row]) {
      x = std::copy_n(data.table.data() + static_cast<std::size_t>(word) * size, size, x);
      *m++ = data.missing[static_cast<std::size_t>(word)];
    }
}

}  // namespace lexformer::detail
#endif
