// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/figures/traffic.h"

#include <algorithm>
#include <array>

namespace kinglet::daemon::http {

void Traffic::add(std::string_view pattern, std::string_view method, int code, SteadyClock::duration duration) {
  constexpr std::array<std::string_view, 7> kMethods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  if (std::ranges::find(kMethods, method) == kMethods.end()) method = "other";
  const std::string route(pattern.empty() ? "none" : pattern);
  MutexLock lock(mutex_);
  ++counts_.requests[{route, std::string(method), code}];
  counts_.durations[route].add(duration);
}

Traffic::View Traffic::view() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace kinglet::daemon::http
