// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/yuv_resample.h"

#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

// The same stretch of the picture, counted in samples that are `coarser` times as wide.
AxisSpan in_samples(AxisSpan span, int coarser) {
  span.input_size = (span.input_size + coarser - 1) / coarser;
  span.begin /= coarser;
  span.length /= coarser;
  return span;
}

}  // namespace

YuvLayout yuv_layout(PixelFormat format) {
  switch (format) {
    case PixelFormat::kNv12:
      return {{{0, {1, 0}, 1, 1}, {1, {2, 0}, 2, 2}, {1, {2, 1}, 2, 2}}};
    case PixelFormat::kYuv420:
      return {{{0, {1, 0}, 1, 1}, {1, {1, 0}, 2, 2}, {2, {1, 0}, 2, 2}}};
    case PixelFormat::kYuyv:
      return {{{0, {2, 0}, 1, 1}, {0, {4, 1}, 2, 1}, {0, {4, 3}, 2, 1}}};
    default:
      KINGLET_CHECK(false && "a YCbCr format");
      return {};
  }
}

YuvResample::YuvResample(const YuvLayout& layout, const Geometry& geometry, const engine::Recipe& recipe,
                         const YuvFactors& factors)
    : factors_(factors) {
  const Antialias antialias = recipe.antialias ? Antialias::kOn : Antialias::kOff;
  for (std::size_t plane = 0; plane < 3; ++plane) {
    std::vector<PlaneResample::Channel> channels;
    std::vector<std::size_t> indices;
    int coarser_y = 1;
    for (std::size_t c = 0; c < 3; ++c) {
      if (layout[c].plane != plane) continue;
      channels.push_back({layout[c].layout, make_weights(in_samples(geometry.columns, layout[c].coarser_x),
                                                         recipe.interpolation, antialias)});
      indices.push_back(c);
      coarser_y = layout[c].coarser_y;
    }
    if (channels.empty()) continue;
    AxisWeights rows = make_weights(in_samples(geometry.rows, coarser_y), recipe.interpolation, antialias);
    std::optional<PlaneReduce> reduce = PlaneReduce::make(channels, rows);
    if (reduce) {
      jobs_.push_back({plane, std::move(*reduce), std::move(indices)});
    } else {
      jobs_.push_back({plane, PlaneResample(channels, std::move(rows)), std::move(indices)});
    }
  }
  for (auto& row : yuv_) row.resize(static_cast<std::size_t>(geometry.columns.keep));
  for (auto& row : rgb_) row.resize(static_cast<std::size_t>(geometry.columns.keep));
}

std::array<const std::uint8_t*, 3> YuvResample::rgb_row(const std::array<Plane, 3>& planes, std::size_t y) {
  for (Job& job : jobs_) {
    std::array<std::uint8_t*, 3> rows{};
    for (std::size_t i = 0; i < job.channels.size(); ++i) rows[i] = yuv_[job.channels[i]].data();
    const std::span outputs = std::span(rows).first(job.channels.size());
    std::visit([&](auto& resample) { resample.run_row(planes[job.plane], y, outputs); }, job.resample);
  }
  yuv_row_to_rgb(factors_, {yuv_[0].data(), yuv_[1].data(), yuv_[2].data()}, rgb_[0].size(),
                 {rgb_[0].data(), rgb_[1].data(), rgb_[2].data()});
  return {rgb_[0].data(), rgb_[1].data(), rgb_[2].data()};
}

}  // namespace kinglet::camera
