// SPDX-License-Identifier: Apache-2.0
// Why: what a frame costs that is not the model: what moves in it, whose it is, its squares as the model's input, what
// the looks say together, visits. To be counted in instructions (docs/benchmarks.md).
//
//   line_worker MODEL FORMAT WIDTH HEIGHT BIRDS FRAMES    nv12, yuv420, yuyv or rgb; birds hop through a noisy garden
//
// The last look of a frame is given its scores, so that with one bird the model does not run at all.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "camera/frame/packed_frame.h"
#include "daemon/line/frame_line.h"

namespace kinglet::daemon {
namespace {

using camera::PixelFormat;

constexpr std::size_t kPictures = 6;

camera::FrameView shape_of(std::string_view format, int width, int height) {
  const auto pixels = format == "nv12"     ? PixelFormat::kNv12
                      : format == "yuv420" ? PixelFormat::kYuv420
                      : format == "yuyv"   ? PixelFormat::kYuyv
                                           : PixelFormat::kRgb888;
  return {.format = pixels, .width = width, .height = height};
}

// Bytes of a row of the first plane.
std::size_t row_of(const camera::FrameView& shape) {
  const auto width = static_cast<std::size_t>(shape.width);
  if (shape.format == PixelFormat::kRgb888) return 3 * width;
  return shape.format == PixelFormat::kYuyv ? 2 * width : width;
}

// Dark squares of a sixth of the height in the first plane, each in its part of the picture, elsewhere each time.
std::vector<std::byte> draw(const camera::FrameView& shape, std::size_t birds, std::size_t step, std::mt19937& random) {
  std::vector<std::byte> bytes(camera::packed_size(shape));
  for (std::byte& value : bytes) value = static_cast<std::byte>(120 + random() % 9);
  const std::size_t row = row_of(shape);
  const auto height = static_cast<std::size_t>(shape.height);
  const std::size_t side = height / 6;
  for (std::size_t bird = 0; bird < birds; ++bird) {
    const std::size_t left = (bird * row / birds + step * row / 40) / 6 * 6;
    const std::size_t top = height / 3 + step % 3 * height / 24;
    const std::size_t wide = std::min(side * row / static_cast<std::size_t>(shape.width), row - left);
    for (std::size_t y = top; y < top + side; ++y)
      std::ranges::fill(std::span(bytes).subspan(y * row + left, wide), std::byte{40});
  }
  return bytes;
}

// One class ahead of others, and a little of each: what a bird model says.
std::vector<float> some_scores(std::size_t classes) {
  std::vector<float> scores(classes, 0.35F / static_cast<float>(classes));
  scores[classes / 2] += 0.5F;
  scores[classes / 3] += 0.15F;
  return scores;
}

int run(const char* model, const camera::FrameView& shape, std::size_t birds, std::size_t frames) {
  std::mt19937 random(1);
  std::vector<std::vector<std::byte>> pictures;
  for (std::size_t i = 0; i < kPictures; ++i) pictures.push_back(draw(shape, birds, i, random));
  auto opened = LineModel::open({.model = model, .threads = 1});
  if (!opened) {
    std::fprintf(stderr, "line_worker: %s\n", describe(opened.error()).c_str());
    return 1;
  }
  const std::vector<float> scores = some_scores(opened->facts()->taxa->of_class().size());
  visits::IdMaker ids(1);
  std::vector<std::string> warnings;
  FrameLine line(
      std::move(*opened), {.gate = {.max_fps = 1000}, .look = {.budget = 0, .propose = ProposedBy::kMotion}}, ids,
      [](visits::VisitEvent, const visits::Visit&) {}, warnings);
  std::size_t looks = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    const auto view = camera::packed_view(shape, pictures[i % kPictures]);
    if (!view) return 1;
    const SteadyTime now{std::chrono::seconds(100) + i * std::chrono::milliseconds(100)};
    const camera::Frame frame(*view, {.sequence = i + 1, .captured_at = now}, [] {});
    const auto prepared = line.prepare(frame, now, true, LineModel::Place::kInput);
    if (!prepared) return 1;
    const auto answer = line.answer(frame, *prepared, [&](LineModel&) { return std::span<const float>(scores); });
    if (!answer) return 1;
    if (const auto* prediction = std::get_if<Prediction>(&*answer)) looks += prediction->region_count;
  }
  std::printf("%zu looks in %zu frames\n", looks, frames);
  return 0;
}

}  // namespace
}  // namespace kinglet::daemon

int main(int argc, char** argv) {
  if (argc != 7) return 64;
  const auto number = [&](int i) { return static_cast<std::size_t>(std::atoi(argv[i])); };
  const auto shape = kinglet::daemon::shape_of(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  return kinglet::daemon::run(argv[1], shape, std::max<std::size_t>(1, number(5)), number(6));
}
