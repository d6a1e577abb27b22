// SPDX-License-Identifier: MIT
// All attention terms of the library by their names in a config.
#pragma once

#include "lexformer/attention/dafa.hpp"
#include "lexformer/attention/ddrp.hpp"
#include "lexformer/attention/deberta.hpp"
#include "lexformer/attention/lea.hpp"
#include "lexformer/attention/position_bias.hpp"
#include "lexformer/attention/relative.hpp"
#include "lexformer/attention/rope.hpp"
#include "lexformer/attention/syntax.hpp"
#include "lexformer/attention/term_config.hpp"
#include "lexformer/attention/term_factory.hpp"
#include "lexformer/attention/tupe.hpp"
#include "lexformer/attention/uerbert.hpp"

namespace lexformer {

/// The terms that models may name: the library's terms, and all terms given to register_term(). A new term of the library is its file and a
/// line here; an own term needs neither.
template <class T = float, class Dev = Cpu>
TermFactories<T, Dev>& attention_terms() {
  const auto relative = [](RelativeTable kind) { return [kind] { return std::make_shared<RelativeFactory<T, Dev>>(kind); }; };
  static TermFactories<T, Dev> all{{"lea", [] { return std::make_shared<LeaFactory<T, Dev>>(); }},
                                   {"dafa", [] { return std::make_shared<DafaFactory<T, Dev>>(); }},
                                   {"uerbert", [] { return std::make_shared<UerbertFactory<T, Dev>>(); }},
                                   {"syntax", [] { return std::make_shared<SyntaxFactory<T, Dev>>(); }},
                                   {"relative_key", relative(RelativeTable::relative_key)},
                                   {"relative_key_query", relative(RelativeTable::relative_key_query)},
                                   {"shaw", relative(RelativeTable::shaw)},
                                   {"bert_r", relative(RelativeTable::bert_r)},
                                   {"ddrp", [] { return std::make_shared<DdrpFactory<T, Dev>>(); }},
                                   {"tupe", [] { return std::make_shared<TupeFactory<T, Dev>>(); }},
                                   {"deberta", [] { return std::make_shared<DebertaFactory<T, Dev>>(); }},
                                   {"t5", [] { return std::make_shared<T5Factory<T, Dev>>(); }},
                                   {"alibi", [] { return std::make_shared<AlibiFactory<T, Dev>>(); }},
                                   {"rope", [] { return std::make_shared<RopeFactory<T, Dev>>(); }}};
  return all;
}

/// Makes a term known by a name, for models of T on Dev, before one is loaded. The term has one instance for each layer, made as
/// Term(sizes, init), or as Term(options, sizes, init) if it has a `struct Options`. Errors (usage): the name is taken.
template <template <class, class> class Term, class T = float, class Dev = Cpu>
void register_term(const std::string& name) {
  if (!attention_terms<T, Dev>().emplace(name, layer_term<Term, T, Dev>).second)
    fail_usage("register_term", "there is an attention term '", name, "' already; take another name");
}
/// A term that a source file adds to a program, for models of these number types on all devices that the program knows:
///     const RegisteredTerm<Mine, float, bfloat16> mine{"mine"};
template <template <class, class> class Term, class... T>
struct RegisteredTerm {
  explicit RegisteredTerm(const std::string& name) {
    (register_term<Term, T>(name), ...);
#if defined(LEXFORMER_WITH_CUDA)
    (register_term<Term, T, Cuda>(name), ...);
#endif
  }
};

/// A term of a model: its name and its factory with the options in use.
template <class T = float, class Dev = Cpu>
struct NamedFactory {
  std::string name;
  std::shared_ptr<TermFactory<T, Dev>> factory;
};

/// Returns the factories of a config's terms with their options. Errors: an unknown name; a name that occurs twice; two position
/// schemes; invalid options. `where` begins error messages.
template <class T, class Dev>
std::vector<NamedFactory<T, Dev>> configure_terms(const std::vector<TermConfig>& configs, const EncoderSizes& sizes,
                                                  const std::string& where) {
  std::vector<NamedFactory<T, Dev>> terms;
  std::string positions;
  const auto& known = attention_terms<T, Dev>();
  for (const auto& config : configs) {
    const std::string here = cat(where, ": attention: ", in_quotes(config.name));
    for (const auto& t : terms)
      if (t.name == config.name) fail_file(where, "the attention term ", in_quotes(config.name), " is there twice");
    const auto found = known.find(config.name);
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const auto& [name, make] : known) names.push_back(name);
      fail_file(where, "the attention term ", in_quotes(config.name), " is not known; this program has: ", join(names));
    }
    auto factory = found->second();
    config.set([&](OptionVisitor& v) { factory->visit(v); }, here);
    factory->check(sizes, here);
    if (factory->positions() && !std::exchange(positions, config.name).empty())
      fail_file(where, "two position schemes at once; take one of the attention terms");
    terms.push_back({config.name, std::move(factory)});
  }
  return terms;
}

#if defined(LEXFORMER_COMPILED)
extern template TermFactories<float, Cpu>& attention_terms<float, Cpu>();
#endif

}  // namespace lexformer
