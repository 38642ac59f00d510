// SPDX-License-Identifier: Apache-2.0
// Why: kLetterbox: the picture is stretched to its size in the input by a preprocessor of that size, with grey beside
// it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "camera/preprocess/geometry.h"
#include "camera/preprocess/preprocess_state.h"

namespace kinglet::camera {

Preprocessor& Preprocessor::State::inner_of(const engine::Fit& fit) {
  const auto found = std::ranges::find_if(inners, [&](const std::unique_ptr<Preprocessor>& have) {
    return have->state_->width == fit.width && have->state_->height == fit.height;
  });
  if (found != inners.end()) return **found;
  engine::Recipe stretched = recipe;
  stretched.resize_mode = engine::ResizeMode::kStretch;
  auto& inner = place_in(inners, next_inner, kKeptKinds);
  inner = std::make_unique<Preprocessor>(std::move(stretched), fit.width, fit.height);
  return *inner;
}

engine::PictureInput Preprocessor::State::letterboxed(engine::Fit fit, const engine::PictureInput& out) {
  engine::PictureInput picture = out;
  picture.width = fit.width;
  picture.height = fit.height;
  if (fit.width != width || fit.height != height) {
    inner_bytes.resize(3 * static_cast<std::size_t>(fit.width) * static_cast<std::size_t>(fit.height) *
                       engine::byte_size(out.type));
    picture.bytes = inner_bytes;
  }
  return picture;
}

void Preprocessor::State::pad_around(const engine::PictureInput& picture, const engine::PictureInput& out) {
  padding.resize(3 * static_cast<std::size_t>(width), static_cast<std::uint8_t>(recipe.pad));
  const std::uint8_t* row = padding.data();
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y)
    normalise[0].write_row<3>({row, row + 1, row + 2}, y, out);
  const bool planar = out.layout == engine::TensorLayout::kNchw;
  const std::size_t pixel = engine::byte_size(out.type) * (planar ? 1 : 3);
  const std::size_t from_row = pixel * static_cast<std::size_t>(picture.width);
  const std::size_t to_row = pixel * static_cast<std::size_t>(width);
  const auto picture_rows = static_cast<std::size_t>(picture.height);
  for (std::size_t plane = 0; plane < (planar ? 3U : 1U); ++plane) {
    const std::byte* from = picture.bytes.data() + plane * picture_rows * from_row;
    std::byte* to = out.bytes.data() + plane * static_cast<std::size_t>(height) * to_row;
    for (std::size_t y = 0; y < picture_rows; ++y) std::memcpy(to + y * to_row, from + y * from_row, from_row);
  }
}

Result<CropRect> Preprocessor::State::run_letterbox(const FrameView& frame, const std::optional<CropRect>& crop,
                                                    std::optional<std::span<const int>> sizes,
                                                    const engine::PictureInput& out, MjpegPlanes& decoder) {
  KINGLET_TRY(check(frame, out));
  const Geometry geometry = KINGLET_TRY(make_geometry(recipe, frame.width, frame.height, crop, width, height));
  const engine::Fit fit = engine::fit_of(recipe.resize_mode, geometry.used.width, geometry.used.height, width, height);
  Preprocessor& inner = inner_of(fit);
  const engine::PictureInput picture = letterboxed(fit, out);
  const CropRect used = sizes ? KINGLET_TRY(inner.run_part(frame, geometry.used, *sizes, picture, decoder))
                              : KINGLET_TRY(inner.run(frame, crop, picture, decoder));
  if (picture.bytes.data() != out.bytes.data()) pad_around(picture, out);
  return used;
}

Result<CropRect> Preprocessor::State::run_reduced_letterbox(const FrameView& still, ImageSize size,
                                                            const std::optional<CropRect>& crop,
                                                            const engine::PictureInput& out) {
  KINGLET_TRY(check(still, out));
  const Geometry geometry = KINGLET_TRY(make_geometry(recipe, size.width, size.height, crop, width, height));
  const engine::Fit fit = engine::fit_of(recipe.resize_mode, geometry.used.width, geometry.used.height, width, height);
  Preprocessor& inner = inner_of(fit);
  const engine::PictureInput picture = letterboxed(fit, out);
  const CropRect used = KINGLET_TRY(inner.run_reduced(still, size, crop, picture));
  if (picture.bytes.data() != out.bytes.data()) pad_around(picture, out);
  return used;
}

}  // namespace kinglet::camera
