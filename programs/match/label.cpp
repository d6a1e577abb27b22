// SPDX-License-Identifier: MIT
// Labels pairs of records by hand: in the terminal, or on a page in a browser.
#include <sys/ioctl.h>
#include <termios.h>

#include <set>
#include <utility>

#include <lexformer/data/row_writer.hpp>
#include <lexformer/tables/labelled_pairs.hpp>

#include "match/label_page.hpp"

namespace lx = lexformer;

namespace {

/// Reads one key from a terminal at once, without echo; from anything else the first character of a line.
class Keys {
 public:
  Keys() : terminal_(isatty(0) != 0 && tcgetattr(0, &before_) == 0) {
    if (!terminal_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(0, TCSANOW, &raw);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys() {
    if (terminal_) tcsetattr(0, TCSANOW, &before_);
  }

  /// 'q' at the end of the input and after Ctrl-C.
  char next() {
    if (terminal_) {
      char key = 'q';
      return read(0, &key, 1) == 1 ? key : 'q';
    }
    std::string line;
    if (!std::getline(std::cin, line)) return 'q';
    const auto first = line.find_first_not_of(" \t\r");
    return first == line.npos ? ' ' : line[first];
  }

 private:
  termios before_{};
  bool terminal_;
};

std::size_t screen_columns() {
  winsize size{};
  if (isatty(1) != 0 && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::clamp<std::size_t>(size.ws_col, 60, 200);
  return 100;
}

/// A text in lines of at most `width` characters, padded with spaces. Words that the other text lacks are marked.
std::vector<std::string> marked_lines(const std::string& text, const std::string& other, std::size_t width, bool color) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t length = 0;
  const auto end_line = [&] {
    lines.push_back(line + std::string(width - length, ' '));
    line.clear();
    length = 0;
  };
  for (const lx::ComparedWord& word : lx::compare_words(text, other)) {
    std::u32string letters = lx::to_utf32(lx::one_line(word.text));  // no escape sequences from a table
    const bool same = word.kind == lx::ComparedWord::Kind::same, near = word.kind == lx::ComparedWord::Kind::near;
    if (!color && !same) {
      const char32_t mark = near ? U'~' : U'*';
      letters.insert(letters.begin(), mark);
      letters.push_back(mark);
    }
    while (!letters.empty()) {
      if (length > 0 && length + 1 + letters.size() > width) end_line();
      const std::u32string part = letters.substr(0, width);
      letters.erase(0, part.size());
      if (length > 0) line += ' ';
      length += part.size() + (length > 0 ? 1 : 0);
      const std::string shown = lx::to_utf8(part);
      line += !color || same ? shown : lx::cat(near ? "\x1b[4m" : "\x1b[7m", shown, "\x1b[0m");
    }
  }
  end_line();
  return lines;
}

/// The labels in the output file, which is written anew after each answer.
class Labels {
 public:
  /// choices: the pairs that are asked for say how they were chosen.
  Labels(std::string path, const std::shared_ptr<const lx::RecordPairs>& records, bool choices)
      : path_(std::move(path)), records_(*records), choices_(choices) {
    text_ = program::label_header(choices_);
    if (!lx::path_exists(path_)) return;
    // A spreadsheet may have saved the file in its own form: what follows is written as this program writes it.
    const std::string saved = lx::read_file(path_);
    const auto lines = lx::detail::split_lines(saved);
    std::string first(lines.empty() ? "" : lines[0]);
    for (char& c : first)
      if (c == ';' || c == '\t') c = ',';
    if (first + '\n' == program::label_header(true)) choices_ = true;
    text_ = program::label_header(choices_);
    if (first + '\n' != program::label_header(true) && first + '\n' != program::label_header(false))
      lx::fail_file(path_, "does not begin with the line ltable_id,rtable_id,label; --out continues a file of labels or writes a new one");
    if (lines.size() == 1) return;
    lx::TableOptions table;
    table.records = records;
    table.keep_optional = lx::choice_columns;
    lx::GivenLabels given(records->one_table());
    for (const auto& row : lx::read_pairs(path_, table).rows) {
      lx::parse_choice(row.kept[0], lx::cat(path_, ": line ", row.line));
      const auto label = lx::find_label(row.label, {"0", "1"});
      if (!label) lx::fail_file(lx::cat(path_, ":", row.line), "the label is ", lx::in_quotes(row.label), ", expected 0 or 1");
      given.add(row.left_id, row.right_id, lx::cat(*label), path_, row.line);
      const program::RecordPair pair{records_.left_place(row.left_id, path_), records_.right_place(row.right_id, path_), row.kept};
      known_.insert(key(pair));
      append(pair, *label == 1);
    }
  }

  bool has(const program::RecordPair& pair) const { return known_.contains(key(pair)); }
  std::size_t size() const { return known_.size(); }

  void add(const program::RecordPair& pair, bool match) {
    answers_.emplace_back(key(pair), text_.size());
    known_.insert(key(pair));
    append(pair, match);
    lx::write_file_atomic(path_, text_);
  }
  /// Removes the last label of this run; returns false if there is none.
  bool undo() {
    if (answers_.empty()) return false;
    known_.erase(answers_.back().first);
    text_.resize(answers_.back().second);
    answers_.pop_back();
    lx::write_file_atomic(path_, text_);
    return true;
  }

 private:
  void append(const program::RecordPair& pair, bool match) {
    text_ += lx::cat(lx::csv_field(records_.left().records[pair.left].id), ',', lx::csv_field(records_.right().records[pair.right].id),
                     match ? ",1" : ",0", choices_ ? program::choice_fields(pair) : "", '\n');
  }
  using Key = std::pair<std::size_t, std::size_t>;
  Key key(const program::RecordPair& pair) const {
    return records_.one_table() ? Key(std::minmax(pair.left, pair.right)) : Key(pair.left, pair.right);
  }

  std::string path_;
  const lx::RecordPairs& records_;
  bool choices_;
  std::string text_;
  std::set<Key> known_;
  std::vector<std::pair<Key, std::size_t>> answers_;  // of this run, and where each begins in the text
};

void show(const lx::RecordPairs& records, const program::ColumnValues& values, const program::RecordPair& pair) {
  const bool color = isatty(1) != 0 && std::getenv("NO_COLOR") == nullptr;
  std::size_t name_width = 4;
  for (const auto& name : values.names) name_width = std::max(name_width, std::min<std::size_t>(16, lx::to_utf32(name).size()));
  const std::size_t width = (screen_columns() - name_width - 4) / 2;
  const auto row = [&](const std::string& name, const std::vector<std::string>& left, const std::vector<std::string>& right) {
    auto title = lx::to_utf32(lx::one_line(name));
    title.resize(name_width, U' ');
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      const std::string none(width, ' ');
      std::string line = lx::cat(i == 0 ? lx::to_utf8(title) : std::string(name_width, ' '), "  ", i < left.size() ? left[i] : none, "  ",
                                 i < right.size() ? right[i] : none);
      line.erase(line.find_last_not_of(' ') + 1);
      std::cout << line << '\n';
    }
  };
  const auto &a = records.left().records[pair.left].id, &b = records.right().records[pair.right].id;
  row("id", marked_lines(a, a, width, color), marked_lines(b, b, width, color));
  // A word may stand in another column of the other record.
  const auto &left_text = records.left_texts()[pair.left], &right_text = records.right_texts()[pair.right];
  for (std::size_t c = 0; c < values.names.size(); ++c) {
    const auto &left = values.left[c][pair.left], &right = values.right[c][pair.right];
    row(values.names[c], marked_lines(left, right_text, width, color), marked_lines(right, left_text, width, color));
  }
}

/// Asks for the label of each pair that has none.
void ask(const lx::RecordPairs& records, const std::vector<program::RecordPair>& pairs, Labels& labels) {
  const program::ColumnValues values(records);
  Keys keys;
  program::catch_signals();
  std::cout << "y = match, n = no match, s = skip, u = remove the last label, q = quit. Words that the other record lacks are marked.\n";
  std::vector<std::size_t> asked;  // of this run, in order: undo returns to the last one that was labelled
  for (std::size_t i = 0; i < pairs.size();) {
    if (labels.has(pairs[i])) {
      ++i;
      continue;
    }
    std::cout << "\n-- pair " << i + 1 << " of " << pairs.size() << '\n';
    show(records, values, pairs[i]);
    for (bool answered = false; !answered;) {
      std::cout << "match? [y/n/s/u/q] " << std::flush;
      const char key = program::interrupted != 0 ? 'q' : keys.next();
      std::cout << (std::isprint(static_cast<unsigned char>(key)) != 0 ? key : ' ') << '\n';
      answered = true;
      if (key == 'y' || key == 'n') {
        labels.add(pairs[i], key == 'y');
        asked.push_back(i++);
      } else if (key == 's') {
        ++i;
      } else if (key == 'u' && labels.undo()) {
        i = asked.back();
        asked.pop_back();
      } else if (key == 'q') {
        return;
      } else {
        if (key == 'u') std::cout << "no label of this run is left\n";
        answered = false;
      }
    }
  }
}

class Label final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("pairs", files_, "pairs of ids to label, as suggest, match and candidates write them: .csv, .tsv, .jsonl")
        .positional()
        .required()
        .shown_as("F.csv");
    flags_.visit_with_columns(v, columns_);
    v.output("out", out_,
             "file of labels to write or to continue: ltable_id, rtable_id, label (1 = match), and how the pair was chosen, if suggest "
             "wrote it; .csv")
        .shown_as("LABELS.csv");
    v.output("html", page_, "write a page for a browser instead of asking; the browser saves the labels")
        .shown_as("F.html")
        .excludes("out");
  }
  int run() override {
    if (out_.empty() && page_.empty()) lx::fail_usage("command line", "give --out LABELS.csv to label in the terminal, or --html F.html");
    if (!out_.empty() && program::output_format(out_) != lx::TableFormat::csv) lx::fail_usage("--out", out_, " must end in .csv");
    if (!flags_.used()) lx::fail_usage("--left", "must be given: the table of the records");
    const auto records = flags_.load(columns_);
    lx::TableOptions table;
    table.records = records;
    table.labels = false;
    table.keep_optional = lx::choice_columns;
    std::vector<program::RecordPair> pairs;
    for (const auto& path : files_)
      for (const auto& row : lx::read_pairs(path, table).rows) {
        lx::parse_choice(row.kept[0], lx::cat(path, ": line ", row.line));
        pairs.push_back({records->left_place(row.left_id, path), records->right_place(row.right_id, path), row.kept});
      }
    if (!page_.empty()) {
      lx::write_file_atomic(page_, program::label_page(*records, pairs, "labels.csv"));
      std::cerr << page_ << ": " << program::counted(pairs.size(), "pair", "pairs") << " to label; open it in a browser\n";
      return 0;
    }
    const auto lock = lx::FileLock::of_output(out_);  // a second process would overwrite the labels of this one
    Labels labels(out_, records, program::has_choices(pairs));
    ask(*records, pairs, labels);
    const auto left = std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return !labels.has(pair); });
    std::cerr << out_ << ": " << program::counted(labels.size(), "label", "labels") << ", "
              << program::counted(static_cast<std::size_t>(left), "pair", "pairs") << " without one\n";
    return 0;
  }

 private:
  program::RecordFlags flags_;
  std::vector<std::string> files_, columns_;
  std::string out_, page_;
};

const program::Registered<Label> registered{
    "label", program::Group::match, "asks for labels, in the terminal or on a page for a browser",
    "Labels pairs of records interactively, in the terminal or on a page for a browser. Shows them side by side, with their differences "
    "marked. Each answer is saved at once, and a second run continues."};

}  // namespace
