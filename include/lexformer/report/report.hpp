// SPDX-License-Identifier: MIT
// Pictures and pages: all of report/. No other floor includes it, and lexformer.hpp does not either.
#pragma once

#include "lexformer/report/attention_picture.hpp"
#include "lexformer/report/chart.hpp"
#include "lexformer/report/differences.hpp"
#include "lexformer/report/page.hpp"
#include "lexformer/report/svg.hpp"
