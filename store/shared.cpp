// SPDX-License-Identifier: Apache-2.0
#include "store/shared.h"

#include "engine/base/format.h"
#include "engine/base/words.h"

namespace kinglet::store {

std::string_view to_string(StoreState state) {
  using enum StoreState;
  static constexpr Word<StoreState> kWords[] = {{kDisk, "disk"}, {kWaiting, "waiting"}, {kMemory, "memory"}};
  return word_of(kWords, state);
}

void Shared::set_state(StoreState state, const std::string& note) {
  {
    MutexLock lock(mutex_);
    if (state_ == state && note_ == note) return;
    state_ = state;
    note_ = note;
    since_ = options.now();
  }
  const LogLevel level = state == StoreState::kDisk ? LogLevel::kInfo : LogLevel::kWarning;
  const std::string_view what = state == StoreState::kDisk      ? "visits are written to the disk"
                                : state == StoreState::kWaiting ? "visits wait in memory"
                                                                : "visits are kept in memory only";
  say(level, format_text("store: {}{}{}", what, note.empty() ? "" : ": ", note));
}

void Shared::fill(StoreStatus& status) const {
  status.memory_is_wanted = options.folder.empty();
  status.used_bytes = used;
  status.quota_bytes = options.retention.quota.count;
  status.written_today_bytes = written_today;
  status.write_budget_bytes = options.write_budget.count;
  status.written_bytes = written;
  status.dropped_writes = dropped;
  status.moved_aside = moved_aside;
  status.salvaged_visits = salvaged;
  status.waiting_visits = pending.size();
  {
    MutexLock lock(mutex_);
    status.state = state_;
    status.note = note_;
    status.since = since_;
  }
  // The writer cannot say so itself.
  const SteadyTime by = pulse.by();
  const SteadyTime now = SteadyClock::now();
  if (by == SteadyTime::max() || now - by < options.silent_after) return;
  status.state = StoreState::kWaiting;
  status.note = "the disk hangs or is very slow";
  status.since = options.now() - std::chrono::duration_cast<WallTime::duration>(now - pulse.last());
}

}  // namespace kinglet::store
