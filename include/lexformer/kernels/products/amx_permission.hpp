// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lexformer::detail {

/// Asks Linux once for the use of AMX tile registers by this process; without it their instructions end the process. From then on a frame
/// of a signal needs 8 KiB more on its stack. False if Linux refuses.
inline bool amx_permitted() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool permitted = ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return permitted;
#else
  return false;
#endif
}

}  // namespace lexformer::detail
