// SPDX-License-Identifier: Apache-2.0
// Why: what the store is told when it starts, and what it tells of itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/local_time.h"
#include "engine/base/log.h"
#include "engine/base/units.h"
#include "store/database/pending.h"
#include "store/retention.h"

namespace kinglet::store {

struct StoreOptions {
  std::filesystem::path folder;  // made if its parent is there; empty: memory only
  RetentionRule retention;
  std::uint64_t first_days = 0;      // before visits on so many local days no bird is called the first of its kind
  Bytes write_budget{100ULL << 20};  // a local day
  std::chrono::milliseconds flush_interval{10'000};
  std::chrono::milliseconds silent_after{15'000};  // of work of the writer: then the disk is said to hang
  PendingLimits pending;
  TimeZone zone;
  LogSink log;
  std::function<WallTime()> now = [] { return std::chrono::system_clock::now(); };
  std::function<bool()> clock_synced = [] { return true; };
  std::function<std::uint64_t()> newest_id_ms = [] { return std::uint64_t{0}; };  // time part of the newest id
};

enum class StoreState : std::uint8_t {
  kDisk,     // visits are written
  kWaiting,  // they wait in memory for the disk; `note` says why
  kMemory,   // there is no disk; `note` says why
};
[[nodiscard]] std::string_view to_string(StoreState state);  // "disk", "waiting", "memory"

struct StoreStatus {
  StoreState state = StoreState::kMemory;
  bool memory_is_wanted = true;  // no folder is configured
  std::string note;              // one line; empty for kDisk with nothing to say
  WallTime since{};              // of the state and the note
  std::uint64_t visits = 0;
  std::uint64_t waiting_visits = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t quota_bytes = 0;
  std::uint64_t written_today_bytes = 0;
  std::uint64_t write_budget_bytes = 0;
  std::uint64_t written_bytes = 0;    // since the start
  std::uint64_t dropped_writes = 0;   // visits and pictures that were given up, since the start
  std::uint64_t moved_aside = 0;      // damaged databases, since the start
  std::uint64_t salvaged_visits = 0;  // of these
};

}  // namespace kinglet::store
