// SPDX-License-Identifier: MIT
#include "lexformer/train/progress.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

using namespace lexformer;

namespace {

/// A stream and a clock that moves only when it is set.
struct Stage {
  std::ostringstream out;
  double now = 1000.0;
  std::function<double()> clock() {
    return [this] { return now; };
  }
  std::string take() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

}  // namespace

TEST_CASE("not a terminal: plain lines every logging_steps, and after 30 seconds") {
  Stage stage;
  Progress progress(stage.out, {.total_steps = 200, .logging_steps = 10}, stage.clock());
  for (std::size_t step = 1; step <= 20; ++step) {
    stage.now += 0.5;
    progress.update({.step = step, .samples = 32, .loss = 0.5, .lr = 5e-5});
  }
  CHECK(stage.take() ==
        "  5%  step 10/200  loss 0.5000  lr 5.00e-05  64.0 pairs/s  ETA 1:35\n"
        " 10%  step 20/200  loss 0.5000  lr 5.00e-05  64.0 pairs/s  ETA 1:30\n");
  stage.now += 29.9;
  progress.update({.step = 21});
  CHECK(stage.take().empty());
  stage.now += 0.1;
  progress.update({.step = 22, .loss = std::nan("")});
  CHECK(stage.take().find("step 22/200  loss nan") != std::string::npos);
  progress.note("saved");
  CHECK(stage.take() == "saved\n");
  progress.update({.step = 23});
  progress.finish();
  CHECK(stage.take().find("step 23/200") != std::string::npos);
  progress.finish();
  CHECK(stage.take().empty());
}

TEST_CASE("a terminal: one line, redrawn at most ten times a second, cut to the width") {
  Stage stage;
  {
    Progress progress(stage.out, {.is_terminal = true, .columns = 40, .total_steps = 1000}, stage.clock());
    for (std::size_t step = 1; step <= 100; ++step) {
      stage.now += 0.01;
      progress.update({.step = step, .samples = 1, .loss = step < 50 ? 1000.0 : 1.0});
    }
    const std::string drawn = stage.take();
    CHECK(std::count(drawn.begin(), drawn.end(), '\r') == 10);
    CHECK(drawn.find('\n') == std::string::npos);
    CHECK(drawn.find('\x1b') == std::string::npos);
    std::istringstream lines(drawn);
    for (std::string line; std::getline(lines, line, '\r');) CHECK(line.size() <= 39);
    progress.note("f1 0.81");
    CHECK(stage.take() == "\r" + std::string(39, ' ') + "\rf1 0.81\n");
    progress.update({.step = 101});
    CHECK(stage.take().starts_with("\r 10%  step 101/1000"));
  }
  CHECK(stage.take() == "\n");  // an error message after it starts on a new line
}

TEST_CASE("a shorter line covers a longer one") {
  Stage stage;
  Progress progress(stage.out, {.mode = ProgressMode::bar, .redraw_seconds = 0}, stage.clock());
  progress.update({.step = 1, .loss = 123456.0});
  const auto first = stage.take().size();
  progress.update({.step = 2, .loss = 1.0});
  CHECK(stage.take().size() == first);
}

TEST_CASE("none shows notes only; ETA of a resumed run counts from where it began") {
  Stage stage;
  Progress none(stage.out, {.mode = ProgressMode::none, .is_terminal = true, .logging_steps = 1}, stage.clock());
  none.update({.step = 1});
  none.finish();
  CHECK(stage.take().empty());
  none.note("done");
  CHECK(stage.take() == "done\n");

  Progress resumed(stage.out, {.first_step = 90, .total_steps = 100, .logging_steps = 1}, stage.clock());
  stage.now += 2;
  resumed.update({.step = 91, .samples = 8});
  CHECK(stage.take().find("4.0 pairs/s  ETA 0:18") != std::string::npos);
}

TEST_CASE("durations and modes") {
  CHECK(format_duration(0) == "0:00");
  CHECK(format_duration(192.4) == "3:12");
  CHECK(format_duration(3599.6) == "1:00:00");
  CHECK(format_duration(100 * 3600 + 62) == "100:01:02");
  CHECK(format_duration(std::numeric_limits<double>::infinity()).size() < 20);
  CHECK(parse_name<ProgressMode>("auto", "progress") == ProgressMode::automatic);
  CHECK_THROWS_AS(parse_name<ProgressMode>("fancy", "progress"), Error);
}
