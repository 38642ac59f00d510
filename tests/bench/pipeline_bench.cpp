// SPDX-License-Identifier: Apache-2.0
// Why: what the daemon's pipeline costs beside the work that has to be done, and whether its memory stays.
//
//   pipeline_bench cost MODEL [ROUNDS]     the same frames through the pipeline and through preprocessing and model
//                                          alone, in turn; the median of the rounds' ratios with its 95 % interval
//   pipeline_bench memory MODEL FRAMES     tiny frames of the demonstration through the pipeline; resident memory
//
// The pipeline is mailbox, motion gate, preprocessing, model, decision, visits and figures, as in kingletd, on one
// thread.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "camera/source.h"
#include "daemon/board.h"
#include "daemon/pipeline.h"

namespace kinglet::daemon {
namespace {

constexpr int kFramesARound = 20;

// A pipeline without a thread: step() is called by hand.
struct Line {
  explicit Line(Classifier classifier, GateOptions gate)
      : pipeline(FrameLine(std::move(classifier), {.gate = std::move(gate)}, ids, {}, warnings), mailbox, desk, stats,
                 latest, {}) {}

  void look_at(camera::Frame frame) {
    mailbox.put(std::move(frame));
    pipeline.step(std::chrono::seconds(1));
  }

  std::vector<std::string> warnings;
  visits::IdMaker ids;
  camera::Mailbox mailbox;
  ClassifyDesk desk{1, [] {}};
  Stats stats{SteadyClock::now()};
  Latest<Prediction> latest;
  Pipeline pipeline;
};

Result<Classifier> open(const char* model) { return Classifier::open({.model = model, .threads = 1}); }

Result<camera::Frame> next_frame(camera::FrameSource& source) {
  auto next = KINGLET_TRY(source.next(SteadyClock::now() + std::chrono::seconds(20)));
  if (auto* frame = std::get_if<camera::Frame>(&next)) return std::move(*frame);
  return fail(ErrorCode::kUnavailable, "no frame came");
}

// Pictures kept by the bench and lent as often as wished.
struct Pictures {
  std::unique_ptr<camera::FrameSource> source;
  std::vector<camera::Frame> kept;  // in its buffers

  camera::Frame lend(std::size_t index) const {
    const camera::Frame& frame = kept[index % kept.size()];
    camera::FrameInfo info = frame.info();
    info.captured_at = SteadyClock::now();
    return camera::Frame(frame.view(), info, [] {});
  }
};

Result<Pictures> take_pictures() {
  Pictures pictures;
  pictures.source =
      KINGLET_TRY(camera::open_source({.spec = "demo:?fps=max", .width = 640, .height = 480, .frames_per_second = 0}));
  KINGLET_TRY(pictures.source->start());
  // One buffer is left to the source.
  while (static_cast<int>(pictures.kept.size()) < pictures.source->depth() - 1) {
    pictures.kept.push_back(KINGLET_TRY(next_frame(*pictures.source)));
  }
  return pictures;
}

template <typename Work>
double seconds_of(const Work& work) {
  const SteadyTime begun = SteadyClock::now();
  for (std::size_t i = 0; i < kFramesARound; ++i) work(i);
  return Seconds(SteadyClock::now() - begun).count();
}

// Order statistics: with 95 % the true median lies between these two of the sorted values.
void print_median(std::vector<double> values) {
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  const double reach = 0.98 * std::sqrt(count);
  const auto at = [&](double place) { return values[static_cast<std::size_t>(std::clamp(place, 0.0, count - 1))]; };
  const double low = at(std::floor(count / 2 - reach));
  const double high = at(std::ceil(count / 2 + reach - 1));
  std::printf("the pipeline costs %+.2f %% (median of %zu rounds; 95 %%: %+.2f to %+.2f): at most 2 %% is %s\n",
              100 * at(count / 2), values.size(), 100 * low, 100 * high,
              high <= 0.02 ? "held" : (low > 0.02 ? "missed" : "undecided"));
}

Result<void> measure_cost(const char* model, int rounds) {
  const Pictures pictures = KINGLET_TRY(take_pictures());
  Classifier alone = KINGLET_TRY(open(model));
  Line line(KINGLET_TRY(open(model)), {.max_fps = 1e6, .motion = true, .look_every = {}});
  const auto by_pipeline = [&](std::size_t i) { line.look_at(pictures.lend(i)); };
  bool failed = false;
  const auto bare = [&](std::size_t i) {
    const camera::Frame frame = pictures.lend(i);
    failed = !alone.prepare(frame.view(), std::nullopt) || !alone.run() || failed;
  };
  seconds_of(by_pipeline);
  seconds_of(bare);
  std::vector<double> costs;
  for (int round = 0; round < rounds; ++round) {
    // Who comes after whom should not matter.
    const double first = round % 2 == 0 ? seconds_of(bare) : seconds_of(by_pipeline);
    const double second = round % 2 == 0 ? seconds_of(by_pipeline) : seconds_of(bare);
    costs.push_back(round % 2 == 0 ? second / first - 1 : first / second - 1);
  }
  if (failed || line.stats.view(SteadyClock::now()).errors > 0) return fail(ErrorCode::kInternal, "a frame failed");
  print_median(std::move(costs));
  return {};
}

Result<void> measure_memory(const char* model, std::uint64_t frames) {
  auto source =
      KINGLET_TRY(camera::open_source({.spec = "demo:?fps=max", .width = 64, .height = 64, .frames_per_second = 0}));
  KINGLET_TRY(source->start());
  Line line(KINGLET_TRY(open(model)), {.max_fps = 100, .motion = true});
  for (std::uint64_t i = 0; i < frames; ++i) {
    line.look_at(KINGLET_TRY(next_frame(*source)));
    if ((i + 1) % std::max<std::uint64_t>(frames / 10, 1) == 0) {
      const Stats::View view = line.stats.view(SteadyClock::now());
      std::printf("%llu frames, %llu classified: %.2f MB\n", static_cast<unsigned long long>(i + 1),
                  static_cast<unsigned long long>(view.predictions),
                  static_cast<double>(read_board().resident_bytes.value_or(0)) / 1e6);
    }
  }
  return {};
}

int main_of(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  Result<void> done = fail(ErrorCode::kUsage, "pipeline_bench cost MODEL [ROUNDS] | memory MODEL FRAMES");
  if (what == "cost") done = measure_cost(argv[2], argc > 3 ? std::atoi(argv[3]) : 30);
  if (what == "memory" && argc > 3) done = measure_memory(argv[2], std::strtoull(argv[3], nullptr, 10));
  if (done) return 0;
  std::fprintf(stderr, "%s\n", describe(done.error()).c_str());
  return exit_code(done.error().code);
}

}  // namespace
}  // namespace kinglet::daemon

int main(int argc, char** argv) { return kinglet::daemon::main_of(argc, argv); }
