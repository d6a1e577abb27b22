// SPDX-License-Identifier: MIT
// Used by tests/oracles/check_pieces.py and bench/pieces.py. Reads records "<bytes>\n<text>\n" and writes one line each: ids, pieces,
// begins, ends; four lists of numbers separated by '|'.
//   pieces_stdin FILE none|bpe|unigram [unk=ID] [fuse=1] [ignore=1] [fallback=1] [strip=1] [trim=0|1] [rounds=N] STEP ...
// FILE: the number of tokens, for each a line of its bytes in hexadecimal, of unigram its score beside it, and for bpe lines of two ids,
// the merges. none: the code points of the characters are the ids, and begin and end are those of the piece. strip: the text is without the
// white space around it. trim: places are trimmed, with this add_prefix_space. rounds: writes the number of tokens and the median of the
// processor times in seconds of N rounds. STEP: a pre-tokenizer and its settings, as byte_level:0:1.
#include <algorithm>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "lexformer/text/byte_bpe.hpp"
#include "lexformer/text/pieces.hpp"
#include "lexformer/text/unigram.hpp"
#include "text_records.hpp"

namespace lx = lexformer;
using text_records::list;

namespace {

lx::PreTokenizer to_step(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
  using Kind = lx::PreTokenizer::Kind;
  using Prepend = lx::PreTokenizer::Prepend;
  static const std::map<std::string, Kind> kinds{{"byte_level", Kind::byte_level},
                                                 {"whitespace_split", Kind::whitespace_split},
                                                 {"whitespace", Kind::whitespace},
                                                 {"metaspace", Kind::metaspace},
                                                 {"punctuation", Kind::punctuation},
                                                 {"digits", Kind::digits},
                                                 {"bert", Kind::bert}};
  static const std::map<std::string, Prepend> schemes{{"always", Prepend::always}, {"first", Prepend::first}, {"never", Prepend::never}};
  static const std::map<std::string, lx::SplitBehaviour> behaviours{{"isolated", lx::SplitBehaviour::isolated},
                                                                    {"removed", lx::SplitBehaviour::removed},
                                                                    {"merged_with_previous", lx::SplitBehaviour::merged_with_previous},
                                                                    {"merged_with_next", lx::SplitBehaviour::merged_with_next},
                                                                    {"contiguous", lx::SplitBehaviour::contiguous}};
  lx::PreTokenizer step{.kind = kinds.at(parts.at(0))};
  const auto flag = [&](std::size_t i) { return parts.at(i) == "1"; };
  if (step.kind == Kind::byte_level) {
    step.add_prefix_space = flag(1);
    step.use_regex = flag(2);
  } else if (step.kind == Kind::metaspace) {
    step.replacement = lx::to_utf32(parts.at(1)).at(0);
    step.prepend_scheme = schemes.at(parts.at(2));
    step.split = flag(3);
  } else if (step.kind == Kind::punctuation) {
    step.behaviour = behaviours.at(parts.at(1));
  } else if (step.kind == Kind::digits) {
    step.individual_digits = flag(1);
  }
  return step;
}

struct Settings {
  std::map<std::string, std::string> values{};
  std::vector<lx::PreTokenizer> steps{};
  bool has(const std::string& name) const { return values.contains(name); }
};

/// What turns a piece into tokens.
struct Model {
  std::unique_ptr<lx::ByteBpe> bpe{};
  std::unique_ptr<lx::Unigram> unigram{};

  Model(const std::string& path, const std::string& kind, const Settings& settings) {
    if (kind == "none") return;
    std::ifstream file(path);
    std::string line, hex;
    std::getline(file, line);
    std::vector<std::string> tokens(std::stoul(line));
    std::vector<double> scores;
    for (std::string& token : tokens) {
      std::getline(file, line);
      hex = line.substr(0, line.find(' '));
      for (std::size_t i = 0; i < hex.size(); i += 2) token += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      if (kind == "unigram") scores.push_back(std::stod(line.substr(line.find(' '))));
    }
    std::vector<lx::ByteBpe::Merge> merges;
    for (lx::ByteBpe::Merge merge; file >> merge[0] >> merge[1];) merges.push_back(merge);
    lx::Vocabulary vocabulary(std::move(tokens));
    if (kind == "unigram") {
      unigram = std::make_unique<lx::Unigram>(std::move(vocabulary), std::move(scores), std::stoi(settings.values.at("unk")),
                                              settings.has("fallback"));
      return;
    }
    lx::ByteBpeOptions options;
    if (settings.has("unk")) options.unk = std::stoi(settings.values.at("unk"));
    options.fuse_unk = settings.has("fuse");
    options.ignore_merges = settings.has("ignore");
    bpe = std::make_unique<lx::ByteBpe>(std::move(vocabulary), merges, options);
  }

  void append(std::span<const lx::NormalizedChar> piece, std::vector<lx::Token>& out) const {
    if (bpe) return bpe->append(piece, out);
    if (unigram) return unigram->append(piece, out);
    for (const auto& c : piece) out.push_back({static_cast<std::int32_t>(c.character), piece.front().begin, piece.back().end});
  }
};

void strip(lx::NormalizedText& text) {
  const auto keep = [](const lx::NormalizedChar& c) { return !lx::is_whitespace(c.character); };
  text.erase(std::find_if(text.rbegin(), text.rend(), keep).base(), text.end());
  text.erase(text.begin(), std::find_if(text.begin(), text.end(), keep));
}

struct Tokens {
  std::vector<lx::Piece> pieces{};
  std::vector<lx::Token> tokens{};
  std::vector<std::size_t> piece_of{};
};

void tokenize(const Model& model, const Settings& settings, std::string_view utf8, Tokens& out) {
  lx::NormalizedText text = lx::to_characters(utf8);
  if (settings.has("strip")) strip(text);
  lx::pre_tokenize(settings.steps, text, out.pieces);
  out.tokens.clear();
  out.piece_of.clear();
  for (std::size_t i = 0; i < out.pieces.size(); ++i) {
    model.append(std::span(text).subspan(out.pieces[i].first, out.pieces[i].last - out.pieces[i].first), out.tokens);
    out.piece_of.resize(out.tokens.size(), i);
  }
  if (settings.has("trim"))
    for (lx::Token& token : out.tokens)
      lx::trim_offsets(token, model.bpe->vocabulary().token(token.id), &token == out.tokens.data(), settings.values.at("trim") == "1");
}

int measure(const Model& model, const Settings& settings, const std::vector<std::string_view>& texts) {
  std::vector<double> seconds;
  std::size_t count = 0;
  for (int round = std::stoi(settings.values.at("rounds")); round >= 0; --round) {
    count = 0;
    const std::clock_t start = std::clock();
    for (const std::string_view text : texts) {
      Tokens tokens;  // as in a program, which keeps them
      tokenize(model, settings, text, tokens);
      count += tokens.tokens.size();
    }
    seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  seconds.erase(seconds.begin());  // warming up
  std::sort(seconds.begin(), seconds.end());
  std::cout << count << ' ' << seconds[seconds.size() / 2] << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Settings settings;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == argument.npos)
      settings.steps.push_back(to_step(argument));
    else
      settings.values[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  const Model model(argv[1], argv[2], settings);

  const std::string input = text_records::read_all();
  std::vector<std::string_view> texts;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t end = input.find('\n', at), bytes = std::stoul(input.substr(at, end - at));
    texts.push_back(std::string_view(input).substr(end + 1, bytes));
    at = end + 1 + bytes + 1;
  }
  Tokens tokens;
  if (settings.has("rounds")) return measure(model, settings, texts);
  for (const std::string_view text : texts) {
    tokenize(model, settings, text, tokens);
    std::cout << list(tokens.tokens, [](const lx::Token& t) { return t.id; }) << list(tokens.piece_of)
              << list(tokens.tokens, [](const lx::Token& t) { return t.begin; })
              << list(tokens.tokens, [](const lx::Token& t) { return t.end; }) << '\n';
  }
}
