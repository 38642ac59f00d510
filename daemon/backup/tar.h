// SPDX-License-Identifier: Apache-2.0
// Why: tar (POSIX ustar, with pax where a name is long) as a stream in both directions. It is read as strictly as it is
// written: plain files and nothing else, for what comes over the network is hostile (decision 24).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::daemon::backup {

inline constexpr std::uint64_t kLargestEntry = (8ULL << 30) - 1;  // eleven octal digits
inline constexpr std::size_t kLongestName = 255;

struct TarEntry {
  std::string name;
  std::uint64_t size = 0;
  unsigned mode = 0600;  // rights only
  std::string group;     // name; may be empty
  std::int64_t modified = 0;
};

// What stands in front of a file's bytes, and behind them, and behind the last file. `entry` is within the limits.
[[nodiscard]] std::string tar_head(const TarEntry& entry);
[[nodiscard]] std::string tar_padding(std::uint64_t size);
[[nodiscard]] std::string tar_end();

// Bytes go in as they come, in pieces of any size. Thread-bound.
class TarReader {
 public:
  struct Sink {
    std::function<Result<void>(const TarEntry& entry)> begin;
    std::function<Result<void>(std::string_view bytes)> bytes;
    std::function<Result<void>()> end;
    std::function<void(std::string_view raw)> seen;  // all that was read, of a header after its begin()
  };
  explicit TarReader(Sink sink) : sink_(std::move(sink)) {}

  // kBadData: this is no such archive; else what the sink says.
  [[nodiscard]] Result<void> take(std::string_view bytes);
  [[nodiscard]] bool at_end() const { return state_ == State::kOver; }

 private:
  enum class State { kHead, kLongName, kBytes, kPadding, kOver };
  [[nodiscard]] Result<void> read_head(std::string_view block);
  [[nodiscard]] Result<void> read_long_name();
  [[nodiscard]] Result<void> end_file();

  Sink sink_;
  State state_ = State::kHead;
  std::string block_;      // of a head, or of a record of pax
  std::string long_name_;  // of the next file
  std::uint64_t left_ = 0;
  std::uint64_t padding_ = 0;
};

}  // namespace kinglet::daemon::backup
