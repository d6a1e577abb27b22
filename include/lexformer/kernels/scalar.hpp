// SPDX-License-Identifier: MIT
// The scalar functions of the elementwise ops, shared by all devices. In double they call the standard functions. In float, exp, tanh
// and the normal distribution are branch-free polynomials that the compiler vectorizes; the coefficients are weighted least-squares
// fits, and the error bounds are tested against double (tests/kernels).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "lexformer/core/device.hpp"

namespace lexformer::scalar {

/// Whether x is neither infinite nor NaN.
template <class T>
LEXFORMER_HD bool finite(T x) {
  return x - x == T{0};
}

/// The norm of gradients with this sum of squares; NaN if *loss or *before is given and not finite.
template <class A>
LEXFORMER_HD double gradient_norm(double squares, const A* loss, const double* before) {
  const bool good = (loss == nullptr || finite(*loss)) && (before == nullptr || finite(*before));
  return good ? std::sqrt(squares) : std::numeric_limits<double>::quiet_NaN();
}

/// The factor by which clipping scales gradients of this norm; at most 1.
LEXFORMER_HD inline double clip_factor(double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  return factor < 1.0 ? factor : 1.0;
}

LEXFORMER_HD inline double exp(double x) { return std::exp(x); }
/// e^x, relative error < 2e-7 on [-87.3, 88.3]; x is clamped to this range. NaN stays NaN.
LEXFORMER_HD inline float exp(float x) {
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.3f ? 88.3f : x;
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, stored in the low bits
  const float shifted = x * std::numbers::log2e_v<float> + magic;
  const float n = shifted - magic;
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;  // x - n ln 2 in two parts
  const float p = ((((1.38146162e-3f * r + 8.36871751e-3f) * r + 4.16683890e-2f) * r + 0.166665211f) * r + 0.49999994f) * r * r + r + 1.0f;
  const auto exponent = (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(magic) + 127u) << 23;
  return p * std::bit_cast<float>(exponent);
}

LEXFORMER_HD inline double tanh(double x) { return std::tanh(x); }
/// tanh, relative error < 4e-7: an odd polynomial up to 0.625, above it (1 - e^-2x) / (1 + e^-2x).
LEXFORMER_HD inline float tanh(float x) {
  const float a = x < 0 ? -x : x, z = x * x;
  const float small = x + x * z * ((((-5.71690453e-3f * z + 2.06504688e-2f) * z - 5.37434630e-2f) * z + 0.133314908f) * z - 0.333332837f);
  const float e = exp(-2.0f * a);
  const float large = (1.0f - e) / (1.0f + e);
  return a < 0.625f ? small : (x < 0 ? -large : large);
}

/// 1 / (1 + e^-x); relative error in float < 4e-7 for |x| < 86.
template <class T>
LEXFORMER_HD T sigmoid(T x) {
  return T{1} / (T{1} + exp(-x));
}

/// Distribution function Phi(x) and density phi(x) of the standard normal distribution.
template <class T>
struct Normal {
  T cdf, pdf;
};
LEXFORMER_HD inline Normal<double> normal(double x) {
  return {0.5 * std::erfc(-x * (std::numbers::sqrt2 / 2)), std::exp(-0.5 * x * x) * (0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2)};
}
/// Phi(-|x|) = e^(-x^2/2) g(t) with t = 1 / (1 + 0.3 |x|), so both share one exponential. Relative error of Phi(-|x|) and phi(x):
/// < 1e-6 for |x| < 4, < 6e-6 for |x| < 13 (rounding of x^2). Absolute error < 2e-7 everywhere.
LEXFORMER_HD inline Normal<float> normal(float x) {
  const float a = x < 0 ? -x : x;
  const float e = exp(-0.5f * x * x);
  const float t = 1.0f / (1.0f + 0.3f * a);
  const float g =
      (((((((3.56750675e-2f * t - 0.157204211f) * t + 0.206355304f) * t - 5.36851659e-2f) * t + 0.128562376f) * t + 9.99132842e-2f) * t +
        0.120753989f) *
           t +
       0.119629294f) *
      t;
  const float tail = e * g;
  return {x < 0 ? tail : 1.0f - tail, e * 0.398942280f};
}

// Elementwise functions y = F(x), and their derivatives as functors of dy and of what backward keeps: the input or the output.

/// y = x Phi(x), the exact GELU of BERT ("gelu").
struct Gelu {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return x * normal(x).cdf;
  }
};
struct GeluGrad {  // of the input
  template <class T>
  LEXFORMER_HD T operator()(T dy, T x) const {
    const auto n = normal(x);
    return dy * (n.cdf + x * n.pdf);
  }
};
/// GELU and its gradient from one normal distribution.
template <class T>
struct GeluWithGrad {
  T y, dx;
};
template <class T>
LEXFORMER_HD GeluWithGrad<T> gelu_with_grad(T dy, T x) {
  const auto n = normal(x);
  return {x * n.cdf, dy * (n.cdf + x * n.pdf)};
}

/// y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the approximation that HuggingFace calls "gelu_new".
struct GeluTanh {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return T(0.5) * x * (T{1} + tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
  }
};
struct GeluTanhGrad {  // of the input
  template <class T>
  LEXFORMER_HD T operator()(T dy, T x) const {
    const T c = T(0.79788456080286535588);
    const T t = tanh(c * (x + T(0.044715) * x * x * x));
    return dy * T(0.5) * (T{1} + t + x * (T{1} - t * t) * c * (T{1} + T(3 * 0.044715) * x * x));
  }
};

struct Tanh {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return tanh(x);
  }
};
struct TanhGrad {  // of the output
  template <class T>
  LEXFORMER_HD T operator()(T dy, T y) const {
    return dy * (T{1} - y * y);
  }
};

struct Sigmoid {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return sigmoid(x);
  }
};
struct SigmoidGrad {  // of the output
  template <class T>
  LEXFORMER_HD T operator()(T dy, T y) const {
    return dy * y * (T{1} - y);
  }
};

struct Relu {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return x < T{0} ? T{0} : x;  // NaN stays NaN
  }
};
struct ReluGrad {  // of the output
  template <class T>
  LEXFORMER_HD T operator()(T dy, T y) const {
    return y > T{0} ? dy : T{0};
  }
};

/// y = e^x. In float, 0 below -87.3 (e^x is subnormal) and inf if e^x overflows.
struct Exp {
  LEXFORMER_HD double operator()(double x) const { return std::exp(x); }
  LEXFORMER_HD float operator()(float x) const {
    const float y = x > 88.0f ? exp(x - 1.0f) * std::numbers::e_v<float> : exp(x);
    return x < -87.3f ? 0.0f : y;
  }
};
struct Log {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return std::log(x);
  }
};

struct Sqrt {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct SqrtGrad {  // of the output
  template <class T>
  LEXFORMER_HD T operator()(T dy, T y) const {
    return dy / (T{2} * y);
  }
};

struct Abs {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return x < T{0} ? -x : x + T{0};  // -0 becomes 0
  }
};
struct AbsGrad {  // of the input
  template <class T>
  LEXFORMER_HD T operator()(T dy, T x) const {
    return x > T{0} ? dy : (x < T{0} ? -dy : T{0});
  }
};

struct Add {
  template <class T>
  LEXFORMER_HD T operator()(T a, T b) const {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  LEXFORMER_HD T operator()(T a, T b) const {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  LEXFORMER_HD T operator()(T a, T b) const {
    return a * b;
  }
};
struct Divide {
  template <class T>
  LEXFORMER_HD T operator()(T a, T b) const {
    return a / b;
  }
};

/// Whether a is larger (smaller) than b, where NaN precedes all other numbers.
template <class T>
LEXFORMER_HD bool precedes(bool largest, T a, T b) {
  return a != a ? b == b : (largest ? a > b : a < b);
}
struct Maximum {
  template <class T>
  LEXFORMER_HD T operator()(T a, T b) const {
    return precedes(true, b, a) ? b : a;
  }
};
struct Minimum {
  template <class T>
  LEXFORMER_HD T operator()(T a, T b) const {
    return precedes(false, b, a) ? b : a;
  }
};
/// The share of the gradient of max(a, b) that a receives: half if both are equal.
struct GreaterShare {
  template <class T>
  LEXFORMER_HD T operator()(T a, T b) const {
    return a == b ? T(0.5) : (a > b ? T{1} : T{0});
  }
};

/// x where the condition is not 0, else 0.
struct Where {
  template <class T>
  LEXFORMER_HD T operator()(T condition, T x) const {
    return condition != T{0} ? x : T{0};
  }
};
/// x where the condition is 0, else 0.
struct WhereNot {
  template <class T>
  LEXFORMER_HD T operator()(T condition, T x) const {
    return condition == T{0} ? x : T{0};
  }
};

}  // namespace lexformer::scalar
