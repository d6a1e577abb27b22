// SPDX-License-Identifier: MIT
// What all models on an encoder share: config, tokenizer, encoder with attention terms, named parameters, loading and saving.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/core/glob.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/models/head_names.hpp"
#include "lexformer/models/int8_layers.hpp"
#include "lexformer/models/transformer.hpp"
#include "lexformer/nn/saved_model.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/words/embedding_plug.hpp"

namespace lexformer {

namespace detail {

/// The last hidden states of these token rows, (N, D) -> (positions, D). Errors: a row is not in the batch.
template <class T, class Dev>
Var<T, Dev> token_rows(const char* who, const EncoderOutput<T, Dev>& y, std::span<const std::int32_t> positions) {
  for (const std::int32_t p : positions)
    if (p < 0 || static_cast<std::size_t>(p) >= y.last.dim(0)) fail(who, "position ", p, " of a batch of ", y.last.dim(0), " tokens");
  return select_rows(y.last, Indices<std::int32_t, Dev>(positions));
}

}  // namespace detail

/// What a model loaded for training may have in addition to its file: attention terms, and new parameters drawn from `seed`.
struct TrainingStart {
  std::vector<TermConfig> attention{};  // the position scheme and the reach are the file's unless named here
  std::uint64_t seed = 0;
  std::optional<PairForm> pair_form{};  // default: the file's
  std::string pair_separator{};         // of the form; default: the token of the config's eos_token_id
  bool bidirectional = false;           // TransformerConfig::make_bidirectional
};

/// A model on an encoder. A subclass adds a head: it constructs the head between make_encoder() and load_state(), and names the head's
/// parameters in visit_head().
template <class T = float, class Dev = Cpu>
class Pretrained {
 public:
  virtual ~Pretrained();
  Pretrained(Pretrained&&) noexcept = default;
  Pretrained& operator=(Pretrained&&) noexcept = default;

  /// The file that it was made from, for messages.
  const std::string& path() const { return path_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const TransformerConfig& config() const { return encoder_->config; }
  Transformer<T, Dev>& encoder() { return *encoder_; }
  const Transformer<T, Dev>& encoder() const { return *encoder_; }
  /// The seed of new parameters and of dropout in training.
  std::uint64_t seed() const { return seed_; }
  /// The options of the forward pass of one training step.
  ForwardOptions training(std::uint32_t step) const { return {.training = true, .seed = seed_, .step = step}; }

  /// All parameters and buffers of the encoder, the head and the attention terms, under their names in the file.
  std::vector<NamedParameter<T, Dev>> state();
  /// The parameters that an optimizer trains: state() without buffers. Errors (usage): the model is in 8 bits.
  std::vector<NamedParameter<T, Dev>> parameters() {
    if (quantized_) fail_usage(path_, "is in 8 bits, so it can score but not be trained; train it in float32 or bfloat16");
    return without_buffers(state());
  }
  /// Rounds the weights of the encoder's linear layers to 8 bits, for faster scoring: query, key and value, attention.output.dense,
  /// intermediate.dense, output.dense. Their inputs are rounded row by row (kernels/products/gemm_int8.hpp). Embeddings, attention,
  /// LayerNorm, terms and head stay in float. The float weights are freed, and the model cannot be trained any more; save() stores the
  /// integers.
  ///   auto model = lexformer::CrossEncoder<>::load("model.lxf");
  ///   model.quantize();
  /// In float32 on the CPU only. Errors (usage): another type or device; it is in 8 bits already; a name in `skip` fits no layer.
  void quantize(const QuantizeOptions& options = {});
  /// Whether layers are in 8 bits: by quantize(), or in the file.
  bool quantized() const { return quantized_; }
  /// Changes the word embeddings by a plug, which is saved with the model. Call it before features(), parameters() and tokenizer().
  /// Parameters of the plug that are trained are listed by new_tensors(). Errors (usage): the plug's vectors do not have the size of the
  /// word embeddings; the model has a plug already.
  void plug_in(std::shared_ptr<EmbeddingPlug<T, Dev>> plug);
  /// Excludes the parameters of these names from training; returns how many. * stands for anything, the name of a module for all that is
  /// in it, and `bert.` (or the family's prefix) or `lexformer.` before it can be left out: "embeddings", "encoder.layer.3",
  /// "encoder.layer.*.output.*". Errors (usage): no name fits.
  std::size_t freeze(const std::string& pattern);
  /// The names of the frozen parameters.
  const std::vector<std::string>& frozen() const { return frozen_; }

  /// The makers of the features that the attention terms read, for a PairDataset.
  std::vector<FeatureMaker> features() const { return encoder_->features(); }
  /// Gives the terms the knowledge from which they compute features, e.g. the dependency trees of DAFA:
  ///   model.provide({.trees = read_conllu(paths)});
  void provide(const TextKnowledge& knowledge) {
    for (const auto& term : encoder_->factories()) term.factory->provide(knowledge);
  }
  /// Checks that the features of these texts can be computed: for DAFA, that each has a dependency tree. `where` begins error messages.
  void check_texts(std::span<const std::string> texts, const std::string& where) const {
    for (const auto& term : encoder_->factories()) term.factory->check_texts(texts, where);
  }
  /// Counts what the terms need in the training texts, before features() and training. The counts become options of the terms.
  virtual void fit(std::span<const std::string> texts) {
    for (const auto& term : encoder_->factories()) term.factory->fit(texts);
    encoder_->config.attention = attention();
  }
  /// Makes a batch of tokenized texts with all features that the model reads.
  Batch batch(std::span<const Encoding> encodings) const { return make_batch(encodings, features()); }
  /// Lets every attention term measure the values it needs from data before training (LEA: alpha), unless they are known. Returns whether
  /// all are known afterwards; if not, call it with another batch.
  bool calibrate(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}) { return encoder_->calibrate(batch, forward); }
  /// Whether they are known.
  bool calibrated() const { return encoder_->calibrated(); }

  /// The model in the form in which it is saved.
  ModelFile file();
  void save(const std::string& path) { file().save(path); }
  /// Copies all parameters and buffers from a saved model, but no options. Errors: one is missing or has another shape.
  void restore(const ModelFile& saved);

  /// Parameters that the file does not have; they are newly initialised.
  const std::vector<std::string>& new_tensors() const { return new_tensors_; }
  /// Tensors and config keys of the file that this model does not use. Without TrainingStart they are an error, except for tensors of heads
  /// for other tasks.
  const std::vector<std::string>& unused_tensors() const { return unused_tensors_; }
  const std::vector<std::string>& unused_config() const { return unused_config_; }
  /// The attention terms of the file that a model loaded for training does not have.
  std::vector<std::string> dropped_terms() const {
    std::vector<std::string> dropped;
    for (const auto& before : stored_attention_)
      if (std::none_of(encoder_->factories().begin(), encoder_->factories().end(),
                       [&](const auto& now) { return now.name == before.name; }))
        dropped.push_back(before.name);
    return dropped;
  }

 protected:
  /// Reads config and tokenizer. Without `start` the model is used exactly as in the file.
  Pretrained(const ModelFile& file, const std::optional<TrainingStart>& start);
  /// A new model, whose encoder is also drawn from `seed`.
  Pretrained(const Json& config, Vocabulary vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed, const std::string& where);

  virtual void visit_head(ParameterVisitor<T, Dev>&) {}
  /// Adds the subclass's own data to the file, after everything else.
  virtual void write(ModelFile&) const {}

  /// The parsed config, for the sizes of the head before the encoder exists.
  const TransformerConfig& parsed_config() const { return parsed_; }
  Init& init() { return init_; }
  /// Makes the encoder. Errors: the config asks for far more weights than the file has (`head_weights`: the head's); checked before
  /// memory is allocated. A small difference is reported when the tensors are compared, with a better message.
  void make_encoder(double head_weights);
  /// Makes the attention terms that come after the head, and loads all parameters from the file.
  void load_state();

 private:
  void check_vocabulary() const;
  void set_pair_form(const TrainingStart& start);
  /// f(); `stored`: by settings that the file holds.
  template <class F>
  decltype(auto) of_settings(bool stored, F&& f) const {
    return stored ? with_stored_settings(path_, f) : f();
  }
  /// Remembers that layers are in 8 bits, and lets no parameter require a gradient.
  void set_quantized();
  void set_plug(std::shared_ptr<EmbeddingPlug<T, Dev>> plug);
  bool is_of_plug(const std::string& parameter) const {
    return encoder_->embeddings.plug && parameter.starts_with("lexformer.encoder." + encoder_->embeddings.plug->name() + ".");
  }
  /// The terms with the options in use.
  std::vector<TermConfig> attention() const {
    std::vector<TermConfig> terms;
    for (const auto& [name, factory] : encoder_->factories())
      terms.emplace_back(name, [made = factory](OptionVisitor& v) { made->visit(v); });
    return terms;
  }

  std::string path_;                       // for messages
  std::shared_ptr<const ModelFile> file_;  // only until load_state()
  std::optional<TrainingStart> start_;
  std::vector<TermConfig> stored_attention_;  // the file's, if the model is loaded for training
  std::map<std::string, std::string> metadata_;
  JsonValue json_;  // HuggingFace's config.json
  Tokenizer tokenizer_;
  TransformerConfig parsed_;
  std::uint64_t seed_ = 0;
  Init init_;
  std::unique_ptr<Transformer<T, Dev>> encoder_;
  bool quantized_ = false;
  std::vector<std::string> frozen_, new_tensors_, unused_tensors_, unused_config_;
};

// Bodies are outside the class so that lexformer::compiled can hold them once.

template <class T, class Dev>
Pretrained<T, Dev>::Pretrained(const ModelFile& file, const std::optional<TrainingStart>& start)
    : path_(file.path),
      file_(std::make_shared<ModelFile>(file)),
      start_(start),
      metadata_(file.metadata),
      json_(file.config),
      tokenizer_(make_tokenizer(file)),
      parsed_(parse_transformer_config(file.config, file.path + ": config")),
      seed_(start ? start->seed : 0),
      init_(seed_, parsed_.initializer_range) {
  std::erase_if(metadata_, [](const auto& entry) { return is_head_metadata(entry.first); });  // the subclass reads its head's
  if (start) {
    stored_attention_ = parsed_.attention;
    const auto& known = attention_terms<T, Dev>();
    const auto is = [&](const TermConfig& t, bool (TermFactory<T, Dev>::*what)() const) {
      const auto found = known.find(t.name);
      return found != known.end() && (*found->second().*what)();
    };
    const auto is_scheme = [&](const TermConfig& t) { return is(t, &TermFactory<T, Dev>::positions); };
    const auto& named = start->attention;
    const auto scheme = std::find_if(named.begin(), named.end(), is_scheme);
    std::erase_if(parsed_.attention, [&](const TermConfig& t) { return !is(t, &TermFactory<T, Dev>::stays); });
    if (scheme != named.end()) {
      const auto stored = std::find_if(parsed_.attention.begin(), parsed_.attention.end(), is_scheme);
      if (stored == parsed_.attention.end() || stored->name != scheme->name) parsed_.position_embeddings.reset();
      std::erase_if(parsed_.attention, is_scheme);
    }
    std::erase_if(parsed_.attention, [&](const TermConfig& t) {
      return std::any_of(named.begin(), named.end(), [&](const TermConfig& n) { return n.name == t.name; });
    });
    for (const TermConfig& term : named) parsed_.attention.push_back(term);
    if (start->bidirectional) parsed_.make_bidirectional();
    if (start->pair_form) set_pair_form(*start);
  }
  check_vocabulary();
}

template <class T, class Dev>
Pretrained<T, Dev>::Pretrained(const Json& config, Vocabulary vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed,
                               const std::string& where)
    : path_(where), tokenizer_(std::move(vocabulary), tokenizer), seed_(seed) {
  json_ = complete_config(config, tokenizer_.vocabulary().size(), tokenizer_.vocabulary().id(tokenizer_.options().pad), where);
  parsed_ = parse_transformer_config(json_, where);
  init_ = Init(seed, parsed_.initializer_range);
  check_vocabulary();
}

template <class T, class Dev>
void Pretrained<T, Dev>::set_pair_form(const TrainingStart& start) {
  TokenizerOptions options = tokenizer_.options();
  const bool plain = start.pair_form == PairForm::plain;
  if (plain && !start.pair_separator.empty()) fail_usage("pair_separator", "has no effect with `pair_form` plain");
  options.pair_form = *start.pair_form;
  options.pair_separator = plain ? "" : start.pair_separator;
  if (!plain && start.pair_separator.empty()) {
    const auto end = end_token_id(json_, path_ + ": config");
    const auto& tokens = tokenizer_.vocabulary();
    if (end && static_cast<std::size_t>(*end) < tokens.size()) options.pair_separator = tokens.token(*end);
  }
  tokenizer_ = Tokenizer(tokenizer_.vocabulary(), options);
  if (start.pair_form == PairForm::repeated && !parsed_.causal())
    fail_usage("pair_form", "repeated is for decoders, as GPT-2; in ", path_, " each token sees both texts already");
}

template <class T, class Dev>
Pretrained<T, Dev>::~Pretrained() = default;

template <class T, class Dev>
void Pretrained<T, Dev>::check_vocabulary() const {
  if (tokenizer_.vocabulary().size() > parsed_.vocab_size)
    fail_file(path_, "the vocabulary has ", tokenizer_.vocabulary().size(), " tokens, the embedding ", parsed_.vocab_size, " rows");
}

template <class T, class Dev>
void Pretrained<T, Dev>::make_encoder(double head_weights) {
  const TransformerConfig& c = parsed_;
  const bool stored = file_ != nullptr && !start_;  // all settings are the file's
  auto factories = of_settings(stored, [&] { return configure_terms<T, Dev>(c.attention, c.sizes(), path_ + ": config"); });
  if (file_ != nullptr) {
    const auto size = [](std::size_t n) { return static_cast<double>(n); };
    const double h = size(c.hidden_size), e = size(c.embedding_size), few = 1u << 25;
    double terms = 0, held = 0;
    bool scheme = false;
    for (const auto& t : factories) {
      terms += t.factory->weights(c.sizes());
      scheme = scheme || t.factory->positions();
    }
    const bool positions = c.position_embeddings.value_or(!scheme);
    const double needed = head_weights + size(c.vocab_size + (positions ? c.max_position_embeddings : 0) + c.type_vocab_size) * e +
                          (e == h ? 0 : e * h) +
                          size(c.num_hidden_layers) * (4 * h * h + (c.architecture().gated ? 3 : 2) * h * size(c.intermediate_size));
    for (const std::string& name : file_->tensors.names()) held += size(file_->tensors.shape(name).size());
    // Terms may be new, and may have as many weights as the file.
    if (needed + std::max(0.0, terms - held) > held + few)
      fail_file(path_, "the config asks for ", needed + terms, " weights, the file has ", held);
  }
  auto blank = Init::none();
  encoder_ = of_settings(
      stored, [&] { return std::make_unique<Transformer<T, Dev>>(c, std::move(factories), file_ != nullptr ? blank : init_, init_); });
  if (file_ == nullptr) return;
  if (auto plug = read_plug<T, Dev>(*file_, tokenizer_)) set_plug(std::move(plug));
}

template <class T, class Dev>
void Pretrained<T, Dev>::set_plug(std::shared_ptr<EmbeddingPlug<T, Dev>> plug) {
  const std::size_t size = plug->size(), expected = config().embedding_size;
  if (size != expected)
    throw Error(
        file_ != nullptr ? ErrorKind::file : ErrorKind::usage,
        cat(path_, ": its word embeddings have ", expected, " numbers, the vectors of its plug ", in_quotes(plug->name()), " ", size));
  if (!tokenizer_.is_wordpiece())
    fail_usage(path_, "a plug of word embeddings needs WordPiece, this model has another tokenizer: ", in_quotes(plug->name()));
  plug->adapt(tokenizer_);
  encoder_->embeddings.plug = std::move(plug);
}

template <class T, class Dev>
void Pretrained<T, Dev>::plug_in(std::shared_ptr<EmbeddingPlug<T, Dev>> plug) {
  if (encoder_->embeddings.plug)
    fail_usage(path_, "has ", in_quotes(encoder_->embeddings.plug->name()), " plugged in already; start from the model without it");
  set_plug(std::move(plug));
  for (const auto& p : without_buffers(state()))
    if (is_of_plug(p.name)) new_tensors_.push_back(p.name);
}

namespace detail {
inline void refuse_unused(const std::string& path, const std::vector<std::string>& names, const char* what) {
  if (names.empty()) return;
  std::vector<std::string> first;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i) first.push_back(in_quotes(names[i]));
  fail_file(path, "holds ", what,
            " that this model does not use, so its scores would not be those of the model that was trained: ", join(first),
            names.size() > 3 ? cat(" and ", names.size() - 3, " more") : "");
}
}  // namespace detail

template <class T, class Dev>
void Pretrained<T, Dev>::load_state() {
  of_settings(file_ != nullptr && !start_, [&] { encoder_->add_other_terms(init_); });
  auto parameters = state();
  if (file_ == nullptr) {
    for (const auto& p : parameters) new_tensors_.push_back(p.name);
    return;
  }
  const TensorFile& tensors = file_->tensors;
  const auto int8 = detail::read_int8(*encoder_, tensors, path_);
  if (!int8.empty() && start_)
    fail_file(path_, "holds weights in 8 bits, which can score but not be trained; start from the model in float that it was made from");
  if (!int8.empty() && !(std::is_same_v<T, float> && std::is_same_v<Dev, Cpu>))
    fail_file(path_, "holds weights in 8 bits, which need the CPU and float32: `device` cpu, and `precision` float32 or int8");
  std::vector<ExpectedTensor> all;
  for (const auto& [slot, stored] : int8)
    for (std::size_t i = 0; i < slot.layers.size(); ++i) {
      all.push_back({slot.weight(i), slot.layers[i].second->weight.shape()});
      all.push_back({slot.scale(i), slot.layers[i].second->bias.shape()});
      std::erase_if(parameters, [&, name = slot.weight(i)](const auto& p) { return p.name == name; });
    }
  const Architecture& architecture = parsed_.architecture();
  // Parameters of terms whose options differ from the file's are not always reused.
  std::vector<std::pair<NamedFactory<T, Dev>, NamedFactory<T, Dev>>> changed;  // current, in the file
  for (const auto& now : encoder_->factories())
    for (const auto& before : stored_attention_)
      if (before.name == now.name) changed.emplace_back(now, configure_terms<T, Dev>({before}, parsed_.sizes(), path_ + ": config")[0]);
  const auto may_stay = [&](const NamedParameter<T, Dev>& p) {
    if (!start_ || is_of_plug(p.name)) return false;  // a plug is saved with all it has
    const bool known = p.name.starts_with("lexformer.") || p.name.ends_with(".attention.self.distance_embedding.weight") ||
                       is_head_tensor(architecture, p.name);
    const bool fits = tensors.contains(p.name) && tensors.shape(p.name) == p.var.shape();
    const bool reused = std::all_of(changed.begin(), changed.end(), [&](const auto& pair) {
      return p.name.find("." + pair.first.name + ".") == p.name.npos || pair.first.factory->reuses(p.name, *pair.second.factory);
    });
    return known && !(fits && reused);
  };
  for (const auto& p : parameters) all.push_back({p.name, p.var.shape()});
  for (auto& name : compare_tensors(tensors, all).unexpected) unused_tensors_.push_back(std::move(name));
  unused_config_ = refused_config_keys(file_->config, architecture);
  if (!start_) {
    // HuggingFace stores a table of position embeddings with these schemes but does not read it.
    const bool idle_table =
        std::any_of(parsed_.attention.begin(), parsed_.attention.end(), [](const auto& t) { return t.name.starts_with("relative_key"); });
    std::erase_if(unused_tensors_, [&](const std::string& name) {
      return is_head_tensor(architecture, name) || (idle_table && name.ends_with(".position_embeddings.weight"));
    });
    detail::refuse_unused(path_, unused_tensors_, "tensors");
    detail::refuse_unused(path_, unused_config_, "keys of the config");
  }
  std::erase_if(parameters, [&](const auto& p) {
    if (!may_stay(p)) return false;
    new_tensors_.push_back(p.name);
    return true;
  });
  load_parameters(parameters, tensors, path_);
  for (const auto& [slot, stored] : int8) slot.set(stored);
  if (!int8.empty()) set_quantized();
  file_.reset();
}

template <class T, class Dev>
std::vector<NamedParameter<T, Dev>> Pretrained<T, Dev>::state() {
  return encoder_state<T, Dev>(*encoder_, [this](auto& v) { visit_head(v); });
}

template <class T, class Dev>
void Pretrained<T, Dev>::set_quantized() {
  quantized_ = true;
  for (auto& p : state()) p.var.set_requires_grad(false);
}

template <class T, class Dev>
void Pretrained<T, Dev>::quantize(const QuantizeOptions& options) {
  if (!(std::is_same_v<T, float> && std::is_same_v<Dev, Cpu>))
    fail_usage("quantize", "layers in 8 bits are computed in float32 on the CPU only");
  if (quantized_) fail_usage("quantize", path_, " is in 8 bits already");
  detail::round_to_int8(*encoder_, options, "quantize");
  set_quantized();
}

template <class T, class Dev>
void Pretrained<T, Dev>::restore(const ModelFile& saved) {
  if (quantized_) fail_usage(path_, "is in 8 bits, so float weights cannot be restored; load the saved model instead");
  auto parameters = state();
  load_parameters(parameters, saved.tensors, saved.path);
  if (encoder_->embeddings.plug) encoder_->embeddings.plug->reset();
}

template <class T, class Dev>
std::size_t Pretrained<T, Dev>::freeze(const std::string& pattern) {
  const auto fits = [&](std::string_view name) { return fits_glob(pattern, name) || fits_glob(pattern + ".*", name); };
  const std::string model(config().architecture().prefix), ours = "lexformer.";
  const std::size_t before = frozen_.size();
  for (auto& p : parameters()) {
    const std::string_view name = p.name;
    const std::size_t prefix = name.starts_with(model) ? model.size() : name.starts_with(ours) ? ours.size() : 0;
    if (!fits(name) && !fits(name.substr(prefix))) continue;
    p.var.set_requires_grad(false);
    frozen_.push_back(p.name);
  }
  if (frozen_.size() == before)
    fail_usage("freeze", "no parameter is called ", in_quotes(pattern), "; use names of modules, with * for anything: encoder.layer.0");
  return frozen_.size() - before;
}

template <class T, class Dev>
ModelFile Pretrained<T, Dev>::file() {
  ModelFile f;
  f.config = json_;
  TransformerConfig c = encoder_->config;
  c.attention = attention();
  write_config(c, f.config);
  f.vocabulary = tokenizer_.vocabulary();
  f.tokenizer = tokenizer_.options();
  f.metadata = metadata_;
  for (const auto& p : state()) f.tensors.set(p.name, p.var.value().template to<Cpu>());
  detail::write_int8(*encoder_, f.tensors);
  if (encoder_->embeddings.plug) encoder_->embeddings.plug->write(f);
  write(f);
  return f;
}

#if defined(LEXFORMER_COMPILED)
extern template class Pretrained<float, Cpu>;
#if defined(LEXFORMER_WITH_CUDA)  // in lexformer::cuda
extern template class Pretrained<float, Cuda>;
#endif
#endif

}  // namespace lexformer
