// SPDX-License-Identifier: MIT
// Trains LOVE's rivals, which impute the vector of a word: MIMICK, BoS, KVQ-FH and edit distance.
#include <lexformer/words/bos.hpp>
#include <lexformer/words/edit_distance.hpp>
#include <lexformer/words/kvq_fh.hpp>
#include <lexformer/words/mimick.hpp>

#include "train/imputer_training.hpp"
#include "train/love_words.hpp"

namespace lx = lexformer;

namespace {

using Method = program::ImputerMethod;

struct Options : program::ImputerTrainOptions {
  static constexpr std::size_t words_of_edit_distance = 20000;

  Method method = Method::mimick;
  std::string vocab;
  lx::WordUnitOptions units{.mode = lx::UnitMode::pieces};
  lx::MimickOptions mimick;
  lx::BosOptions bos;
  lx::KvqFhOptions kvq_fh;

  void visit(program::OptionVisitor& v) {
    const auto belongs_to = [&](Method of, lx::Option& option) {
      option.only_if(of == method, lx::cat("belongs to --method ", lx::name_of(of), ", not ", lx::name_of(method)));
    };
    const auto part = [&](Method of, const char* title, const char* prefix, auto& options) {
      v.group(title);
      for (lx::Option& option : program::visit_part(v, options, prefix)) belongs_to(of, option);
    };
    v.choice("method", method,
             "an LSTM over pieces (mimick), the mean of substrings (bos), attention over substrings (kvq_fh), or the vector of the nearest "
             "known word, for which nothing is trained (edit_distance)")
        .required();
    visit_data(v);
    belongs_to(Method::mimick,
               v.input("vocab", vocab, "mimick: vocabulary of pieces, one token per line (tools/make_love_vocab.py)").shown_as("V.txt"));
    part(Method::mimick, "MIMICK", "", mimick);
    part(Method::mimick, "Units of MIMICK", "", units);
    part(Method::bos, "BoS", "bos_", bos);
    part(Method::kvq_fh, "KVQ-FH", "kvq_fh_", kvq_fh);
    v.group("Training");
    v.size("batch", settings.batch, 1, "words of a batch");
    settings.visit(v);
    visit_run(v, settings);
    for (lx::Option& option : v.options())
      if (option.group == "Training" || option.name == "logging_steps" || option.name == "precision")
        option.only_if(trained(), lx::cat("belongs to --method mimick, bos or kvq_fh, not ", lx::name_of(method)));
  }
  bool trained() const { return method != Method::edit_distance; }
  void finish(const program::OptionVisitor&) {
    finish_run();
    if (method == Method::mimick && vocab.empty()) lx::fail_usage("--vocab", "is missing; mimick reads words as pieces");
    if (!trained() && max_words == 0) max_words = words_of_edit_distance;
  }
  lx::Json json(const std::string& of_targets, const std::string& of_vocabulary) const {
    lx::Json all = trained() ? program::identity_of(*this) : lx::Json{{"method", lx::name_of(method)}};
    all["targets"] = of_targets;
    if (method == Method::mimick) {
      all["vocab"] = of_vocabulary;
      all["units"] = program::part_json(units);
      all["mimick"] = program::part_json(mimick);
    }
    if (method == Method::bos) all["bos"] = program::part_json(bos);
    if (method == Method::kvq_fh) all["kvq_fh"] = program::part_json(kvq_fh);
    return all;
  }
};

/// Trains a model on the words as they are. Returns false if the run was interrupted (and saved).
template <template <class, class> class Model, class T, class Dev>
bool train_model(const Options& o, Model<T, Dev> model, const lx::WordVectors& targets, program::ImputerTexts texts,
                 const std::string& of_vocabulary = "") {
  const lx::LoveBatchOptions plain{
      .batch = o.settings.batch, .negatives = 0, .swap = 0, .drop = 0, .insert = 0, .keyboard = 0, .synonym = 0};
  const lx::LoveBatches::Lists none(targets.size());
  const lx::LoveBatches source(targets.words(), none, none, plain, o.settings.seed);
  if (!o.quiet) std::cerr << targets.size() << " words of " << targets.dimension() << " numbers\n";
  texts.data = lx::cat(targets.size(), " words of ", targets.dimension(), " numbers", texts.data, ".");
  Options defaults;
  defaults.method = o.method;
  return program::train_words(
      o, model, targets, source,
      [&](const auto& expected, const auto& vectors, const lx::LoveBatch&) { return model.loss(expected, vectors); },
      o.json(targets.describe(), of_vocabulary), defaults.json("", ""), texts);
}

/// Writes the known words and their vectors.
void write_edit_distance(const Options& o) {
  const lx::EditDistance model(program::select_words(program::read_word_vectors(o.targets, o.words), o));
  model.save(o.out + "/model.lxf");
  const auto& known = model.known();
  program::StringWriter card;
  card << "# Edit distance: vectors of " << known.dimension() << " numbers for any word\n\nThe vector of the known word with the smallest "
       << "edit distance, the first of equally near ones. " << known.size() << " known words; nothing is trained. Written by lexformer "
       << LEXFORMER_VERSION << ".\n\n```sh\necho photovoltaic | lexformer impute --model model.lxf\n```\n\nTargets `" << o.targets
       << "`. To redistribute this model, comply with their licence.\n"
       << program::how_it_was_made(o.command);
  lx::Json results = lx::Json::object();
  results["known_words"] = known.size();
  results["settings"] = o.json(known.describe(), "");
  lx::write_file_atomic(o.out + "/README.md", card.str());
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << o.out << "/model.lxf: " << known.size() << " known words of " << known.dimension() << " numbers\n";
}

/// One run. Returns false if it was interrupted (and saved).
struct TrainImputer {
  template <class T, class Dev>
  static bool train(Options o);
};

template <class T, class Dev>
bool TrainImputer::train(Options o) {
  if (!o.trained()) {
    write_edit_distance(o);
    return true;
  }
  const auto targets = program::select_words(program::read_word_vectors(o.targets, o.words), o);
  o.mimick.size = o.bos.size = o.kvq_fh.size = targets.dimension();
  const auto& words = targets.words();
  if (o.method == Method::mimick) {
    const lx::WordUnits units(lx::Vocabulary::load_vocab_txt(o.vocab), o.units, o.vocab);
    return train_model(o, lx::Mimick<T, Dev>(units, o.mimick, o.settings.seed), targets,
                       {"MIMICK", "Imputes the vector of a word from its pieces with an LSTM. ", ". Vocabulary `" + o.vocab + "`",
                        "Pinter, Guthrie and Eisenstein, \"Mimicking Word Embeddings using Subword RNNs\", EMNLP 2017"},
                       program::describe(units.vocabulary()));
  }
  if (o.method == Method::bos)
    return train_model(o, lx::Bos<T, Dev>(words, o.bos), targets,
                       {"BoS", "Imputes the vector of a word as the mean of the vectors of its substrings. ", "",
                        "Zhao, Mudgal and Liang, \"Generalizing Word Embeddings using Bag of Subwords\", EMNLP 2018"});
  return train_model(o, lx::KvqFh<T, Dev>(words, o.kvq_fh, o.settings.seed), targets,
                     {"KVQ-FH", "Imputes the vector of a word by attention over its substrings, which share the rows of a table. ", "",
                      "Sasaki, Suzuki and Inui, \"Subword-based Compact Reconstruction of Word Embeddings\", NAACL 2019"});
}

const program::Registered<program::TrainCommand<Options, TrainImputer>> command{
    "train_imputer", program::Group::train, "the rivals of LOVE: MIMICK, BoS, KVQ-FH, edit distance",
    "Trains a rival of LOVE (train_love), which imputes vectors for words that a vocabulary does not hold, on the vectors of known words: "
    "MIMICK, BoS, KVQ-FH, or the nearest known word. All programs that read such models read the models of each method."};

}  // namespace
