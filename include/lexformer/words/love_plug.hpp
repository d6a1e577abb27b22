// SPDX-License-Identifier: MIT
// LOVE plugged into BERT (Chen et al. 2022, sections 4.6 and 5.6): words of several pieces get vectors that LOVE imputes.
#pragma once

#include <any>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/cache_lock.hpp"
#include "lexformer/words/embedding_plug.hpp"
#include "lexformer/words/love.hpp"
#include "lexformer/words/vectors.hpp"

namespace lexformer {

/// How the vector v that LOVE imputes for a word of several pieces changes its word embeddings e:
///   replace  the word becomes one token, whose embedding is v
///   add      e + v for each piece
///   linear   (1 - a) e + a v for each piece, a = sigmoid(w . e); w is trained, and starts with zeros
enum class LoveMode { replace, add, linear };
template <>
inline constexpr Named<LoveMode> names_of<LoveMode>[] = {
    {"replace", LoveMode::replace}, {"add", LoveMode::add}, {"linear", LoveMode::linear}};

/// The length of v. none: 1, as in the released code. mean_norm: the mean length of the rows of whole words (two or more letters).
enum class LoveRescale { none, mean_norm };
template <>
inline constexpr Named<LoveRescale> names_of<LoveRescale>[] = {{"none", LoveRescale::none}, {"mean_norm", LoveRescale::mean_norm}};

struct LovePlugOptions {
  LoveMode mode = LoveMode::replace;
  LoveRescale rescale = LoveRescale::none;
  bool train = false;        // also LOVE's parameters
  bool unk = false;          // also words that are [UNK], and [UNK] itself in a text
  bool keep_digits = false;  // words with a digit 0 to 9 keep their pieces
  double length = 1;         // of v; set by plug_in()

  /// The options of a program.
  void visit(OptionVisitor& v) {
    v.choice("mode", mode,
             "a word of several pieces becomes one token with LOVE's vector (replace), or its pieces are added to the vector (add), or "
             "mixed with it by a trained gate (linear)");
    v.choice("rescale", rescale, "length of LOVE's vectors: 1, or the mean length of the model's rows of whole words");
    v.flag("train", train, "train LOVE with the model; without it, LOVE's vectors are fixed");
    v.flag("unk", unk, "also give unknown words ([UNK]) LOVE's vectors");
    v.flag("keep_digits", keep_digits, "words with a digit, such as model numbers, keep their pieces; LOVE learns words of letters");
  }
};

/// Tokens whose word embeddings come from a vector of their word: Batch::extras["love"].
struct ImputedWords {
  std::vector<std::string> words;             // distinct
  std::vector<std::int32_t> tokens, word_of;  // (K): tokens of the batch, ascending, and the index of the word of each
};

/// Makes ImputedWords: the words of several pieces, normalized (Encoding::text), and their tokens. `unknown`: the id of [UNK] if unknown
/// words are also imputed; else -1. keep_digits: without words that have a digit.
FeatureMaker imputed_words_feature(std::int32_t unknown, bool keep_digits = false);

/// The embedding plug of a BERT encoder with LOVE. LOVE's own dropout is not applied.
template <class T = float, class Dev = Cpu>
class LovePlug final : public EmbeddingPlug<T, Dev> {
 public:
  /// Vectors of distinct words that are kept, if LOVE is not trained.
  static constexpr std::size_t cached_words = std::size_t{1} << 16;

  LovePlug(Love<T, Dev> love, const LovePlugOptions& options, std::int32_t unk_id);
  /// Reads the plug of a model from its file, without the parameters. Errors (file): as read_love_plug.
  static std::shared_ptr<LovePlug> read(const ModelFile& file, const Tokenizer& tokenizer);

  std::string name() const override { return "love"; }
  std::size_t size() const override { return love_.options().size; }
  Var<T, Dev> operator()(const Var<T, Dev>& rows, const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const override;
  void visit(ParameterVisitor<T, Dev>& v) override;
  void adapt(Tokenizer& tokenizer) const override {
    if (options_.mode == LoveMode::replace)
      tokenizer.keep_whole([keep_digits = options_.keep_digits](std::u32string_view word) { return !(keep_digits && has_digit(word)); });
  }
  FeatureMaker feature() const override { return imputed_words_feature(options_.unk ? unk_id_ : -1, options_.keep_digits); }
  void write(ModelFile& file) override;
  /// Forgets cached vectors, after LOVE's parameters were loaded.
  void reset() override { cache_.clear(); }

  const Love<T, Dev>& love() const { return love_; }
  const LovePlugOptions& options() const { return options_; }

 private:
  Var<T, Dev> vectors(const std::vector<std::string>& words) const;

  Love<T, Dev> love_;
  LovePlugOptions options_;
  std::int32_t unk_id_;
  Var<T, Dev> gate_;  // w of linear
  mutable std::mutex guard_;
  mutable std::map<std::string, std::vector<T>> cache_;
};

namespace detail {
void write_love_plug(const LovePlugOptions& options, const LoveOptions& love, const WordUnits& units, ModelFile& file);
struct StoredLovePlug {
  LovePlugOptions options;
  LoveOptions love;
  WordUnits units;
};
/// The options in a model's file. Errors (file): an option is unknown or out of range; the vocabulary is missing
/// or does not fit.
StoredLovePlug read_love_plug(const ModelFile& file);
}  // namespace detail

/// Gives words of several pieces of a model the vectors that LOVE imputes, for Pretrained::plug_in(). Errors (usage): also, LOVE's
/// vectors do not have the size of the word embeddings.
template <class T, class Dev, template <class, class> class Model>
void plug_in(Model<T, Dev>& model, Love<T, Dev> love, LovePlugOptions options = {}) {
  const std::size_t size = love.options().size, expected = model.config().embedding_size;
  if (size != expected)
    fail_usage(model.path(), "its word embeddings have ", expected, " numbers, LOVE's vectors ", size,
               "; train LOVE on vectors of this size, e.g. on the model's own words: train_love with the targets ", model.path());
  options.length = 1;
  if (options.rescale == LoveRescale::mean_norm) {
    const auto table = cast<float>(model.encoder().embeddings.word.weight).value().template to<Cpu>();
    options.length = whole_word_vectors(model.tokenizer().vocabulary(), table, model.path(), false).mean_norm();
  }
  model.plug_in(std::make_shared<LovePlug<T, Dev>>(std::move(love), options, model.tokenizer().unk_id()));
}

/// Lets models of these types be opened that have LOVE plugged in.
template <class T, class Dev>
bool register_love_plug() {
  embedding_plugs<T, Dev>()["love"] = LovePlug<T, Dev>::read;
  return true;
}
#if !defined(LEXFORMER_COMPILED)  // else lexformer::compiled does it
inline const bool love_plug_of_float = register_love_plug<float, Cpu>();
#endif

// Bodies are outside the class so that lexformer::compiled can hold them once.

template <class T, class Dev>
LovePlug<T, Dev>::LovePlug(Love<T, Dev> love, const LovePlugOptions& options, std::int32_t unk_id)
    : love_(std::move(love)), options_(options), unk_id_(unk_id) {
  if (options_.mode == LoveMode::linear) gate_ = Var<T, Dev>(Tensor<T, Dev>::zeros({love_.options().size}), true);
}

template <class T, class Dev>
std::shared_ptr<LovePlug<T, Dev>> LovePlug<T, Dev>::read(const ModelFile& file, const Tokenizer& tokenizer) {
  const auto stored = detail::read_love_plug(file);
  return std::make_shared<LovePlug>(Love<T, Dev>::blank(stored.units, stored.love), stored.options, tokenizer.unk_id());
}

template <class T, class Dev>
void LovePlug<T, Dev>::visit(ParameterVisitor<T, Dev>& v) {
  if (options_.mode == LoveMode::linear) v("gate", gate_);
  for (auto& p : named_parameters<T, Dev>(love_.encoder())) {
    if (options_.train) {
      v(p.name, p.var);
    } else {
      v.buffer(p.name, p.var);
    }
  }
}

template <class T, class Dev>
Var<T, Dev> LovePlug<T, Dev>::vectors(const std::vector<std::string>& words) const {
  if (options_.train) return love_(words);
  const NoGrad no_grad;
  const auto lock = detail::lock_cache(guard_);
  if (!lock) return Var<T, Dev>(love_.vectors(words).template to<Dev>());
  if (cache_.size() > cached_words) cache_.clear();
  std::vector<std::string> missing;
  for (const std::string& word : words)
    if (!cache_.contains(word)) missing.push_back(word);
  const std::size_t size = love_.options().size;
  if (!missing.empty()) {
    const auto found = love_.vectors(missing);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const auto row = found.span().subspan(i * size, size);
      cache_.emplace(missing[i], std::vector<T>(row.begin(), row.end()));
    }
  }
  std::vector<T> all;
  all.reserve(words.size() * size);
  for (const std::string& word : words) {
    const auto& row = cache_.at(word);
    all.insert(all.end(), row.begin(), row.end());
  }
  return Var<T, Dev>(Tensor<T, Dev>::from(all, {words.size(), size}));
}

template <class T, class Dev>
Var<T, Dev> LovePlug<T, Dev>::operator()(const Var<T, Dev>& rows, const DeviceBatch<T, Dev>& batch, const ForwardOptions&) const {
  const auto extra = batch.extras.find("love");
  const ImputedWords* const given = extra == batch.extras.end() ? nullptr : std::any_cast<ImputedWords>(&extra->second);
  if (given == nullptr)
    fail("LovePlug",
         "the batch does not say which words have several pieces; make it with the batch() of the model, or of a PairDataset with "
         "the model's features");
  const bool trained = options_.train || options_.mode == LoveMode::linear, none = given->tokens.empty();
  if (none && (!trained || rows.dim(0) == 0)) return rows;
  // A batch without such words also depends on trained parameters: with gradient 0, so that they have a gradient in every step.
  static const ImputedWords any{{"a"}, {0}, {0}};
  const ImputedWords& imputed = none ? any : *given;
  const auto& tokens = imputed.tokens;
  const NameScope scope("love");
  auto v = select_rows(vectors(imputed.words), imputed.word_of);  // (tokens, D)
  if (options_.length != 1) v = scale(v, static_cast<accumulate_t<T>>(options_.length));
  if (options_.mode != LoveMode::replace) {
    const auto e = select_rows(rows, tokens);
    if (options_.mode == LoveMode::linear) {
      const auto a = reshape(sigmoid(row_sum(multiply(e, gate_))), {tokens.size(), 1});
      v = add(e, multiply(a, subtract(v, e)));
    } else {
      v = add(e, v);
    }
  }
  if (none) v = add(select_rows(rows, tokens), scale(v, accumulate_t<T>{0}));
  return replace_rows(rows, tokens, v);
}

template <class T, class Dev>
void LovePlug<T, Dev>::write(ModelFile& file) {
  detail::write_love_plug(options_, love_.options(), love_.units(), file);
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE FeatureMaker imputed_words_feature(std::int32_t unknown, bool keep_digits) {
  return [=](std::span<const Encoding> encodings, Batch& batch) {
    ImputedWords imputed;
    std::map<std::string, std::int32_t> numbers;
    std::size_t first = 0;  // token of the encoding
    for (const Encoding& e : encodings) {
      for (const Word& word : e.words) {
        if (word.pieces < 2 && (unknown < 0 || e.ids[word.first] != unknown)) continue;
        if (keep_digits && has_digit(e.text(word))) continue;
        const auto [found, is_new] = numbers.try_emplace(to_utf8(e.text(word)), static_cast<std::int32_t>(numbers.size()));
        if (is_new) imputed.words.push_back(found->first);
        for (std::size_t t = word.first; t < word.last; ++t) {
          imputed.tokens.push_back(static_cast<std::int32_t>(first + t));
          imputed.word_of.push_back(found->second);
        }
      }
      first += e.size();
    }
    batch.extras["love"] = std::move(imputed);
  };
}

namespace detail {

LEXFORMER_INLINE void write_love_plug(const LovePlugOptions& options, const LoveOptions& love, const WordUnits& units, ModelFile& file) {
  Json plug = options_json([o = options](OptionVisitor& v) mutable { o.visit(v); });
  plug["length"] = options.length;
  Json& ours = file.config["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  Json& stored = ours["love"] = Json::object();
  stored["plug"] = std::move(plug);
  write_love_options(love, units.options(), stored);
  write_vocabulary(units.vocabulary(), "lexformer.love_vocab", file.metadata);
}

LEXFORMER_INLINE StoredLovePlug read_love_plug(const ModelFile& file) {
  const std::string where = file.path + ": config: lexformer";
  const Json* stored = find_value(*find_value(file.config, "lexformer", true, file.path), "love", true, where);
  const std::string here = where + ": love";
  LovePlugOptions options;
  Json plug = *find_value(*stored, "plug", true, here);
  if (!plug.is_object()) fail_file(here, "'plug' is ", plug.type_name(), ", expected an object");
  options.length = get_number(plug, "length", 1e-30, 1e30, here + ": plug");
  plug.erase("length");
  read_options(plug.dump(), here + ": plug", [&](OptionVisitor& v) { options.visit(v); });
  const auto vocabulary = read_vocabulary(file.metadata, "lexformer.love_vocab", file.path);
  if (!vocabulary) fail_file(file.path, "lexformer.love_vocab is missing");
  auto [units, love] = read_love_options(*stored, *vocabulary, file.tensors, here);
  return StoredLovePlug{options, love, std::move(units)};
}

}  // namespace detail

}  // namespace lexformer
#endif
