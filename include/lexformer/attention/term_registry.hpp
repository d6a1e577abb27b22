// SPDX-License-Identifier: MIT
// The attention terms that models may name in their configs. The terms of the library themselves are in attention/terms.hpp, which a model
// includes with the bodies of functions alone (models/transformer.hpp).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/attention/term_factory.hpp"
#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// The terms by name: the library's, and all given to register_term(). lexformer::compiled contains the terms for float; for other
/// number types also include lexformer/bfloat16.hpp or lexformer/double.hpp.
template <class T = float, class Dev = Cpu>
TermFactories<T, Dev>& attention_terms();

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
#if defined(LEXFORMER_WITH_CUDA)  // in lexformer::cuda
extern template TermFactories<float, Cuda>& attention_terms<float, Cuda>();
#endif
#endif

}  // namespace lexformer
