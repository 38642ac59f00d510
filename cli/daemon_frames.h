// SPDX-License-Identifier: Apache-2.0
// Why: `--from-daemon`: what the running daemon has kept for calibration, as a folder of pictures for as long as it is
// needed.
#pragma once

#include <filesystem>
#include <string>

#include "cli/daemon_client.h"
#include "cli/output.h"

namespace kinglet::cli {

// Removed with all that is in it.
class FramesFolder {
 public:
  explicit FramesFolder(std::filesystem::path path) : path_(std::move(path)) {}
  FramesFolder(FramesFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  FramesFolder& operator=(FramesFolder&&) = delete;
  ~FramesFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// At most `most` of the newest. kUnavailable: the daemon has none yet.
[[nodiscard]] Result<FramesFolder> fetch_frames(const DaemonOptions& options, std::size_t most, Output& out);

}  // namespace kinglet::cli
