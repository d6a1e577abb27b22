// SPDX-License-Identifier: MIT
// The page of `match` for the person who decides: how many records have a partner, how sure, and examples. It explains itself, and is one
// file that loads nothing from elsewhere.
#pragma once

#include <filesystem>
#include <lexformer/metrics/metrics.hpp>

#include "cli/report_footer.hpp"
#include "match/match_summary.hpp"
#include "match/record_cards.hpp"

namespace program {

namespace detail {

// The pictures are drawn on white: in the dark they and the colours that name their bars are inverted, and keep their hue.
inline constexpr const char* match_style =
    "h2{margin:1.8em 0 .4em}h1,p{overflow-wrap:break-word}p{max-width:48em}p.lead{font-size:1.4em;line-height:1.35;max-width:36em}\n"
    "td~td,th~th{text-align:right;font-variant-numeric:tabular-nums;padding-left:10px}\n"
    "th~th{min-width:4.5em;max-width:14em;overflow-wrap:anywhere}td:first-child{min-width:7em}\n"
    ".pictures{display:flex;flex-wrap:wrap;gap:0 2em}.pictures figure{max-width:min(100%,440px);overflow-wrap:anywhere}\n"
    ".swatch{display:inline-block;width:.8em;height:.8em;margin-right:.3em}.yes{background:#0072b2}.no{background:#d55e00}\n"
    "@media (prefers-color-scheme:dark){figure svg,.swatch{filter:invert(.894) hue-rotate(180deg)}}\n"
    "@media (max-width:600px){p.lead{font-size:1.2em}}\n";

/// A whole number with separators of thousands.
inline std::string grouped_digits(std::size_t n) {
  std::string text = lx::cat(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}
/// A share in percent, with a space that breaks no line.
inline std::string percent(double share, int digits) {
  std::string text = lx::percent(share, digits);
  return text.replace(text.rfind(' '), 1, "\u00A0");
}
/// The same without digits; a part is not rounded to nothing, nor to all.
inline std::string whole_percent(double share) {
  if (share > 0 && share < 0.005) return "under\u00A01\u00A0%";
  if (share < 1 && share >= 0.995) return "over\u00A099\u00A0%";
  return percent(share, 0);
}
/// "1,974 (66 %)".
inline std::string part_of(std::size_t part, std::size_t whole) {
  return lx::cat(grouped_digits(part), " (", whole_percent(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole)), ")");
}
/// "about 5 of 100 pairs are"; the ends are not rounded to none or all.
inline std::string of_a_hundred(double share, const char* pairs) {
  const auto n = std::lround(100 * share);
  const std::string about = n == 0 ? "fewer than 1" : n == 100 ? "more than 99" : lx::cat("about ", n);
  return lx::cat(about, " of 100 ", pairs, n <= 1 ? " is" : " are");
}

}  // namespace detail

struct MatchPageOptions {
  bool model = false;       // scores the pairs
  std::size_t top = 0;      // MatchOptions::top
  std::string fitted_to{};  // what the probabilities were fitted to, if there are some
  bool typical = true;      // false: these pairs were chosen by their score, or seen in training
};

class MatchPage {
 public:
  /// records and decisions must outlive the page.
  MatchPage(const lx::RecordPairs& records, const lx::Decisions& decisions, MatchPageOptions options)
      : summary_(records), cards_(records), records_(records), decisions_(decisions), o_(std::move(options)) {
    const auto name = [](const lx::RecordTable& table) { return std::filesystem::path(table.path).filename().string(); };
    names_ = {name(records.left()), name(records.right())};
    if (!one() && names_[0] == names_[1]) names_ = {records.left().path, records.right().path};
  }
  /// Adds the pairs of one left record.
  void add(const std::vector<lx::Match>& row) { summary_.add(row); }

  /// quality: by labels of a sample, or nothing.
  std::string html(const std::string& command_line, const std::optional<lx::QualityEstimate>& quality = {}) const {
    lx::ReportPage page(one() ? "Duplicates in " + names_[0] : lx::cat("Matches of ", names_[0], " and ", names_[1]),
                        std::string(detail::match_style) + card_style);
    page.add(lx::cat("<p class=\"lead\">", lx::escape_xml(headline(quality)), "</p>\n"));
    page.paragraph(
        lx::cat(amount(summary_.pairs(), "pair of similar records was", "pairs of similar records were"), " compared, ",
                amount(summary_.matches().size(), "was", "were"), " accepted.",
                o_.top == 0 ? "" : lx::cat(" Only the likeliest pairs of each record are on this page, at most ", o_.top, " (--top).")));
    counts(page);
    sureness(page, quality);
    pictures(page);
    pair_examples(page);
    duplicates(page);
    report_footer(page, command_line);
    return page.html();
  }

 private:
  using Pair = MatchSummary::Pair;
  bool one() const { return records_.one_table(); }
  bool probable() const { return decisions_.gives_probabilities(); }
  static std::string count(std::size_t n) { return detail::grouped_digits(n); }
  static std::string amount(std::size_t n, const char* one, const char* many) { return lx::cat(count(n), " ", n == 1 ? one : many); }
  const std::string& partner() const {
    static const std::string names[] = {"partner", "duplicate"};
    return names[one() ? 1 : 0];
  }

  std::string headline(const std::optional<lx::QualityEstimate>& quality) const {
    const std::size_t all = records_.left().records.size(), found = summary_.with_partners(0, 1);
    const std::string what = one() ? "duplicate in the same table" : "partner in " + names_[1];
    const std::string of = lx::cat(count(all), " records of ", names_[0]);
    if (found == 0) return lx::cat("No ", what, " was found for any of the ", of, ".");
    const std::string begin = lx::cat("A ", what, " was found for ", found == all ? "all " : count(found) + " of the ", of, "; ");
    if (quality) {
      const auto wrong = [](double precision) { return std::lround(100 * (1 - precision)); };
      const lx::Estimate& p = quality->precision;
      return lx::cat(begin, detail::of_a_hundred(1 - p.value, "pairs"), " wrong (", wrong(p.high), " to ", wrong(p.low), ").");
    }
    if (probable() && o_.typical) return lx::cat(begin, detail::of_a_hundred(1 - summary_.mean_value(), "pairs"), " probably wrong.");
    return begin + "how many of the pairs are wrong is not known yet.";
  }

  /// Records with and without a partner.
  void counts(lx::ReportPage& page) const {
    page.heading(lx::cat("How many records have a ", partner(), "?"));
    std::vector<std::string> header{"", lx::escape_xml(names_[0])}, all{"records"}, with{"with a " + partner()},
        several{lx::cat("with several ", partner(), "s")}, without{"without a " + partner()};
    if (!one()) header.push_back(lx::escape_xml(names_[1]));
    for (std::size_t t = 0; t < header.size() - 1; ++t) {
      const std::size_t records = cards_.table(t).records.size(), found = summary_.with_partners(t, 1);
      all.push_back(count(records));
      with.push_back(detail::part_of(found, records));
      several.push_back(detail::part_of(summary_.with_partners(t, 2), records));
      without.push_back(detail::part_of(records - found, records));
    }
    std::vector<std::vector<std::string>> rows{all, with, several, without};
    if (one()) {
      const RecordGroups groups = summary_.duplicates();
      rows.push_back({"groups of duplicates", count(groups.count)});
      rows.push_back({"records left if each group becomes one", count(cards_.table(0).records.size() - groups.records + groups.count)});
    }
    page.table(header, rows);
    const std::size_t lonely = summary_.without_candidate();
    if (lonely > 0)
      page.paragraph(
          lx::cat(amount(lonely, "record", "records"), " of ", names_[0], lonely == 1 ? " has" : " have", " no similar record at all."));
  }

  /// Precision and recall, or why they are not known; matches by their probability.
  void sureness(lx::ReportPage& page, const std::optional<lx::QualityEstimate>& quality) const {
    if (summary_.matches().empty()) return;
    page.heading("How sure are the accepted pairs?");
    if (quality) {
      std::vector<std::vector<std::string>> rows;
      const auto row = [&](const char* what, const lx::Estimate& e) {
        rows.push_back({what, detail::percent(e.value, 1), lx::cat(detail::percent(e.low, 1), " to ", detail::percent(e.high, 1))});
      };
      row("accepted pairs that are right (precision)", quality->precision);
      row("true pairs that were accepted (recall)", quality->recall);
      page.table({"", "estimate", "interval of 95 %"}, rows);
      page.paragraph(lx::cat("Estimated for all compared pairs, by ", counted(quality->labels, "labelled pair", "labelled pairs"),
                             " that were drawn by chance. True pairs that were not compared are not in the estimate."));
    }
    if (probable() && !o_.typical) {
      page.paragraph(lx::cat("The probabilities were fitted to ", o_.fitted_to,
                             ". Some of these were chosen by their score or seen in training, so the probabilities do not tell how many "
                             "pairs are wrong."));
    } else if (probable()) {
      page.paragraph(lx::cat("Expected by the probabilities: ", detail::of_a_hundred(summary_.mean_value(), "accepted pairs"),
                             " right (precision ", detail::percent(summary_.mean_value(), 1), "). The probabilities were fitted to ",
                             o_.fitted_to, ", and hold as far as these are typical of the pairs here."));
      page.table({"probability that the pair is right", "accepted pairs", "of these probably wrong"}, levels());
    } else {
      page.paragraph(score_meaning());
      if (!quality)
        page.paragraph(
            "These scores are not probabilities, so nobody knows yet how many pairs are wrong. To find out, label a hundred pairs with "
            "lexformer suggest and lexformer label, and give them to lexformer match by --validation.");
    }
  }
  std::vector<std::vector<std::string>> levels() const {
    struct Level {
      double least;
      const char* name;
      bool always = true;
      std::size_t pairs = 0;
      double wrong = 0;
    };
    std::array<Level, 4> all{{{0.99, "99 % or more"}, {0.9, "90 to 99 %"}, {0.5, "50 to 90 %"}, {0, "below 50 %", false}}};
    for (const Pair& m : summary_.matches()) {
      Level& level = *std::find_if(all.begin(), all.end() - 1, [&](const Level& l) { return m.value >= l.least; });
      ++level.pairs;
      level.wrong += 1 - m.value;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Level& l : all)
      if (l.always || l.pairs > 0)
        rows.push_back({l.name, count(l.pairs),
                        l.wrong < 0.95 ? (l.wrong < 0.05 ? "0" : lx::short_number(l.wrong, 1))
                                       : count(static_cast<std::size_t>(std::lround(l.wrong)))});
    return rows;
  }
  std::string score_meaning() const {
    if (o_.model)
      return lx::cat("The score is the model's opinion of a pair; pairs with ", lx::short_number(decisions_.threshold),
                     " or more were accepted.");
    if (one())
      return lx::cat("The score is the similarity of two records, from 0 to 1 (equal words); pairs with ",
                     lx::short_number(decisions_.threshold), " or more were accepted.");
    return lx::cat(
        "The score tells how far a pair stands out. At 0.5 another record is just as similar, at 0.67 the next one is half as "
        "similar, at 1 there is none. Pairs with ",
        lx::short_number(decisions_.threshold),
        " or more were accepted. A record that has no true partner may get the most similar stranger.");
  }

  /// Histograms of the best candidate of each record, and of all pairs.
  void pictures(lx::ReportPage& page) const {
    if (summary_.pairs() == 0) return;
    const std::string what = probable() ? "probabilities" : "scores";
    page.heading(lx::cat("All ", what));
    page.add(
        lx::cat("<p><span class=\"swatch yes\"></span>accepted &nbsp; <span class=\"swatch no\"></span>not accepted. The dashed line is "
                "the threshold.",
                probable() || o_.model ? " A clear result has most pairs at both ends and few in the middle." : "",
                "</p>\n<div class=\"pictures\">\n"));
    picture(page, summary_.best(), "The likeliest pair of each record",
            lx::cat("Each record", one() ? "" : " of " + names_[0], " counts once."), "records");
    picture(page, summary_.all(), "All pairs", "Every pair that was compared.", "pairs");
    page.add("</div>\n");
  }
  /// A bar that would hide the others is cut.
  void picture(lx::ReportPage& page, const ValueHistogram& histogram, const std::string& title, std::string caption,
               const std::string& unit) const {
    auto [edges, heights] = histogram.bars();
    std::vector<double> bars{0, 0};  // matches and other pairs together
    for (std::size_t b = 0; b + 1 < edges.size(); ++b) bars.push_back(heights[0][b] + heights[1][b]);
    std::partial_sort(bars.begin(), bars.begin() + 2, bars.end(), std::greater<>());
    const bool cut = bars[1] > 0 && bars[0] > 10 * bars[1];
    const double top = cut ? 2 * bars[1] : 1.05 * bars[0], factor = top >= 1e4 ? 1000 : 1;
    if (cut) caption += lx::cat(" The highest bar is cut: ", count(static_cast<std::size_t>(bars[0])), " ", unit, ".");
    for (auto& group : heights)
      for (double& height : group) height /= factor;
    if (probable())
      for (double& edge : edges) edge *= 100;
    const auto probability = decisions_.probability(decisions_.threshold);
    const double threshold = probability ? 100 * *probability : decisions_.threshold;
    std::vector<lx::ChartMark> marks;
    if (threshold > edges.front() && threshold < edges.back()) marks.push_back({threshold, "", false});
    page.add(lx::cat("<figure>\n",
                     lx::bar_chart({"accepted", "not accepted"}, edges, heights,
                                   {.title = title,
                                    .x_label = probable() ? "probability, %" : "score",
                                    .y_label = factor > 1 ? "thousand " + unit : unit,
                                    .y_range = {{0, top / factor}},
                                    .marks = marks,
                                    .width = 440,
                                    .height = 300,
                                    .stacked = true,
                                    .legend = false}),
                     "<figcaption>", lx::escape_xml(caption), "</figcaption>\n</figure>\n"));
  }

  void pair_examples(lx::ReportPage& page) const {
    const auto examples = summary_.examples();
    const std::string value = probable() ? "probability" : "score";
    page.heading("Sure pairs");
    const std::string equal =
        examples.equal == 0 ? "." : lx::cat("; pairs with equal texts, ", count(examples.equal), " in all, come last.");
    page.paragraph(examples.sure.empty() ? "There are none." : lx::cat("The accepted pairs with the highest ", value, equal, marking));
    for (const Pair& pair : examples.sure) card(page, pair);
    page.heading("Doubtful pairs");
    page.paragraph(examples.doubtful.empty()
                       ? "There are none."
                       : lx::cat("The accepted pairs with the lowest ", value, ". If these are right, the others probably are as well."));
    for (const Pair& pair : examples.doubtful) card(page, pair);
    page.heading(lx::cat("Records without a ", partner()));
    const auto unmatched = summary_.unmatched();
    page.paragraph(
        unmatched.empty()
            ? "There are none with a similar record."
            : lx::cat("The records ", one() ? "" : "of " + names_[0] + " ",
                      "that come closest to one, beside the candidate that was not accepted. If these belong together, pairs are missed."));
    for (const Pair& pair : unmatched) card(page, pair);
  }
  /// A score has so many digits that it is on its side of the threshold.
  std::string value_text(double value) const {
    if (probable()) return detail::whole_percent(value);
    const double threshold = decisions_.threshold;
    std::string text;
    for (int digits = 3; digits <= 9; ++digits) {
      text = lx::short_number(value, digits);
      if (lx::is_match(std::strtod(text.c_str(), nullptr), threshold) == lx::is_match(value, threshold)) break;
    }
    return "score " + text;
  }
  void card(lx::ReportPage& page, const Pair& pair) const { page.add(cards_.pair(pair.left, pair.right, value_text(pair.value))); }

  void duplicates(lx::ReportPage& page) const {
    if (one()) {
      page.heading("The largest groups of duplicates");
      const RecordGroups all = summary_.duplicates();
      page.paragraph(
          all.count == 0
              ? "There are none."
              : "Records that accepted pairs connect, directly or through others. Words are marked that differ from the first record.");
      groups(page, all, 0, [](const RecordGroup& g) { return lx::cat(count(g.records.size()), " records"); });
      return;
    }
    page.heading("Duplicates within each table");
    std::vector<std::string> header{""}, sharing{"records that share a partner with another one"},
        equal{"records with the same text as another one"};
    std::array<RecordGroups, 2> share, same;
    for (std::size_t t = 0; t < 2; ++t) {
      share.at(t) = summary_.sharing(t);
      same.at(t) = summary_.equal_texts(t);
      header.push_back(lx::escape_xml(names_.at(t)));
      sharing.push_back(count(share.at(t).records));
      equal.push_back(count(same.at(t).records));
    }
    page.table(header, {sharing, equal});
    if (share[0].count + share[1].count + same[0].count + same[1].count > 0)
      page.paragraph(
          "Such records may be duplicates, or a pair is wrong. The largest groups, with the words marked that differ from the first "
          "record:");
    for (std::size_t t = 0; t < 2; ++t) {
      groups(page, share.at(t), t, [&](const RecordGroup& g) {
        return lx::cat(count(g.records.size()), " records of ", names_.at(t), " share the partner ", cards_.id(1 - t, g.partner), " of ",
                       names_.at(1 - t));
      });
      groups(page, same.at(t), t,
             [&](const RecordGroup& g) { return lx::cat(count(g.records.size()), " records of ", names_.at(t), " have the same text"); });
    }
  }
  /// The largest groups; title: of a group.
  template <class Title>
  void groups(lx::ReportPage& page, const RecordGroups& all, std::size_t t, Title&& title) const {
    for (const RecordGroup& group : all.largest) page.add(cards_.group(t, group.records, title(group)));
  }

  static constexpr const char* marking = " Marked words are missing in the other record; underlined ones are similar there.";
  MatchSummary summary_;
  RecordCards cards_;
  const lx::RecordPairs& records_;
  const lx::Decisions& decisions_;
  MatchPageOptions o_;
  std::array<std::string, 2> names_;
};

}  // namespace program
