// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/yuv_resample.h"

#include <algorithm>

#include "camera/preprocess/resample/plane_boxes.h"
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

// The channels that are made together: those of a plane, and U and V also where each has one, of the same shape.
std::vector<std::vector<std::size_t>> jobs_of(const YuvLayout& layout) {
  const auto& [y, u, v] = layout;
  if (y.plane == u.plane) return {{0, 1, 2}};
  const bool alike = u.plane == v.plane || (u.plane + 1 == v.plane && u.layout.step == v.layout.step &&
                                            u.coarser_x == v.coarser_x && u.coarser_y == v.coarser_y);
  if (alike) return {{0}, {1, 2}};
  return {{0}, {1}, {2}};
}

struct Filter {
  std::vector<PlaneResample::Channel> channels;
  AxisWeights rows;
};

// Narrower by what `boxes` widen it.
Filter filter_of(const YuvLayout& layout, const Geometry& geometry, const engine::Recipe& recipe,
                 const std::vector<std::size_t>& together, const Boxes& boxes) {
  const Antialias antialias = recipe.antialias ? Antialias::kOn : Antialias::kOff;
  const YuvChannel& finest = layout[together.front()];
  Filter filter{{},
                make_weights(in_samples(geometry.rows, finest.coarser_y), recipe.interpolation, antialias, boxes.rows)};
  for (const std::size_t c : together) {
    const int side = std::max(1, boxes.columns * finest.coarser_x / layout[c].coarser_x);
    filter.channels.push_back({layout[c].layout, make_weights(in_samples(geometry.columns, layout[c].coarser_x),
                                                              recipe.interpolation, antialias, side)});
  }
  return filter;
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
  for (const std::vector<std::size_t>& together : jobs_of(layout)) add_job(layout, geometry, recipe, together);
  for (auto& row : yuv_) row.resize(static_cast<std::size_t>(geometry.columns.keep));
  for (auto& row : rgb_) row.resize(static_cast<std::size_t>(geometry.columns.keep));
}

void YuvResample::add_job(const YuvLayout& layout, const Geometry& geometry, const engine::Recipe& recipe,
                          const std::vector<std::size_t>& together) {
  const YuvChannel& finest = layout[together.front()];
  // Only a filter that means all pixels can have them in boxes.
  const bool boxed = recipe.antialias && recipe.interpolation == engine::Interpolation::kBilinear;
  const Boxes boxes =
      boxed ? boxes_for(in_samples(geometry.columns, finest.coarser_x), in_samples(geometry.rows, finest.coarser_y))
            : Boxes{};
  const Filter filter = filter_of(layout, geometry, recipe, together, boxes);
  if (std::optional<PlaneReduce> reduce = PlaneReduce::make(filter.channels, filter.rows, boxes)) {
    jobs_.push_back({finest.plane, std::move(*reduce), together});
  } else if (finest.plane != layout[together.back()].plane) {
    for (const std::size_t c : together) add_job(layout, geometry, recipe, {c});
  } else {
    const Filter whole = boxes.any() ? filter_of(layout, geometry, recipe, together, Boxes{}) : filter;
    jobs_.push_back({finest.plane, PlaneResample(whole.channels, whole.rows), together});
  }
}

std::array<const std::uint8_t*, 3> YuvResample::rgb_row(const std::array<Plane, 3>& planes, std::size_t y) {
  for (Job& job : jobs_) {
    std::array<std::uint8_t*, 3> rows{};
    for (std::size_t i = 0; i < job.channels.size(); ++i) rows[i] = yuv_[job.channels[i]].data();
    const std::span outputs = std::span(rows).first(job.channels.size());
    std::visit([&](auto& resample) { resample.run_row(std::span(planes).subspan(job.plane), y, outputs); },
               job.resample);
  }
  yuv_row_to_rgb(factors_, {yuv_[0].data(), yuv_[1].data(), yuv_[2].data()}, rgb_[0].size(),
                 {rgb_[0].data(), rgb_[1].data(), rgb_[2].data()});
  return {rgb_[0].data(), rgb_[1].data(), rgb_[2].data()};
}

}  // namespace kinglet::camera
