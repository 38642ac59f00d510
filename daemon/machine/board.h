// SPDX-License-Identifier: Apache-2.0
// Why: what the machine says of itself: memory, temperature, throttling. What it does not say is left out, never 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct Throttling {
  std::vector<std::string> now;  // "under_voltage", "frequency_capped", "throttled", "soft_temperature_limit"
  std::vector<std::string> since_boot;
};

struct BoardFacts {
  std::optional<std::string> model;  // "Raspberry Pi 4 Model B Rev 1.4"
  std::optional<double> temperature_celsius;
  std::optional<std::uint64_t> cpu_hz;
  std::optional<Throttling> throttling;
  std::optional<std::uint64_t> resident_bytes;
  std::optional<std::uint64_t> peak_bytes;
  std::optional<double> cpu_seconds;  // of this process, all threads
  std::optional<std::uint64_t> open_files;
};

// Of the processor; nothing where the machine has no thermometer. Reentrant.
[[nodiscard]] std::optional<double> read_temperature(const std::filesystem::path& root = "/");

// Reads a few small files below `root`/proc and `root`/sys. Reentrant.
[[nodiscard]] BoardFacts read_board(const std::filesystem::path& root = "/");

// The same for those who ask often: read at most once a second, which costs more than all else in an answer.
// Thread-safe.
class RecentBoard {
 public:
  explicit RecentBoard(std::filesystem::path root = "/") : root_(std::move(root)) {}
  [[nodiscard]] BoardFacts get(SteadyTime now);

 private:
  const std::filesystem::path root_;
  Mutex mutex_;
  std::optional<SteadyTime> read_at_ KINGLET_GUARDED_BY(mutex_);
  BoardFacts facts_ KINGLET_GUARDED_BY(mutex_);
};

// The firmware's word (bit 0 under-voltage, 1 frequency capped, 2 throttled, 3 soft limit; from bit 16 since boot).
[[nodiscard]] Throttling parse_throttled(std::uint32_t word);

}  // namespace kinglet::daemon
