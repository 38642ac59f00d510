// SPDX-License-Identifier: Apache-2.0
// Why: what the border between kinglet-camera and the daemon costs: camera-latency PROGRAM [FRAMES] [FPS]
// Prints frames per second and the age of a frame (from its capture time) when next() returns it.
#include <algorithm>
#include <cstdlib>
#include <print>
#include <vector>

#include "camera/source/source.h"

namespace kinglet::camera {

Result<std::unique_ptr<FrameSource>> open_libcamera(std::string_view rest, const SourceOptions& options);

namespace {

int measure(const SourceOptions& options, std::size_t count) {
  const auto source = open_libcamera("", options).value();
  const SteadyTime before_start = SteadyClock::now();
  if (const auto started = source->start(); !started) {
    std::println(stderr, "error: {}", describe(started.error()));
    return exit_code(started.error().code);
  }
  const SteadyTime started_at = SteadyClock::now();
  std::vector<double> ages;
  SteadyTime first;
  while (ages.size() < count) {
    auto next = source->next(SteadyClock::now() + std::chrono::seconds(5));
    const SteadyTime now = SteadyClock::now();
    if (!next || std::holds_alternative<NoFrame>(*next)) return 1;
    if (ages.empty()) first = now;
    ages.push_back(to_ms(now - std::get<Frame>(*next).info().captured_at).count());
  }
  const double seconds = Seconds(SteadyClock::now() - first).count();
  std::ranges::sort(ages);
  std::println("{}", source->description());
  std::println("start {:.0f} ms, first frame {:.1f} ms later, {} frames at {:.1f}/s, {} dropped",
               to_ms(started_at - before_start).count(), to_ms(first - started_at).count(), count,
               static_cast<double>(count - 1) / seconds, source->dropped_count());
  std::println("age at next(): median {:.3f} ms, p90 {:.3f} ms, p99 {:.3f} ms", ages[count / 2], ages[count * 9 / 10],
               ages[count * 99 / 100]);
  return 0;
}

}  // namespace
}  // namespace kinglet::camera

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const kinglet::camera::SourceOptions options{
      .width = 640, .height = 480, .frames_per_second = argc > 3 ? std::atof(argv[3]) : 0, .camera_program = argv[1]};
  return kinglet::camera::measure(options, argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 500);
}
