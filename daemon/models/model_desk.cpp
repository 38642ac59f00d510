// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_desk.h"

#include <utility>

namespace kinglet::daemon {

ModelDesk::Back ModelDesk::exchange(Offer offer, const std::stop_token& stop, SteadyTime deadline,
                                    const std::function<void(const TrialReport&)>& progress) {
  constexpr std::chrono::milliseconds kTurn{100};
  {
    MutexLock lock(mutex_);
    offer_.emplace(std::move(offer));
    progress_ = {};
    wanted_back_ = false;
  }
  wake_();
  for (;;) {
    TrialReport report;
    {
      MutexLock lock(mutex_);
      if (!back_ && !closed_) changed_.wait_until(mutex_, SteadyClock::now() + kTurn);
      if (back_) {
        Back back = std::move(*back_);
        back_.reset();
        return back;
      }
      if (closed_ || stop.stop_requested() || SteadyClock::now() >= deadline) {
        if (offer_) {
          Back back{.classifier = std::move(offer_->classifier), .report = {}, .error = {}};
          offer_.reset();
          return back;
        }
        wanted_back_ = true;
      }
      report = progress_;
    }
    if (progress) progress(report);
  }
}

std::optional<ModelDesk::Offer> ModelDesk::take() {
  MutexLock lock(mutex_);
  std::optional<Offer> offer = std::move(offer_);
  offer_.reset();
  return offer;
}

bool ModelDesk::wanted_back() const {
  MutexLock lock(mutex_);
  return wanted_back_;
}

void ModelDesk::note(const TrialReport& report) {
  MutexLock lock(mutex_);
  progress_ = report;
}

void ModelDesk::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void ModelDesk::done(Back back) {
  {
    MutexLock lock(mutex_);
    back_.emplace(std::move(back));
  }
  changed_.notify_all();
}

}  // namespace kinglet::daemon
