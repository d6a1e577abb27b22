// SPDX-License-Identifier: MIT
// MTH, a pre-training loss of masked tokens, token cosines and head cosines (Zhang et al., "Better Pre-Training by Reducing Representation
// Confusion", arXiv 2210.04246, section 3.2):
//   L_MTH = L_MLM + alpha_1 L_TCD + alpha_2 L_HCD                                                                         (eq. 19)
//   L_TCD = 2 / (n' (n' - 1)) sum_{i<j} cos(h_i, h_j)            the last hidden states of n' sampled tokens              (eq. 17)
//   L_HCD = 2 / (L m' (m' - 1)) sum_l sum_{i<j} cos(a_i^l, a_j^l)   the attention weights of m' sampled heads of layer l  (eq. 18)
//
//   paper              here
//   alpha_1, alpha_2   MthOptions::token_weight, head_weight; 0 by default, which is off; 1 and 0.01 in section 4.3
//   n', m'             MthOptions::tokens, heads; 50 and 2 in footnote 3
//   h                  EncoderOutput::last
//   a^l                EncoderOutput::attentions[l], the n x n numbers of a head as one vector; n: the length of the sequence
//   mean cosine        ops/similarity_loss.hpp: token_similarity, head_similarity
//   L_MLM              models/masked_lm.hpp
//
// Open points of the paper:
//   * "Samples uniformly in sequence order" is read as random, without replacement, anew in each step: tokens for each sequence, with [CLS]
//     and [SEP], or all tokens if there are fewer than n'; heads for each layer, the same for all sequences of the batch.
//   * L_TCD is the mean over the sequences of two tokens or more, L_HCD over all.
//   * "Attention weights" are the scores before softmax with all terms, such as DDRP (eq. 2 and footnote 1). With `probabilities` they are
//   the softmax output before
//     dropout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "lexformer/models/transformer.hpp"
#include "lexformer/ops/similarity_loss.hpp"

namespace lexformer {

struct MthOptions {
  double token_weight = 0, head_weight = 0;  // alpha_1, alpha_2
  std::size_t tokens = 50, heads = 2;        // n', m'
  bool probabilities = false;                // a: the heads' probabilities, not their scores
  bool active() const { return token_weight != 0 || head_weight != 0; }
};

/// TCD and HCD of a forward pass: encode() says what the encoder must return, losses() computes both, add_to() is eq. 19, which
/// train/pretraining.hpp computes part by part.
template <class T = float, class Dev = Cpu>
class Mth {
 public:
  struct Losses {
    Var<accumulate_t<T>, Dev> token, head;  // L_TCD, L_HCD; undefined if the weight is 0
  };

  Mth(const MthOptions& options, std::size_t layers, std::size_t heads) : options_(options), layers_(layers), heads_(heads) {
    if (options.token_weight != 0 && options.tokens < 2) fail_usage("mth", "a cosine needs 2 tokens, got ", options.tokens);
    if (options.head_weight != 0 && (options.heads < 2 || options.heads > heads))
      fail_usage("mth", "the head cosine needs 2 heads or more of the model's ", heads, ", got ", options.heads);
  }

  /// The outputs that the encoder must return in this step: a^l of the sampled heads.
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
    const NameScope scope("mth");
    Losses out;
    if (options_.token_weight != 0) {
      const auto [rows, lengths] = sample_tokens(offsets, forward);
      out.token = token_similarity(select_rows(y.last, rows), Offsets::from_lengths(lengths));
    }
    if (options_.head_weight != 0) {
      for (const auto& attentions : y.attentions) {
        const auto similarity = head_similarity(attentions, offsets);
        out.head = out.head.defined() ? add(out.head, similarity) : similarity;
      }
      out.head = scale(out.head, 1 / static_cast<accumulate_t<T>>(y.attentions.size()));
    }
    return out;
  }

  /// Returns loss + alpha_1 L_TCD + alpha_2 L_HCD.
  Var<accumulate_t<T>, Dev> add_to(Var<accumulate_t<T>, Dev> loss, const Losses& l) const {
    if (l.token.defined()) loss = add(loss, scale(l.token, static_cast<accumulate_t<T>>(options_.token_weight)));
    if (l.head.defined()) loss = add(loss, scale(l.head, static_cast<accumulate_t<T>>(options_.head_weight)));
    return loss;
  }

 private:
  /// The rows of n' tokens of each sequence, and how many there are of each.
  std::pair<std::vector<std::int32_t>, std::vector<std::size_t>> sample_tokens(const Offsets& offsets,
                                                                               const ForwardOptions& forward) const {
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
    return {rows, lengths};
  }

  MthOptions options_;
  std::size_t layers_, heads_;
};

}  // namespace lexformer
