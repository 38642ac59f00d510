// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/limiter.h"

#include <algorithm>

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t kMostKeys = 4096;

}  // namespace

bool RateLimiter::take(const std::string& key, SteadyTime now) {
  MutexLock lock(mutex_);
  if (buckets_.size() >= kMostKeys && !buckets_.contains(key)) forget_some(now);
  const auto [found, added] = buckets_.try_emplace(key, Bucket{.tokens = burst_, .at = now});
  Bucket& bucket = found->second;
  bucket.tokens = std::min(burst_, bucket.tokens + Seconds(now - bucket.at).count() * per_second_);
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

// Those that are full again have nothing to remember; when that is nobody, a flood of addresses is what is on, and
// then a clean slate costs the least.
void RateLimiter::forget_some(SteadyTime now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return entry.second.tokens + Seconds(now - entry.second.at).count() * per_second_ >= burst_;
  });
  if (buckets_.size() >= kMostKeys) buckets_.clear();
}

void FailureLog::add(const std::string& key, SteadyTime now) {
  MutexLock lock(mutex_);
  if (failures_.size() >= kMostKeys && !failures_.contains(key)) {
    std::erase_if(failures_, [&](const auto& entry) {
      const Times& times = entry.second;
      return now - times.newest[(times.count - 1) % kMost] > kWithin;
    });
    if (failures_.size() >= kMostKeys) failures_.clear();
  }
  Times& times = failures_[key];
  times.newest[times.count++ % kMost] = now;
}

bool FailureLog::blocked(const std::string& key, SteadyTime now) const {
  MutexLock lock(mutex_);
  const auto found = failures_.find(key);
  if (found == failures_.end() || found->second.count < kMost) return false;
  const Times& times = found->second;
  // The oldest of the newest ten.
  return now - times.newest[times.count % kMost] < kWithin;
}

}  // namespace kinglet::daemon::http
