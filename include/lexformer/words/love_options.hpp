// SPDX-License-Identifier: MIT
// The options of LOVE's encoders.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>

#include "lexformer/core/error.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/options.hpp"

namespace lexformer {

enum class LoveEncoderKind { pam, attention, cnn, rnn };  // love_pam.hpp, love_attention.hpp, love_cnn.hpp, love_rnn.hpp
enum class LoveStructure { sequential, merge };           // the paper's eq. 4 and 5; the released model

template <>
inline constexpr Named<LoveEncoderKind> names_of<LoveEncoderKind>[] = {
    {"pam", LoveEncoderKind::pam}, {"attention", LoveEncoderKind::attention}, {"cnn", LoveEncoderKind::cnn}, {"rnn", LoveEncoderKind::rnn}};
template <>
inline constexpr Named<LoveStructure> names_of<LoveStructure>[] = {{"sequential", LoveStructure::sequential},
                                                                   {"merge", LoveStructure::merge}};

inline constexpr std::size_t max_love_size = 1 << 16;

struct LoveOptions {
  std::size_t size = 300;       // D, of the vectors
  std::size_t rows = 0;         // V, of the table
  std::size_t pad = 0;          // the row of [PAD]
  std::size_t rank = 0;         // h, of the table as a product of (V, h) and (h, D); 0: one table (V, D)
  std::size_t query_size = 32;  // Q, of queries and keys of the self-attention of pam, all heads together
  std::size_t heads = 1, layers = 1;
  double dropout = 0.2;
  LoveEncoderKind encoder = LoveEncoderKind::pam;
  LoveStructure structure = LoveStructure::merge;
  std::string scale = "quarter";  // of attention scores, see love_divisor()

  /// All but the rows of the table, which the vocabulary determines.
  void visit(OptionVisitor& v) {
    v.size("size", size, 2, max_love_size, "size of the vectors");
    v.size("rank", rank, 0, max_love_size,
           "the table of units is the product of two matrices with this inner size, to save parameters (Table A1, decomposition); 0 = one "
           "table");
    v.choice("encoder", encoder,
             "how units become a vector: positional attention and self-attention (pam), self-attention alone, convolutions, or an LSTM");
    v.choice("structure", structure, "pam: positional attention beside self-attention (released model), or before it (paper)");
    v.text("scale", scale,
           "pam and attention: scores are divided by the fourth root of the head size (quarter), its square root (sqrt), or a number");
    v.size("query_size", query_size, 1, 1 << 16, "pam: size of the queries and keys of the self-attention, all heads together");
    v.size("heads", heads, 1, 256, "pam and attention: heads");
    v.size("layers", layers, 1, 64, "layers of pam, attention or rnn");
    v.number("dropout", dropout, 0, 0.99, "dropout after the normalization, or between the layers at the end of cnn and rnn");
  }
};

/// The divisor of attention scores of heads of this size: its fourth root (quarter, the released code's), its square root (sqrt), or a
/// given number. Errors: the scale is none of these, or not in 0.001 .. 1000000; `where` begins the message.
inline double love_divisor(const std::string& scale, std::size_t head_size, const char* where = "LoveOptions") {
  const auto d = static_cast<double>(head_size);
  if (scale == "quarter") return std::sqrt(std::sqrt(d));
  if (scale == "sqrt") return std::sqrt(d);
  double number = 0;
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), number);
  if (error != std::errc() || end != scale.data() + scale.size() || !(number >= 1e-3 && number <= 1e6))
    fail_usage(where, "scale is ", in_quotes(scale), "; expected quarter, sqrt or a number from 0.001 to 1000000");
  return number;
}

/// Returns the options if they fit each other. Errors (usage): a size is 0; the rank exceeds D; [PAD] is not a row; cnn has heads or
/// layers, rnn has heads; D is not even (rnn), or not a multiple of the heads (attention); of pam: D / heads is not an even number, Q is
/// not a multiple of the heads or exceeds D; the scale is unknown.
inline const LoveOptions& check_love_options(const LoveOptions& o) {
  if (o.size == 0 || o.rows == 0 || o.query_size == 0 || o.heads == 0 || o.layers == 0)
    fail_usage("LoveOptions", "size, rows, query_size, heads and layers must be positive, got ", o.size, ", ", o.rows, ", ", o.query_size,
               ", ", o.heads, ", ", o.layers);
  if (o.size < 2 || o.size > max_love_size) fail_usage("LoveOptions", "size is ", o.size, ", expected 2 to ", max_love_size);
  if (o.rank > o.size) fail_usage("LoveOptions", "rank is ", o.rank, ", more than the size ", o.size);
  if (o.pad >= o.rows) fail_usage("LoveOptions", "[PAD] is row ", o.pad, " of a table of ", o.rows, " rows");
  using Kind = LoveEncoderKind;
  if (o.encoder == Kind::rnn && (o.size % 2 != 0 || o.heads != 1))
    fail_usage("LoveOptions", "encoder rnn needs an even size and 1 head, got ", o.size, " and ", o.heads);
  if (o.encoder == Kind::cnn && (o.heads != 1 || o.layers != 1))
    fail_usage("LoveOptions", "encoder cnn has 1 head and 1 layer, got ", o.heads, " and ", o.layers);
  if (o.encoder == Kind::attention && o.size % o.heads != 0)
    fail_usage("LoveOptions", "size must be a multiple of the heads, got ", o.size, " and ", o.heads);
  if (o.encoder == Kind::pam && o.size % (2 * o.heads) != 0)
    fail_usage("LoveOptions", "size / heads must be an even number, for sines and cosines; got ", o.size, " / ", o.heads);
  if (o.encoder == Kind::pam && (o.query_size % o.heads != 0 || o.query_size > o.size))
    fail_usage("LoveOptions", "query_size must be a multiple of the ", o.heads, " heads and at most the size ", o.size, "; got ",
               o.query_size);
  love_divisor(o.scale, 1);
  return o;
}

}  // namespace lexformer
