// SPDX-License-Identifier: Apache-2.0
// Why: what it costs to see what moves in a frame, to be counted in instructions (docs/benchmarks.md).
//
//   gate_worker FORMAT WIDTH HEIGHT FRAMES    nv12, yuv420, yuyv or rgb; a bird hops through a noisy garden
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "camera/frame/packed_frame.h"
#include "camera/preprocess/cell_grid.h"
#include "daemon/line/gate/motion.h"

namespace kinglet::daemon {
namespace {

using camera::PixelFormat;

camera::FrameView shape_of(std::string_view format, int width, int height) {
  const auto pixels = format == "nv12"     ? PixelFormat::kNv12
                      : format == "yuv420" ? PixelFormat::kYuv420
                      : format == "yuyv"   ? PixelFormat::kYuyv
                                           : PixelFormat::kRgb888;
  return {.format = pixels, .width = width, .height = height};
}

// Brightness of the first plane is what matters; of packed formats every byte is drawn.
void draw(std::vector<std::byte>& bytes, std::size_t bird, std::mt19937& random) {
  for (std::byte& value : bytes) value = static_cast<std::byte>(100 + random() % 9);
  for (std::size_t i = bird; i < bird + bytes.size() / 20; ++i) bytes[i % bytes.size()] = std::byte{30};
}

int run(std::string_view format, int width, int height, int frames) {
  const camera::FrameView shape = shape_of(format, width, height);
  std::mt19937 random(1);
  std::vector<std::vector<std::byte>> pictures(4, std::vector<std::byte>(camera::packed_size(shape)));
  for (std::size_t i = 0; i < pictures.size(); ++i) draw(pictures[i], i * pictures[i].size() / 7, random);
  camera::CellGrid grid;
  MotionDetector detector(std::nullopt);
  const Area bird{.left = 0.2, .top = 0.2, .width = 0.3, .height = 0.3};
  int moving = 0;
  for (int i = 0; i < frames; ++i) {
    const auto view = camera::packed_view(shape, pictures[static_cast<std::size_t>(i) % pictures.size()]);
    if (!view || !grid.measure(*view)) return 1;
    const SteadyTime now{std::chrono::seconds(100) + i * std::chrono::milliseconds(100)};
    moving += detector.update(grid.cells(), now, std::span(&bird, 1)).moving ? 1 : 0;
  }
  std::printf("%d of %d\n", moving, frames);
  return 0;
}

}  // namespace
}  // namespace kinglet::daemon

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  return kinglet::daemon::run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
}
