// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/histogram.h"

#include <algorithm>
#include <cmath>

namespace kinglet::daemon {
namespace {

constexpr double kGrowth = 1.09;
constexpr double kSmallestUs = 1.0;

std::size_t bucket_of(SteadyClock::duration value) {
  const double us = std::chrono::duration<double, std::micro>(value).count();
  if (us <= kSmallestUs) return 0;
  const double bucket = std::floor(std::log(us / kSmallestUs) / std::log(kGrowth));
  return std::min(static_cast<std::size_t>(bucket), RecentDurations::kBuckets - 1);
}

// The geometric middle of a bucket: the value with the smallest worst relative error.
double middle_ms(std::size_t bucket) {
  return kSmallestUs * std::pow(kGrowth, static_cast<double>(bucket) + 0.5) / 1000.0;
}

std::int64_t slot_number(SteadyTime now) { return now.time_since_epoch() / RecentDurations::kSlotLength; }
std::int64_t second_of(SteadyTime now) {
  return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

void RecentDurations::add(SteadyTime now, SteadyClock::duration value) {
  const std::int64_t number = slot_number(now);
  Slot& slot = slots_[static_cast<std::size_t>(number) % kSlots];
  if (slot.number != number) slot = Slot{.number = number};
  ++slot.counts[bucket_of(value)];
  ++slot.count;
  slot.sum += value;
  slot.max = std::max(slot.max, value);
}

RecentDurations::Summary RecentDurations::summarize(SteadyTime now) const {
  const std::int64_t newest = slot_number(now);
  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t count = 0;
  SteadyClock::duration sum{};
  SteadyClock::duration max{};
  for (const Slot& slot : slots_) {
    if (slot.number < 0 || slot.number > newest || newest - slot.number >= static_cast<std::int64_t>(kSlots)) continue;
    for (std::size_t i = 0; i < kBuckets; ++i) counts[i] += slot.counts[i];
    count += slot.count;
    sum += slot.sum;
    max = std::max(max, slot.max);
  }
  Summary summary{.count = count, .max_ms = to_ms(max).count()};
  if (count == 0) return summary;
  summary.mean_ms = to_ms(sum).count() / static_cast<double>(count);
  const auto percentile = [&](double ratio) {
    const auto rank = static_cast<std::uint64_t>(std::ceil(ratio * static_cast<double>(count)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts[i];
      if (seen >= rank) return std::min(middle_ms(i), summary.max_ms);
    }
    return summary.max_ms;
  };
  summary.p50_ms = percentile(0.50);
  summary.p90_ms = percentile(0.90);
  summary.p99_ms = percentile(0.99);
  return summary;
}

RecentRate::RecentRate(SteadyTime start) : start_(second_of(start)) {}

void RecentRate::add(SteadyTime now) {
  const std::int64_t second = second_of(now);
  Slot& slot = slots_[static_cast<std::size_t>(second % kSeconds)];
  if (slot.second != second) slot = Slot{.second = second};
  ++slot.count;
}

std::optional<double> RecentRate::per_second(SteadyTime now, std::chrono::seconds window) const {
  const std::int64_t end = second_of(now);
  const std::int64_t begin = std::max(start_, end - window.count());
  if (begin >= end) return std::nullopt;
  std::uint64_t count = 0;
  for (std::int64_t second = begin; second < end; ++second) {
    const Slot& slot = slots_[static_cast<std::size_t>(second % kSeconds)];
    if (slot.second == second) count += slot.count;
  }
  return static_cast<double>(count) / static_cast<double>(end - begin);
}

void LifetimeHistogram::add(SteadyClock::duration value) {
  const double seconds = Seconds(value).count();
  const auto place = std::ranges::lower_bound(kBounds, seconds) - kBounds.begin();
  ++counts[static_cast<std::size_t>(place)];
  ++count;
  sum_seconds += seconds;
}

}  // namespace kinglet::daemon
