// SPDX-License-Identifier: MIT
// Noise: abbreviations.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/words.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Words and their common abbreviations, in small letters. The list is our own: addresses, products, bibliographies, messages.
const std::map<std::string_view, std::vector<std::string_view>>& abbreviations();

/// Replaces a word by one of its abbreviations, all equally likely, or, if the list has none, drops its vowels a, e, i, o, u but a first
/// letter: "digital camera" -> "dgtl cmr". The result has the case of the word (in_case_of); punctuation around it stays. Vowels are
/// dropped only from words of at least four characters that are all letters, hyphens or apostrophes, and two characters must be left. Other
/// words stay.
std::string abbreviation_noise(const std::string& word, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

namespace lexformer {

namespace detail {
// A word and its abbreviations. As an initializer of the map g++ -O3 takes half a minute to compile them.
inline constexpr std::array<std::string_view, 4> abbreviation_rows[] = {
    {"accessories", "acc", "access."},
    {"account", "acct"},
    {"address", "addr"},
    {"adjustable", "adj", "adj."},
    {"amount", "amt"},
    {"and", "&", "n"},
    {"apartment", "apt", "apt."},
    {"application", "app"},
    {"approximately", "approx", "approx."},
    {"april", "apr"},
    {"assembly", "assy"},
    {"association", "assn", "assoc."},
    {"at", "@"},
    {"august", "aug"},
    {"automatic", "auto"},
    {"avenue", "ave", "av."},
    {"average", "avg"},
    {"battery", "batt"},
    {"because", "bc", "b/c"},
    {"between", "btwn"},
    {"black", "blk", "bk"},
    {"bluetooth", "bt"},
    {"bottle", "btl"},
    {"boulevard", "blvd"},
    {"brother", "bro"},
    {"brown", "brn"},
    {"brushed", "brshd"},
    {"building", "bldg"},
    {"business", "biz"},
    {"cabinet", "cab"},
    {"capacity", "cap"},
    {"captain", "capt"},
    {"center", "ctr"},
    {"chapter", "ch", "chap."},
    {"channel", "ch"},
    {"charger", "chrgr"},
    {"color", "col", "clr"},
    {"company", "co", "co."},
    {"compatible", "compat", "comp."},
    {"computer", "comp", "pc"},
    {"conference", "conf", "conf."},
    {"corporation", "corp", "corp."},
    {"december", "dec"},
    {"deluxe", "dlx"},
    {"department", "dept", "dept."},
    {"diameter", "dia", "diam."},
    {"digital", "dig", "dgtl"},
    {"doctor", "dr", "dr."},
    {"document", "doc"},
    {"double", "dbl"},
    {"doubles", "dbls"},
    {"dozen", "doz", "dz"},
    {"edition", "ed", "ed."},
    {"electric", "elec", "elec."},
    {"electronic", "elec"},
    {"engineering", "eng", "engrg"},
    {"example", "ex", "e.g."},
    {"extension", "ext"},
    {"external", "ext"},
    {"february", "feb"},
    {"figure", "fig", "fig."},
    {"for", "4"},
    {"frequency", "freq"},
    {"friday", "fri"},
    {"front", "frt"},
    {"generation", "gen"},
    {"government", "govt"},
    {"gray", "gry"},
    {"green", "grn"},
    {"grey", "gry"},
    {"hardware", "hw"},
    {"headquarters", "hq"},
    {"heavy", "hvy"},
    {"height", "ht", "h"},
    {"highway", "hwy"},
    {"hospital", "hosp"},
    {"including", "incl", "incl."},
    {"incorporated", "inc", "inc."},
    {"information", "info"},
    {"institute", "inst", "inst."},
    {"international", "intl", "int'l"},
    {"january", "jan"},
    {"journal", "j", "j."},
    {"july", "jul"},
    {"junior", "jr", "jr."},
    {"keyboard", "kb", "kbd"},
    {"kitchen", "kit"},
    {"laboratory", "lab"},
    {"large", "lg", "l"},
    {"left", "lh", "lt"},
    {"length", "len", "l"},
    {"limited", "ltd", "ltd."},
    {"management", "mgmt"},
    {"manager", "mgr"},
    {"manual", "man"},
    {"manufacturer", "mfr", "mfg"},
    {"maximum", "max", "max."},
    {"medium", "med", "m"},
    {"memory", "mem"},
    {"message", "msg"},
    {"microphone", "mic"},
    {"microwave", "mw"},
    {"minimum", "min", "min."},
    {"miscellaneous", "misc"},
    {"model", "mod", "mdl"},
    {"monday", "mon"},
    {"mount", "mt", "mt."},
    {"mountain", "mtn"},
    {"multiple", "mult"},
    {"national", "natl", "nat'l"},
    {"natural", "nat"},
    {"north", "n", "n."},
    {"november", "nov"},
    {"number", "no.", "nr", "#"},
    {"october", "oct"},
    {"optical", "opt"},
    {"orange", "org"},
    {"organization", "org"},
    {"original", "orig", "orig."},
    {"package", "pkg"},
    {"page", "p.", "pg"},
    {"pages", "pp.", "pgs"},
    {"paragraph", "para"},
    {"parkway", "pkwy"},
    {"people", "ppl"},
    {"photograph", "photo"},
    {"picture", "pic"},
    {"please", "pls", "plz"},
    {"point", "pt"},
    {"portable", "port", "prtbl"},
    {"position", "pos"},
    {"possible", "poss"},
    {"power", "pwr"},
    {"premium", "prem"},
    {"proceedings", "proc", "proc."},
    {"processor", "proc", "cpu"},
    {"professional", "pro"},
    {"professor", "prof", "prof."},
    {"programmable", "prog"},
    {"quality", "qual"},
    {"quantity", "qty"},
    {"receiver", "rcvr", "rec"},
    {"rechargeable", "rech", "rechg"},
    {"refrigerator", "fridge", "refrig"},
    {"replacement", "repl", "repl."},
    {"resolution", "res"},
    {"restaurant", "rest"},
    {"right", "rh", "rt"},
    {"road", "rd", "rd."},
    {"room", "rm"},
    {"saturday", "sat"},
    {"school", "sch"},
    {"science", "sci", "sci."},
    {"section", "sec", "sec."},
    {"senior", "sr", "sr."},
    {"september", "sep", "sept"},
    {"sergeant", "sgt"},
    {"series", "ser"},
    {"service", "svc"},
    {"silver", "slv", "slvr"},
    {"single", "sgl"},
    {"small", "sm", "s"},
    {"software", "sw"},
    {"south", "s", "s."},
    {"speaker", "spkr"},
    {"speakers", "spkrs"},
    {"special", "spec"},
    {"square", "sq", "sq."},
    {"stainless", "ss", "stnls"},
    {"standard", "std"},
    {"street", "st", "st."},
    {"sunday", "sun"},
    {"system", "sys"},
    {"technology", "tech"},
    {"telephone", "tel", "phone"},
    {"television", "tv"},
    {"temperature", "temp"},
    {"thanks", "thx"},
    {"through", "thru"},
    {"thursday", "thu"},
    {"transactions", "trans", "trans."},
    {"tuesday", "tue"},
    {"university", "univ", "univ."},
    {"vehicle", "veh"},
    {"version", "ver", "v"},
    {"versus", "vs", "vs."},
    {"volume", "vol", "vol."},
    {"wednesday", "wed"},
    {"weight", "wt"},
    {"white", "wht", "wh"},
    {"width", "w"},
    {"wireless", "wrls", "wl"},
    {"with", "w/", "w"},
    {"without", "w/o"},
    {"workshop", "wksp"},
    {"yellow", "yel", "ylw"},
    {"you", "u"},
    {"your", "ur"},
};
}  // namespace detail

LEXFORMER_INLINE const std::map<std::string_view, std::vector<std::string_view>>& abbreviations() {
  static const auto table = [] {
    std::map<std::string_view, std::vector<std::string_view>> all;
    for (const auto& row : detail::abbreviation_rows)
      all.emplace(row[0], std::vector(row.begin() + 1, std::find(row.begin(), row.end(), "")));
    return all;
  }();
  return table;
}

LEXFORMER_INLINE std::string abbreviation_noise(const std::string& word, RandomStream& random) {
  const auto [before, core, after] = word_parts(word);
  const std::string lower = lower_case(core);
  std::string shorter;
  if (const auto found = abbreviations().find(lower); found != abbreviations().end()) {
    shorter = found->second[static_cast<std::size_t>(random.below(found->second.size()))];
  } else {
    const std::u32string letters = to_utf32(lower);
    constexpr std::u32string_view vowels = U"aeiou";
    std::u32string left;
    for (const char32_t c : letters) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 0xC0 && is_word_character(c)) || c == '-' || c == '\'';
      if (!letter) return word;  // a model number
      if (left.empty() || vowels.find(c) == vowels.npos) left += c;
    }
    if (letters.size() < 4 || left.size() < 2 || left == letters) return word;
    shorter = to_utf8(left);
  }
  return cat(before, in_case_of(shorter, core), after);
}

}  // namespace lexformer
#endif
