// SPDX-License-Identifier: MIT
// Numbers about scores and labels: F1, ranking, entities, bootstrap, calibration, and small statistics. Above ops/ and data/. Start with
// metrics.hpp.
#pragma once

#include "lexformer/metrics/bootstrap.hpp"
#include "lexformer/metrics/calibration.hpp"
#include "lexformer/metrics/entity_metrics.hpp"
#include "lexformer/metrics/kmeans.hpp"
#include "lexformer/metrics/logistic.hpp"
#include "lexformer/metrics/logistic_posterior.hpp"
#include "lexformer/metrics/metrics.hpp"
#include "lexformer/metrics/principal_components.hpp"
#include "lexformer/metrics/ranking_metrics.hpp"
#include "lexformer/metrics/ranks.hpp"
#include "lexformer/metrics/score_calibration.hpp"
