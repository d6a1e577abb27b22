// SPDX-License-Identifier: MIT
// Columns for other libraries of the same process, which write them as Parquet files or into databases.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/arrow_abi.hpp"

namespace lexformer {

struct ArrowColumn;

/// A list of structs for each row: row i has the rows begins[i] ... begins[i + 1] - 1 of the fields. There is one more begin than
/// rows; the last is the number of rows of the fields.
struct ArrowLists {
  std::vector<std::int64_t> begins;
  std::vector<ArrowColumn> fields;
};

/// Texts (Arrow's large UTF-8), numbers, booleans or lists of structs.
struct ArrowColumn {
  std::string name;
  std::variant<std::vector<std::string>, std::vector<double>, std::vector<bool>, std::vector<float>, std::vector<std::int64_t>,
               std::vector<std::int32_t>, ArrowLists>
      values;
  std::vector<bool> valid{};  // whether a row has a value; those without are null. Empty: all have one
};

/// Makes `out` a stream of one record batch with these columns, which the consumer releases. Nothing is copied after this call: consumers
/// share the columns, and the last one frees them. Errors: columns of different lengths; begins that are not ascending or do not end with
/// the fields.
void export_arrow(std::vector<ArrowColumn> columns, ArrowArrayStream& out);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "lexformer/core/error.hpp"

namespace lexformer {

namespace detail {

/// A column in Arrow's layout. The record batch is also one: a struct.
struct ArrowExport {
  std::string name;
  const char* format = "+s";
  std::size_t rows = 0, nulls = 0;
  std::int64_t buffer_count = 1;
  std::string valid, data;            // bits; the texts, or the values
  std::vector<std::int64_t> offsets;  // of texts and lists
  const void* buffers[3]{};
  std::vector<ArrowExport> children;
};

/// What a stream and all structs of it share.
struct ArrowExportShared {
  ArrowExport batch;
  bool done = false;
};

/// What a struct that is handed out owns. It keeps the columns alive, also if the consumer moves the struct out of its parent.
template <class S>
struct ArrowExportNode {
  std::shared_ptr<ArrowExportShared> columns;
  std::vector<S> children;
  std::vector<S*> pointers;
};

template <class S>
void release_arrow(S* s) {
  auto* const node = static_cast<ArrowExportNode<S>*>(s->private_data);
  for (S& child : node->children)
    if (child.release != nullptr) child.release(&child);
  delete node;
  s->release = nullptr;
}

/// Makes the struct of a column with the structs of its children; fill(struct, column) sets all but these and the owner.
template <class S>
S arrow_node(const std::shared_ptr<ArrowExportShared>& columns, ArrowExport& column, void (*fill)(S&, ArrowExport&)) {
  auto node = std::make_unique<ArrowExportNode<S>>();
  node->columns = columns;
  node->children.reserve(column.children.size());
  for (ArrowExport& child : column.children) {
    node->children.push_back(arrow_node<S>(columns, child, fill));
    node->pointers.push_back(&node->children.back());
  }
  S s{};
  fill(s, column);
  s.n_children = static_cast<std::int64_t>(node->pointers.size());
  s.children = node->pointers.data();
  s.private_data = node.release();
  s.release = release_arrow<S>;
  return s;
}

inline const std::shared_ptr<ArrowExportShared>& exported(ArrowArrayStream* stream) {
  return *static_cast<std::shared_ptr<ArrowExportShared>*>(stream->private_data);
}

inline int export_arrow_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  *out = arrow_node<ArrowSchema>(exported(stream), exported(stream)->batch, [](ArrowSchema& schema, ArrowExport& column) {
    constexpr std::int64_t nullable = 2;  // ARROW_FLAG_NULLABLE
    schema.format = column.format;
    schema.name = column.name.c_str();
    schema.flags = column.valid.empty() ? 0 : nullable;
  });
  return 0;
}

inline int export_arrow_batch(ArrowArrayStream* stream, ArrowArray* out) {
  const auto& columns = exported(stream);
  *out = ArrowArray{};
  if (std::exchange(columns->done, true)) return 0;
  *out = arrow_node<ArrowArray>(columns, columns->batch, [](ArrowArray& array, ArrowExport& column) {
    array.length = static_cast<std::int64_t>(column.rows);
    array.null_count = static_cast<std::int64_t>(column.nulls);
    column.buffers[0] = column.valid.empty() ? nullptr : column.valid.data();
    column.buffers[1] = column.offsets.empty() ? static_cast<const void*>(column.data.data()) : column.offsets.data();
    column.buffers[2] = column.data.data();
    array.n_buffers = column.buffer_count;
    array.buffers = column.buffers;
  });
  return 0;
}

LEXFORMER_INLINE std::string arrow_bits(const std::vector<bool>& flags) {
  std::string bits((flags.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
  return bits;
}

ArrowExport arrow_struct(std::string name, std::vector<ArrowColumn> columns);

/// Sets the values of `out`, whose name is set.
struct ArrowFill {
  ArrowExport& out;

  void operator()(const std::vector<std::string>& texts) const {
    out.format = "U";
    out.rows = texts.size();
    out.buffer_count = 3;
    out.offsets.push_back(0);
    for (const auto& text : texts) {
      out.data += text;
      out.offsets.push_back(static_cast<std::int64_t>(out.data.size()));
    }
  }
  void operator()(const std::vector<bool>& flags) const {
    out.format = "b";
    out.rows = flags.size();
    out.buffer_count = 2;
    out.data = arrow_bits(flags);
  }
  template <class N>
  void operator()(const std::vector<N>& numbers) const {
    out.format = std::is_same_v<N, double> ? "g" : std::is_same_v<N, float> ? "f" : std::is_same_v<N, std::int64_t> ? "l" : "i";
    out.rows = numbers.size();
    out.buffer_count = 2;
    out.data.assign(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(N));
  }
  void operator()(ArrowLists& lists) const {
    out.format = "+L";
    out.buffer_count = 2;
    out.offsets = std::move(lists.begins);
    out.children.push_back(arrow_struct("item", std::move(lists.fields)));
    if (out.offsets.empty() || out.offsets.front() < 0 || !std::is_sorted(out.offsets.begin(), out.offsets.end()) ||
        static_cast<std::size_t>(out.offsets.back()) != out.children[0].rows)
      fail_usage("export_arrow", "column ", in_quotes(out.name), ": the begins of its lists must ascend from 0 or more to the ",
                 out.children[0].rows, " rows of its fields");
    out.rows = out.offsets.size() - 1;
  }
};

LEXFORMER_INLINE ArrowExport arrow_export(ArrowColumn column) {
  ArrowExport out;
  out.name = std::move(column.name);
  std::visit(ArrowFill{out}, column.values);
  if (column.valid.empty()) return out;
  if (column.valid.size() != out.rows)
    fail_usage("export_arrow", "column ", in_quotes(out.name), " has ", out.rows, " rows, and ", column.valid.size(), " bits for nulls");
  out.valid = arrow_bits(column.valid);
  out.nulls = static_cast<std::size_t>(std::count(column.valid.begin(), column.valid.end(), false));
  return out;
}

/// Columns as the fields of a struct. Errors: they differ in length.
LEXFORMER_INLINE ArrowExport arrow_struct(std::string name, std::vector<ArrowColumn> columns) {
  ArrowExport out;
  out.name = std::move(name);
  for (ArrowColumn& column : columns) {
    out.children.push_back(arrow_export(std::move(column)));
    const ArrowExport &first = out.children.front(), &last = out.children.back();
    if (last.rows != first.rows)
      fail_usage("export_arrow", "column ", in_quotes(last.name), " has ", last.rows, " rows, the first column ", first.rows);
    out.rows = first.rows;
  }
  return out;
}

}  // namespace detail

LEXFORMER_INLINE void export_arrow(std::vector<ArrowColumn> columns, ArrowArrayStream& out) {
  using Owner = std::shared_ptr<detail::ArrowExportShared>;
  auto owner = std::make_unique<Owner>(std::make_shared<detail::ArrowExportShared>());
  (*owner)->batch = detail::arrow_struct("", std::move(columns));
  out = {detail::export_arrow_schema, detail::export_arrow_batch, [](ArrowArrayStream*) -> const char* { return nullptr; },
         [](ArrowArrayStream* stream) {
           delete static_cast<Owner*>(stream->private_data);
           stream->release = nullptr;
         },
         owner.release()};
}

}  // namespace lexformer
#endif
