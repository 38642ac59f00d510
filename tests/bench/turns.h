// SPDX-License-Identifier: Apache-2.0
// Why: the protocol of compare.py: prints "ready"; then, for each line MS on stdin, runs for about so long and prints
// runs, minimum ms, median ms and the share of the time that was spent inside what is measured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <vector>

namespace kinglet::bench {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Times {
  std::vector<double> runs;  // sorted
  double inside_ratio = 1;
};

// `inside` is set to zero before and read after; nullptr: all is inside.
inline Times run_for(const std::function<void()>& run, double milliseconds, Clock::duration* inside) {
  Times out;
  if (inside != nullptr) *inside = {};
  const Clock::time_point begin = Clock::now();
  Clock::duration whole{};
  while (Milliseconds(Clock::now() - begin).count() < milliseconds || out.runs.empty()) {
    const Clock::time_point start = Clock::now();
    run();
    const Clock::duration took = Clock::now() - start;
    whole += took;
    out.runs.push_back(Milliseconds(took).count());
  }
  if (inside != nullptr) out.inside_ratio = Milliseconds(*inside).count() / Milliseconds(whole).count();
  std::ranges::sort(out.runs);
  return out;
}

inline int serve(const std::function<void()>& run, Clock::duration* inside) {
  for (int i = 0; i < 3; ++i) run();
  std::printf("ready\n");
  std::fflush(stdout);
  for (double milliseconds = 0; std::cin >> milliseconds;) {
    const Times times = run_for(run, milliseconds, inside);
    std::printf("%zu %.5f %.5f %.6f\n", times.runs.size(), times.runs.front(), times.runs[times.runs.size() / 2],
                times.inside_ratio);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace kinglet::bench
