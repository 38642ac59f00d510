// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/opencv_way.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace kinglet::bench {

using camera::PixelFormat;

struct OpencvWay::State {
  OpencvJob job;
  cv::Mat rgb;
  cv::Mat small;
  cv::Mat table;
};

OpencvWay::OpencvWay(const OpencvJob& job) : state_(std::make_unique<State>()) {
  cv::setNumThreads(1);
  state_->job = job;
  state_->table.create(1, 256, CV_8UC3);
  for (int pixel = 0; pixel < 256; ++pixel) {
    for (int channel = 0; channel < 3; ++channel) {
      const auto c = static_cast<std::size_t>(channel);
      const float x = (static_cast<float>(pixel) - job.mean[c]) / job.std[c];
      const float step = std::nearbyint(x / job.scale) + static_cast<float>(job.zero_point);
      const auto byte = static_cast<std::int8_t>(std::clamp(step, -128.0F, 127.0F));
      state_->table.at<cv::Vec3b>(0, pixel)[channel] = static_cast<std::uint8_t>(byte);
    }
  }
}
OpencvWay::OpencvWay(OpencvWay&&) noexcept = default;
OpencvWay& OpencvWay::operator=(OpencvWay&&) noexcept = default;
OpencvWay::~OpencvWay() = default;

void OpencvWay::run(const camera::FrameView& frame, std::byte* out) {
  State& state = *state_;
  const OpencvJob& job = state.job;
  // The frames of the bench have no padding, so all planes are one matrix, as OpenCV wants them.
  auto* first = const_cast<std::byte*>(frame.planes[0].bytes.data());  // cv::Mat has no view of constants
  const bool packed = frame.format == PixelFormat::kYuyv;
  const cv::Mat whole(packed ? frame.height : frame.height * 3 / 2, frame.width, packed ? CV_8UC2 : CV_8UC1, first);
  cv::cvtColor(whole, state.rgb,
               packed                                 ? cv::COLOR_YUV2RGB_YUY2
               : frame.format == PixelFormat::kYuv420 ? cv::COLOR_YUV2RGB_I420
                                                      : cv::COLOR_YUV2RGB_NV12);
  cv::resize(state.rgb, state.small, {job.side, job.side}, 0, 0, job.area ? cv::INTER_AREA : cv::INTER_LINEAR);
  if (job.integers) {
    cv::Mat integers(job.side, job.side, CV_8UC3, out);
    cv::LUT(state.small, state.table, integers);
    return;
  }
  cv::Mat floats(job.side, job.side, CV_32FC3, out);
  state.small.convertTo(floats, CV_32FC3);
  cv::subtract(floats, cv::Scalar(job.mean[0], job.mean[1], job.mean[2]), floats);
  cv::multiply(floats, cv::Scalar(1 / job.std[0], 1 / job.std[1], 1 / job.std[2]), floats);
}

}  // namespace kinglet::bench
