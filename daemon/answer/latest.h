// SPDX-License-Identifier: Apache-2.0
// Why: the newest values, for readers that must never reach into the pipeline. The writer allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Thread-safe. T is small and plain: it is copied under the lock.
template <typename T>
class Latest {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Keeps the newest `kept` values, at least one. `told`, which may be empty, is called after each was published.
  explicit Latest(std::size_t kept = 1, std::function<void()> told = {})
      : told_(std::move(told)), values_(std::max<std::size_t>(kept, 1)) {}

  void publish(const T& value) {
    {
      MutexLock lock(mutex_);
      values_[published_++ % values_.size()] = value;
    }
    if (told_) told_();
  }
  [[nodiscard]] std::optional<T> get() const {
    MutexLock lock(mutex_);
    if (published_ == 0) return std::nullopt;
    return values_[(published_ - 1) % values_.size()];
  }
  // Those kept, newest first, that `matches`; at most `limit`.
  template <typename Matches>
  [[nodiscard]] std::vector<T> list(std::size_t limit, const Matches& matches) const {
    std::vector<T> found;
    MutexLock lock(mutex_);
    const std::size_t count = std::min(published_, values_.size());
    for (std::size_t age = 1; age <= count && found.size() < limit; ++age) {
      const T& value = values_[(published_ - age) % values_.size()];
      if (matches(value)) found.push_back(value);
    }
    return found;
  }

 private:
  const std::function<void()> told_;
  mutable Mutex mutex_;
  std::vector<T> values_ KINGLET_GUARDED_BY(mutex_);
  std::size_t published_ KINGLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace kinglet::daemon
