// SPDX-License-Identifier: Apache-2.0
// Why: pixels to the model's input tensor, by the model's recipe.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "camera/frame/frame.h"
#include "engine/base/area.h"
#include "engine/base/error.h"
#include "engine/recipe/picture_input.h"
#include "engine/recipe/recipe.h"

namespace kinglet::camera {

class MjpegPlanes;

// Holds tables and row buffers; they are made on the first frame of a size and kept, for kKeptKinds of frames, which
// several cameras may have, so that the steady state allocates nothing. Thread-bound.
class Preprocessor {
 public:
  Preprocessor(engine::Recipe recipe, int model_width, int model_height);
  Preprocessor(Preprocessor&&) noexcept;
  Preprocessor& operator=(Preprocessor&&) noexcept;
  ~Preprocessor();

  // Stills (kRgb888): bit for bit Pillow's resize before normalisation. Video formats: one pass over the pixels.
  // `crop` absent: what the recipe says of the whole frame. kBadData: a crop outside the frame, planes too short for
  // size and stride, an undecodable MJPEG frame.
  [[nodiscard]] Result<CropRect> run(const FrameView& frame, const std::optional<CropRect>& crop,
                                     const engine::PictureInput& out);
  // The same; what `decoder` has decoded of this frame is not decoded again.
  [[nodiscard]] Result<CropRect> run(const FrameView& frame, const std::optional<CropRect>& crop,
                                     const engine::PictureInput& out, MjpegPlanes& decoder);
  // The same of a still that shows a picture of `size` in fewer pixels (decode_image), as if all were there: the crop
  // is one of that picture.
  [[nodiscard]] Result<CropRect> run_reduced(const FrameView& still, ImageSize size,
                                             const std::optional<CropRect>& crop, const engine::PictureInput& out);
  // A part of a frame of which each frame has other ones: as if it were the whole picture, nothing beside it is read,
  // so that its tables are those of its size, wherever it lies. The tables of each size in `sizes` (squares, in pixels)
  // are made with the first part of a frame of this kind, those of others when they come, and kKeptSizes a kind are
  // kept. x, y and the size are best multiples of kPartStep: others are taken a chroma sample aside. A dark part is
  // shown brighter (brightness.h).
  static constexpr int kPartStep = 8;
  static constexpr std::size_t kKeptSizes = 64;
  static constexpr std::size_t kKeptKinds = 8;
  [[nodiscard]] Result<CropRect> run_part(const FrameView& frame, const CropRect& part, std::span<const int> sizes,
                                          const engine::PictureInput& out, MjpegPlanes& decoder);
  // How many pixels of the whole frame a JPEG has to be decoded to for that. Nothing: the crop is none.
  [[nodiscard]] std::optional<ImageSize> needed(const FrameView& frame, const std::optional<CropRect>& crop) const;

  [[nodiscard]] const engine::Recipe& recipe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How many pixels of a photograph of this size are enough for a model of this input, which has room for `width` x
// `height` pixels: twice as many a side as it takes, where an answer changes by no more than what another resize would
// change (docs/benchmarks.md). Pure. A crop that is none needs all.
[[nodiscard]] ImageSize enough_pixels(const engine::Recipe& recipe, ImageSize input, ImageSize picture,
                                      const std::optional<CropRect>& crop);

// Pillow's resize on 8-bit RGB (BILINEAR, BICUBIC or NEAREST with box), exact: 0 LSB.
[[nodiscard]] Result<Image> resize_like_pillow(const FrameView& rgb, const CropRect& box, int width, int height,
                                               engine::Interpolation interpolation);

}  // namespace kinglet::camera
