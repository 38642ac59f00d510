// SPDX-License-Identifier: Apache-2.0
// Why: one engine in one process that runs when told, so that compare.py can let several take turns.
//
//   bench_worker session MODEL THREADS       the protocol of turns.h, with the share of the time inside
//   xnn_invoke_runtime bench_worker overhead MODEL THREADS MS   what run() adds to xnn_invoke_runtime, in percent
//   bench_worker once session MODEL N        N runs and nothing else (instruction counts)
//   "half" in place of "session": in float16, where the processor has its arithmetic; "levels": a quantised model's
//   float input as the daemon holds it bench_worker --check FOLDER              a session and a bare subgraph answer
//   alike on a small network and on every fp32 model of the folder
#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
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
  Session session =
      open_session(model, {.threads = threads, .half = kind == "half", .integer_inputs = kind == "levels"});
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

// What no float model of the corpus has: gates, hard forms, joined channels, groups.
constexpr std::string_view kGated = R"(
%x = input f32[1,3,12,12]
%1 = Conv(%x, w1:f32[8,3,3,3]#w1, b1:f32[8]#b1) {kernel_shape=[3,3], pads=[1,1,1,1]}
%2 = HardSwish(%1)
%3 = Conv(%2, w2:f32[8,1,3,3]#w2, b2:f32[8]#b2) {group=8, kernel_shape=[3,3], pads=[1,1,1,1]}
%4 = Sigmoid(%3)
%5 = Mul(%3, %4)
%6 = GlobalAveragePool(%5)
%7 = Conv(%6, w3:f32[4,8,1,1]#w3, b3:f32[4]#b3) {kernel_shape=[1,1]}
%8 = Relu(%7)
%9 = Conv(%8, w4:f32[8,4,1,1]#w4, b4:f32[8]#b4) {kernel_shape=[1,1]}
%10 = HardSigmoid(%9) {alpha=0.16666667, beta=0.5}
%11 = Mul(%5, %10)
%12 = Conv(%11, w5:f32[4,8,1,1]#w5, b5:f32[4]#b5) {kernel_shape=[1,1]}
%13 = Concat(%12, %11) {axis=1}
%14 = Relu(%13)
%15 = MaxPool(%14) {kernel_shape=[2,2], strides=[2,2]}
%16 = Conv(%15, w6:f32[8,6,1,1]#w6, b6:f32[8]#b6) {group=2, kernel_shape=[1,1]}
%17 = GlobalAveragePool(%16)
%18 = Flatten(%17)
%19 = Gemm(%18, w7:f32[5,8]#w7, b7:f32[5]#b7) {transB=1}
output %19
)";

// Whether both answer alike, by what is large in the answer.
bool alike(const std::string& name, Session session, BareSubgraph& bare) {
  need(session.set_input(0, sample(session.inputs().front())));
  need(session.run());
  const Tensor expected = session.get_output(0);
  bare.run();
  float largest = 0, scale = 1;
  for (std::size_t i = 0; i < expected.data<float>().size(); ++i) {
    largest = std::max(largest, std::abs(expected.data<float>()[i] - bare.output()[i]));
    scale = std::max(scale, std::abs(expected.data<float>()[i]));
  }
  std::printf("%s: largest difference %.2g of %.2g\n", name.c_str(), static_cast<double>(largest),
              static_cast<double>(scale));
  return largest < 1e-5F * scale;
}

int check(const fs::path& folder) {
  const engine::Graph gated = need(engine::parse_text(kGated)).graph;
  int faults = alike("gates and joined channels", need(Session::create(gated, {})), *open_bare(gated, 1)) ? 0 : 1;
  if (!fs::exists(folder)) {
    std::printf("skipped: no corpus of models (../shared/corpus)\n");
    return faults == 0 ? 77 : 1;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().contains("_qdq")) continue;
    if (!alike(entry.path().stem(), need(Session::open(entry.path(), {})), *open_bare(entry.path(), 1))) ++faults;
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
