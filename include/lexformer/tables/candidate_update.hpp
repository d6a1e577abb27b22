// SPDX-License-Identifier: MIT
// The candidates of lists of which few texts have changed since an earlier search: only what may differ is searched again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/blocking.hpp"

namespace lexformer {

/// In place of a text that has changed since an earlier search, or is in the list no more.
inline constexpr std::uint32_t gone_text = std::numeric_limits<std::uint32_t>::max();

/// A candidate of an earlier search, by places in the lists of today. sides: by which lists it was one (candidate_sides()).
struct StandingCandidate {
  std::uint32_t left, right;
  std::uint8_t sides;
};

/// For each candidate: bit 2k is set if the right text is one of the best of the left one by vectors of kind k, bit 2k + 1 if the left one
/// is one of the best of the right one. candidates: all that search.find() returned, and any others.
std::vector<std::uint8_t> candidate_sides(const CandidateSearch& search, std::span<const Candidate> candidates);

/// The candidates that search.find() returns, from the candidates of an earlier search with the same options and vectors by the same
/// frames. left_changed, right_changed: whether each text is new or has changed, or one of its keys has. Within one list `right_changed` is
/// not read.
///
/// The changed texts are compared with all texts of the other list. So are the texts that have lost one of their best partners, unless it
/// is certain that no other takes its place: their list is full, and every new partner is better than the worst that stayed.
/// Time: O(such texts * all texts). Exception: of texts that are equally similar, others can be candidates than search.find() takes, if
/// unchanged texts are in another order than before.
std::vector<Candidate> update_candidates(const CandidateSearch& search, std::span<const StandingCandidate> standing,
                                         std::span<const std::uint8_t> left_changed, std::span<const std::uint8_t> right_changed,
                                         const std::function<void(double done)>& progress = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <optional>
#include <utility>

#include "lexformer/core/error.hpp"
#include "lexformer/tables/best_partners.hpp"
#include "lexformer/tables/text_index.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<std::uint8_t> candidate_sides(const CandidateSearch& search, std::span<const Candidate> candidates) {
  std::vector<std::uint8_t> sides(candidates.size(), 0);
  std::vector<float> cosines(candidates.size());
  for (std::size_t k = 0; k < search.vectors().size(); ++k) {
    detail::BestPartners lefts(search.lefts(), search.top()), of_right(search.one_list() ? 0 : search.rights(), search.top());
    detail::BestPartners& rights = search.one_list() ? lefts : of_right;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& c = candidates[i];
      const std::size_t right = search.right_row(c.right);
      cosines[i] = search.keys().agree(c.left, right) ? search.vectors()[k].cosine(c.left, right) : 0;
      if (!(cosines[i] > 0)) continue;
      lefts.add(c.left, {cosines[i], c.right});
      rights.add(c.right, {cosines[i], c.left});
    }
    const auto has = [](const detail::BestPartners& best, std::uint32_t text, const detail::BestPartners::Entry& entry) {
      return entry.score > 0 && !(best.of(text).back() < entry);
    };
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& c = candidates[i];
      const unsigned of_both =
          (has(lefts, c.left, {cosines[i], c.right}) ? 1u : 0u) | (has(rights, c.right, {cosines[i], c.left}) ? 2u : 0u);
      sides[i] = static_cast<std::uint8_t>(sides[i] | of_both << 2 * k);
    }
  }
  return sides;
}

namespace detail {

/// The lists of the best partners by one kind of vectors. Of one list of texts there is one side.
class UpdatedLists {
 public:
  UpdatedLists(const CandidateSearch& search, std::size_t kind, std::span<const std::uint8_t> left_changed,
               std::span<const std::uint8_t> right_changed)
      : search_(search), vectors_(search.vectors()[kind]), kind_(kind), top_(search.top()) {
    sides_.emplace_back(search, kind, search.lefts(), 0, left_changed);
    if (!search.one_list()) sides_.emplace_back(search, kind, search.rights(), search.lefts(), right_changed);
  }

  std::vector<Candidate> update(std::span<const StandingCandidate> standing, const std::function<void(double)>& progress) {
    for (const auto& pair : standing) keep(pair);
    std::vector<std::vector<std::uint32_t>> asked(sides_.size());
    for (std::size_t s = 0; s < sides_.size(); ++s)
      for (std::uint32_t text = 0; text < sides_[s].texts; ++text)
        if (sides_[s].changed[text] != 0) asked[s].push_back(text);
    const double share = 0.5 / static_cast<double>(sides_.size());
    for (std::size_t s = 0; s < sides_.size(); ++s)
      ask(s, asked[s], true, [&](double done) { progress(share * (static_cast<double>(s) + done)); });
    for (std::size_t s = 0; s < sides_.size(); ++s) {
      asked[s].clear();
      for (std::uint32_t text = 0; text < sides_[s].texts; ++text) {
        if (sides_[s].changed[text] != 0) continue;
        if (!is_complete(s, text))
          asked[s].push_back(text);
        else
          for (const auto& entry : sides_[s].best.of(text)) put(s, text, entry);
      }
      ask(s, asked[s], false, [&](double done) { progress(0.5 + share * (static_cast<double>(s) + done)); });
    }
    return std::move(pairs_);
  }

 private:
  struct Side {
    std::size_t texts, first_row;
    std::span<const std::uint8_t> changed;
    BestPartners best;                   // of each unchanged text: those that stayed, and new ones
    std::vector<float> least;            // the lowest cosine of those that stayed
    std::vector<std::size_t> had, lost;  // how many of its best partners an unchanged text had, and how many are gone
    EqualTexts groups;

    Side(const CandidateSearch& search, std::size_t kind, std::size_t count, std::size_t first, std::span<const std::uint8_t> which)
        : texts(count),
          first_row(first),
          changed(which),
          best(count, search.top()),
          least(count, 2.0f),
          had(count),
          lost(count),
          groups(search.vectors()[kind], count, first, search.keys()) {
      if (which.size() != count) fail("update_candidates", "there are ", count, " texts and ", which.size(), " marks of changes");
    }
  };
  Side& other(std::size_t side) { return sides_[search_.one_list() ? 0 : 1 - side]; }

  void keep(const StandingCandidate& pair) {
    const unsigned sides = pair.sides >> 2 * kind_ & 3u;
    if (sides == 0) return;
    const bool both = pair.left != gone_text && pair.right != gone_text;
    const float cosine = both ? vectors_.cosine(pair.left, search_.right_row(pair.right)) : 0;
    const auto keep_at = [&](Side& side, std::uint32_t text, std::uint32_t partner) {
      if (text == gone_text) return;
      ++side.had[text];
      if (!both) {
        ++side.lost[text];
        return;
      }
      side.best.add(text, {cosine, partner});
      side.least[text] = std::min(side.least[text], cosine);
    };
    if ((sides & 1u) != 0) keep_at(sides_[0], pair.left, pair.right);
    if ((sides & 2u) != 0) keep_at(other(0), pair.right, pair.left);
  }
  void put(std::size_t side, std::uint32_t text, const BestPartners::Entry& entry) {
    const bool turned = search_.one_list() ? entry.partner < text : side == 1;
    pairs_.push_back(turned ? Candidate{entry.partner, text, entry.score} : Candidate{text, entry.partner, entry.score});
  }
  /// Compares these texts of a side with all of the other one, and puts their pairs. learn: the others' lists get the new partners.
  template <class Progress>
  void ask(std::size_t side, const std::vector<std::uint32_t>& texts, bool learn, Progress&& progress) {
    if (texts.empty()) return;
    const bool one = search_.one_list();  // a text finds itself
    Side& from = other(side);
    const EqualTexts asked(vectors_, texts, sides_[side].first_row, search_.keys());
    const auto best = compare_groups(
        vectors_, search_.keys(), from.groups, asked, false, top_, top_ + (one ? 1 : 0),
        [&](std::size_t group, std::span<const BestPartners::Entry> partners) {
          const auto found = best_texts(partners, from.groups, top_ + (one ? 1 : 0));
          for (const std::uint32_t text : asked.of(group)) {
            std::size_t count = 0;
            for (const auto& entry : found)
              if (!(one && entry.partner == text) && count++ < top_) put(side, text, entry);
          }
        },
        progress);
    for (std::size_t group = 0; learn && group < from.groups.size(); ++group) {
      const auto found = best_texts(best->of(group), asked, top_);
      for (const std::uint32_t text : from.groups.of(group))
        for (const auto& entry : found)
          if (from.changed[text] == 0) from.best.add(text, entry);
    }
  }
  /// Whether no text that was not among the best partners before can be one now, except for those that the list has.
  bool is_complete(std::size_t side, std::uint32_t text) {
    const Side& own = sides_[side];
    if (own.lost[text] == 0 || own.had[text] < top_) return true;  // with fewer, these were all that agree and share a feature
    const auto list = own.best.of(text);
    return list.size() == top_ && std::all_of(list.begin(), list.end(), [&](const auto& entry) {
             return other(side).changed[entry.partner] == 0 || entry.score > own.least[text];
           });
  }

  const CandidateSearch& search_;
  const TextVectors& vectors_;
  std::size_t kind_, top_;
  std::vector<Side> sides_;
  std::vector<Candidate> pairs_;
};

}  // namespace detail

LEXFORMER_INLINE std::vector<Candidate> update_candidates(const CandidateSearch& search, std::span<const StandingCandidate> standing,
                                                          std::span<const std::uint8_t> left_changed,
                                                          std::span<const std::uint8_t> right_changed,
                                                          const std::function<void(double done)>& progress) {
  const std::size_t kinds = search.vectors().size();
  if (kinds == 0) return search.find();
  std::vector<Candidate> all;
  for (std::size_t k = 0; k < kinds; ++k) {
    const auto found = detail::UpdatedLists(search, k, left_changed, right_changed).update(standing, [&](double done) {
      if (progress) progress((static_cast<double>(k) + done) / static_cast<double>(kinds));
    });
    all.insert(all.end(), found.begin(), found.end());
  }
  return search.scored(std::move(all));
}

}  // namespace lexformer
#endif
