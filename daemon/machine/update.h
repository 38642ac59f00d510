// SPDX-License-Identifier: Apache-2.0
// Why: is there a newer kinglet? Whoever keeps the system up to date asks with apt; this reads what apt was told, and
// asks nobody itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct Update {
  std::string installed;
  std::string available;  // newer than that
};

// Order of versions as Debian has it (deb-version(7)): below 0, 0, above 0.
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

// What ROOT/var/lib/dpkg/status and ROOT/var/lib/apt/lists say, read in small steps whenever they have changed. Lists
// that apt keeps compressed are not read.
class UpdateWatch {
 public:
  explicit UpdateWatch(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // Reads on, a few MiB at a time; begins anew when an hour is over. False: nothing is left to read. One thread's.
  bool look(SteadyTime now);
  // Nothing: this is the newest that apt knows, it is not installed as a package, or not known yet. Thread-safe.
  [[nodiscard]] std::optional<Update> found() const;

 private:
  [[nodiscard]] bool begin();
  [[nodiscard]] bool open_next();
  void read_piece();
  void read_stanzas();
  void end();

  const std::filesystem::path root_;
  SteadyTime next_{};
  bool under_way_ = false;
  std::string stamp_;  // of the files that were read
  std::vector<std::filesystem::path> files_;
  std::optional<InputFile> file_;
  std::uint64_t offset_ = 0;
  std::string text_;  // read and not looked at yet
  std::string installed_;
  std::string newest_;
  mutable Mutex mutex_;
  std::optional<Update> found_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon
