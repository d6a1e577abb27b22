// SPDX-License-Identifier: MIT
// All attention terms of the library by their names in a config.
#pragma once

#include <memory>

#include "lexformer/attention/dafa.hpp"
#include "lexformer/attention/ddrp.hpp"
#include "lexformer/attention/deberta.hpp"
#include "lexformer/attention/lea.hpp"
#include "lexformer/attention/position_bias.hpp"
#include "lexformer/attention/reach.hpp"
#include "lexformer/attention/relative.hpp"
#include "lexformer/attention/rope.hpp"
#include "lexformer/attention/syntax.hpp"
#include "lexformer/attention/term_registry.hpp"
#include "lexformer/attention/tupe.hpp"
#include "lexformer/attention/uerbert.hpp"

namespace lexformer {

/// A new term of the library is its file and a line here; an own term needs neither (register_term).
template <class T, class Dev>
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
                                   {"rope", [] { return std::make_shared<RopeFactory<T, Dev>>(); }},
                                   {"rope_by_layer", [] { return std::make_shared<RopeByLayerFactory<T, Dev>>(); }},
                                   {"reach", [] { return std::make_shared<ReachFactory<T, Dev>>(); }}};
  return all;
}

}  // namespace lexformer
