// SPDX-License-Identifier: MIT
// The structs of the Arrow C data interface and C stream interface (https://arrow.apache.org/docs/format/CDataInterface.html), through
// which libraries in one process hand tables to each other without a common dependency. Names and layout are Arrow's, also the macros that
// keep several definitions apart.
#pragma once

#include <cstdint>

#if !defined(ARROW_C_DATA_INTERFACE)
#define ARROW_C_DATA_INTERFACE

extern "C" {

struct ArrowSchema {
  const char* format;    // the type: u is UTF-8 text, +s a struct, ...
  const char* name;      // may be null
  const char* metadata;  // may be null
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;        // the type of the values if this is a type of indices, else null
  void (*release)(ArrowSchema*);  // null: released
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;  // -1: not computed
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);  // null: released
  void* private_data;
};

}  // extern "C"
#endif

#if !defined(ARROW_C_STREAM_INTERFACE)
#define ARROW_C_STREAM_INTERFACE

extern "C" struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);  // 0, or an error number
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);     // at the end of the stream `out` is released
  const char* (*get_last_error)(ArrowArrayStream*);        // may be null
  void (*release)(ArrowArrayStream*);                      // null: released
  void* private_data;
};
#endif
