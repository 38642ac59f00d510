// SPDX-License-Identifier: Apache-2.0
#include "camera/masked_source.h"

#include <utility>

#include "camera/frame_copy.h"
#include "camera/paint.h"
#include "camera/preprocess/preprocess.h"
#include "camera/sources/lease_pool.h"

namespace kinglet::camera {
namespace {

// One in the mailbox, one being looked at, one prepared meanwhile, one being filled.
constexpr std::size_t kBuffers = 4;
using Pool = LeasePool<std::vector<std::byte>, kBuffers>;

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
    const FrameView view = KINGLET_TRY(masks_.painted(frame->view(), *loan));
    return std::move(loan).into_frame(view, frame->info());
  }

  [[nodiscard]] int depth() const override { return static_cast<int>(kBuffers); }
  [[nodiscard]] std::string description() const override { return source_->description(); }
  [[nodiscard]] std::uint64_t dropped_count() const override { return source_->dropped_count(); }
  [[nodiscard]] SteadyClock::duration longest_pause() const override { return source_->longest_pause(); }
  [[nodiscard]] bool settles() const override { return source_->settles(); }

 private:
  const std::unique_ptr<FrameSource> source_;
  const Masks masks_;
  const std::shared_ptr<Pool> pool_;
};

FrameView view_of_rgb(int width, int height, std::span<const std::byte> bytes) {
  FrameView view{.format = PixelFormat::kRgb888, .width = width, .height = height};
  view.planes[0] = {bytes, static_cast<std::size_t>(width) * 3};
  view.plane_count = 1;
  return view;
}

}  // namespace

Result<FrameView> Masks::painted(const FrameView& view, std::vector<std::byte>& bytes) const {
  if (areas_.empty()) return view;
  KINGLET_TRY(check_view(view));
  FrameView copy;
  if (view.format == PixelFormat::kMjpeg) {
    Image image = KINGLET_TRY(to_rgb(view));
    bytes.swap(image.rgb);
    copy = view_of_rgb(image.width, image.height, bytes);
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
