// SPDX-License-Identifier: Apache-2.0
// Why: another model reaches the one thread that runs models, and the one before comes back, between two frames.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "daemon/line/line_model.h"
#include "daemon/models/trial.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Thread-safe. One offer at a time, by the thread that loads models.
class ModelDesk {
 public:
  struct Offer {
    LineModel classifier;
    std::optional<TrialRule> trial;  // it is only tried, and comes back
  };
  struct Back {
    std::optional<LineModel> classifier;  // the one that was tried or was not taken; else the one before, if any
    std::optional<TrialReport> report;
    std::optional<Error> error;  // what became of the trial; the model before answers on
    bool taken = false;          // the offered one answers
  };

  // `wake` tells the answer thread that something is here.
  explicit ModelDesk(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Blocks until the model is taken or has been tried; at `deadline`, or when asked to stop, it comes back as far as
  // it got. `progress` is called now and then meanwhile.
  [[nodiscard]] Back exchange(Offer offer, const std::stop_token& stop, SteadyTime deadline,
                              const std::function<void(const TrialReport&)>& progress);

  // The answer thread: what is offered; each one taken must be given to done().
  [[nodiscard]] std::optional<Offer> take();
  [[nodiscard]] bool wanted_back() const;  // the trial is to end
  void note(const TrialReport& report);
  void done(Back back);
  // No more: the answer thread ends. What was not taken goes back.
  void close();

 private:
  const std::function<void()> wake_;
  mutable Mutex mutex_;
  Condition changed_;
  std::optional<Offer> offer_ KINGLET_GUARDED_BY(mutex_);  // not taken yet
  std::optional<Back> back_ KINGLET_GUARDED_BY(mutex_);
  TrialReport progress_ KINGLET_GUARDED_BY(mutex_);
  bool wanted_back_ KINGLET_GUARDED_BY(mutex_) = false;
  bool closed_ KINGLET_GUARDED_BY(mutex_) = false;
};

}  // namespace kinglet::daemon
