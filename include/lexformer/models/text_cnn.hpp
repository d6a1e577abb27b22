// SPDX-License-Identifier: MIT
// Kim's CNN over fixed word vectors ("Convolutional Neural Networks for Sentence Classification", EMNLP 2014, CNN-static): the classifier
// that LOVE's Table 3 compares word vectors with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/data/batch_plan.hpp"
#include "lexformer/models/task.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/window.hpp"
#include "lexformer/words/love_layers.hpp"
#include "lexformer/words/static_vectors.hpp"
#include "lexformer/words/word_model.hpp"
#include "lexformer/words/word_texts.hpp"

namespace lexformer {

struct TextCnnOptions {
  std::size_t size = 300;                       // D, of the word vectors
  std::size_t filters = 100;                    // F, of each width
  std::size_t first_width = 3, last_width = 5;  // words of the windows
  std::size_t max_length = 512;                 // words of a text
  double dropout = 0.5;                         // of the maxima
  bool cased = false;                           // words are compared as they are, not in lower case

  void visit(OptionVisitor& v) {
    v.size("size", size, 1, 1 << 16, "size of the word vectors");
    v.size("filters", filters, 1, 1 << 16, "filters of each width");
    v.size("first_width", first_width, 1, 64, "words of the narrowest windows");
    v.size("last_width", last_width, 1, 64, "words of the widest windows");
    v.size("max_length", max_length, 1, 1 << 20, "words of a text that are read");
    v.number("dropout", dropout, 0, 0.99, "dropout before the last layer");
    v.flag("cased", cased, "look words up as they are, not in lower case");
  }
};

namespace detail {
/// Errors (usage): first_width is more than last_width.
const TextCnnOptions& check_text_cnn(const TextCnnOptions& o);
/// The stored configuration of a CNN: sizes, classes, and the vectors that it reads.
struct TextCnnParts {
  TextCnnOptions cnn;
  Task task{.texts = 1};
  std::string vectors;
};
/// Errors (file): another kind of model; an option is missing, out of range, or does not fit the tensors.
TextCnnParts read_text_cnn(const ModelFile& file);
void write_text_cnn(const TextCnnParts& parts, ModelFile& file);
}  // namespace detail

/// Words of B texts, X (N, D) their vectors, for each width w:
///   C_w = the maximum over t of relu([x_t | ... | x_(t + w - 1)] W_w^T + b_w), W_w (F, w D)
///   logits = dropout([C_3 | C_4 | C_5]) W_o^T + b_o, W_o (classes, 3 F)
/// A window begins at each word. Beyond the text it has zeros, so a text may be shorter than a window, and a text does not depend on the
/// others of its batch. (LOVE's released code fills a batch up with zeros to its longest text: the same but at the ends of texts that are
/// near the longest.) The vectors are not trained and not saved with the model; provide() gives them. Kim's bound on the norm of W_o is
/// left out, as in LOVE's code.
template <class T = float, class Dev = Cpu>
class TextCnn : public SavedModel<TextCnn<T, Dev>, T, Dev> {
 public:
  using A = accumulate_t<T>;

  std::vector<Linear<T, Dev>> convolutions;  // one for each width
  Linear<T, Dev> output;

  /// A new model for classes of these names; without names: 0, 1, .... Weights and biases are uniform in +-1 / sqrt(inputs), as in PyTorch.
  /// Errors (usage): there are fewer than two classes; first_width is more than last_width.
  TextCnn(const TextCnnOptions& cnn, std::size_t classes, std::vector<std::string> names, std::uint64_t seed)
      : TextCnn({detail::check_text_cnn(cnn), classes_of(classes, std::move(names)), {}}, Init(seed)) {}
  /// Errors (file): as detail::read_text_cnn().
  explicit TextCnn(const ModelFile& file) : TextCnn(detail::read_text_cnn(file), Init::none()) { this->restore(file); }

  const TextCnnOptions& cnn() const { return parts_.cnn; }
  const Task& task() const { return parts_.task; }

  /// The vectors of words. A model that is trained remembers which ones; a saved one refuses others. Errors (usage): the vectors have
  /// another size, or are not those that the model was trained on.
  void provide(std::shared_ptr<const StaticVectors> vectors);
  /// A table of the vectors of words: (words, D). Errors: there are no vectors.
  Tensor<T, Dev> table(std::span<const std::string> words) const {
    if (!vectors_) fail("TextCnn", "there are no word vectors; call provide()");
    return detail::cast<T>(vectors_->rows(words).values.template to<Dev>());
  }

  /// Computes logits from the vectors of the words of B texts: x (N, D) -> (B, classes).
  Var<T, Dev> operator()(const Var<T, Dev>& x, const Offsets& texts, const ForwardOptions& forward = {}) const {
    std::vector<Var<T, Dev>> maxima;
    for (std::size_t i = 0; i < convolutions.size(); ++i)
      maxima.push_back(sequence_max(convolutions[i](window(x, texts, 0, cnn().first_width + i - 1)), texts));
    return output(dropout(relu(concat_columns(maxima)), forward.dropout(cnn().dropout, 0)));  // relu keeps the order, so it can come last
  }
  /// The same for a batch whose words are rows of a table().
  Var<T, Dev> operator()(const Var<T, Dev>& table, const WordBatch& batch, const ForwardOptions& forward = {}) const {
    return (*this)(select_rows(table, Indices<std::int32_t, Dev>(batch.ids)), batch.offsets, forward);
  }

  /// Computes logits, (texts, classes), in input order, on the CPU. table: the vectors of the texts' words.
  Tensor<A> logits(const WordTexts& texts, const Tensor<T, Dev>& table, std::size_t batch = 64,
                   const std::function<void(std::size_t)>& scored = {}) const;
  Tensor<A> logits(std::span<const PairExample> examples, std::size_t batch = 64,
                   const std::function<void(std::size_t)>& scored = {}) const {
    const WordTexts texts(examples, cnn().max_length, !cnn().cased);
    return logits(texts, table(texts.words()), batch, scored);
  }
  std::vector<double> scores_of(const Tensor<A>& logits) const { return task().scores_of(logits); }

  /// All but the vectors of words.
  void write_settings(ModelFile& file) const { detail::write_text_cnn(parts_, file); }
  void visit(ParameterVisitor<T, Dev>& v) {
    for (std::size_t i = 0; i < convolutions.size(); ++i) v(cat("text_cnn.convolution.", cnn().first_width + i), convolutions[i]);
    v("text_cnn.output", output);
  }

 private:
  TextCnn(detail::TextCnnParts parts, Init init)
      : convolutions(make_convolutions(parts.cnn, init)),
        output(Linear<T, Dev>::uniform(convolutions.size() * parts.cnn.filters, parts.task.labels, init)),
        parts_(std::move(parts)) {}
  static Task classes_of(std::size_t classes, std::vector<std::string> names) {
    if (classes < 2 || (!names.empty() && names.size() != classes))
      fail_usage("TextCnn", classes, " classes with ", names.size(), " names; expected 2 classes or more, and as many names or none");
    return {.labels = classes, .label_names = std::move(names), .texts = 1};
  }
  static std::vector<Linear<T, Dev>> make_convolutions(const TextCnnOptions& o, Init& init) {
    std::vector<Linear<T, Dev>> all;
    for (std::size_t w = o.first_width; w <= o.last_width; ++w) all.push_back(Linear<T, Dev>::uniform(w * o.size, o.filters, init));
    return all;
  }

  detail::TextCnnParts parts_;
  std::shared_ptr<const StaticVectors> vectors_;
};

template <class T, class Dev>
void TextCnn<T, Dev>::provide(std::shared_ptr<const StaticVectors> vectors) {
  if (vectors->size() != cnn().size)
    fail_usage("TextCnn", "the model reads vectors of ", cnn().size, " numbers, those given have ", vectors->size());
  const std::string given = vectors->describe();
  if (parts_.vectors.empty()) parts_.vectors = given;
  if (parts_.vectors != given) fail_usage("TextCnn", "the model was trained on other vectors: ", parts_.vectors, "; given: ", given);
  vectors_ = std::move(vectors);
}

template <class T, class Dev>
Tensor<accumulate_t<T>> TextCnn<T, Dev>::logits(const WordTexts& texts, const Tensor<T, Dev>& table, std::size_t batch,
                                                const std::function<void(std::size_t)>& scored) const {
  const NoGrad no_grad;
  const Var<T, Dev> rows(table);
  const std::size_t classes = task().labels;
  Tensor<A> y({texts.size(), classes});
  for (const auto& chosen : batches_by_length(texts.lengths(), batch)) {
    const auto part = detail::cast<A>((*this)(rows, texts.batch(chosen)).value()).template to<Cpu>();
    for (std::size_t i = 0; i < chosen.size(); ++i) std::copy_n(part.data() + i * classes, classes, y.mutable_data() + chosen[i] * classes);
    if (scored) scored(chosen.size());
  }
  return y;
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_TEXT_CNN(word, T) word template class TextCnn<T, Cpu>;
#if defined(LEXFORMER_COMPILED)
LEXFORMER_TEXT_CNN(extern, float)
#endif

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE const TextCnnOptions& check_text_cnn(const TextCnnOptions& o) {
  if (o.size == 0 || o.filters == 0 || o.first_width == 0 || o.max_length == 0)
    fail_usage("TextCnnOptions", "size, filters, first_width and max_length must be positive, got ", o.size, ", ", o.filters, ", ",
               o.first_width, ", ", o.max_length);
  if (o.first_width > o.last_width)
    fail_usage("TextCnnOptions", "first_width is ", o.first_width, ", more than last_width, ", o.last_width);
  return o;
}

LEXFORMER_INLINE void write_text_cnn(const TextCnnParts& parts, ModelFile& file) {
  write_word_model(file, "text_cnn", [o = parts.cnn](OptionVisitor& v) mutable { o.visit(v); });
  Json& ours = file.config["lexformer"];
  ours["labels"] = parts.task.labels;
  ours["label_names"] = parts.task.label_names;
  ours["vectors"] = parts.vectors;
}

LEXFORMER_INLINE TextCnnParts read_text_cnn(const ModelFile& file) {
  TextCnnParts parts;
  TextCnnOptions& o = parts.cnn;
  read_word_model(file, "text_cnn", [&](OptionVisitor& v) { o.visit(v); });
  const std::string where = file.path + ": config: lexformer";
  const Json ours = *find_value(file.config, "lexformer", true, file.path + ": config");
  parts.task.labels = get_size(ours, "labels", 2, 65536, where);
  parts.task.label_names = get_label_names(ours, parts.task.labels, where);
  parts.vectors = get_string(ours, "vectors", where);
  if (o.first_width > o.last_width) fail_file(where, "first_width is ", o.first_width, ", more than last_width, ", o.last_width);
  std::vector<ExpectedTensor> expected;  // checked before memory is allocated
  for (std::size_t w = o.first_width; w <= o.last_width; ++w) {
    expected.push_back({cat("text_cnn.convolution.", w, ".weight"), {o.filters, w * o.size}});
    expected.push_back({cat("text_cnn.convolution.", w, ".bias"), {o.filters}});
  }
  expected.push_back({"text_cnn.output.weight", {parts.task.labels, (o.last_width - o.first_width + 1) * o.filters}});
  expected.push_back({"text_cnn.output.bias", {parts.task.labels}});
  require_tensors(file.tensors, expected, file.path);
  if (const auto others = compare_tensors(file.tensors, expected).unexpected; !others.empty())
    fail_file(file.path, "holds tensors that its options do not use: ", others.front(), others.size() > 1 ? ", ..." : "");
  return parts;
}

}  // namespace lexformer::detail
#endif
