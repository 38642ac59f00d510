// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/paced_source.h"

#include <algorithm>

#include "camera/decode/to_yuv420.h"

namespace kinglet::camera {
namespace {

FrameView view_of(const MadePicture& picture) {
  if (!picture.yuv420.empty()) return view_of_yuv420(picture.size, picture.yuv420);
  if (picture.jpeg.empty()) return picture.image.view();
  FrameView view{.format = PixelFormat::kMjpeg, .width = picture.size.width, .height = picture.size.height};
  view.planes[0] = {.bytes = picture.jpeg, .stride = 0};
  view.plane_count = 1;
  return view;
}

}  // namespace

PacedSource::PacedSource(SteadyClock::duration period, Late late, Shows shows)
    : period_(period), late_(late), shows_(shows), buffers_(std::make_shared<Buffers>()) {}

Result<void> PacedSource::start() {
  KINGLET_TRY(rewind());
  sequence_ = 0;
  dropped_ = 0;
  due_ = SteadyClock::now();
  begun_ = {};
  buffers_->set_running(true);
  return {};
}

void PacedSource::stop() { buffers_->set_running(false); }

void PacedSource::want_every(SteadyClock::duration pause) {
  if (rests()) skip_late();  // nobody's loss
  wanted_every_ = pause;
}

std::uint64_t PacedSource::skip_late() {
  const SteadyTime now = SteadyClock::now();
  if (late_ != Late::kSkip || period_ == period_.zero() || now < due_) return 0;
  const auto late = static_cast<std::uint64_t>((now - due_) / period_);
  sequence_ += late;
  due_ += static_cast<SteadyClock::rep>(late) * period_;
  return late;
}

Waited PacedSource::wait_until_due(SteadyTime deadline) {
  const Waited waited = buffers_->wait(rests() ? std::max(due_, begun_ + wanted_every_) : due_, deadline);
  if (waited != Waited::kDone) return waited;
  const std::uint64_t skipped = skip_late();
  if (!rests()) dropped_ += skipped;
  return waited;
}

Result<std::variant<Frame, NoFrame>> PacedSource::next(SteadyTime deadline) {
  while (true) {
    if (const Waited waited = wait_until_due(deadline); waited != Waited::kDone) return no_frame(waited);
    Buffers::Loan loan;
    if (const Waited waited = buffers_->take(deadline, loan); waited != Waited::kDone) return no_frame(waited);
    begun_ = SteadyClock::now();
    const Drawn drawn = KINGLET_TRY(draw(sequence_, *loan));
    if (drawn == Drawn::kEnd) return NoFrame{NoFrame::Reason::kEnd};
    if (!buffers_->running()) return no_frame(Waited::kStopped);
    buffers_->fit(loan->image.rgb.size() + loan->jpeg.size() + loan->yuv420.size());
    if (drawn == Drawn::kNothing) {
      if (SteadyClock::now() >= deadline) return no_frame(Waited::kDeadline);
      continue;
    }
    due_ = late_ == Late::kSkip ? due_ + period_ : begun_ + period_;
    const FrameInfo info{.sequence = sequence_++,
                         .captured_at = begun_,
                         .captured_wall = std::chrono::system_clock::now(),
                         .still = late_ == Late::kDelay,
                         .drawn = shows_ == Shows::kDrawnOnes};
    const FrameView view = view_of(*loan);
    const FrameView small = loan->yuv420.empty() ? loan->image.view() : view;
    return std::move(loan).into_frame(view, small, info);
  }
}

}  // namespace kinglet::camera
