// SPDX-License-Identifier: MIT
// Writes pictures as SVG 1.1: shapes and texts at pixel positions.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Escapes text for XML and HTML, for elements and double-quoted attributes. Invalid UTF-8 and characters that XML 1.0 does not allow
/// become U+FFFD.
inline std::string escape_xml(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = decode_utf8(text, i);
    const char32_t c = d.character;
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == replacement_character || (c < 0x20 && c != '\n' && c != '\t') || c == 0xFFFE || c == 0xFFFF)
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(i, d.bytes);
    i += d.bytes;
  }
  return out;
}

/// Formats a number with at most `digits` significant digits, independent of the locale.
inline std::string short_number(double x, int digits = 4) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), x == 0 ? 0.0 : x, std::chars_format::general, digits).ptr;
  return {text, end};
}

/// A colour from 0 (white) to 1 (dark) through orange and red. Darkness rises evenly, so it is readable in greyscale and by the
/// colour-blind.
inline std::string heat_colour(double share) {
  static constexpr std::array<std::array<double, 3>, 5> stops = {
      {{255, 255, 255}, {253, 212, 158}, {241, 131, 84}, {186, 45, 62}, {70, 8, 38}}};
  const double at = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * (stops.size() - 1) : 0.0;
  const std::size_t i = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  std::string out = "#";
  for (std::size_t c = 0; c < 3; ++c) {
    const auto value = static_cast<unsigned>(std::lround(stops[i][c] + (at - static_cast<double>(i)) * (stops[i + 1][c] - stops[i][c])));
    out += "0123456789abcdef"[value / 16];
    out += "0123456789abcdef"[value % 16];
  }
  return out;
}

/// Colours and dashes of the lines of a chart. The colours are Okabe and Ito's, which the colour-blind can distinguish; the dashes
/// distinguish the lines in greyscale.
inline std::string line_colour(std::size_t i) {
  static constexpr std::array colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a07800", "#56b4e9", "#000000"};
  return colours[i % colours.size()];
}
inline std::string line_dash(std::size_t i) {
  static constexpr std::array dashes = {"", "7 3", "2 2", "9 3 2 3", "4 4", "12 3", "1 3"};
  return dashes[(i + i / dashes.size()) % dashes.size()];  // the eighth line repeats the first colour with other dashes
}

struct TextStyle {
  double size = 12;
  std::string anchor = "start";  // or middle, end
  double rotate = 0;             // degrees, clockwise around its position
  bool bold = false, mono = false;
  bool halo = false;  // white outline, to be readable over lines
  std::string colour = "#222222";
};

class Svg {
 public:
  /// `title` is read by screen readers and shown by browsers as a tooltip.
  Svg(double width, double height, const std::string& title) : width_(width), height_(height), title_(title) {}

  using Point = std::pair<double, double>;

  /// Draws a rectangle; a tooltip is shown when it is pointed at.
  void rectangle(double x, double y, double width, double height, const std::string& fill, const std::string& tooltip = "") {
    open_rect(x, y, width, height);
    text("fill", fill);
    close("rect", tooltip);
  }
  void frame(double x, double y, double width, double height) {
    open_rect(x, y, width, height);
    text("fill", "none");
    text("stroke", "#888888");
    close("rect");
  }
  void line(double x1, double y1, double x2, double y2, const std::string& colour, double width = 1, const std::string& dash = "") {
    path({{x1, y1}, {x2, y2}}, colour, width, dash);
  }
  void path(const std::vector<Point>& points, const std::string& colour, double width = 2, const std::string& dash = "",
            double opacity = 1) {
    open("polyline");
    places(points);
    text("fill", "none");
    text("stroke", colour);
    number("stroke-width", width);
    if (!dash.empty()) text("stroke-dasharray", dash);
    if (opacity < 1) number("stroke-opacity", opacity);
    close("polyline");
  }
  void area(const std::vector<Point>& points, const std::string& colour, double opacity) {
    open("polygon");
    places(points);
    text("fill", colour);
    number("fill-opacity", opacity);
    close("polygon");
  }
  void dot(double x, double y, double radius, const std::string& colour, const std::string& tooltip = "") {
    open("circle");
    number("cx", x);
    number("cy", y);
    number("r", radius);
    text("fill", colour);
    close("circle", tooltip);
  }
  void label(double x, double y, const std::string& content, const TextStyle& style = {}) {
    open("text");
    number("x", x);
    number("y", y);
    number("font-size", style.size);
    text("text-anchor", style.anchor);
    text("fill", style.colour);
    text("font-family", style.mono ? "ui-monospace, DejaVu Sans Mono, monospace" : "system-ui, DejaVu Sans, sans-serif");
    if (style.bold) text("font-weight", "bold");
    if (style.halo) body_ += " stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
    if (style.rotate != 0)
      text("transform", cat("rotate(", short_number(style.rotate), " ", short_number(x, 6), " ", short_number(y, 6), ")"));
    body_ += ">" + escape_xml(content) + "</text>\n";
  }

  /// Returns the whole picture. The background is painted, so that it looks the same on a dark page.
  std::string str() const {
    const std::string w = short_number(width_, 6), h = short_number(height_, 6);
    return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", w, "\" height=\"", h, "\" viewBox=\"0 0 ", w, " ", h,
               "\" role=\"img\">\n<title>", escape_xml(title_), "</title>\n<rect width=\"", w, "\" height=\"", h, "\" fill=\"#ffffff\"/>\n",
               body_, "</svg>\n");
  }

 private:
  void open(const char* element) { body_ += cat("<", element); }
  void open_rect(double x, double y, double width, double height) {
    open("rect");
    number("x", x);
    number("y", y);
    number("width", width);
    number("height", height);
  }
  void number(const char* key, double value) { body_ += cat(" ", key, "=\"", short_number(value, 6), "\""); }
  void text(const char* key, const std::string& value) { body_ += cat(" ", key, "=\"", escape_xml(value), "\""); }
  void places(const std::vector<Point>& points) {
    body_ += " points=\"";
    for (const auto& [x, y] : points) body_ += cat(short_number(x, 6), ",", short_number(y, 6), " ");
    body_ += "\"";
  }
  void close(const char* element, const std::string& tooltip = "") {
    body_ += tooltip.empty() ? "/>\n" : cat("><title>", escape_xml(tooltip), "</title></", element, ">\n");
  }

  double width_, height_;
  std::string title_, body_;
};

/// The approximate width of a text of this size, for the layout; fonts differ.
inline double text_width(std::string_view text, double size, bool mono = false) {
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // UTF-8: counts the first byte of each character
  return static_cast<double>(characters) * size * (mono ? 0.61 : 0.6);
}

}  // namespace lexformer
