// SPDX-License-Identifier: MIT
// Locks of caches that stay usable after fork(). The child process has copies of all mutexes, but none of the other threads: a mutex that
// one of them held stays locked forever, and what it guards may be half written.
#pragma once

#include <mutex>

#include "lexformer/core/compiled.hpp"

namespace lexformer::detail {

/// Whether this process is the child of one that used the library.
bool in_forked_child();

/// Locks the mutex of a cache. In a forked child it does not wait. If the lock does not own the mutex then, the caller computes its result
/// without the cache.
template <template <class> class Lock = std::unique_lock, class Mutex>
Lock<Mutex> lock_cache(Mutex& mutex) {
  return in_forked_child() ? Lock<Mutex>(mutex, std::try_to_lock) : Lock<Mutex>(mutex);
}

}  // namespace lexformer::detail

#if LEXFORMER_BODIES
#include <atomic>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace lexformer::detail {

inline std::atomic<bool> forked{false};
#if defined(__unix__) || defined(__APPLE__)
// Before main(), since another thread may call fork() at any time after it.
inline const int forked_is_set = pthread_atfork(nullptr, nullptr, [] { forked = true; });
#endif

LEXFORMER_INLINE bool in_forked_child() { return forked; }

}  // namespace lexformer::detail
#endif
