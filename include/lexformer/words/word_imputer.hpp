// SPDX-License-Identifier: MIT
// Any model that makes a vector for any word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// A model of words of any kind: its size D, and its vectors (words, D). Copies share the model.
class WordImputer {
 public:
  /// Model has a const member vectors(words). checksum: of its file, by which it is recognized.
  template <class Model>
  WordImputer(Model model, std::size_t size, std::uint32_t checksum = 0)
      : size_(size),
        checksum_(checksum),
        vectors_([shared = std::make_shared<const Model>(std::move(model))](std::span<const std::string> words) {
          return shared->vectors(words);
        }) {}

  std::size_t size() const { return size_; }
  std::uint32_t checksum() const { return checksum_; }
  Tensor<float> vectors(std::span<const std::string> words) const { return vectors_(words); }

 private:
  std::size_t size_;
  std::uint32_t checksum_;
  std::function<Tensor<float>(std::span<const std::string>)> vectors_;
};

/// Opens a model of one of the kinds love (words/love.hpp), mimick, bos, kvq_fh and edit_distance, or a .bin file of fastText
/// (words/fasttext.hpp). Errors (file): as the model; it is of another kind.
WordImputer load_imputer(const std::string& path);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/words/bos.hpp"
#include "lexformer/words/edit_distance.hpp"
#include "lexformer/words/fasttext.hpp"
#include "lexformer/words/kvq_fh.hpp"
#include "lexformer/words/love.hpp"
#include "lexformer/words/mimick.hpp"

namespace lexformer {

LEXFORMER_INLINE WordImputer load_imputer(const std::string& path) {
  if (path.ends_with(".bin")) {
    auto model = FastText::load(path);
    const std::size_t size = model.size();
    const std::uint32_t checksum = model.checksum();
    return WordImputer(std::move(model), size, checksum);
  }
  const auto file = ModelFile::open(path);
  const auto checksum = [&] { return crc32(read_file(file.path)); };
  const auto imputer = [&](auto model) {
    const std::size_t size = model.options().size;
    return WordImputer(std::move(model), size, checksum());
  };
  const std::string type = file.model_type();
  if (type == "love") return imputer(Love<>::stored(file));
  if (type == "mimick") return imputer(Mimick<>::stored(file));
  if (type == "bos") return imputer(Bos<>::stored(file));
  if (type == "kvq_fh") return imputer(KvqFh<>::stored(file));
  if (type == "edit_distance") {
    auto model = with_stored_settings(file.path, [&] { return EditDistance(file); });
    const std::size_t size = model.known().dimension();
    return WordImputer(std::move(model), size, checksum());
  }
  fail_file(path, "makes no vectors for words: its model_type is ", in_quotes(type),
            "; expected love, mimick, bos, kvq_fh or edit_distance (train_love, train_imputer), or a .bin file of fastText");
}

}  // namespace lexformer
#endif
