// SPDX-License-Identifier: Apache-2.0
// Why: stands for the programs whose output is frames (ffmpeg, rpicam-vid): fake-frames FORMAT [WIDTH HEIGHT] [COUNT]
// writes COUNT frames, or frames for ever, 200 a second; the luma of frame i is i.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "camera/decode/decode.h"

namespace kinglet::camera {
namespace {

void put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(1, bytes.data(), bytes.size());
    if (written <= 0) std::_Exit(0);  // nobody reads any more
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void put(const std::string& text) { put(std::as_bytes(std::span(text))); }

// YUV420 without padding.
std::vector<std::byte> planes(int width, int height, int luma) {
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  std::vector<std::byte> bytes(pixels + pixels / 2, std::byte{128});
  std::ranges::fill(std::span(bytes).first(pixels), static_cast<std::byte>(luma));
  return bytes;
}

std::vector<std::byte> jpeg(int width, int height, int luma) {
  Image image{width, height, std::vector<std::byte>(3 * static_cast<std::size_t>(width * height))};
  std::ranges::fill(image.rgb, static_cast<std::byte>(luma));
  return encode_jpeg(image.view(), 90).value();
}

int run(const std::string& format, int width, int height, int count) {
  if (format == "y4m") put("YUV4MPEG2 W" + std::to_string(width) + " H" + std::to_string(height) + " F25:1 C420jpeg\n");
  for (int i = 0; count == 0 || i < count; ++i) {
    if (format == "y4m") put("FRAME\n");
    put(format == "mjpeg" ? jpeg(width, height, i & 0xFF) : planes(width, height, i & 0xFF));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return 0;
}

}  // namespace
}  // namespace kinglet::camera

int main(int argc, char** argv) {
  const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
  return kinglet::camera::run(argc > 1 ? argv[1] : "", number(2, 64), number(3, 48), number(4, 0));
}
