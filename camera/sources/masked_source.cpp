// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/masked_source.h"

#include <utility>

#include "camera/decode/to_rgb.h"
#include "camera/frame/frame_copy.h"
#include "camera/frame/paint.h"
#include "camera/source/lease_pool.h"

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

 private:
  const std::unique_ptr<FrameSource> source_;
  const Masks masks_;
  const std::shared_ptr<Pool> pool_;
  MjpegPlanes decoder_;
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
