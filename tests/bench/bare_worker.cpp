// SPDX-License-Identifier: Apache-2.0
// Why: the peer that is XNNPACK alone, on libpthreadpool's threads: a program without a session, which would bring our
// pool.
//
//   bench_bare MODEL THREADS     the protocol of turns.h
//   bench_bare once MODEL N      N runs and nothing else (instruction counts)
#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/open_bare.h"
#include "tests/bench/turns.h"
#include "tests/bench/worker_main.h"

namespace kinglet::bench {
namespace {

// Whatever the linker made of the libraries.
void must_have_its_own_threads() {
  Dl_info found{};
  if (dladdr(dlsym(RTLD_DEFAULT, "pthreadpool_parallelize_1d"), &found) == 0 ||
      !std::string_view(found.dli_fname).contains("libpthreadpool")) {
    throw std::runtime_error("the pool is not libpthreadpool's");
  }
}

int main_of(const std::vector<std::string>& words) {
  must_have_its_own_threads();
  if (words.size() == 2) {
    const auto bare = open_bare(words[0], std::stoi(words[1]));
    return serve([&] { bare->run(); }, nullptr);
  }
  if (words.size() == 3 && words[0] == "once") {
    const auto bare = open_bare(words[1], 1);
    for (int i = 0; i < std::stoi(words[2]); ++i) bare->run();
    return 0;
  }
  std::fprintf(stderr, "usage: bench_bare MODEL THREADS | once MODEL N\n");
  return 2;
}

}  // namespace
}  // namespace kinglet::bench

int main(int argc, char** argv) {
  return kinglet::bench::run_worker("bench_bare", kinglet::bench::main_of, argc, argv);
}
