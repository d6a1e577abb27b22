// SPDX-License-Identifier: MIT
// Trains LOVE: a model that imputes the vector of a word from its letters and pieces.
#include <filesystem>
#include <iomanip>
#include <lexformer/io/json.hpp>

#include "support/love_card.hpp"
#include "support/love_words.hpp"
#include "support/training.hpp"

namespace lx = lexformer;
namespace fs = std::filesystem;

namespace {

/// How near imputed vectors are to their targets: evenly spaced words as they are, and with one typo each, which no seed changes.
struct LoveTest {
  std::vector<std::uint32_t> words, misspelled;  // numbers of the words, and of those with a typo
  std::vector<std::string> spellings, typos;

  LoveTest(const lx::WordVectors& targets, std::size_t count) {
    count = std::min(count, targets.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto word = static_cast<std::uint32_t>(i * targets.size() / count);
      const std::string& text = targets.words()[word];
      words.push_back(word);
      spellings.push_back(text);
      lx::RandomStream random(0, lx::random_site::typos, word);
      if (std::string typo = lx::edit_word(text, static_cast<lx::WordEdit>(random.below(4)), false, random); typo != text) {
        misspelled.push_back(word);
        typos.push_back(std::move(typo));
      }
    }
  }

  template <class T, class Dev>
  lx::Json operator()(const lx::Love<T, Dev>& love, const lx::WordVectors& targets) const {
    const lx::NoGrad no_grad;
    const auto imputed = [&](const std::vector<std::string>& spelled) {
      return lx::cast<float>(lx::Var<T>(love.vectors(spelled))).value();
    };
    const auto cosines = [&](const lx::Tensor<float>& found, const std::vector<std::uint32_t>& of) {
      const std::vector<std::int32_t> rows(of.begin(), of.end());
      const auto expected = lx::l2_normalize(lx::select_rows(lx::Var<>(targets.values()), rows));
      return static_cast<double>(lx::mean(lx::row_sum(lx::multiply(lx::l2_normalize(lx::Var<>(found)), expected))).item());
    };
    lx::Json results = lx::Json::object();
    results["eval_words"] = words.size();
    results["eval_cosine"] = lx::log_number(cosines(imputed(spellings), words));
    if (typos.empty()) return results;
    const auto found = imputed(typos);
    results["eval_typo_words"] = typos.size();
    results["eval_typo_cosine"] = lx::log_number(cosines(found, misspelled));
    std::size_t right = 0;
    for (std::size_t i = 0; i < typos.size(); ++i)
      right += targets.nearest(found.span().subspan(i * targets.dimension(), targets.dimension()), 1)[0].row == misspelled[i] ? 1u : 0u;
    results["eval_typo_top1"] = static_cast<double>(right) / static_cast<double>(typos.size());
    return results;
  }
};

std::string shown(const lx::Json& measured) {
  const auto number = [&](const char* key) {
    const lx::Json& x = measured[key];
    return x.is_number() ? lx::cat(std::setprecision(3), x.get<double>()) : x.get<std::string>();
  };
  std::string text = "cosine to the target " + number("eval_cosine");
  if (measured.contains("eval_typo_top1"))
    text += ", with a typo " + number("eval_typo_cosine") + " (nearest target right: " + number("eval_typo_top1") + ")";
  return text;
}

/// The task for Trainer.
template <class T, class Dev>
struct LoveTask {
  const program::LoveTrainOptions& o;
  lx::Love<T, Dev>& model;
  const lx::WordVectors& targets;
  const lx::LoveBatches& source;
  const LoveTest& test;
  lx::Var<lx::accumulate_t<T>, Dev> values{};  // of the targets
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> order{};  // of the words in the epoch

  std::size_t batches() const { return source.size(); }
  lx::LoveBatch batch(std::uint32_t number_of_epoch, std::size_t number) {
    if (order.empty() || epoch != number_of_epoch) {
      epoch = number_of_epoch;
      order = source.order(epoch);
    }
    return source.batch(order, epoch, number);
  }
  lx::BatchSize size(const lx::LoveBatch& batch) const { return {batch.words.size(), batch.words.size()}; }
  double weights(const lx::LoveBatch& batch) const { return static_cast<double>(batch.words.size()); }
  lx::Var<lx::accumulate_t<T>, Dev> loss(const lx::LoveBatch& batch, const lx::ForwardOptions& forward) const {
    return lx::love_loss(lx::select_rows(values, batch.words), model(batch.spellings, forward), batch.words, o.loss);
  }
  lx::Measurement evaluate() const {
    lx::Measurement m;
    if (o.eval_words == 0) return m;
    m.log = m.state = test(model, targets);
    m.text = shown(m.log);
    return m;
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(lx::ModelFile::open(path)); }
};

/// One run. Returns false if it was interrupted (and saved).
template <class T, class Dev>
bool run(program::LoveTrainOptions o) {
  const lx::WordUnits units(lx::Vocabulary::load_vocab_txt(o.vocab), o.units, o.vocab);
  std::optional<lx::WordVectors> all = program::read_word_vectors(o.targets, o.words);
  o.love.size = all->dimension();
  lx::Love<T, Dev> model(units, o.love, o.seed);
  if (!o.quiet) std::cerr << "searching synonyms and hard negatives ...\n";
  const program::LoveWords words(*all, o);
  all.reset();
  if (!o.quiet) std::cerr << words.text() << "\n";

  const lx::LoveBatches source(words.targets.words(), words.synonyms, words.negatives, o.batches, o.seed);
  const LoveTest test(words.targets, o.eval_words);
  LoveTask<T, Dev> task{o, model, words.targets, source, test};
  task.values = lx::Var<lx::accumulate_t<T>, Dev>(words.targets.values().template to<Dev>());
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr});
  auto settings = program::trainer_options(o, o.out, o.seed);
  settings.schedule = program::schedule_by_share(o, lx::steps_per_epoch(task.batches(), o.accumulate));
  settings.schedule.gamma = o.lr_decay;
  settings.progress.samples = "words";
  settings.settings = o.json(program::describe(words.targets), program::describe(units.vocabulary()));
  settings.settings["lists_crc32"] = words.checksum();
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    program::say_interrupted(lx::cat("step ", done.step), o.out);
    return false;
  }

  const lx::Json& measured = done.measured;
  lx::Json results = program::results_of(done, words.targets.size(), settings.settings);
  results["parameters"] = lx::count(model.parameters());
  lx::write_file_atomic(o.out + "/README.md", program::love_card(o, model.options(), results, words.text()));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << o.out << "/model.lxf: " << done.step << " steps, train loss " << std::setprecision(4) << done.loss;
  if (!measured.is_null()) std::cout << "; " << shown(measured);
  std::cout << "\n";
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Trains LOVE, which imputes vectors for words that a vocabulary does not hold, on the vectors of known words. The defaults are those "
      "of the paper.",
      "train_love");
  program::LoveTrainOptions o;
  return program::train_in_folder(
      app, argc, argv, o, [](const auto& options, auto number, auto device) { return run<decltype(number), decltype(device)>(options); });
}
