// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/mjpeg_planes.h"

#include <libyuv.h>
#include <turbojpeg.h>

#include <algorithm>
#include <string_view>

#include "camera/frame/packed_frame.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

// The decoder's smallest half, quarter or eighth that still has a third more pixels a side than are asked for.
tjscalingfactor reduction(const FrameView& view, int min_width, int min_height) {
  for (const int denominator : {8, 4, 2}) {
    const tjscalingfactor factor{1, denominator};
    if (3 * TJSCALED(view.width, factor) >= 4 * min_width && 3 * TJSCALED(view.height, factor) >= 4 * min_height) {
      return factor;
    }
  }
  return {1, 1};
}

// libjpeg calls many things a warning; those that leave the pixels whole are not our concern.
bool is_harmless(std::string_view warning) { return warning.find("extraneous bytes") != std::string_view::npos; }

}  // namespace

void MjpegPlanes::HandleDeleter::operator()(void* handle) const { tjDestroy(handle); }

bool MjpegPlanes::has(const FrameView& view, int min_width, int min_height) const {
  const std::span<const std::byte> bytes = view.planes[0].bytes;
  if (decoded_.data() != bytes.data() || decoded_.size() != bytes.size()) return false;
  const tjscalingfactor factor = reduction(view, min_width, min_height);
  return width_ >= TJSCALED(view.width, factor) && height_ >= TJSCALED(view.height, factor);
}

Result<void> MjpegPlanes::decode(const FrameView& view, int min_width, int min_height) {
  if (has(view, min_width, min_height)) return {};
  forget();
  if (!handle_) handle_.reset(tjInitDecompress());
  if (!handle_) return fail(ErrorCode::kInternal, "the JPEG decoder cannot start");
  const auto* bytes = reinterpret_cast<const unsigned char*>(view.planes[0].bytes.data());
  const auto size = static_cast<unsigned long>(view.planes[0].bytes.size());
  int width = 0;
  int height = 0;
  int subsampling = -1;
  int color = -1;
  const int header = tjDecompressHeader3(handle_.get(), bytes, size, &width, &height, &subsampling, &color);
  if (header != 0 || width <= 0 || height <= 0) {
    return fail(ErrorCode::kBadData, "MJPEG frame is not a JPEG: " + printable(tjGetErrorStr2(handle_.get())));
  }
  if (width != view.width || height != view.height) {
    return fail(ErrorCode::kBadData, format_text("MJPEG frame of {}x{} pixels, the camera promised {}x{}", width,
                                                 height, view.width, view.height));
  }
  if (color != TJCS_YCbCr && color != TJCS_GRAY) {
    return fail(ErrorCode::kBadData, "MJPEG frame is neither YCbCr nor gray");
  }
  KINGLET_TRY(prepare(view, subsampling, min_width, min_height));
  std::array<unsigned char*, 3> pointers{};
  std::array<int, 3> strides{};
  for (std::size_t i = 0; i < 3; ++i) {
    pointers[i] = buffers_[i].data();
    strides[i] = static_cast<int>(planes_[i].stride);
  }
  // At half its size the colours of 4:2:0 would be read with tables of the quick transform that are not for the one
  // they go through. What is reduced has transforms of its own, whatever is wished for the others.
  const int transform = width_ == view.width ? TJFLAG_FASTDCT : TJFLAG_ACCURATEDCT;
  const int status = tjDecompressToYUVPlanes(handle_.get(), bytes, size, pointers.data(), width_, strides.data(),
                                             height_, TJFLAG_LIMITSCANS | transform);
  if (status != 0 && !(tjGetErrorCode(handle_.get()) == TJERR_WARNING && is_harmless(tjGetErrorStr2(handle_.get())))) {
    return fail(ErrorCode::kBadData, "MJPEG frame is damaged: " + printable(tjGetErrorStr2(handle_.get())));
  }
  decoded_ = view.planes[0].bytes;
  return {};
}

std::optional<FrameView> MjpegPlanes::as_video(std::vector<std::byte>& bytes) const {
  const bool half_wide = layout_[1].coarser_x == 2 && layout_[2].coarser_x == 2;
  const int coarser_y = layout_[1].coarser_y;
  const bool fits = gray_ || (half_wide && coarser_y <= 2 && coarser_y == layout_[2].coarser_y);
  if (!fits || width_ % 2 != 0 || height_ % 2 != 0) return std::nullopt;
  const bool yuyv = !gray_ && coarser_y == 1;
  FrameView shape{.format = yuyv ? PixelFormat::kYuyv : PixelFormat::kYuv420, .width = width_, .height = height_};
  bytes.resize(packed_size(shape));
  auto* out = reinterpret_cast<std::uint8_t*>(bytes.data());
  const auto source = [this](std::size_t plane) { return buffers_[plane].data(); };
  const auto stride = [this](std::size_t plane) { return static_cast<int>(planes_[plane].stride); };
  if (yuyv) {
    libyuv::I422ToYUY2(source(0), stride(0), source(1), stride(1), source(2), stride(2), out, 2 * width_, width_,
                       height_);
  } else {
    const std::size_t luma = static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
    libyuv::CopyPlane(source(0), stride(0), out, width_, width_, height_);
    for (const std::size_t plane : {1U, 2U}) {
      std::uint8_t* to = out + luma + (plane - 1) * (luma / 4);
      libyuv::CopyPlane(source(plane), stride(plane), to, width_ / 2, width_ / 2, height_ / 2);
    }
  }
  const auto view = packed_view(shape, bytes);
  return view ? std::optional(*view) : std::nullopt;
}

Result<void> MjpegPlanes::prepare(const FrameView& view, int subsampling, int min_width, int min_height) {
  constexpr std::int64_t kMaxPixels = 64'000'000;
  if (subsampling < 0 || subsampling >= TJ_NUMSAMP || std::int64_t{view.width} * view.height > kMaxPixels) {
    return fail(ErrorCode::kBadData, "MJPEG frame has an unusual subsampling or more than 64 megapixels");
  }
  const tjscalingfactor factor = reduction(view, min_width, min_height);
  width_ = TJSCALED(view.width, factor);
  height_ = TJSCALED(view.height, factor);
  const bool gray = subsampling == TJSAMP_GRAY;
  gray_ = gray;
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    // Gray has no chroma: neutral planes stand in for it.
    const bool absent = gray && i > 0;
    const int stride = absent ? width_ : tjPlaneWidth(i, width_, subsampling);
    const int rows = absent ? height_ : tjPlaneHeight(i, height_, subsampling);
    buffers_[at].resize(static_cast<std::size_t>(stride) * static_cast<std::size_t>(rows), 128);
    if (absent) std::ranges::fill(buffers_[at], static_cast<unsigned char>(128));
    planes_[at] = {std::as_bytes(std::span(buffers_[at])), static_cast<std::size_t>(stride)};
    const bool coarse = i > 0 && !gray;
    layout_[at] = {at, {1, 0}, coarse ? tjMCUWidth[subsampling] / 8 : 1, coarse ? tjMCUHeight[subsampling] / 8 : 1};
  }
  return {};
}

}  // namespace kinglet::camera
