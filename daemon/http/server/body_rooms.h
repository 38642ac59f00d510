// SPDX-License-Identifier: Apache-2.0
// Why: the memory of posted pictures is used again: what is asked of the kernel for each takes longer than its body
// itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// Thread-safe. Whoever took a room owns it; one that is not brought back is forgotten.
class BodyRooms {
 public:
  static constexpr std::uint64_t kBytes = 1U << 20;  // of a room
  static constexpr std::size_t kMost = 2;            // kept while nobody has them

  // Is a body of this many bytes worth a room, and does it have space in one?
  [[nodiscard]] static bool suits(std::uint64_t length);
  // Empty, with space for kBytes: one that had to grow would become twice as large.
  [[nodiscard]] std::string take();
  // False: it was let go of, as one that grew, or one too many.
  bool keep(std::string room);

 private:
  Mutex mutex_;
  std::vector<std::string> rooms_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon::http
