// SPDX-License-Identifier: Apache-2.0
// Why: what the daemon's pipeline costs beside the work that has to be done, and whether its memory stays.
//
//   pipeline_bench share MODEL [FRAMES]    of each frame's time in the pipeline, what is neither preprocessing nor
//   model;
//                                          the median with its 95 % interval
//   pipeline_bench cost MODEL [ROUNDS]     the same frames through the pipeline and through preprocessing and model
//                                          alone, in turn; the median of the rounds' ratios with its 95 % interval
//   pipeline_bench ahead MODEL [ROUNDS]    images a second with the next frame prepared while the model runs, against
//                                          one after the other, in turn; the median of the rounds' ratios
//   pipeline_bench memory MODEL FRAMES     tiny frames of the demonstration through the pipeline; resident memory
//
// The pipeline is mailbox, motion gate, preprocessing, model, decision, visits and figures, as in kingletd, on one
// thread. The times of `cost` are the processor's for this thread: what other programs take does not count.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "daemon/answer/pipeline.h"
#include "daemon/machine/board.h"
#include "tests/support/one_feed.h"

namespace kinglet::daemon {
namespace {

constexpr int kFramesARound = 8;

// A pipeline without a thread: step() is called by hand.
struct Line {
  explicit Line(LineModel classifier, GateOptions gate, LookAhead look_ahead = LookAhead::kNo)
      : pipeline(one_feed({.line = FrameLine(std::move(classifier), {.gate = std::move(gate)}, ids, {}, warnings),
                           .mailbox = mailbox,
                           .stats = stats}),
                 desk, latest, {}, {}, {}, look_ahead) {}

  void look_at(camera::Frame frame) {
    mailbox.put(std::move(frame));
    pipeline.step(std::chrono::seconds(1));
  }

  std::vector<std::string> warnings;
  visits::IdMaker ids;
  camera::Mailbox mailbox;
  ClassifyDesk desk{1, [] {}};
  Stats stats{SteadyClock::now()};
  LatestPredictions latest;
  Pipeline pipeline;
};

Result<LineModel> open(const char* model) { return LineModel::open({.model = model, .threads = 1}); }

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

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <typename Work>
double seconds_of(const Work& work) {
  const double begun = processor_seconds();
  for (std::size_t i = 0; i < kFramesARound; ++i) work(i);
  return processor_seconds() - begun;
}

// Order statistics: with 95 % the true median lies between these two of the sorted values.
void print_median(std::string_view of, std::vector<double> values) {
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  const double reach = 0.98 * std::sqrt(count);
  const auto at = [&](double place) { return values[static_cast<std::size_t>(std::clamp(place, 0.0, count - 1))]; };
  const double low = at(std::floor(count / 2 - reach));
  const double high = at(std::ceil(count / 2 + reach - 1));
  std::printf("the pipeline costs %+.2f %% (median of %zu %s; 95 %%: %+.2f to %+.2f): at most 2 %% is %s\n",
              100 * at(count / 2), values.size(), std::string(of).c_str(), 100 * low, 100 * high,
              high <= 0.02 ? "held" : (low > 0.02 ? "missed" : "undecided"));
}

Result<void> measure_cost(const char* model, int rounds) {
  const Pictures pictures = KINGLET_TRY(take_pictures());
  LineModel alone = KINGLET_TRY(open(model));
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
    // Each way is first once and last once: what changes meanwhile takes the same from both.
    const double before = seconds_of(bare);
    const double pipeline = seconds_of(by_pipeline) + seconds_of(by_pipeline);
    costs.push_back(pipeline / (before + seconds_of(bare)) - 1);
  }
  if (failed || line.stats.view(SteadyClock::now()).errors > 0) return fail(ErrorCode::kInternal, "a frame failed");
  print_median("rounds", std::move(costs));
  return {};
}

Result<void> measure_share(const char* model, int frames) {
  const Pictures pictures = KINGLET_TRY(take_pictures());
  Line line(KINGLET_TRY(open(model)), {.max_fps = 1e6, .motion = true, .look_every = {}});
  std::vector<double> shares;
  std::uint64_t newest = 0;
  for (std::size_t i = 0; static_cast<int>(shares.size()) < frames; ++i) {
    camera::Frame frame = pictures.lend(i);
    const SteadyTime begun = SteadyClock::now();
    line.look_at(std::move(frame));
    const Seconds all = SteadyClock::now() - begun;
    const std::optional<Prediction> prediction = line.latest.get();
    if (!prediction || prediction->seq == newest) return fail(ErrorCode::kInternal, "a frame was not answered");
    newest = prediction->seq;
    const Seconds needed = prediction->timing.preprocess + prediction->timing.inference;
    if (i >= 3) shares.push_back(1 - needed / all);  // after the first ones
  }
  print_median("frames", std::move(shares));
  return {};
}

// Images a second while frames come every two milliseconds, as from a camera that is faster than the model.
double rate_of(Line& line, const Pictures& pictures, std::size_t& lent) {
  constexpr auto kRound = std::chrono::milliseconds(500);
  const std::uint64_t before = line.latest.get()->seq;
  const SteadyTime begun = SteadyClock::now();
  while (SteadyClock::now() < begun + kRound) {
    line.mailbox.put(pictures.lend(lent++));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const Seconds length = SteadyClock::now() - begun;
  return static_cast<double>(line.latest.get()->seq - before) / length.count();
}

Result<void> measure_ahead(const char* model, int rounds) {
  const Pictures pictures = KINGLET_TRY(take_pictures());
  const GateOptions gate{.max_fps = 1e6, .motion = true, .look_every = {}};
  Line one_after_the_other(KINGLET_TRY(open(model)), gate);
  Line ahead(KINGLET_TRY(open(model)), gate, LookAhead::kYes);
  std::size_t lent = 0;
  for (Line* line : {&one_after_the_other, &ahead}) {
    line->look_at(pictures.lend(lent++));
    line->pipeline.start();
  }
  std::vector<double> gains;
  double rate = 0;
  for (int round = 0; round < rounds; ++round) {
    const double before = rate_of(one_after_the_other, pictures, lent);
    rate = rate_of(ahead, pictures, lent) + rate_of(ahead, pictures, lent);
    gains.push_back(rate / (before + rate_of(one_after_the_other, pictures, lent)) - 1);
  }
  std::ranges::sort(gains);
  std::printf("looking ahead: %+.1f %% images a second (median of %zu rounds; %+.1f to %+.1f)\n",
              100 * gains[gains.size() / 2], gains.size(), 100 * gains.front(), 100 * gains.back());
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
  Result<void> done =
      fail(ErrorCode::kUsage,
           "pipeline_bench share MODEL [FRAMES] | cost MODEL [ROUNDS] | ahead MODEL [ROUNDS] | memory MODEL FRAMES");
  if (what == "share") done = measure_share(argv[2], argc > 3 ? std::atoi(argv[3]) : 400);
  if (what == "cost") done = measure_cost(argv[2], argc > 3 ? std::atoi(argv[3]) : 60);
  if (what == "ahead") done = measure_ahead(argv[2], argc > 3 ? std::atoi(argv[3]) : 20);
  if (what == "memory" && argc > 3) done = measure_memory(argv[2], std::strtoull(argv[3], nullptr, 10));
  if (done) return 0;
  std::fprintf(stderr, "%s\n", describe(done.error()).c_str());
  return exit_code(done.error().code);
}

}  // namespace
}  // namespace kinglet::daemon

int main(int argc, char** argv) { return kinglet::daemon::main_of(argc, argv); }
