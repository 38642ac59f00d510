// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/masked_source.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "camera/decode/to_rgb.h"
#include "camera/frame/frame_copy.h"
#include "camera/source/lease_pool.h"
#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

// One in the mailbox, one being looked at, one prepared meanwhile, one being filled.
constexpr std::size_t kBuffers = 4;
struct Pixels {
  std::vector<std::byte> full;
  std::vector<std::byte> small;
};
using Pool = LeasePool<Pixels, kBuffers>;

bool has_small(const Frame& frame) {
  return frame.small().planes[0].bytes.data() != frame.view().planes[0].bytes.data();
}

class MaskedSource final : public FrameSource {
 public:
  MaskedSource(std::unique_ptr<FrameSource> source, std::vector<Area> masks)
      : source_(std::move(source)), masks_(std::move(masks)), pool_(std::make_shared<Pool>()) {}

  Result<void> start() override {
    pool_->set_running(true);
    return source_->start();
  }
  void stop() override {
    pool_->set_running(false);
    source_->stop();
  }

  Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) override {
    // The buffer first: a frame that nobody can take would keep the camera's own buffer meanwhile.
    Pool::Loan loan;
    if (const Waited waited = pool_->take(deadline, loan); waited != Waited::kDone) return no_frame(waited);
    std::variant<Frame, NoFrame> taken = KINGLET_TRY(source_->next(deadline));
    const auto* frame = std::get_if<Frame>(&taken);
    if (frame == nullptr) return taken;
    const SteadyTime now = SteadyClock::now();
    // Half: one that is a moment early is not left out, where the next one comes after as long again.
    if (now - painted_at_ < wanted_every_ / 2) return no_frame(Waited::kDeadline);
    painted_at_ = now;
    const FrameView view = KINGLET_TRY(masks_.painted(frame->view(), loan->full, decoder_));
    FrameView small = view;
    if (has_small(*frame)) small = KINGLET_TRY(masks_.painted(frame->small(), loan->small, decoder_));
    pool_->fit(loan->full.size() + loan->small.size());
    return std::move(loan).into_frame(view, small, frame->info());
  }

  [[nodiscard]] int depth() const override { return pool_->depth(); }
  [[nodiscard]] std::string description() const override { return source_->description(); }
  [[nodiscard]] std::uint64_t dropped_count() const override { return source_->dropped_count(); }
  [[nodiscard]] SteadyClock::duration longest_start() const override { return source_->longest_start(); }
  [[nodiscard]] SteadyClock::duration longest_pause() const override { return source_->longest_pause(); }
  [[nodiscard]] bool settles() const override { return source_->settles(); }
  [[nodiscard]] bool works_unwanted() const override { return source_->works_unwanted(); }
  void want_every(SteadyClock::duration pause) override {
    wanted_every_ = pause;
    source_->want_every(pause);
  }

 private:
  const std::unique_ptr<FrameSource> source_;
  const Masks masks_;
  const std::shared_ptr<Pool> pool_;
  MjpegPlanes decoder_;
  SteadyClock::duration wanted_every_{};
  SteadyTime painted_at_{};
};

FrameView view_of_rgb(int width, int height, std::span<const std::byte> bytes) {
  FrameView view{.format = PixelFormat::kRgb888, .width = width, .height = height};
  view.planes[0] = {bytes, static_cast<std::size_t>(width) * 3};
  view.plane_count = 1;
  return view;
}

// In the form that the gate and the model read without a detour; few pictures have none.
Result<FrameView> decoded(const FrameView& jpeg, std::vector<std::byte>& bytes, MjpegPlanes& decoder) {
  decoder.forget();
  if (decoder.decode(jpeg, jpeg.width, jpeg.height)) {
    if (const auto video = decoder.as_video(bytes)) return *video;
  }
  Image image = KINGLET_TRY(to_rgb(jpeg));
  bytes.swap(image.rgb);
  return view_of_rgb(image.width, image.height, bytes);
}

struct Box {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
};

// Whole pixels that the area touches, widened to even ones where chroma is shared.
Box touched_pixels(const Area& area, const FrameView& view) {
  const bool pairs = view.format != PixelFormat::kRgb888;
  const auto low = [&](double at, int side) {
    const int pixel = std::clamp(static_cast<int>(std::floor(at * side)), 0, side);
    return pairs ? pixel / 2 * 2 : pixel;
  };
  const auto high = [&](double at, int side) {
    // A hair less: 0.1 + 0.2 must not reach into the next pixel.
    const int pixel = std::clamp(static_cast<int>(std::ceil(at * side - 1e-6)), 0, side);
    return pairs ? std::min(side, (pixel + 1) / 2 * 2) : pixel;
  };
  return {low(area.left, view.width), low(area.top, view.height), high(area.left + area.width, view.width),
          high(area.top + area.height, view.height)};
}

class Brush {
 public:
  Brush(const FrameView& view, std::span<std::byte> bytes) : view_(view), bytes_(bytes) {}

  // `value` into the plane's rows from top to bottom, bytes from left to right.
  void fill(std::size_t plane, int left, int right, int top, int bottom, std::uint8_t value) {
    for (int y = top; y < bottom; ++y) std::ranges::fill(row(plane, y, left, right), std::byte{value});
  }
  [[nodiscard]] std::span<std::byte> row(std::size_t plane, int y, int left, int right) const {
    const Plane& shown = view_.planes[plane];
    const std::ptrdiff_t begin = shown.bytes.data() - bytes_.data();
    KINGLET_CHECK(begin >= 0 && static_cast<std::size_t>(begin) + shown.bytes.size() <= bytes_.size());
    return bytes_.subspan(static_cast<std::size_t>(begin), shown.bytes.size())
        .subspan(static_cast<std::size_t>(y) * shown.stride + static_cast<std::size_t>(left),
                 static_cast<std::size_t>(right - left));
  }

 private:
  const FrameView& view_;
  std::span<std::byte> bytes_;
};

void blacken_box(const Box& box, const FrameView& view, std::span<std::byte> bytes) {
  constexpr std::uint8_t kNoColour = 128;
  const std::uint8_t black = view.range == ColorRange::kLimited ? 16 : 0;
  Brush brush(view, bytes);
  switch (view.format) {
    case PixelFormat::kRgb888:
      return brush.fill(0, 3 * box.left, 3 * box.right, box.top, box.bottom, 0);
    case PixelFormat::kYuyv:
      for (int y = box.top; y < box.bottom; ++y) {
        const std::span<std::byte> row = brush.row(0, y, 2 * box.left, 2 * box.right);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::byte{i % 2 == 0 ? black : kNoColour};
      }
      return;
    case PixelFormat::kNv12:
      brush.fill(0, box.left, box.right, box.top, box.bottom, black);
      return brush.fill(1, box.left, box.right, box.top / 2, box.bottom / 2, kNoColour);
    case PixelFormat::kYuv420:
      brush.fill(0, box.left, box.right, box.top, box.bottom, black);
      for (const std::size_t plane : {1U, 2U}) {
        brush.fill(plane, box.left / 2, box.right / 2, box.top / 2, box.bottom / 2, kNoColour);
      }
      return;
    case PixelFormat::kMjpeg:
      break;
  }
  KINGLET_CHECK(view.format != PixelFormat::kMjpeg);
}

// The pixels of `areas`, in 4:2:0 and 4:2:2 up to the next whole pair. `view` shows `bytes`, in any format but kMjpeg.
void blacken(std::span<const Area> areas, const FrameView& view, std::span<std::byte> bytes) {
  for (const Area& area : areas) blacken_box(touched_pixels(area, view), view, bytes);
}

}  // namespace

Result<FrameView> Masks::painted(const FrameView& view, std::vector<std::byte>& bytes) const {
  MjpegPlanes decoder;
  return painted(view, bytes, decoder);
}

Result<FrameView> Masks::painted(const FrameView& view, std::vector<std::byte>& bytes, MjpegPlanes& decoder) const {
  if (areas_.empty()) return view;
  KINGLET_TRY(check_view(view));
  FrameView copy;
  if (view.format == PixelFormat::kMjpeg) {
    copy = KINGLET_TRY(decoded(view, bytes, decoder));
  } else {
    copy_view(view, bytes, copy);
  }
  blacken(areas_, copy, bytes);
  return copy;
}

std::unique_ptr<FrameSource> with_masks(std::unique_ptr<FrameSource> source, std::vector<Area> masks) {
  if (masks.empty()) return source;
  return std::make_unique<MaskedSource>(std::move(source), std::move(masks));
}

}  // namespace kinglet::camera
