// SPDX-License-Identifier: MIT
// Includes all of report/: pictures and pages. Neither other floors nor lexformer.hpp include it.
#pragma once

#include "lexformer/report/attention_picture.hpp"
#include "lexformer/report/box_plot.hpp"
#include "lexformer/report/chart.hpp"
#include "lexformer/report/dependency_picture.hpp"
#include "lexformer/report/differences.hpp"
#include "lexformer/report/page.hpp"
#include "lexformer/report/scatter.hpp"
#include "lexformer/report/svg.hpp"
