// SPDX-License-Identifier: Apache-2.0
// Why: one engine in one process that runs when told, so that compare.py can let several take turns.
//
//   bench_worker session|bare MODEL THREADS   prints "ready"; then for each line MS on stdin runs for about so long and
//                                             prints runs, minimum ms, median ms and, for a session, the share of the
//                                             time that was spent inside xnn_invoke_runtime
//   bench_worker overhead MODEL THREADS MS    sessions alone: what run() adds to xnn_invoke_runtime, in percent
//   bench_worker once session|bare MODEL N    N runs and nothing else (instruction counts)
//   "half" in place of "session": in float16, where the processor has its arithmetic
//   bench_worker --check FOLDER               both forms answer alike on every fp32 model of the folder
#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/ops/op.h"
#include "engine/session/model.h"
#include "engine/session/optimize.h"
#include "engine/session/session.h"
#include "tests/bench/bare_subgraph.h"
#include "tests/bench/worker_main.h"
#include "tests/support/graph_text.h"

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

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

template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(describe(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Tensor sample(const engine::TensorInfo& input) { return engine::seeded_tensor(input.type, input.shape, "photograph"); }

Session open_session(const fs::path& model, const engine::SessionOptions& options) {
  Session session = need(Session::open(model, options));
  need(session.set_input(0, sample(session.inputs().front())));
  return session;
}

std::unique_ptr<BareSubgraph> open_bare(const fs::path& model, int threads) {
  engine::Graph loaded = need(engine::open_model(model)).graph;
  engine::Shape single = *loaded.value(loaded.inputs().front().value).shape;
  single.front() = 1;
  loaded.set_input_shape(0, single);
  need(engine::infer_shapes(loaded));
  const engine::Optimized optimized = need(engine::optimize_model(loaded, {.prove = false}));
  const engine::Graph& graph = optimized.graph;
  const engine::ValueId id = graph.inputs().front().value;
  auto bare = std::make_unique<BareSubgraph>(graph, threads);
  const Tensor picture = engine::seeded_tensor(engine::DataType::kF32, *graph.value(id).shape, "photograph");
  const auto& shape = picture.shape();
  const auto channels = static_cast<std::size_t>(shape[1]);
  const std::size_t pixels = picture.data<float>().size() / channels;
  for (std::size_t i = 0; i < pixels * channels; ++i) {
    bare->input()[i % pixels * channels + i / pixels] = picture.data<float>()[i];
  }
  return bare;
}

struct Times {
  std::vector<double> runs;  // sorted
  double inside_ratio = 1;
};

Times run_for(const std::function<void()>& run, double milliseconds) {
  Times out;
  g_inside = {};
  const Clock::time_point begin = Clock::now();
  Clock::duration whole{};
  while (Milliseconds(Clock::now() - begin).count() < milliseconds || out.runs.empty()) {
    const Clock::time_point start = Clock::now();
    run();
    const Clock::duration took = Clock::now() - start;
    whole += took;
    out.runs.push_back(Milliseconds(took).count());
  }
  out.inside_ratio = Milliseconds(g_inside).count() / Milliseconds(whole).count();
  std::ranges::sort(out.runs);
  return out;
}

int serve(const std::function<void()>& run) {
  for (int i = 0; i < 3; ++i) run();
  std::printf("ready\n");
  std::fflush(stdout);
  for (double milliseconds = 0; std::cin >> milliseconds;) {
    const Times times = run_for(run, milliseconds);
    std::printf("%zu %.5f %.5f %.6f\n", times.runs.size(), times.runs.front(), times.runs[times.runs.size() / 2],
                times.inside_ratio);
    std::fflush(stdout);
  }
  return 0;
}

int with_engine(const std::string& kind, const fs::path& model, int threads,
                const std::function<int(const std::function<void()>&)>& use) {
  if (kind == "bare") {
    const auto bare = open_bare(model, threads);
    return use([&] { bare->run(); });
  }
  Session session = open_session(model, {.threads = threads, .half = kind == "half"});
  return use([&] { need(session.run()); });
}

int overhead(const fs::path& model, int threads, double milliseconds) {
  Session session = open_session(model, {.threads = threads, .own_kernels = false});
  const auto run = [&] { need(session.run()); };
  static_cast<void>(run_for(run, milliseconds / 10));
  const Times times = run_for(run, milliseconds);
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
  if (words.size() == 3) return with_engine(words[0], words[1], std::stoi(words[2]), serve);
  if (words.size() == 4 && words[0] == "overhead") return overhead(words[1], std::stoi(words[2]), std::stod(words[3]));
  if (words.size() == 4 && words[0] == "once") {
    return with_engine(words[1], words[2], 1, [&](const std::function<void()>& run) {
      for (int i = 0; i < std::stoi(words[3]); ++i) run();
      return 0;
    });
  }
  std::fprintf(stderr,
               "usage: bench_worker session|half|bare MODEL THREADS | overhead MODEL THREADS MS | "
               "once session|half|bare MODEL N | --check FOLDER\n");
  return 2;
}

}  // namespace
}  // namespace kinglet::bench

int main(int argc, char** argv) {
  return kinglet::bench::run_worker("bench_worker", kinglet::bench::main_of, argc, argv);
}
