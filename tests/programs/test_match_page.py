# SPDX-License-Identifier: MIT
"""The page of `match --report`: its figures are the ones of the output, texts of tables are escaped, and every kind of run has a page.
Needs the built programs (LEXFORMER_BIN) and Python's standard library."""
import collections
import csv
import html.parser
import random
import re
import tempfile
import unittest
from pathlib import Path

from support import BRANDS, KINDS, Refusals, program, write

ROOT = Path(__file__).resolve().parents[2]
LEVELS = [(0.99, "99 % or more"), (0.9, "90 to 99 %"), (0.5, "50 to 90 %")]


class Page(html.parser.HTMLParser):
    """Parts of a page: the text of each element by its class or tag, tables, cards by section, tooltips of bars."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.tooltips, self.tags = [], [], [], set()
        self.cards, self.texts = collections.defaultdict(list), collections.defaultdict(list)
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        kind = dict(attributes).get("class", "")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif kind == "card":
            self.cards[self.texts["h2"][-1]].append([])
        if tag not in ("meta", "br"):
            self.open.append((tag, []))

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        opened, pieces = self.open.pop()
        assert opened == tag, (opened, tag)
        text = re.sub(r"\s+", " ", "".join(pieces)).strip()
        self.texts[tag].append(text)
        if tag in ("td", "th"):
            self.tables[-1][-1].append(text)
        elif tag == "title" and self.open[-1][0] == "rect":
            self.tooltips.append(text)
        elif tag in ("span", "b", "u") and self.open[-1][0] in ("div", "span"):
            if self.open[-1][0] == "div" and self.cards:
                self.cards[self.texts["h2"][-1]][-1].append(text)
        if self.open and tag not in ("style", "svg", "table"):
            self.open[-1][1].append("".join(pieces))

    def handle_data(self, data):
        if self.open:
            self.open[-1][1].append(data)

    def table(self, name):
        """The rows of the table that has such a cell, by their first cells."""
        found = next(t for t in self.tables if any(name in row for row in t))
        return {row[0]: row[1:] for row in found}

    def pairs(self, section):
        """(what is said of it, left id, right id) of each pair of a section."""
        return [tuple(card[:3]) for card in self.cards[section]]


def number(text):
    return int(text.split(" ")[0].replace(",", ""))


class MatchPage(Refusals, unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.out, self.page = self.folder / "matches.csv", self.folder / "page.html"

    def table(self, name, rows, header=("id", "name")):
        write(self.folder / name, header, rows)
        return self.folder / name

    def products(self):
        """Two tables: each third record has no partner, each fifth has two, of the same text."""
        rng, left, right, labels = random.Random(3), [], [], []
        for i in range(60):
            text = f"{rng.choice(BRANDS)} {rng.choice(KINDS)} {rng.choice('abcdk')}{rng.randrange(1000, 9999)}"
            left.append((f"a{i}", text))
            if i % 3 == 0:
                text = f"{rng.choice(BRANDS)} {rng.choice(KINDS)} {rng.choice('uvw')}{rng.randrange(1000, 9999)}"
            if i % 3 == 1:
                text = text.replace("o", "", 1)
            right.append((f"b{i}", text))
            labels += [(f"a{i}", f"b{i}", int(i % 3 > 0)), *((f"a{i}", f"b{(i + k) % 60}", 0) for k in (1, 2, 3, 4))]
            if i % 5 == 1:
                right.append((f"c{i}", text))
        return self.table("a.csv", left), self.table("b.csv", right), self.table("valid.csv", labels, ("ltable_id", "rtable_id", "label"))

    def match(self, *arguments, page=None):
        """The output as rows, and the page."""
        done = program("match", *arguments, "--out", self.out, "--report", page or self.page, "--quiet", "--overwrite")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.out, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        shown = Page((page or self.page).read_text())
        self.assertLessEqual(shown.tags & {"script", "link", "img", "iframe"}, set())
        return rows, shown

    def check_counts(self, rows, shown, records):
        """The table of partners, the histograms and the examples are the ones of the rows. records: of each table."""
        value = "probability" if "probability" in rows[0] else "score"
        matches = [row for row in rows if row["match"] == "1"]
        partners = [collections.Counter(row[side] for row in matches) for side in ("left_id", "right_id")]
        if len(records) == 1:
            partners = [partners[0] + partners[1]]
        word = "partner" if len(records) == 2 else "duplicate"
        table = shown.table("records")
        self.assertEqual([number(cell) for cell in table["records"]], records)
        self.assertEqual([number(cell) for cell in table[f"with a {word}"]], [len(p) for p in partners])
        self.assertEqual([number(cell) for cell in table[f"with several {word}s"]], [sum(n > 1 for n in p.values()) for p in partners])
        self.assertEqual([number(cell) for cell in table[f"without a {word}"]], [n - len(p) for n, p in zip(records, partners)])
        self.assertIn(f"{len(rows)} pairs of similar records were compared, {len(matches)} were accepted.", " ".join(shown.texts["p"]))
        # Both histograms: one unit for each record with a candidate, and one for each pair.
        candidates = {row["left_id"] for row in rows} | ({row["right_id"] for row in rows} if len(records) == 1 else set())
        bars = [(tip.split(",")[0], int(tip.split(": ")[1])) for tip in shown.tooltips]
        self.assertEqual(sum(n for _, n in bars), len(candidates) + len(rows))
        self.assertEqual(sum(n for kind, n in bars if kind == "accepted"), len(partners[0]) + len(matches))
        by_value = sorted(matches, key=lambda row: float(row[value]))
        doubtful = [row[1:] for row in shown.pairs("Doubtful pairs")]
        self.assertEqual(doubtful, [(row["left_id"], row["right_id"]) for row in by_value[:min(10, len(matches) // 2)]])
        self.assertLessEqual({row[1:] for row in shown.pairs("Sure pairs")}, {(row["left_id"], row["right_id"]) for row in by_value[len(doubtful):]})
        return matches, partners, value

    def test_figures_without_labels(self):
        a, b, _ = self.products()
        rows, shown = self.match(a, b)
        matches, partners, _ = self.check_counts(rows, shown, [60, 72])
        self.assertTrue(0 < len(partners[0]) < 60)
        mean = sum(float(row["probability"]) for row in matches) / len(matches)
        self.assertEqual(shown.texts["h1"], ["Matches of a.csv and b.csv"])
        self.assertIn(f"A partner in b.csv was found for {len(partners[0])} of the 60 records of a.csv; about {round(100 * (1 - mean))} of 100 pairs are probably wrong.", shown.texts["p"])
        best = {}
        for row in rows:
            if row["left_id"] not in partners[0]:
                best.setdefault(row["left_id"], (-float(row["score"]), int(row["left_id"][1:]), row["right_id"]))
        expected = [(left, right) for left, (_, _, right) in sorted(best.items(), key=lambda item: item[1][:2])][:10]
        self.assertEqual([pair[1:] for pair in shown.pairs("Records without a partner")], expected)
        for said, _, _ in shown.pairs("Records without a partner"):
            self.assertLess(int(said.removesuffix(" %").removeprefix("under ")), 100 * max(float(row["probability"]) for row in rows if row["match"] == "0") + 1)
        duplicates = shown.table("records with the same text as another one")
        self.assertEqual(duplicates["records with the same text as another one"], ["0", "24"])
        self.assertEqual(duplicates["records that share a partner with another one"], [str(sum(n for n in p.values() if n > 1)) for p in partners[::-1]])

    def test_figures_with_probabilities(self):
        a, b, valid = self.products()
        rows, shown = self.match(a, b, "--validation", valid, "--threshold", "0.45")
        matches, partners, _ = self.check_counts(rows, shown, [60, 72])
        probabilities = [float(row["probability"]) for row in matches]
        mean = sum(probabilities) / len(probabilities)
        self.assertIn(f"(precision {100 * mean:.1f} %)", " ".join(shown.texts["p"]))
        self.assertIn(f"The probabilities were fitted to the labelled pairs of {valid}, and hold", " ".join(shown.texts["p"]))
        self.assertIn(f"about {round(100 * (1 - mean))} of 100 pairs are probably wrong.", " ".join(shown.texts["p"]))
        levels, rest = shown.table("accepted pairs"), set(range(len(matches)))
        for least, name in LEVELS:
            here = {i for i in rest if probabilities[i] >= least}
            rest -= here
            self.assertEqual(levels[name][0], str(len(here)))
            self.assertLess(abs(float(levels[name][1]) - sum(1 - probabilities[i] for i in here)), 0.51)
        self.assertEqual("below 50 %" in levels, bool(rest))

    def test_model(self):
        """The probabilities of a model are the ones of its own training, and the page says so."""
        data = ROOT / "examples/data"
        rows, shown = self.match(data / "a.csv", data / "b.csv", "--model", ROOT / "weights/matcher-small")
        self.check_counts(rows, shown, [20, 20])
        self.assertIn("The probabilities were fitted to labelled pairs of the model's training, and hold", " ".join(shown.texts["p"]))

    def test_sure_pairs_show_what_differs(self):
        """Pairs with equal texts come last; both lists have ten pairs at most and share none."""
        rows = [(str(i), f"{brand} {kind} {i}{i}x") for i, (brand, kind) in enumerate((b, k) for b in BRANDS for k in KINDS)]
        changed = [(i, text + " new" if int(i) % 4 == 0 else text) for i, text in rows]
        found, shown = self.match(self.table("a.csv", rows), self.table("b.csv", changed))
        sure, doubtful = shown.pairs("Sure pairs"), shown.pairs("Doubtful pairs")
        self.assertEqual((len(sure), len(doubtful)), (10, 10))
        self.assertFalse(set(sure) & set(doubtful))
        different = [int(left) % 4 == 0 for _, left, _ in sure]
        self.assertEqual(different, sorted(different, reverse=True))
        self.assertIn("pairs with equal texts, 18 in all, come last.", " ".join(shown.texts["p"]))
        self.assertIn("new", shown.texts["b"])

    def test_one_table(self):
        texts = ["halvek camera kx100 black", "halvek camera kx100 blak", "halvek camera kx100 black new", "nordis oven m7 silver",
                 "nordis oven m7 silver", "tavion phone t1"]
        rows, shown = self.match(self.table("a.csv", [(f"r{i}", text) for i, text in enumerate(texts)]), "--threshold", "0.55")
        matches, partners, _ = self.check_counts(rows, shown, [6])
        self.assertEqual({frozenset((row["left_id"], row["right_id"])) for row in matches},
                         {frozenset(pair) for pair in (("r0", "r1"), ("r0", "r2"), ("r1", "r2"), ("r3", "r4"))})
        self.assertEqual(shown.texts["h1"], ["Duplicates in a.csv"])
        self.assertIn("A duplicate in the same table was found for 5 of the 6 records of a.csv; how many of the pairs are wrong is not known yet.", shown.texts["p"])
        table = shown.table("records")
        self.assertEqual((table["groups of duplicates"], table["records left if each group becomes one"]), (["2"], ["3"]))
        groups = shown.cards["The largest groups of duplicates"]
        self.assertEqual([card[0::2] for card in groups], [["r0", "r1", "r2"], ["r3", "r4"]])
        self.assertNotIn("partner", " ".join(shown.texts["p"] + shown.texts["h2"] + shown.texts["td"]))

    def test_no_matches(self):
        """All sections stay, and say that there is nothing."""
        rows, shown = self.match(self.table("a.csv", [("1", "camera red kx"), ("2", "camera blue m")]), "--threshold", "0.999")
        self.assertEqual({row["match"] for row in rows}, {"0"})
        self.assertIn("No duplicate in the same table was found for any of the 2 records of a.csv.", shown.texts["p"])
        self.assertEqual(shown.texts["p"].count("There are none."), 3)
        self.assertNotIn("How sure are the accepted pairs?", shown.texts["h2"])

    def test_no_candidates(self):
        rows, shown = self.match(self.table("a.csv", [("1", "aaaa")]), self.table("b.csv", [("1", "zzzz")]))
        self.assertEqual(rows, [])
        self.assertIn("No partner in b.csv was found for any of the 1 records of a.csv.", shown.texts["p"])
        self.assertIn("1 record of a.csv has no similar record at all.", shown.texts["p"])
        self.assertNotIn("svg", shown.tags)
        self.assertIn("There are none with a similar record.", shown.texts["p"])

    def test_all_have_a_partner(self):
        texts = [(f"{i}", f"{brand} {i}") for i, brand in enumerate(BRANDS)]
        _, shown = self.match(self.table("a.csv", texts), self.table("b.csv", texts))
        self.assertIn("A partner in b.csv was found for all 6 records of a.csv; fewer than 1 of 100 pairs is probably wrong.", shown.texts["p"])
        self.assertEqual(shown.pairs("Records without a partner"), [])
        self.assertIn("There are none with a similar record.", shown.texts["p"])

    def test_escapes(self):
        """Names of files and columns, ids and texts are shown as they are, and are no part of the page."""
        bad = "<script>alert('x')</script> & \"q\" <b>"
        rows, shown = self.match(
            self.table("a&<i>.csv", [(f"{bad}1", f"{bad} camera kx100"), ("x<2>", "oven & <u>steel</u> m7")], ("id", "na<me")),
            self.table("b'\"<.csv", [("<y>", f"camera kx100 {bad}"), ("&amp;", "oven steel m7 \"new\"")], ("id", "ti&tle")),
            "--columns", "na<me=ti&tle")
        self.assertEqual(shown.texts["h1"], ["Matches of a&<i>.csv and b'\"<.csv"])
        cards = shown.pairs("Sure pairs") + shown.pairs("Doubtful pairs")
        self.assertEqual({card[1:] for card in cards}, {(f"{bad}1", "<y>"), ("x<2>", "&amp;")})
        self.assertIn("na<me / ti&tle", shown.texts["span"])
        self.assertIn(f"{bad} camera kx100", shown.texts["span"])
        self.assertIn("<u>steel</u>", shown.texts["b"] + shown.texts["u"])
        self.assertNotIn("i", shown.tags)

    def test_long_values_are_cut(self):
        words = " ".join(f"word{i}ä" for i in range(400))
        _, shown = self.match(self.table("a.csv", [("1", "camera " + words)]), self.table("b.csv", [("1", "camera " + words)]))
        value = next(text for text in shown.texts["span"] if text.startswith("camera word0ä"))
        self.assertTrue(value.endswith(" …") and len(value.encode()) < 300, value)
        self.assertIn(value[:-2], "camera " + words)
        self.assertNotIn("b", {tag for tag in shown.tags})  # words behind the cut are in the other text

    def test_output_is_the_same(self):
        """The page changes no byte of the output, and is the same whatever the number of threads."""
        a, b, valid = self.products()
        outputs, pages = [], []
        for extra in ((), ("--report", self.page, "--threads", 1), ("--report", self.page, "--threads", 2)):
            done = program("match", a, b, "--validation", valid, "--out", self.out, *extra)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("page.html: open it in a browser" in done.stderr, bool(extra))
            outputs.append(self.out.read_bytes())
            if extra:
                pages.append(self.page.read_text().split("<footer>")[0])
        self.assertEqual((len(set(outputs)), len(set(pages))), (1, 1))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.csv", "b.csv", "matches.csv", "page.html", "valid.csv"])
        # What is left out of the output is on the page all the same.
        self.match(a, b, "--validation", valid, "--matches-only")
        self.assertEqual(self.page.read_text().split("<footer>")[0], pages[0])

    def test_only_the_likeliest(self):
        a, b, _ = self.products()
        rows, shown = self.match(a, b, "--top", 2)
        self.check_counts(rows, shown, [60, 72])
        self.assertIn("at most 2 (--top).", " ".join(shown.texts["p"]))

    def test_refusals(self):
        a, b, _ = self.products()
        for arguments, parts in (((f"--report={self.folder / 'page.txt'}",), ("--report", "page.txt must end in .html")),
                                 ((f"--report={self.page}", "--resume"), ("--report", "cannot be used with --resume")),
                                 ((f"--report={self.page}", "--shard", "1/2"), ("--report", "cannot be used with --shard")),
                                 ((f"--report={self.folder / 'none' / 'page.html'}",), ("there is no folder",))):
            done = program("match", a, b, "--out", self.out, *arguments)
            self.refused(3 if "none" in arguments[0] else 2, done, *parts)
            self.assertFalse(self.out.exists() or self.page.exists())


if __name__ == "__main__":
    unittest.main()
