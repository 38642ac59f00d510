// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/paced_source.h"

namespace kinglet::camera {

PacedSource::PacedSource(SteadyClock::duration period, Late late, Shows shows)
    : period_(period), late_(late), shows_(shows), buffers_(std::make_shared<Buffers>()) {}

Result<void> PacedSource::start() {
  KINGLET_TRY(rewind());
  sequence_ = 0;
  dropped_ = 0;
  due_ = SteadyClock::now();
  buffers_->set_running(true);
  return {};
}

void PacedSource::stop() { buffers_->set_running(false); }

Waited PacedSource::wait_until_due(SteadyTime deadline) {
  const Waited waited = buffers_->wait(due_, deadline);
  if (waited != Waited::kDone || late_ != Late::kSkip || period_ == period_.zero()) return waited;
  const auto missed = static_cast<std::uint64_t>((SteadyClock::now() - due_) / period_);
  sequence_ += missed;
  dropped_ += missed;
  due_ += static_cast<SteadyClock::rep>(missed) * period_;
  return waited;
}

Result<std::variant<Frame, NoFrame>> PacedSource::next(SteadyTime deadline) {
  while (true) {
    if (const Waited waited = wait_until_due(deadline); waited != Waited::kDone) return no_frame(waited);
    Buffers::Loan loan;
    if (const Waited waited = buffers_->take(deadline, loan); waited != Waited::kDone) return no_frame(waited);
    const SteadyTime begun = SteadyClock::now();
    const Drawn drawn = KINGLET_TRY(draw(sequence_, *loan));
    if (drawn == Drawn::kEnd) return NoFrame{NoFrame::Reason::kEnd};
    if (!buffers_->running()) return no_frame(Waited::kStopped);
    buffers_->fit(loan->rgb.size());
    if (drawn == Drawn::kNothing) {
      if (SteadyClock::now() >= deadline) return no_frame(Waited::kDeadline);
      continue;
    }
    due_ = late_ == Late::kSkip ? due_ + period_ : begun + period_;
    const FrameInfo info{.sequence = sequence_++,
                         .captured_at = begun,
                         .captured_wall = std::chrono::system_clock::now(),
                         .still = late_ == Late::kDelay,
                         .drawn = shows_ == Shows::kDrawnOnes};
    const FrameView view = loan->view();
    return std::move(loan).into_frame(view, info);
  }
}

}  // namespace kinglet::camera
