// SPDX-License-Identifier: MIT
// Faults of texts: typos (arXiv 2307.02912, section 5.1), OCR, abbreviations, units and more. Above text/. Start with typos.hpp.
#pragma once

#include "lexformer/noise/abbreviations.hpp"
#include "lexformer/noise/casing.hpp"
#include "lexformer/noise/homophones.hpp"
#include "lexformer/noise/keyboard.hpp"
#include "lexformer/noise/lookalikes.hpp"
#include "lexformer/noise/misspellings.hpp"
#include "lexformer/noise/ocr_edit.hpp"
#include "lexformer/noise/spaces.hpp"
#include "lexformer/noise/typo_ops.hpp"
#include "lexformer/noise/typos.hpp"
#include "lexformer/noise/units.hpp"
#include "lexformer/noise/word_edit.hpp"
#include "lexformer/noise/words.hpp"
