// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>
#include <vector>

#include "lexformer/models/bert.hpp"
#include "lexformer/ops/similarity_loss.hpp"

namespace lexformer {

struct MthOptions {
  double token_weight = 0, head_weight = 0;  // alpha1, alpha2; 1 and 0.01 in the paper
  std::size_t tokens = 50, heads = 2;        // n', m' of footnote 3
  bool probabilities = false;                // use the heads' probabilities for the cosines, not their scores
  bool active() const { return token_weight != 0 || head_weight != 0; }
};

/// Masked LM with Token cosine and Head cosine regularizers (arXiv 2210.04246, section 3.2):
///   loss = loss of the masked LM + alpha1 TCD + alpha2 HCD
///   TCD (eq. 17): token similarity of the last layer's vectors of n' tokens of each sequence
///   HCD (eq. 18): head similarity of m' heads, mean over the layers
/// Samples are uniform without replacement and drawn in each step: tokens per sequence (including special tokens; all tokens if there are
/// fewer than n'), heads per layer. The paper's "attention weights" are the scores before softmax (its eq. 2 and footnote 1);
/// `probabilities` uses the softmax output before dropout. Batches have no padding, so none is counted.
template <class T = float, class Dev = Cpu>
class Mth {
 public:
  struct Losses {
    Var<accumulate_t<T>, Dev> token, head;  // without weights; undefined if the weight is 0
  };

  Mth(const MthOptions& options, std::size_t layers, std::size_t heads) : options_(options), layers_(layers), heads_(heads) {
    if (options.token_weight != 0 && options.tokens < 2) fail_usage("mth", "a cosine needs 2 tokens, got ", options.tokens);
    if (options.head_weight != 0 && (options.heads < 2 || options.heads > heads))
      fail_usage("mth", "the head cosine needs 2 heads or more of the model's ", heads, ", got ", options.heads);
  }

  /// The outputs that the encoder must return in this step.
  EncodeOptions encode(const ForwardOptions& forward) const {
    EncodeOptions encode;
    if (options_.head_weight == 0) return encode;
    encode.attentions = options_.probabilities ? Attentions::probabilities : Attentions::scores;
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      RandomStream random(forward.seed, random_site::regularizer + 1 + static_cast<std::uint32_t>(layer), forward.step);
      std::vector<std::size_t> chosen(heads_);
      std::iota(chosen.begin(), chosen.end(), std::size_t{0});
      random.shuffle(chosen);
      chosen.resize(options_.heads);
      encode.layer_attention_heads.push_back(std::move(chosen));
    }
    return encode;
  }

  Losses losses(const EncoderOutput<T, Dev>& y, const Offsets& offsets, const ForwardOptions& forward) const {
    Losses out;
    if (options_.token_weight != 0) {
      const NameScope scope("mth");
      RandomStream random(forward.seed, random_site::regularizer, forward.step);
      std::vector<std::int32_t> rows;
      std::vector<std::size_t> lengths;
      for (std::size_t s = 0; s < offsets.sequences(); ++s) {
        std::vector<std::int32_t> tokens(offsets.length(s));
        std::iota(tokens.begin(), tokens.end(), static_cast<std::int32_t>(offsets.begin(s)));
        random.shuffle(tokens);
        lengths.push_back(std::min(options_.tokens, tokens.size()));
        rows.insert(rows.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(lengths.back()));
      }
      out.token = token_similarity(select_rows(y.last, rows), Offsets::from_lengths(lengths));
    }
    if (options_.head_weight != 0) {
      const NameScope scope("mth");
      for (const auto& attentions : y.attentions) {
        const auto similarity = head_similarity(attentions, offsets);
        out.head = out.head.defined() ? add(out.head, similarity) : similarity;
      }
      out.head = scale(out.head, 1 / static_cast<accumulate_t<T>>(y.attentions.size()));
    }
    return out;
  }

  /// Returns loss + alpha1 token + alpha2 head.
  Var<accumulate_t<T>, Dev> add_to(Var<accumulate_t<T>, Dev> loss, const Losses& l) const {
    if (l.token.defined()) loss = add(loss, scale(l.token, static_cast<accumulate_t<T>>(options_.token_weight)));
    if (l.head.defined()) loss = add(loss, scale(l.head, static_cast<accumulate_t<T>>(options_.head_weight)));
    return loss;
  }

 private:
  MthOptions options_;
  std::size_t layers_, heads_;
};

}  // namespace lexformer
