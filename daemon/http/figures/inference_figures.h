// SPDX-License-Identifier: Apache-2.0
// Why: how long other programs wait for the model, counted as the protocol's statistics extension has it.
#pragma once

#include <cstdint>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::kserve {

// Of one answered request, or the sum over them.
struct Times {
  SteadyClock::duration queue{};    // until the model was free
  SteadyClock::duration input{};    // reading and, of pictures, decoding and preprocessing
  SteadyClock::duration compute{};  // the run
  SteadyClock::duration output{};   // writing
};

// Thread-safe.
class Figures {
 public:
  struct View {
    std::uint64_t answered = 0;
    std::uint64_t failed = 0;
    Times times;
    SteadyClock::duration failed_time{};
    std::int64_t last_at_ms = 0;  // Unix time of the newest request; 0: none
  };
  void add(const Times& times) {
    MutexLock lock(mutex_);
    ++view_.answered;
    view_.times.queue += times.queue;
    view_.times.input += times.input;
    view_.times.compute += times.compute;
    view_.times.output += times.output;
    note_time();
  }
  void add_failure(SteadyClock::duration taken) {
    MutexLock lock(mutex_);
    ++view_.failed;
    view_.failed_time += taken;
    note_time();
  }
  // Another model answers: its figures begin.
  void reset() {
    MutexLock lock(mutex_);
    view_ = {};
  }
  [[nodiscard]] View view() const {
    MutexLock lock(mutex_);
    return view_;
  }

 private:
  void note_time() KINGLET_REQUIRES(mutex_) {
    view_.last_at_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
  }
  mutable Mutex mutex_;
  View view_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon::kserve
