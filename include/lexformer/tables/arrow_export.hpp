// SPDX-License-Identifier: MIT
// Columns for other libraries of the same process, which write them as Parquet files or into databases.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/arrow_abi.hpp"

namespace lexformer {

/// Texts (Arrow's large UTF-8), numbers (double) or booleans.
struct ArrowColumn {
  std::string name;
  std::variant<std::vector<std::string>, std::vector<double>, std::vector<bool>> values;
};

/// Makes `out` a stream of one record batch with these columns, which the consumer releases. Nothing is copied after this call: consumers
/// share the columns, and the last one frees them. Errors: columns of different lengths.
void export_arrow(std::vector<ArrowColumn> columns, ArrowArrayStream& out);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lexformer/core/error.hpp"

namespace lexformer {

namespace detail {

/// The columns in Arrow's layout.
struct ArrowExport {
  struct Column {
    std::string name;
    const char* format = "U";
    std::string data;                   // the texts, or the values
    std::vector<std::int64_t> offsets;  // of the texts
    const void* buffers[3]{};
  };
  std::size_t rows = 0;
  std::vector<Column> columns;
  const void* no_nulls[1]{};
  bool done = false;
};

/// Each struct that is handed out keeps the columns alive, also a child that the consumer moves out of its parent.
struct ArrowExportStruct {
  std::shared_ptr<ArrowExport> columns;
};
/// A struct with children, and their memory.
template <class S>
struct ArrowExportParent : ArrowExportStruct {
  std::vector<S> children;
  std::vector<S*> pointers;
};

template <class S>
void release_arrow_child(S* s) {
  delete static_cast<ArrowExportStruct*>(s->private_data);
  s->release = nullptr;
}
template <class S>
void release_arrow_parent(S* s) {
  auto* parent = static_cast<ArrowExportParent<S>*>(s->private_data);
  for (S& child : parent->children)
    if (child.release != nullptr) child.release(&child);
  delete parent;
  s->release = nullptr;
}

/// Makes a struct with a child for each column; fill(child, column) sets all but the owner of the child.
template <class S, class F>
S arrow_parent(const std::shared_ptr<ArrowExport>& columns, F fill) {
  auto parent = std::make_unique<ArrowExportParent<S>>();
  parent->columns = columns;
  parent->children.resize(columns->columns.size());
  for (std::size_t c = 0; c < parent->children.size(); ++c) {
    S& child = parent->children[c];
    fill(child, columns->columns[c]);
    child.private_data = new ArrowExportStruct{columns};
    child.release = release_arrow_child<S>;
    parent->pointers.push_back(&child);
  }
  S s{};
  s.n_children = static_cast<std::int64_t>(parent->pointers.size());
  s.children = parent->pointers.data();
  s.private_data = parent.release();
  s.release = release_arrow_parent<S>;
  return s;
}

inline const std::shared_ptr<ArrowExport>& exported(ArrowArrayStream* stream) {
  return static_cast<ArrowExportStruct*>(stream->private_data)->columns;
}

inline int export_arrow_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  *out = arrow_parent<ArrowSchema>(exported(stream), [](ArrowSchema& child, const ArrowExport::Column& column) {
    child.format = column.format;
    child.name = column.name.c_str();
  });
  out->format = "+s";
  out->name = "";
  return 0;
}

inline int export_arrow_batch(ArrowArrayStream* stream, ArrowArray* out) {
  const auto& columns = exported(stream);
  *out = ArrowArray{};
  if (std::exchange(columns->done, true)) return 0;
  const auto rows = static_cast<std::int64_t>(columns->rows);
  *out = arrow_parent<ArrowArray>(columns, [&](ArrowArray& child, ArrowExport::Column& column) {
    child.length = rows;
    child.n_buffers = column.offsets.empty() ? 2 : 3;
    child.buffers = column.buffers;
  });
  out->length = rows;
  out->n_buffers = 1;
  out->buffers = columns->no_nulls;
  return 0;
}

inline void fill_arrow_column(ArrowExport::Column& out, ArrowColumn column) {
  out.name = std::move(column.name);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
    out.offsets.push_back(0);
    for (const auto& text : *texts) {
      out.data += text;
      out.offsets.push_back(static_cast<std::int64_t>(out.data.size()));
    }
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&column.values)) {
    out.format = "g";
    out.data.assign(reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(double));
  } else {
    const auto& flags = std::get<std::vector<bool>>(column.values);
    out.format = "b";
    out.data.assign((flags.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < flags.size(); ++i)
      if (flags[i]) out.data[i / 8] = static_cast<char>(out.data[i / 8] | 1 << (i % 8));
  }
  out.buffers[1] = out.offsets.empty() ? static_cast<const void*>(out.data.data()) : out.offsets.data();
  out.buffers[2] = out.data.data();
}

}  // namespace detail

LEXFORMER_INLINE void export_arrow(std::vector<ArrowColumn> columns, ArrowArrayStream& out) {
  auto shared = std::make_shared<detail::ArrowExport>();
  shared->columns.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::size_t rows = std::visit([](const auto& values) { return values.size(); }, columns[c].values);
    if (c == 0) shared->rows = rows;
    if (rows != shared->rows)
      fail_usage("export_arrow", "column ", in_quotes(columns[c].name), " has ", rows, " rows, the first column ", shared->rows);
    detail::fill_arrow_column(shared->columns[c], std::move(columns[c]));
  }
  out = {detail::export_arrow_schema, detail::export_arrow_batch, [](ArrowArrayStream*) -> const char* { return nullptr; },
         [](ArrowArrayStream* stream) {
           delete static_cast<detail::ArrowExportStruct*>(stream->private_data);
           stream->release = nullptr;
         },
         new detail::ArrowExportStruct{std::move(shared)}};
}

}  // namespace lexformer
#endif
