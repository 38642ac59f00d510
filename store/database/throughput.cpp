// SPDX-License-Identifier: Apache-2.0
#include "store/database/throughput.h"

namespace kinglet::store {
namespace {

constexpr std::size_t kMostSpans = 1000;

}  // namespace

void PendingThroughput::put(const Throughput& span) {
  MutexLock lock(mutex_);
  if (spans_.size() >= kMostSpans) {
    spans_.pop_front();
    ++first_;
  }
  // As the disk gives it back, so that both are seen to be the same.
  Throughput rounded = span;
  rounded.at = std::chrono::floor<std::chrono::milliseconds>(span.at);
  rounded.span = std::chrono::round<std::chrono::milliseconds>(span.span);
  spans_.push_back(rounded);
}

PendingThroughput::Batch PendingThroughput::all() const {
  MutexLock lock(mutex_);
  return {first_, {spans_.begin(), spans_.end()}};
}

void PendingThroughput::written(const Batch& batch) {
  const std::uint64_t end = batch.first + batch.spans.size();
  MutexLock lock(mutex_);
  for (; !spans_.empty() && first_ < end; ++first_) spans_.pop_front();
}

std::size_t PendingThroughput::size() const {
  MutexLock lock(mutex_);
  return spans_.size();
}

}  // namespace kinglet::store
