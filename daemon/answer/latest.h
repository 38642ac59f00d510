// SPDX-License-Identifier: Apache-2.0
// Why: the newest predictions, for readers that must never reach into the pipeline. They lie packed in blocks, which
// are used again. Memory is written when there is something to keep, and not before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/answer/packed_prediction.h"
#include "daemon/line/prediction.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Thread-safe.
class LatestPredictions {
 public:
  // Keeps the newest `kept`, at least one. `told`, which may be empty, is called after each was published.
  explicit LatestPredictions(std::size_t kept = 1, std::function<void()> told = {});

  // Allocates only where those that are kept are larger together than ever before.
  void publish(const Prediction& prediction);
  [[nodiscard]] std::optional<Prediction> get() const;
  // Those kept, newest first, that `matches`; at most `limit`.
  template <typename Matches>
  [[nodiscard]] std::vector<Prediction> list(std::size_t limit, const Matches& matches) const {
    std::vector<Prediction> found;
    Prediction one;
    MutexLock lock(mutex_);
    for (std::uint64_t age = 1; age <= count() && found.size() < limit; ++age) {
      read(published_ - age, one);
      if (matches(std::as_const(one))) found.push_back(one);
    }
    return found;
  }

 private:
  // So large that each is memory of its own from the system, of which a page is taken when it is written.
  struct Block {
    std::array<std::byte, std::size_t{512} << 10> bytes;
    std::uint64_t needed_until = 0;  // so many were published: then nobody needs them
  };
  static_assert(kMostPacked <= sizeof(Block::bytes));

  [[nodiscard]] std::uint64_t count() const KINGLET_REQUIRES(mutex_);
  void read(std::uint64_t number, Prediction& prediction) const KINGLET_REQUIRES(mutex_);
  [[nodiscard]] std::byte* make_room(std::size_t bytes) KINGLET_REQUIRES(mutex_);

  const std::function<void()> told_;
  const std::size_t most_;
  mutable Mutex mutex_;
  std::vector<const std::byte*> kept_ KINGLET_GUARDED_BY(mutex_);  // a ring once there are as many as may be
  std::uint64_t published_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Block>> blocks_ KINGLET_GUARDED_BY(mutex_);  // a ring, in the order of their use
  std::size_t block_ KINGLET_GUARDED_BY(mutex_) = 0;                       // that is being filled
  std::size_t used_ KINGLET_GUARDED_BY(mutex_) = 0;                        // bytes of it
};

}  // namespace kinglet::daemon
