// SPDX-License-Identifier: MIT
// External knowledge about texts: dependency trees (CoNLL-U) and WordNet, and the features that attention terms compute from them. Above
// data/. Start with knowledge.hpp.
#pragma once

#include "lexformer/knowledge/conllu.hpp"
#include "lexformer/knowledge/dependency.hpp"
#include "lexformer/knowledge/dependency_features.hpp"
#include "lexformer/knowledge/knowledge.hpp"
#include "lexformer/knowledge/syntax_features.hpp"
#include "lexformer/knowledge/uerbert_similarity.hpp"
#include "lexformer/knowledge/word_gate.hpp"
#include "lexformer/knowledge/wordnet.hpp"
#include "lexformer/knowledge/wordnet_files.hpp"
