// SPDX-License-Identifier: Apache-2.0
// Why: answers that take long (streams, exports) hold a thread of the pool, so their number is bounded and the others
// are never starved.
#pragma once

#include <atomic>
#include <memory>

namespace kinglet::daemon::http {

// Thread-safe. Outlives what it gave.
class Slots {
 public:
  explicit Slots(int most) : free_(most) {}

  // Free again when the last copy is gone. Empty: all are taken (503 `too-many-streams`).
  [[nodiscard]] std::shared_ptr<void> take() {
    if (free_.fetch_sub(1) <= 0) {
      free_.fetch_add(1);
      return nullptr;
    }
    return {this, [](Slots* slots) { slots->free_.fetch_add(1); }};
  }

 private:
  std::atomic<int> free_;
};

}  // namespace kinglet::daemon::http
