// SPDX-License-Identifier: Apache-2.0
// Why: what a preprocessor keeps from frame to frame, for its two files: preprocess.cpp, and letterbox.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "camera/preprocess/brightness.h"
#include "camera/preprocess/mjpeg_planes.h"
#include "camera/preprocess/normalise.h"
#include "camera/preprocess/preprocess.h"
#include "camera/preprocess/yuv_resample.h"

namespace kinglet::camera {

// What fixes the tables; a frame with another key makes new ones.
struct PreprocessKey {
  PixelFormat format = PixelFormat::kRgb888;
  int width = 0;
  int height = 0;
  ColorMatrix matrix = ColorMatrix::kBt601;
  ColorRange range = ColorRange::kFull;
  std::optional<CropRect> crop;
  YuvLayout layout;
  int plane_width = 0;
  int plane_height = 0;
};

// One more of those that are kept; in place of the one that came first where there are `most`.
template <typename T>
T& place_in(std::vector<T>& kept, std::size_t& next, std::size_t most) {
  if (kept.size() < most) return kept.emplace_back();
  next %= most;
  return kept[next++];
}

struct Preprocessor::State {
  // What one geometry needs.
  struct Tables {
    bool ready = false;  // they belong to `key`
    PreprocessKey key;
    CropRect used;
    PillowResize still;
    YuvResample video;
  };

  engine::Recipe recipe;
  int width;
  int height;
  std::vector<Tables> wholes;
  std::size_t next_whole = 0;        // to go, when there are too many
  std::vector<Tables> parts;         // of one size each
  std::size_t next_victim = 0;       // the same
  std::vector<PreprocessKey> kinds;  // of the frames whose sizes have been made; without a crop
  std::size_t next_kind = 0;         // the same
  std::vector<std::byte> still_rgb;
  std::vector<std::uint8_t> narrowed;
  MjpegPlanes mjpeg;
  std::array<Normalise, kGains.size()> normalise;
  // kLetterbox: the picture is stretched to its size in the input by another one, aside unless it fills it.
  std::vector<std::unique_ptr<Preprocessor>> inners;
  std::size_t next_inner = 0;
  std::vector<std::byte> inner_bytes;
  std::vector<std::uint8_t> padding;  // a row

  [[nodiscard]] Result<void> check(const FrameView& frame, const engine::PictureInput& out);
  [[nodiscard]] Result<void> check_tensor(const engine::PictureInput& out) const;
  [[nodiscard]] Result<void> make_tables(Tables& tables, const PreprocessKey& wanted,
                                         const std::optional<CropRect>& crop);
  [[nodiscard]] Result<Tables*> whole_of(const PreprocessKey& key, const std::optional<CropRect>& crop);
  [[nodiscard]] Result<void> make_sizes(const PreprocessKey& kind, std::span<const int> sizes);
  [[nodiscard]] Preprocessor& inner_of(const engine::Fit& fit);
  [[nodiscard]] Result<Tables*> tables_of(PreprocessKey key, int part_width, int part_height);
  [[nodiscard]] Result<PreprocessKey> key_of(const FrameView& frame, const std::optional<CropRect>& crop,
                                             MjpegPlanes& decoder);
  // `sizes`: as of run_part; nothing: as of run.
  [[nodiscard]] Result<CropRect> run_letterbox(const FrameView& frame, const std::optional<CropRect>& crop,
                                               std::optional<std::span<const int>> sizes,
                                               const engine::PictureInput& out, MjpegPlanes& decoder);
  [[nodiscard]] Result<CropRect> run_reduced_letterbox(const FrameView& still, ImageSize size,
                                                       const std::optional<CropRect>& crop,
                                                       const engine::PictureInput& out);
  // Where the stretched picture goes, by `inner`: all of the input, or aside.
  [[nodiscard]] engine::PictureInput letterboxed(engine::Fit fit, const engine::PictureInput& out);
  void pad_around(const engine::PictureInput& picture, const engine::PictureInput& out);
  // `gain`: a place in kGains.
  void run_still(const Tables& tables, const Plane& rgb, std::size_t gain, const engine::PictureInput& out);
  void run_video(Tables& tables, const std::array<Plane, 3>& planes, std::size_t gain, const engine::PictureInput& out);
};

}  // namespace kinglet::camera
