// SPDX-License-Identifier: Apache-2.0
// Why: what one picture of a clip costs, in milliseconds and in instructions, and how large it is (docs/benchmarks.md).
//
//   clip_worker PHOTO WIDTH HEIGHT CLIP_WIDTH MS     the photograph as a camera's YUV420 frame of that size, made into
//                                                    pictures so wide (0: as wide as it is) for about so long: prints
//                                                    bytes, runs, minimum ms and median ms
//   clip_worker once PHOTO WIDTH HEIGHT CLIP_WIDTH N   N of them and nothing else (instruction counts)
#include <libyuv.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "camera/decode/decode.h"
#include "daemon/capture/clips/clip_pictures.h"
#include "engine/base/file.h"
#include "tests/bench/worker_main.h"

namespace kinglet::bench {
namespace {

constexpr int kQuality = 70;  // as ClipOptions has it

template <typename Value>
Value need(Result<Value> found) {
  if (!found) throw std::runtime_error(describe(found.error()));
  return std::move(*found);
}

struct Job {
  std::vector<std::byte> memory;
  camera::FrameView view;
  int clip_width = 0;
};

// The largest part in the middle that has this shape.
CropRect middle_of(const camera::Image& photo, int width, int height) {
  const double scale = std::min(static_cast<double>(photo.width) / width, static_cast<double>(photo.height) / height);
  const int wide = static_cast<int>(width * scale);
  const int high = static_cast<int>(height * scale);
  return {.x = (photo.width - wide) / 2, .y = (photo.height - high) / 2, .width = wide, .height = high};
}

Job make_job(const std::vector<std::string>& words) {
  const int width = std::stoi(words[1]);
  const int height = std::stoi(words[2]);
  const camera::DecodeLimits limits{.max_pixels = 200'000'000};
  const std::string bytes = need(read_file(words[0], std::uint64_t{64} << 20U));
  const camera::Image photo =
      need(camera::decode_image(std::as_bytes(std::span(bytes)), limits, camera::Upright::kApplyExif)).image;
  const camera::Image frame = need(camera::resize_like_pillow(photo.view(), middle_of(photo, width, height), width,
                                                              height, engine::Interpolation::kBilinear));
  const auto luma = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  Job job{.memory = std::vector<std::byte>(luma * 3 / 2), .view = {}, .clip_width = std::stoi(words[3])};
  auto* y = reinterpret_cast<std::uint8_t*>(job.memory.data());
  libyuv::RAWToI420(reinterpret_cast<const std::uint8_t*>(frame.rgb.data()), 3 * width, y, width, y + luma, width / 2,
                    y + luma + luma / 4, width / 2, width, height);
  const std::span<const std::byte> all = job.memory;
  job.view = {.format = camera::PixelFormat::kYuv420, .width = width, .height = height};
  job.view.matrix = camera::ColorMatrix::kBt601;
  job.view.range = camera::ColorRange::kLimited;
  const auto row = static_cast<std::size_t>(width);
  job.view.planes[0] = {all.first(luma), row};
  job.view.planes[1] = {all.subspan(luma, luma / 4), row / 2};
  job.view.planes[2] = {all.subspan(luma + luma / 4), row / 2};
  job.view.plane_count = 3;
  return job;
}

void report(const Job& job, double milliseconds) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  daemon::ClipPictures pictures(kQuality);
  const std::size_t bytes = need(pictures.make(job.view, job.clip_width)).jpeg.size();
  std::vector<double> runs;
  const auto begin = std::chrono::steady_clock::now();
  while (runs.empty() || Milliseconds(std::chrono::steady_clock::now() - begin).count() < milliseconds) {
    const auto start = std::chrono::steady_clock::now();
    (void)need(pictures.make(job.view, job.clip_width));
    runs.push_back(Milliseconds(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::sort(runs);
  std::printf("%zu bytes, %zu runs, %.3f ms least, %.3f ms median\n", bytes, runs.size(), runs.front(),
              runs[runs.size() / 2]);
}

int main_of(const std::vector<std::string>& words) {
  if (words.size() == 6 && words[0] == "once") {
    const Job job = make_job({words.begin() + 1, words.end()});
    daemon::ClipPictures pictures(kQuality);
    for (int i = 0; i < std::stoi(words[5]); ++i) (void)need(pictures.make(job.view, job.clip_width));
    return 0;
  }
  if (words.size() == 5) {
    report(make_job(words), std::stod(words[4]));
    return 0;
  }
  std::fprintf(stderr, "usage: clip_worker PHOTO WIDTH HEIGHT CLIP_WIDTH MS | once PHOTO WIDTH HEIGHT CLIP_WIDTH N\n");
  return 2;
}

}  // namespace
}  // namespace kinglet::bench

int main(int argc, char** argv) {
  return kinglet::bench::run_worker("clip_worker", kinglet::bench::main_of, argc, argv);
}
