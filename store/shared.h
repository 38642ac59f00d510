// SPDX-License-Identifier: Apache-2.0
// Why: what the store's writer, its readers and those who give it visits have in common. Inside store/ only.
#pragma once

#include <atomic>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "engine/base/pulse.h"
#include "store/database/counting_vfs.h"
#include "store/database/pending.h"
#include "store/database/picture_files.h"
#include "store/database/sequence.h"
#include "store/database/throughput.h"
#include "store/options.h"

namespace kinglet::store {

// Thread-safe.
class Shared {
 public:
  explicit Shared(StoreOptions given)
      : options(std::move(given)), files(options.folder), pending(options.pending), since_(options.now()) {}

  const StoreOptions options;
  CountingVfs vfs;  // before all connections
  const PictureFiles files;
  Sequence sequence;
  // A visit gets its number on the disk and begins to wait as one step: numbers do not move between the two.
  Mutex intake;
  Pending pending;
  PendingThroughput throughput;
  std::atomic<std::uint64_t> change{0};
  std::atomic<std::uint64_t> last_id_ms{0};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> moved_aside{0};
  std::atomic<std::uint64_t> salvaged{0};
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> written_today{0};
  std::atomic<std::uint64_t> used{0};
  std::atomic<std::uint64_t> generation{1};      // rises when readers have to open again
  std::atomic<bool> readable{false};             // there is a database to open
  std::atomic<bool> writable{false};             // the writer has it open
  std::atomic<std::uint64_t> room_for_clips{0};  // for large ones, and those that wait; 1: for small ones; 0: for none
  std::atomic<bool> suspicion{false};            // a reader met damage
  std::atomic<bool> knows_birds{false};          // there were visits on first_days days before today
  Pulse pulse{"store"};                          // of the writer

  // Says what is new in the log.
  void set_state(StoreState state, const std::string& note);
  void fill(StoreStatus& status) const;
  void say(LogLevel level, std::string_view text) const {
    if (options.log) options.log(level, text);
  }

 private:
  mutable Mutex mutex_;
  StoreState state_ KINGLET_GUARDED_BY(mutex_) = StoreState::kMemory;
  std::string note_ KINGLET_GUARDED_BY(mutex_);
  WallTime since_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::store
