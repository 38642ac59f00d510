// SPDX-License-Identifier: Apache-2.0
// Why: the newest value, for readers that must never reach into the pipeline. The writer allocates nothing.
#pragma once

#include <optional>
#include <type_traits>

#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Thread-safe. T is small and plain: it is copied under the lock.
template <typename T>
class Latest {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void publish(const T& value) {
    MutexLock lock(mutex_);
    value_ = value;
  }
  [[nodiscard]] std::optional<T> get() const {
    MutexLock lock(mutex_);
    return value_;
  }

 private:
  mutable Mutex mutex_;
  std::optional<T> value_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon
