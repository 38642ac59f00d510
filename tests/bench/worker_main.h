// SPDX-License-Identifier: Apache-2.0
// Why: a worker of a benchmark ends with one line when something goes wrong, as any program does.
#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace kinglet::bench {

inline int run_worker(const char* name, int (*main_of)(const std::vector<std::string>&), int argc, char** argv) {
  try {
    return main_of({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace kinglet::bench
