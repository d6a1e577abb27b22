// SPDX-License-Identifier: MIT
#include "lexformer/core/processors.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "../support/error_message.hpp"

using namespace lexformer;

namespace {

int quota_of(const std::map<std::string, std::string>& files) {
  return detail::processors_of_quota([&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::string() : found->second;
  });
}

}  // namespace

TEST_CASE("processors_of_quota: version 2, the least of a group and those above it, rounded up") {
  const std::string groups = "/proc/self/cgroup", root = "/sys/fs/cgroup";
  CHECK(quota_of({}) == 0);
  CHECK(quota_of({{groups, "0::/\n"}, {root + "/cpu.max", "200000 100000\n"}}) == 2);
  CHECK(quota_of({{groups, "0::/\n"}, {root + "/cpu.max", "150000 100000\n"}}) == 2);
  CHECK(quota_of({{groups, "0::/\n"}, {root + "/cpu.max", "5000 100000\n"}}) == 1);
  CHECK(quota_of({{groups, "0::/\n"}, {root + "/cpu.max", "max 100000\n"}}) == 0);
  CHECK(quota_of({{groups, "0::/\n"}, {root + "/cpu.max", "damaged"}}) == 0);
  CHECK(quota_of({{groups, "0::/a/b\n"}, {root + "/a/b/cpu.max", "max 100000"}, {root + "/a/cpu.max", "300000 100000"}}) == 3);
  CHECK(quota_of({{groups, "0::/a/b\n"}, {root + "/a/b/cpu.max", "100000 50000"}, {root + "/a/cpu.max", "300000 100000"}}) == 2);
  CHECK(quota_of({{groups, "0::/a\n"}, {root + "/other/cpu.max", "100000 100000"}}) == 0);
  CHECK(quota_of({{groups, "0::"}, {root + "/cpu.max", "100000 100000"}}) == 1);
}

TEST_CASE("processors_of_quota: version 1, with the group's path as the host or as the container sees it") {
  const std::string groups = "/proc/self/cgroup", root = "/sys/fs/cgroup/cpu";
  const std::string list = "12:cpuset:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n";
  CHECK(quota_of({{groups, list}, {root + "/docker/x/cpu.cfs_quota_us", "250000\n"}, {root + "/docker/x/cpu.cfs_period_us", "100000\n"}}) ==
        3);
  CHECK(quota_of({{groups, list}, {root + "/cpu.cfs_quota_us", "400000\n"}, {root + "/cpu.cfs_period_us", "100000\n"}}) == 4);
  CHECK(quota_of({{groups, list}, {root + "/cpu.cfs_quota_us", "-1\n"}, {root + "/cpu.cfs_period_us", "100000\n"}}) == 0);
  CHECK(quota_of({{groups, list}, {"/sys/fs/cgroup/cpu.max", "100000 100000"}}) == 0);
  CHECK(quota_of({{groups, "nothing\n::\n2:cpu\n"}, {root + "/cpu.cfs_quota_us", "1 1"}}) == 0);
}

TEST_CASE("default_threads: LEXFORMER_NUM_THREADS, then OMP_NUM_THREADS, then the processors") {
  CHECK(detail::default_threads(nullptr, nullptr, 5) == 5);
  CHECK(detail::default_threads("3", "2", 5) == 3);
  CHECK(detail::default_threads("", "2", 5) == 2);
  CHECK(detail::default_threads(nullptr, "2,1", 5) == 2);
  for (const char* const ignored : {"", "0", "-1", "many"}) CHECK(detail::default_threads(nullptr, ignored, 5) == 5);
  CHECK(detail::default_threads("99999999", nullptr, 5) == 1 << 20);
  for (const char* const wrong : {"0", "-1", "many", "2,1", " 2"})
    CHECK(test::error_message([&] { detail::default_threads(wrong, "2", 5); }) ==
          "LEXFORMER_NUM_THREADS: is '" + std::string(wrong) + "', expected a number of threads of at least 1");
  CHECK(detail::processors() >= 1);
}
