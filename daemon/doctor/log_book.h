// SPDX-License-Identifier: Apache-2.0
// Why: the newest lines of the log for who may read them over HTTP; a service's journal is not everybody's to open.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

[[nodiscard]] std::string_view to_string(LogLevel level);  // "warning"

// Thread-safe.
class LogBook {
 public:
  static constexpr std::size_t kKept = 1000;  // lines, the newest
  struct Record {
    std::uint64_t seq = 0;  // from 1, without gaps, anew with each process
    WallTime at{};
    LogLevel level = LogLevel::kInfo;
    std::string text;
  };

  // Lines below `level` ("debug", "info", "warning", "error"; any other word is "info") are left out.
  explicit LogBook(std::string_view level);

  // From now on; what is kept stays.
  void set_level(std::string_view level);
  // The time is that of the call.
  void add(LogLevel level, std::string_view text);
  [[nodiscard]] bool wants(LogLevel level) const { return level >= least_; }
  // Those kept that came at `since` or later, oldest first.
  [[nodiscard]] std::vector<Record> since(WallTime since) const;

 private:
  std::atomic<LogLevel> least_;
  mutable Mutex mutex_;
  std::uint64_t seq_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::deque<Record> records_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon
