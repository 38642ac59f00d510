// SPDX-License-Identifier: Apache-2.0
// Why: one engine in one process that runs when told, so that compare.py can let several take turns.
//
//   bench_worker session MODEL THREADS       the protocol of turns.h, with the share of the time inside
//   xnn_invoke_runtime bench_worker overhead MODEL THREADS MS   what run() adds to xnn_invoke_runtime, in percent
//   bench_worker once session MODEL N        N runs and nothing else (instruction counts)
//   "half" in place of "session": in float16, where the processor has its arithmetic
//   bench_worker --check FOLDER              a session and a bare subgraph answer alike on every fp32 model of the
//   folder
#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "tests/bench/open_bare.h"
#include "tests/bench/turns.h"
#include "tests/bench/worker_main.h"
#include "tests/support/graph_text.h"

namespace {

using kinglet::bench::Clock;

// Time inside xnn_invoke_runtime since it was last read. One thread invokes.
Clock::duration g_inside{};

}  // namespace

// Stands before XNNPACK's own, which does the work.
extern "C" xnn_status xnn_invoke_runtime(xnn_runtime_t runtime) {
  using Invoke = xnn_status (*)(xnn_runtime_t);
  static const Invoke invoke = std::bit_cast<Invoke>(dlsym(RTLD_NEXT, "xnn_invoke_runtime"));
  const Clock::time_point start = Clock::now();
  const xnn_status status = invoke(runtime);
  g_inside += Clock::now() - start;
  return status;
}

namespace kinglet::bench {
namespace {

namespace fs = std::filesystem;
using engine::Session;
using engine::Tensor;

Tensor sample(const engine::TensorInfo& input) { return engine::seeded_tensor(input.type, input.shape, "photograph"); }

Session open_session(const fs::path& model, const engine::SessionOptions& options) {
  Session session = need(Session::open(model, options));
  need(session.set_input(0, sample(session.inputs().front())));
  return session;
}

int with_engine(const std::string& kind, const fs::path& model, int threads,
                const std::function<int(const std::function<void()>&)>& use) {
  Session session = open_session(model, {.threads = threads, .half = kind == "half"});
  return use([&] { need(session.run()); });
}

int overhead(const fs::path& model, int threads, double milliseconds) {
  Session session = open_session(model, {.threads = threads, .own_kernels = false});
  const auto run = [&] { need(session.run()); };
  static_cast<void>(run_for(run, milliseconds / 10, &g_inside));
  const Times times = run_for(run, milliseconds, &g_inside);
  std::printf("%zu runs, minimum %.4f ms, run() adds %.4f %% to xnn_invoke_runtime\n", times.runs.size(),
              times.runs.front(), 100 * (1 / times.inside_ratio - 1));
  return 0;
}

int check(const fs::path& folder) {
  if (!fs::exists(folder)) {
    std::printf("skipped: no corpus of models (../shared/corpus)\n");
    return 77;
  }
  int faults = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().contains("_qdq")) continue;
    Session session = open_session(entry.path(), {});
    need(session.run());
    const Tensor expected = session.get_output(0);
    const auto bare = open_bare(entry.path(), 1);
    bare->run();
    float largest = 0;
    for (std::size_t i = 0; i < expected.data<float>().size(); ++i) {
      largest = std::max(largest, std::abs(expected.data<float>()[i] - bare->output()[i]));
    }
    std::printf("%s: largest difference %.2g\n", entry.path().stem().c_str(), static_cast<double>(largest));
    if (!(largest < 1e-5F)) ++faults;
  }
  return faults == 0 ? 0 : 1;
}

int main_of(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "--check") return check(words[1]);
  if (words.size() == 3) {
    return with_engine(words[0], words[1], std::stoi(words[2]),
                       [](const std::function<void()>& run) { return serve(run, &g_inside); });
  }
  if (words.size() == 4 && words[0] == "overhead") return overhead(words[1], std::stoi(words[2]), std::stod(words[3]));
  if (words.size() == 4 && words[0] == "once") {
    return with_engine(words[1], words[2], 1, [&](const std::function<void()>& run) {
      for (int i = 0; i < std::stoi(words[3]); ++i) run();
      return 0;
    });
  }
  std::fprintf(stderr,
               "usage: bench_worker session|half MODEL THREADS | overhead MODEL THREADS MS | "
               "once session|half MODEL N | --check FOLDER\n");
  return 2;
}

}  // namespace
}  // namespace kinglet::bench

int main(int argc, char** argv) {
  return kinglet::bench::run_worker("bench_worker", kinglet::bench::main_of, argc, argv);
}
