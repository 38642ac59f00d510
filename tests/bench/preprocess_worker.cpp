// SPDX-License-Identifier: Apache-2.0
// Why: frames to a model's input in one process that runs when told, so that preprocess.py can let several ways take
// turns.
//
//   preprocess_worker kinglet|libyuv|opencv-area|opencv-linear   prints "ready"; then for each line FORMAT WIDTH HEIGHT
//   f32|i8 MS on stdin makes
//                                      224x224 inputs of one such frame for about so long, and prints runs, minimum ms
//                                      and median ms. FORMAT is nv12, yuv420, yuyv or, for kinglet alone, rgb
//                                      (a photograph).
//   preprocess_worker once WAY FORMAT WIDTH HEIGHT f32|i8 N   N of them and nothing else (instruction counts)
//
// opencv-*: where it was there when this was built (tests/bench/opencv_way.cpp).
// kinglet: the Preprocessor, antialiased. libyuv: what a careful program does with it: box-scaled planes, RGB of the
// small picture, then a plain loop into the tensor. Both give mean and deviation of ImageNet, channels last.
#include <libyuv.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "camera/preprocess/preprocess.h"
#include "engine/recipe/recipe.h"
#include "tests/bench/worker_main.h"
#ifdef KINGLET_OPENCV
#include "tests/bench/opencv_way.h"
#endif

namespace kinglet::bench {
namespace {

using camera::PixelFormat;
using engine::DataType;
using Clock = std::chrono::steady_clock;

constexpr int kSide = 224;
constexpr std::size_t kValues = std::size_t{3} * kSide * kSide;
constexpr std::array<float, 3> kMean{123.675F, 116.28F, 103.53F};
constexpr std::array<float, 3> kStd{58.395F, 57.12F, 57.375F};
constexpr engine::Quantization kSteps{0.0186, -14};

struct Job {
  PixelFormat format = PixelFormat::kNv12;
  int width = 0;
  int height = 0;
  DataType type = DataType::kF32;
};

// A frame of blurred noise, every plane used.
struct Source {
  std::vector<std::byte> memory;
  camera::FrameView view;
};

Source make_source(const Job& job) {
  Source out;
  const auto width = static_cast<std::size_t>(job.width);
  const auto luma = width * static_cast<std::size_t>(job.height);
  out.memory.resize(job.format == PixelFormat::kRgb888 ? 3 * luma
                    : job.format == PixelFormat::kYuyv ? 2 * luma
                                                       : luma + luma / 2);
  std::uint32_t state = 1;
  std::uint32_t level = 128;
  for (std::byte& byte : out.memory) {
    state = state * 1664525U + 1013904223U;
    level = (7 * level + (state >> 24)) / 8;
    byte = static_cast<std::byte>(level);
  }
  const std::span<const std::byte> all = out.memory;
  out.view = {.format = job.format, .width = job.width, .height = job.height};
  out.view.matrix = camera::ColorMatrix::kBt601;
  out.view.range = camera::ColorRange::kLimited;
  if (job.format == PixelFormat::kRgb888) {
    out.view.planes[0] = {all, 3 * width};
    out.view.plane_count = 1;
  } else if (job.format == PixelFormat::kYuyv) {
    out.view.planes[0] = {all, 2 * width};
    out.view.plane_count = 1;
  } else if (job.format == PixelFormat::kNv12) {
    out.view.planes[0] = {all.first(luma), width};
    out.view.planes[1] = {all.subspan(luma), width};
    out.view.plane_count = 2;
  } else {
    out.view.planes[0] = {all.first(luma), width};
    out.view.planes[1] = {all.subspan(luma, luma / 4), width / 2};
    out.view.planes[2] = {all.subspan(luma + luma / 4), width / 2};
    out.view.plane_count = 3;
  }
  return out;
}

// The library's way, with buffers that stay.
class LibyuvWay {
 public:
  explicit LibyuvWay(const Job& job)
      : job_(job),
        whole_(static_cast<std::size_t>(job.width) * static_cast<std::size_t>(job.height) * 3 / 2),
        small_(std::size_t{kSide} * kSide * 3 / 2),
        rgb_(kValues) {}

  void run(const camera::FrameView& frame, std::byte* out) {
    scale(frame);
    const std::uint8_t* y = small_.data();
    const std::uint8_t* u = y + kSide * kSide;
    if (job_.format == PixelFormat::kNv12) {
      libyuv::NV12ToRAW(y, kSide, u, kSide, rgb_.data(), 3 * kSide, kSide, kSide);
    } else {
      libyuv::I420ToRAW(y, kSide, u, kSide / 2, u + kSide * kSide / 4, kSide / 2, rgb_.data(), 3 * kSide, kSide, kSide);
    }
    if (job_.type == DataType::kF32) {
      auto* values = reinterpret_cast<float*>(out);
      for (std::size_t i = 0; i < kValues; ++i) values[i] = (static_cast<float>(rgb_[i]) - kMean[i % 3]) / kStd[i % 3];
      return;
    }
    for (std::size_t i = 0; i < kValues; ++i) {
      const float x = (static_cast<float>(rgb_[i]) - kMean[i % 3]) / kStd[i % 3];
      const float steps = std::nearbyint(x / static_cast<float>(kSteps.scale)) + static_cast<float>(kSteps.zero_point);
      out[i] = static_cast<std::byte>(static_cast<std::int8_t>(std::clamp(steps, -128.0F, 127.0F)));
    }
  }

 private:
  void scale(const camera::FrameView& frame) {
    const auto at = [&](std::size_t plane) {
      return reinterpret_cast<const std::uint8_t*>(frame.planes[plane].bytes.data());
    };
    const auto stride = [&](std::size_t plane) { return static_cast<int>(frame.planes[plane].stride); };
    std::uint8_t* y = small_.data();
    std::uint8_t* u = y + kSide * kSide;
    std::uint8_t* v = u + kSide * kSide / 4;
    const int width = job_.width;
    const int height = job_.height;
    if (job_.format == PixelFormat::kNv12) {
      libyuv::NV12Scale(at(0), stride(0), at(1), stride(1), width, height, y, kSide, u, kSide, kSide, kSide,
                        libyuv::kFilterBox);
      return;
    }
    const std::uint8_t* planes[3] = {at(0), at(1), at(2)};
    int strides[3] = {stride(0), stride(1), stride(2)};
    if (job_.format == PixelFormat::kYuyv) {
      std::uint8_t* whole_u = whole_.data() + width * height;
      std::uint8_t* whole_v = whole_u + width * height / 4;
      libyuv::YUY2ToI420(at(0), stride(0), whole_.data(), width, whole_u, width / 2, whole_v, width / 2, width, height);
      std::ranges::copy(std::initializer_list<const std::uint8_t*>{whole_.data(), whole_u, whole_v}, planes);
      std::ranges::copy(std::initializer_list<int>{width, width / 2, width / 2}, strides);
    }
    libyuv::I420Scale(planes[0], strides[0], planes[1], strides[1], planes[2], strides[2], width, height, y, kSide, u,
                      kSide / 2, v, kSide / 2, kSide, kSide, libyuv::kFilterBox);
  }

  Job job_;
  std::vector<std::uint8_t> whole_;  // YUYV taken apart
  std::vector<std::uint8_t> small_;
  std::vector<std::uint8_t> rgb_;
};

void report(const std::function<void()>& run, double milliseconds) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  run();
  std::vector<double> runs;
  const Clock::time_point begin = Clock::now();
  while (runs.empty() || Milliseconds(Clock::now() - begin).count() < milliseconds) {
    const Clock::time_point start = Clock::now();
    run();
    runs.push_back(Milliseconds(Clock::now() - start).count());
  }
  std::ranges::sort(runs);
  std::printf("%zu %.5f %.5f\n", runs.size(), runs.front(), runs[runs.size() / 2]);
  std::fflush(stdout);
}

using Use = std::function<void(const std::function<void()>&)>;

// `use` gets what makes one input in this way.
void with_way(const std::string& way, const Job& job, const Use& use) {
  const Source source = make_source(job);
  std::vector<float> memory(kValues);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(memory)).first(kValues * byte_size(job.type));
  if (way != "kinglet" && job.format == PixelFormat::kRgb888) throw std::runtime_error("rgb is for kinglet alone");
  if (way == "libyuv") {
    LibyuvWay libyuv_way(job);
    use([&] { libyuv_way.run(source.view, bytes.data()); });
    return;
  }
#ifdef KINGLET_OPENCV
  if (way != "kinglet") {
    OpencvWay opencv_way({.side = kSide,
                          .area = way == "opencv-area",
                          .integers = job.type == DataType::kI8,
                          .mean = kMean,
                          .std = kStd,
                          .scale = static_cast<float>(kSteps.scale),
                          .zero_point = kSteps.zero_point});
    use([&] { opencv_way.run(source.view, bytes.data()); });
    return;
  }
#endif
  engine::Recipe recipe;
  for (std::size_t i = 0; i < 3; ++i) {
    recipe.mean[i] = static_cast<double>(kMean[i]);
    recipe.std[i] = static_cast<double>(kStd[i]);
  }
  camera::Preprocessor preprocessor(recipe, kSide, kSide);
  const engine::PictureInput input{
      .bytes = bytes, .type = job.type, .width = kSide, .height = kSide, .quantization = kSteps};
  use([&] {
    if (const auto used = preprocessor.run(source.view, std::nullopt, input); !used) {
      throw std::runtime_error(describe(used.error()));
    }
  });
}

Job make_job(const std::string& format, int width, int height, const std::string& type) {
  return {.format = format == "nv12"     ? PixelFormat::kNv12
                    : format == "yuv420" ? PixelFormat::kYuv420
                    : format == "rgb"    ? PixelFormat::kRgb888
                                         : PixelFormat::kYuyv,
          .width = width,
          .height = height,
          .type = type == "i8" ? DataType::kI8 : DataType::kF32};
}

int serve(const std::string& way) {
  std::printf("ready\n");
  std::fflush(stdout);
  std::string format;
  std::string type;
  int width = 0;
  int height = 0;
  for (double milliseconds = 0; std::cin >> format >> width >> height >> type >> milliseconds;) {
    with_way(way, make_job(format, width, height, type),
             [&](const std::function<void()>& run) { report(run, milliseconds); });
  }
  return 0;
}

bool is_known(const std::string& way) {
#ifdef KINGLET_OPENCV
  if (way == "opencv-area" || way == "opencv-linear") return true;
#endif
  return way == "kinglet" || way == "libyuv";
}

int main_of(const std::vector<std::string>& words) {
  if (words.size() == 1 && is_known(words[0])) return serve(words[0]);
  if (words.size() == 7 && words[0] == "once" && is_known(words[1])) {
    const Job job = make_job(words[2], std::stoi(words[3]), std::stoi(words[4]), words[5]);
    with_way(words[1], job, [&](const std::function<void()>& run) {
      for (int i = 0; i < std::stoi(words[6]); ++i) run();
    });
    return 0;
  }
  std::fprintf(stderr,
               "usage: preprocess_worker kinglet|libyuv|opencv-area|opencv-linear (the last two where OpenCV was there "
               "when this was built) | once WAY FORMAT WIDTH HEIGHT f32|i8 N\n");
  return 2;
}

}  // namespace
}  // namespace kinglet::bench

int main(int argc, char** argv) {
  return kinglet::bench::run_worker("preprocess_worker", kinglet::bench::main_of, argc, argv);
}
