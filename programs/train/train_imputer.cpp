// SPDX-License-Identifier: MIT
// Trains LOVE's rivals, which impute the vector of a word: MIMICK, BoS, KVQ-FH and edit distance.
#include <lexformer/models/bos.hpp>
#include <lexformer/models/edit_distance.hpp>
#include <lexformer/models/kvq_fh.hpp>
#include <lexformer/models/mimick.hpp>

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
  std::vector<std::pair<Method, CLI::Option*>> of_method{};
  std::vector<CLI::Option*> of_training{};  // belong to all methods but edit_distance

  Options() { batch = 32; }

  void add_to(CLI::App& app) {
    program::add_choice(
        app, "--method", method,
        "an LSTM over pieces (mimick), the mean of substrings (bos), attention over substrings (kvq_fh), or the vector of the "
        "nearest known word, for which nothing is trained (edit_distance)")
        ->required();
    add_data(app);
    const auto group_of = [&](Method of, const char* title, const char* prefix, auto& options) {
      program::OptionFlags flags(*app.add_option_group(title), prefix, "size");
      options.visit(flags);
      for (CLI::Option* option : flags.added) of_method.emplace_back(of, option);
    };
    group_of(Method::mimick, "MIMICK", "", mimick);
    group_of(Method::mimick, "Units of MIMICK", "", units);
    of_method.emplace_back(Method::mimick,
                           app.add_option("--vocab", vocab, "mimick: vocabulary of pieces, one token per line (tools/make_love_vocab.py)")
                               ->type_name("V.txt"));
    group_of(Method::bos, "BoS", "bos-", bos);
    group_of(Method::kvq_fh, "KVQ-FH", "kvq-fh-", kvq_fh);
    auto* group = app.add_option_group("Training");
    number(*group, "--batch", batch, "words of a batch")->check(program::positive());
    add_word_training(*group);
    of_training = group->get_options();
    add_run(app);
    for (const char* option : {"--logging-steps", "--precision"}) of_training.push_back(app.get_option(option));
  }
  void finish() {
    finish_training();
    for (const auto& [of, option] : of_method)
      program::refuse_unused(*option, of == method, lx::cat("--method ", lx::name_of(of)), lx::name_of(method));
    for (const auto* option : of_training)
      program::refuse_unused(*option, method != Method::edit_distance, "--method mimick, bos or kvq_fh", lx::name_of(method));
    if (method == Method::mimick && vocab.empty()) lx::fail_usage("--vocab", "is missing; mimick reads words as pieces");
    if (method == Method::edit_distance && max_words == 0) max_words = words_of_edit_distance;
  }
  lx::Json json(const std::string& of_targets, const std::string& of_vocabulary) const {
    const auto visited = [](auto options) { return lx::options_json([&](lx::OptionVisitor& v) { options.visit(v); }); };
    const bool trained = method != Method::edit_distance;
    lx::Json all = trained ? word_training_json() : lx::Json::object();
    all["targets"] = of_targets;
    all["method"] = lx::name_of(method);
    if (trained) all["batch"] = batch;
    if (method == Method::mimick) {
      all["vocab"] = of_vocabulary;
      all["units"] = visited(units);
      all["mimick"] = visited(mimick);
    }
    if (method == Method::bos) all["bos"] = visited(bos);
    if (method == Method::kvq_fh) all["kvq_fh"] = visited(kvq_fh);
    return all;
  }
};

/// Trains a model on the words as they are. Returns false if the run was interrupted (and saved).
template <class T, class Dev, class Model>
bool train(const Options& o, Model model, const lx::WordVectors& targets, program::ImputerTexts texts,
           const std::string& of_vocabulary = "") {
  const lx::LoveBatchOptions plain{.batch = o.batch, .negatives = 0, .swap = 0, .drop = 0, .insert = 0, .keyboard = 0, .synonym = 0};
  const lx::LoveBatches::Lists none(targets.size());
  const lx::LoveBatches source(targets.words(), none, none, plain, o.seed);
  if (!o.quiet) std::cerr << targets.size() << " words of " << targets.dimension() << " numbers\n";
  texts.data = lx::cat(targets.size(), " words of ", targets.dimension(), " numbers", texts.data, ".");
  Options defaults;
  defaults.method = o.method;
  return program::train_words<T, Dev>(
      o, model, targets, source,
      [&](const auto& expected, const auto& vectors, const lx::LoveBatch&) { return model.loss(expected, vectors); },
      o.json(targets.describe(), of_vocabulary), defaults.json("", ""), texts);
}

template <class T, class Dev>
bool run(Options o) {
  const auto targets = program::select_words(program::read_word_vectors(o.targets, o.words), o);
  o.mimick.size = o.bos.size = o.kvq_fh.size = targets.dimension();
  const auto& words = targets.words();
  if (o.method == Method::mimick) {
    const lx::WordUnits units(lx::Vocabulary::load_vocab_txt(o.vocab), o.units, o.vocab);
    return train<T, Dev>(o, lx::Mimick<T, Dev>(units, o.mimick, o.seed), targets,
                         {"MIMICK", "Imputes the vector of a word from its pieces with an LSTM. ", ". Vocabulary `" + o.vocab + "`",
                          "Pinter, Guthrie and Eisenstein, \"Mimicking Word Embeddings using Subword RNNs\", EMNLP 2017"},
                         program::describe(units.vocabulary()));
  }
  if (o.method == Method::bos)
    return train<T, Dev>(o, lx::Bos<T, Dev>(words, o.bos), targets,
                         {"BoS", "Imputes the vector of a word as the mean of the vectors of its substrings. ", "",
                          "Zhao, Mudgal and Liang, \"Generalizing Word Embeddings using Bag of Subwords\", EMNLP 2018"});
  return train<T, Dev>(o, lx::KvqFh<T, Dev>(words, o.kvq_fh, o.seed), targets,
                       {"KVQ-FH", "Imputes the vector of a word by attention over its substrings, which share the rows of a table. ", "",
                        "Sasaki, Suzuki and Inui, \"Subword-based Compact Reconstruction of Word Embeddings\", NAACL 2019"});
}

/// Writes the known words and their vectors.
void write_edit_distance(const Options& o) {
  const lx::EditDistance model(program::select_words(program::read_word_vectors(o.targets, o.words), o));
  model.save(o.out + "/model.lxf");
  const auto& known = model.known();
  program::StringWriter card;
  card << "# Edit distance: vectors of " << known.dimension() << " numbers for any word\n\nThe vector of the known word with the smallest "
       << "edit distance, the first of equally near ones. " << known.size() << " known words; nothing is trained. Written by lexformer "
       << LEXFORMER_VERSION << ".\n\n```sh\necho mispelling | lexformer impute --model model.lxf\n```\n\nTargets `" << o.targets
       << "`. To redistribute this model, comply with their licence.\n"
       << program::how_it_was_made(o.command);
  lx::Json results = lx::Json::object();
  results["known_words"] = known.size();
  results["settings"] = o.json(known.describe(), "");
  lx::write_file_atomic(o.out + "/README.md", card.str());
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << o.out << "/model.lxf: " << known.size() << " known words of " << known.dimension() << " numbers\n";
}

int run_train_imputer(int argc, char** argv) {
  CLI::App app(
      "Trains a rival of LOVE (train_love), which imputes vectors for words that a vocabulary does not hold, on the vectors of known "
      "words: "
      "MIMICK, BoS, KVQ-FH, or the nearest known word. All programs that read such models read those of each method.",
      "train_imputer");
  Options o;
  return program::train_in_folder(app, argc, argv, o, [](const auto& options, auto number, auto device) {
    if (options.method != Method::edit_distance) return run<decltype(number), decltype(device)>(options);
    write_edit_distance(options);
    return true;
  });
}

const program::Command command{"train_imputer", program::Group::train, "the rivals of LOVE: MIMICK, BoS, KVQ-FH, edit distance",
                               run_train_imputer};

}  // namespace
