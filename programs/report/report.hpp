// SPDX-License-Identifier: MIT
// Includes all of report/: pictures and pages. Neither other floors nor lexformer.hpp include it.
#pragma once

#include "report/attention_picture.hpp"
#include "report/box_plot.hpp"
#include "report/chart.hpp"
#include "report/dependency_picture.hpp"
#include "report/differences.hpp"
#include "report/page.hpp"
#include "report/scatter.hpp"
#include "report/svg.hpp"
