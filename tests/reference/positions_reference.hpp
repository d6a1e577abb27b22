// SPDX-License-Identifier: MIT
// The scores of every position scheme for one sequence, computed cell by cell from the papers' formulas.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lexformer/attention/terms.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer::test {

enum class PositionScheme { absolute, relative_key, relative_key_query, shaw, bert_r, ddrp, tupe, deberta, t5, alibi, rope };

/// A scheme and the options of all schemes; the formulas below read them.
struct PositionOptions {
  PositionScheme scheme = PositionScheme::absolute;
  std::size_t size = 64;
  bool random_direction = false;
  std::size_t buckets = 0, max_distance = 0;
  bool scaled = false;
  double rope_base = 10000;

  std::string name() const {
    static const std::vector<std::string> names{
        "absolute", "relative_key", "relative_key_query", "shaw", "bert_r", "ddrp", "tupe", "deberta", "t5", "alibi", "rope"};
    return names[static_cast<std::size_t>(scheme)];
  }
  /// The config entry for these options.
  TermConfig config() const {
    using enum PositionScheme;
    Json json = Json::object();
    if (scheme == shaw || scheme == bert_r || scheme == ddrp || scheme == deberta) json["size"] = size;
    if (scheme == ddrp) json["random_direction"] = random_direction;
    if (scheme == tupe || scheme == t5 || scheme == deberta) json["buckets"] = buckets;
    if (max_distance != 0) json["max_distance"] = max_distance;
    if (scheme == t5) json["scaled"] = scaled;
    if (scheme == rope) json["base"] = rope_base;
    return {name(), json.dump()};
  }
};

struct PositionsReference {
  PositionOptions o;
  EncoderSizes z;
  std::map<std::string, Tensor<double>> w;  // parameters by name

  using Row = std::vector<double>;
  static double dot(const Row& a, const Row& b) {
    double sum = 0;
    for (std::size_t e = 0; e < a.size(); ++e) sum += a[e] * b[e];
    return sum;
  }
  Row row(const std::string& name, long r) const {
    const auto& t = w.at(name);
    Row x;
    for (std::size_t e = 0; e < t.dim(1); ++e) x.push_back(t.at(static_cast<std::size_t>(r), e));
    return x;
  }
  /// x W^T + b, for one head.
  Row project(const Row& x, const std::string& name, std::size_t h) const {
    const std::size_t d = z.width / z.heads;
    Row y;
    for (std::size_t e = h * d; e < (h + 1) * d; ++e)
      y.push_back(dot(x, row(name + ".weight", static_cast<long>(e))) + w.at(name + ".bias").data()[e]);
    return y;
  }
  /// TUPE's LayerNorm(table[r]).
  Row position(long r) const {
    Row x = row("table", r);
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    for (std::size_t e = 0; e < x.size(); ++e)
      x[e] = (x[e] - mean) / std::sqrt(variance + z.layer_norm_eps) * w.at("norm.weight").data()[e] + w.at("norm.bias").data()[e];
    return x;
  }
  /// T5's bucket of key - query.
  long t5(long x) const {
    const long half = static_cast<long>(o.buckets) / 2, exact = half / 2;
    long n = std::abs(x);
    if (n >= exact) {
      const double farther = std::log(static_cast<double>(n) / static_cast<double>(exact)) /
                             std::log(static_cast<double>(o.max_distance) / static_cast<double>(exact)) * static_cast<double>(half - exact);
      n = std::min(half - 1, exact + static_cast<long>(farther + 1e-6));  // a distance on a bucket border belongs to the next bucket
    }
    return x > 0 ? n + half : n;
  }

  /// S_ij of head h; q and k are this head's projected rows of the sequence.
  double score(const std::vector<Row>& q, const std::vector<Row>& k, std::size_t h, long i, long j) const {
    const double d = static_cast<double>(z.width / z.heads), root = std::sqrt(d),
                 content = dot(q[static_cast<std::size_t>(i)], k[static_cast<std::size_t>(j)]);
    const Row &qi = q[static_cast<std::size_t>(i)], &kj = k[static_cast<std::size_t>(j)];
    const long size = static_cast<long>(o.size), most = static_cast<long>(z.max_length);
    switch (o.scheme) {
      case PositionScheme::absolute:
        return content / root;
      case PositionScheme::relative_key:
        return (content + dot(qi, row("distance_embedding.weight", i - j + most - 1))) / root;
      case PositionScheme::relative_key_query: {
        const Row e = row("distance_embedding.weight", i - j + most - 1);
        return (content + dot(qi, e) + dot(kj, e)) / root;
      }
      case PositionScheme::shaw:
        return (content + dot(qi, row("table", std::max(-size, std::min(size, j - i)) + size))) / root;
      case PositionScheme::bert_r:
        return (content + dot(qi, row("table", std::max(-(size - 1), std::min(size - 1, i - j)) + size))) / root;
      case PositionScheme::ddrp: {
        const Row way = row("direction", i == j ? 0 : i < j ? 1 : 2), far = row("distance", std::min(std::abs(i - j), size - 1));
        double sum = content;
        for (std::size_t e = 0; e < qi.size(); ++e) sum += qi[e] * way[e] * far[e];
        return sum / root;
      }
      case PositionScheme::tupe: {
        const auto product = [&](long a, long b) { return dot(project(position(a), "query", h), project(position(b), "key", h)); };
        const double p = i == 0 ? product(0, 0) : j == 0 ? product(1, 1) : product(i + 1, j + 1);
        double b = 0;
        if (o.buckets != 0) {
          const long bins = static_cast<long>(o.buckets);
          b = w.at("bias").at(h, static_cast<std::size_t>(i == 0 ? bins / 2 : j == 0 ? bins : t5(j - i)));
        }
        return (content + p) / std::sqrt(2 * d) + b;
      }
      case PositionScheme::deberta: {
        long x = i - j;
        const long middle = static_cast<long>(o.buckets) / 2;
        if (o.buckets != 0 && std::abs(x) > middle) {
          const double share = std::log(static_cast<double>(std::abs(x)) / static_cast<double>(middle)) /
                               std::log(static_cast<double>(o.max_distance - 1) / static_cast<double>(middle));
          x = (x > 0 ? 1 : -1) * (static_cast<long>(std::ceil(share * static_cast<double>(middle - 1))) + middle);
        }
        const Row p = row("table", std::max(0L, std::min(2 * size - 1, x + size)));
        return (content + dot(qi, project(p, "key", h)) + dot(kj, project(p, "query", h))) / std::sqrt(3 * d);
      }
      case PositionScheme::t5:
        return content / (o.scaled ? root : 1.0) + w.at("bias").at(h, static_cast<std::size_t>(t5(j - i)));
      case PositionScheme::alibi: {
        const bool power = (z.heads & (z.heads - 1)) == 0;
        std::size_t p = 1;
        while (2 * p <= z.heads) p *= 2;
        const double slope = power || h < p ? std::pow(2.0, -8.0 * static_cast<double>(h + 1) / static_cast<double>(p))
                                            : std::pow(2.0, -4.0 * static_cast<double>(2 * (h - p) + 1) / static_cast<double>(p));
        return content / root - slope * static_cast<double>(std::abs(i - j));
      }
      case PositionScheme::rope: {
        double sum = 0;  // rotating both by their positions equals rotating one by the difference
        for (std::size_t t = 0; t < qi.size() / 2; ++t) {
          const double angle = static_cast<double>(i - j) * std::pow(o.rope_base, -2.0 * static_cast<double>(t) / d);
          const double a = qi[2 * t] * std::cos(angle) - qi[2 * t + 1] * std::sin(angle);
          const double b = qi[2 * t + 1] * std::cos(angle) + qi[2 * t] * std::sin(angle);
          sum += a * kj[2 * t] + b * kj[2 * t + 1];
        }
        return sum / root;
      }
    }
    return 0;
  }
};

}  // namespace lexformer::test
