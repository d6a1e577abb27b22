// SPDX-License-Identifier: MIT
// Two tables of records: reading them, candidates, evidence, cascade, one-to-one assignment, labels to ask for, Arrow. Above models/ and
// metrics/. Start with matcher.hpp.
#pragma once

#include "lexformer/tables/arrow_abi.hpp"
#include "lexformer/tables/arrow_export.hpp"
#include "lexformer/tables/arrow_table.hpp"
#include "lexformer/tables/arrow_values.hpp"
#include "lexformer/tables/assignment.hpp"
#include "lexformer/tables/blocking.hpp"
#include "lexformer/tables/candidate_update.hpp"
#include "lexformer/tables/cascade.hpp"
#include "lexformer/tables/column_weights.hpp"
#include "lexformer/tables/combined_score.hpp"
#include "lexformer/tables/decisions.hpp"
#include "lexformer/tables/evidence.hpp"
#include "lexformer/tables/explanation.hpp"
#include "lexformer/tables/label_suggestions.hpp"
#include "lexformer/tables/labelled_pairs.hpp"
#include "lexformer/tables/match_quality.hpp"
#include "lexformer/tables/match_state.hpp"
#include "lexformer/tables/matcher.hpp"
#include "lexformer/tables/record_search.hpp"
#include "lexformer/tables/record_texts.hpp"
#include "lexformer/tables/records.hpp"
#include "lexformer/tables/similarity_curve.hpp"
#include "lexformer/tables/text_vectors.hpp"
#include "lexformer/tables/vector_candidates.hpp"
