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

TEST_CASE("hooks, not a terminal: plain lines every logging_steps, and after 30 seconds") {
  Stage stage;
  const auto hooks = progress_hooks(stage.out, {}, {.logging_steps = 10}, stage.clock());
  hooks.on_note("before the run");
  CHECK(stage.take() == "before the run\n");
  hooks.on_begin(0, 200);
  for (std::size_t step = 1; step <= 20; ++step) {
    stage.now += 0.5;
    hooks.on_step({.step = step, .samples = 32, .loss = 0.5, .lr = 5e-5});
  }
  CHECK(stage.take() ==
        "  5%  step 10/200  loss 0.5000  lr 5.00e-05  64.0 pairs/s  ETA 1:35\n"
        " 10%  step 20/200  loss 0.5000  lr 5.00e-05  64.0 pairs/s  ETA 1:30\n");
  stage.now += 29.9;
  hooks.on_step({.step = 21});
  CHECK(stage.take().empty());
  stage.now += 0.1;
  hooks.on_step({.step = 22, .loss = std::nan("")});
  CHECK(stage.take().find("step 22/200  loss nan") != std::string::npos);
  hooks.on_note("saved");
  CHECK(stage.take() == "saved\n");
  hooks.on_evaluation({.step = 22, .epochs = 1, .measurement = {.text = "f1 81.2"}, .best = true});
  CHECK(stage.take() == "epoch 1  step 22  f1 81.2  (best so far)\n");
  hooks.on_step({.step = 23});
  hooks.on_end();
  CHECK(stage.take().find("step 23/200") != std::string::npos);
  hooks.on_end();
  CHECK(stage.take().empty());
}

TEST_CASE("hooks: ETA of a resumed run counts from where it began; without a total there is none") {
  Stage stage;
  const auto hooks = progress_hooks(stage.out, {}, {.logging_steps = 1, .samples = "texts"}, stage.clock());
  hooks.on_begin(90, 100);
  stage.now += 2;
  hooks.on_step({.step = 91, .samples = 8});
  CHECK(stage.take().ends_with("4.0 texts/s  ETA 0:18\n"));
  hooks.on_begin(0, 0);
  stage.now += 2;
  hooks.on_step({.step = 1, .samples = 8});
  CHECK(stage.take() == "step 1  loss 0.0000  lr 0.00e+00  4.0 texts/s\n");
}

TEST_CASE("a terminal: one line, redrawn at most ten times a second, cut to the width") {
  Stage stage;
  {
    Progress progress(stage.out, {.is_terminal = true, .columns = 40}, stage.clock());
    for (std::size_t step = 1; step <= 100; ++step) {
      stage.now += 0.01;
      progress.update(cat("step ", step, std::string(step < 50 ? 60 : 50, '.')));
    }
    const std::string drawn = stage.take();
    CHECK(std::count(drawn.begin(), drawn.end(), '\r') == 10);
    CHECK(drawn.find('\n') == std::string::npos);
    CHECK(drawn.find('\x1b') == std::string::npos);
    std::istringstream lines(drawn);
    for (std::string line; std::getline(lines, line, '\r');) CHECK(line.size() <= 39);
    progress.note("f1 0.81");
    CHECK(stage.take() == "\r" + std::string(39, ' ') + "\rf1 0.81\n");
    progress.update("step 101");
    CHECK(stage.take() == "\rstep 101");
  }
  CHECK(stage.take() == "\n");  // an error message after it starts on a new line
}

TEST_CASE("a shorter line covers a longer one; end drops a state that is not shown, the destructor shows it") {
  Stage stage;
  {
    Progress progress(stage.out, {.mode = ProgressMode::bar, .redraw_seconds = 1}, stage.clock());
    progress.update("a long state");
    CHECK(stage.take() == "\ra long state");
    stage.now += 1;
    progress.update("short");
    CHECK(stage.take() == "\rshort       ");
    progress.update("dropped");
    progress.end();
    CHECK(stage.take() == "\n");
    progress.update("first");
    progress.update("last");
    stage.take();
  }
  CHECK(stage.take() == "\rlast \n");
}

TEST_CASE("none shows notes only; log shows what is due in any case") {
  Stage stage;
  Progress none(stage.out, {.mode = ProgressMode::none, .is_terminal = true}, stage.clock());
  none.update("1", true);
  none.finish();
  CHECK(stage.take().empty());
  none.note("done");
  CHECK(stage.take() == "done\n");
  Progress log(stage.out, {.mode = ProgressMode::log, .is_terminal = true}, stage.clock());
  log.update("1");
  log.update("2", true);
  CHECK(stage.take() == "2\n");
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
