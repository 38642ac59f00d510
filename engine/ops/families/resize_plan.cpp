// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/resize_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kinglet::engine::ops {
namespace {

struct CoordinatesName {
  std::string_view name;
  Coordinates value;
};
constexpr std::array kCoordinates{CoordinatesName{"half_pixel", Coordinates::kHalfPixel},
                                  CoordinatesName{"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
                                  CoordinatesName{"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
                                  CoordinatesName{"align_corners", Coordinates::kAlignCorners},
                                  CoordinatesName{"asymmetric", Coordinates::kAsymmetric},
                                  CoordinatesName{"tf_crop_and_resize", Coordinates::kCrop}};

}  // namespace

std::optional<Coordinates> coordinates_of(const Attributes& attributes) {
  const std::string_view name = attributes.get_string("coordinate_transformation_mode", "half_pixel");
  const auto at = std::ranges::find(kCoordinates, name, &CoordinatesName::name);
  return at == kCoordinates.end() ? std::nullopt : std::optional(at->value);
}

std::vector<std::size_t> resized_axes(const Attributes& attributes, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : attributes.get_ints("axes")) axes.push_back(axis_index(axis, rank));
  if (attributes.find("axes") == nullptr) {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return axes;
}

std::optional<std::vector<AxisPlan>> plan_axes(const Attributes& attributes, const Shape& x,
                                               const std::vector<std::size_t>& axes, const std::vector<float>& scales,
                                               const std::vector<std::int64_t>& sizes) {
  std::vector<AxisPlan> plan;
  for (const Dim dim : x) plan.push_back({.in = dim, .out = dim, .scale = 1, .length = static_cast<double>(dim)});
  const std::string_view policy = attributes.get_string("keep_aspect_ratio_policy", "stretch");
  std::optional<double> common;
  for (std::size_t i = 0; i < sizes.size() && policy != "stretch"; ++i) {
    const double scale = static_cast<double>(sizes[i]) / static_cast<double>(x[axes[i]]);
    if (!common || (policy == "not_larger" ? scale < *common : scale > *common)) common = scale;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisPlan& axis = plan[axes[i]];
    const auto in = static_cast<double>(axis.in);
    double out = 0;
    if (!scales.empty()) {
      axis.scale = scales[i];
      out = std::floor(scales[i] * static_cast<float>(axis.in));
      axis.length = axis.scale * in;
    } else if (common) {
      axis.scale = *common;
      out = std::floor(*common * in + 0.5);
      axis.length = *common * in;
    } else {
      out = static_cast<double>(sizes[i]);
      axis.scale = in == 0 ? 1 : out / in;
      axis.length = out;
    }
    if (!(out >= 0 && out <= static_cast<double>(kMaxDim) && axis.scale > 0 && std::isfinite(axis.scale))) {
      if (out != 0 || sizes.empty()) return std::nullopt;
    }
    axis.out = static_cast<Dim>(out);
    if (axis.in == 0 && axis.out > 0) return std::nullopt;
  }
  return plan;
}

}  // namespace kinglet::engine::ops
