// SPDX-License-Identifier: MIT
// The footer of a page: version, date and command line.
#pragma once

#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "cli/model_card.hpp"
#include "report/report.hpp"

namespace program {

/// The date in UTC, "2026-11-23". SOURCE_DATE_EPOCH (seconds since 1970) overrides it, so that a page can be reproduced byte for byte.
inline std::string report_day() {
  std::time_t seconds = std::time(nullptr);
  if (const char* const epoch = std::getenv("SOURCE_DATE_EPOCH"); epoch != nullptr && *epoch != '\0') {
    const std::string_view text = epoch;
    long long given = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given);
    if (error != std::errc() || end != text.data() + text.size() || given < 0)
      lx::fail_usage("SOURCE_DATE_EPOCH", "expected seconds since 1970, got '", text, "'");
    seconds = static_cast<std::time_t>(given);
  }
  std::tm utc{};
  char day[64] = "";
  if (gmtime_r(&seconds, &utc) == nullptr || std::strftime(day, sizeof(day), "%Y-%m-%d", &utc) == 0)
    lx::fail_usage("SOURCE_DATE_EPOCH", "the date is out of range");
  return day;
}

/// command: as returned by command_line().
inline void report_footer(lx::ReportPage& page, const std::string& command) {
  page.footer(lx::cat("Made with lexformer ", LEXFORMER_VERSION, " on ", report_day(), ":"));
  page.footer(command);
}

}  // namespace program
