// SPDX-License-Identifier: MIT
// How many processors and threads the process should use.
#pragma once

#include <functional>
#include <string>

#include "lexformer/core/compiled.hpp"

namespace lexformer::detail {

/// The number of processors that the process may use, by its affinity mask and processors_of_quota().
int processors();

/// The processor time that the cgroups of the process grant (docker --cpus=2), in processors, rounded up; 0 if there is no limit. Of the
/// group of the process and all groups above it, the least counts. `read` returns the contents of a file, "" if there is none.
/// Files: /proc/self/cgroup names the group; cpu.max (version 2), or cpu.cfs_quota_us and cpu.cfs_period_us (version 1).
int processors_of_quota(const std::function<std::string(const std::string& path)>& read);

/// The number of threads that an environment asks for: `own` (LEXFORMER_NUM_THREADS), else `openmp` (OMP_NUM_THREADS), else `processors`.
/// Null and "" mean not set; an `openmp` that is not a number counts as not set. Errors (usage): `own` is not a whole number of at least 1.
int default_threads(const char* own, const char* openmp, int processors);

}  // namespace lexformer::detail

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "lexformer/core/error.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE int processors() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) count = CPU_COUNT(&allowed);
  const int quota = processors_of_quota([](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
  if (quota > 0) count = std::min(count, quota);
#endif
  return std::max(1, count);
}

LEXFORMER_INLINE int processors_of_quota(const std::function<std::string(const std::string& path)>& read) {
  double least = std::numeric_limits<double>::infinity();
  const auto use = [&least](const std::string& quota_and_period) {  // "max 100000" and "-1 100000" set no limit
    std::istringstream numbers(quota_and_period);
    long long quota = 0, period = 0;
    if (numbers >> quota >> period && quota > 0 && period > 0)
      least = std::min(least, static_cast<double>(quota) / static_cast<double>(period));
  };
  std::istringstream groups(read("/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // number:controllers:group, where version 2 names no controllers
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_v2 = controllers.empty();
    if (!is_v2 && ("," + controllers + ",").find(",cpu,") == line.npos) continue;
    const std::string root = is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    for (;;) {
      const std::string folder = root + group;
      use(is_v2 ? read(folder + "/cpu.max") : read(folder + "/cpu.cfs_quota_us") + " " + read(folder + "/cpu.cfs_period_us"));
      const auto slash = group.rfind('/');
      if (slash == group.npos) break;
      group.erase(slash);
    }
  }
  return std::isfinite(least) ? static_cast<int>(std::ceil(std::min(least, 1e6))) : 0;
}

LEXFORMER_INLINE int default_threads(const char* own, const char* openmp, int processors) {
  constexpr long most = 1L << 20;
  if (own != nullptr && *own != '\0') {
    long count = 0;
    const char* const end = own + std::strlen(own);
    if (const auto [rest, error] = std::from_chars(own, end, count); error != std::errc{} || rest != end || count < 1)
      fail_usage("LEXFORMER_NUM_THREADS", "is ", in_quotes(own), ", expected a number of threads of at least 1");
    return static_cast<int>(std::min(count, most));
  }
  const long count = openmp == nullptr ? 0 : std::strtol(openmp, nullptr, 10);
  return count > 0 ? static_cast<int>(std::min(count, most)) : processors;
}

}  // namespace lexformer::detail
#endif
