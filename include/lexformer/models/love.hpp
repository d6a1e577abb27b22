// SPDX-License-Identifier: MIT
// LOVE (Chen et al. 2022): vectors for any word, from its letters and pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/io/model_file.hpp"
#include "lexformer/io/options.hpp"
#include "lexformer/models/load_parameters.hpp"
#include "lexformer/models/love_encoder.hpp"
#include "lexformer/text/word_units.hpp"

namespace lexformer {

namespace detail {
/// Writes the options of a LOVE model as "love" and "units" into a JSON object.
void write_love_options(const LoveOptions& options, const WordUnitOptions& units, Json& into);
void write_love_options(const LoveOptions& options, const WordUnitOptions& units, ModelFile& file);
/// Reads them. Errors (file): an option is unknown, out of range or does not fit another or the vocabulary; the options ask for more
/// weights than the tensors have.
std::pair<WordUnits, LoveOptions> read_love_options(const Json& from, const Vocabulary& vocabulary, const TensorFile& tensors,
                                                    const std::string& where);
/// The same for a file that holds a LOVE model. Errors (file): it holds another kind of model, or has no vocabulary.
std::pair<WordUnits, LoveOptions> read_love_options(const ModelFile& file);
}  // namespace detail

/// A vocabulary of letters and pieces with an encoder.
template <class T = float, class Dev = Cpu>
class Love {
 public:
  /// A new model. options.rows and options.pad are set from the units. Errors: those of LoveEncoder.
  Love(const WordUnits& units, LoveOptions options, std::uint64_t seed)
      : units_(units), encoder_(fitted(std::move(options), units), seed) {}
  /// Errors (file): the file holds another kind of model; an option or a tensor is missing or has another size.
  explicit Love(const ModelFile& file) : Love(detail::read_love_options(file)) {
    restore(file);
    std::vector<ExpectedTensor> all;
    for (const auto& p : parameters()) all.push_back({p.name, p.var.shape()});
    if (const auto others = compare_tensors(file.tensors, all).unexpected; !others.empty())
      fail_file(file.path, "holds tensors that its options do not use: ", others.front(), others.size() > 1 ? ", ..." : "");
  }
  static Love load(const std::string& path) { return Love(ModelFile::open(path)); }
  /// A model whose parameters are loaded later; they have no values yet.
  static Love blank(const WordUnits& units, const LoveOptions& options) { return Love({units, options}); }

  const WordUnits& units() const { return units_; }
  const LoveOptions& options() const { return encoder_.options; }
  const LoveEncoder<T, Dev>& encoder() const { return encoder_; }
  LoveEncoder<T, Dev>& encoder() { return encoder_; }
  /// The parameters under their names in a file.
  std::vector<NamedParameter<T, Dev>> parameters() { return named_parameters<T, Dev>(*this); }
  void visit(ParameterVisitor<T, Dev>& v) { v("love", encoder_); }

  /// Computes the vectors of a batch of words, of length 1: (B, D). Errors: there are no words.
  Var<T, Dev> operator()(std::span<const std::string> words, const ForwardOptions& forward = {}) const {
    if (words.empty()) fail("Love", "the batch has no words");
    std::vector<std::int32_t> ids;
    std::vector<std::size_t> lengths;
    for (const std::string& word : words) {
      const auto of_word = units_.ids(word);
      ids.insert(ids.end(), of_word.begin(), of_word.end());
      lengths.push_back(of_word.size());
    }
    return encoder_(Indices<std::int32_t, Dev>(ids), Offsets::from_lengths(lengths), forward);
  }
  /// Computes the vectors of any number of words in batches: (words, D), on the CPU.
  Tensor<T> vectors(std::span<const std::string> words, std::size_t batch = 64) const {
    if (batch == 0) fail("Love", "batch is 0; expected at least 1");
    const NoGrad no_grad;
    std::vector<T> all;
    all.reserve(words.size() * options().size);
    for (std::size_t first = 0; first < words.size(); first += batch) {
      const auto part = (*this)(words.subspan(first, std::min(batch, words.size() - first))).value().template to<Cpu>();
      all.insert(all.end(), part.span().begin(), part.span().end());
    }
    return Tensor<T>::from(all, {words.size(), options().size});
  }

  /// The model in the form in which it is saved (docs/format.md).
  ModelFile file() {
    ModelFile out;
    detail::write_love_options(options(), units_.options(), out);
    out.vocabulary = units_.vocabulary();
    for (const auto& p : parameters()) out.tensors.set(p.name, p.var.value().template to<Cpu>());
    return out;
  }
  void save(const std::string& path) { file().save(path); }
  /// Copies all parameters from a saved model, but no options. Errors: one is missing or has another shape.
  void restore(const ModelFile& saved) {
    auto all = parameters();
    load_parameters(all, saved.tensors, saved.path);
  }

 private:
  static LoveOptions fitted(LoveOptions options, const WordUnits& units) {
    options.rows = units.size();
    options.pad = static_cast<std::size_t>(units.pad_id());
    return options;
  }
  explicit Love(std::pair<WordUnits, LoveOptions> parts) : units_(std::move(parts.first)), encoder_(parts.second) {}

  WordUnits units_;
  LoveEncoder<T, Dev> encoder_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE void write_love_options(const LoveOptions& options, const WordUnitOptions& units, Json& into) {
  into["love"] = options_json([o = options](OptionVisitor& v) mutable { o.visit(v); });
  into["units"] = options_json([o = units](OptionVisitor& v) mutable { o.visit(v); });
}

LEXFORMER_INLINE void write_love_options(const LoveOptions& options, const WordUnitOptions& units, ModelFile& file) {
  file.config["model_type"] = "love";
  write_love_options(options, units, file.config["lexformer"] = Json::object());
}

LEXFORMER_INLINE std::pair<WordUnits, LoveOptions> read_love_options(const Json& from, const Vocabulary& vocabulary,
                                                                     const TensorFile& tensors, const std::string& where) {
  LoveOptions options;
  WordUnitOptions of_units;
  const auto read = [&](const char* key, auto& into) {
    const Json* found = find_value(from, key, true, where);
    read_options(found->dump(), where + ": " + key, [&](OptionVisitor& v) { into.visit(v); });
  };
  read("love", options);
  read("units", of_units);
  WordUnits units(vocabulary, of_units, where);
  options.rows = units.size();
  options.pad = static_cast<std::size_t>(units.pad_id());
  try {
    check_love_options(options);
  } catch (const Error& e) {
    fail_file(where, e.what());
  }
  // Compared before memory is allocated.
  const double weights = static_cast<double>(units.size()) * static_cast<double>(options.size) + love_weights(options);
  double held = 0;
  for (const std::string& name : tensors.names()) held += static_cast<double>(tensors.shape(name).size());
  if (weights > held)
    fail_file(where, "LOVE's options ask for at least ", static_cast<std::uint64_t>(weights), " weights, the file has ",
              static_cast<std::uint64_t>(held));
  return {std::move(units), options};
}

LEXFORMER_INLINE std::pair<WordUnits, LoveOptions> read_love_options(const ModelFile& file) {
  const std::string where = file.path + ": config";
  if (const std::string type = get_string(file.config, "model_type", where, "bert"); type != "love")
    fail_file(file.path, "is not a LOVE model: its model_type is ", in_quotes(type));
  if (file.vocabulary.size() == 0) fail_file(file.path, "has no vocabulary, so it cannot read words");
  return read_love_options(*find_value(file.config, "lexformer", true, where), file.vocabulary, file.tensors, where + ": lexformer");
}

}  // namespace lexformer::detail
#endif
