// SPDX-License-Identifier: Apache-2.0
// Why: counts of requests for /metrics, by pattern of the route, never by address or path: their number stays small.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "daemon/metrics/histogram.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// Thread-safe.
class Traffic {
 public:
  // `pattern` is empty for what no route answers. Methods that HTTP does not know count as "other".
  void add(std::string_view pattern, std::string_view method, int code, SteadyClock::duration duration);

  struct View {
    std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests;  // route, method, code
    std::map<std::string, LifetimeHistogram> durations;                           // by route
  };
  [[nodiscard]] View view() const;

 private:
  mutable Mutex mutex_;
  View counts_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon::http
