// SPDX-License-Identifier: Apache-2.0
// Why: asks the local net which cameras there are: one question by multicast that no router carries on, answers of the
// same net only, for a bounded time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "camera/discovery/probe.h"
#include "engine/base/error.h"

namespace kinglet::camera {

struct SearchOptions {
  std::chrono::milliseconds patience{3000};
  std::string interface;  // its name; empty: every one but loopback that is up and knows multicast
};

// By address. IPv4 only. kNotFound: no such interface, or this machine has no network. kUnavailable: no interface takes
// the question. Blocks for `patience`.
[[nodiscard]] Result<std::vector<FoundCamera>> search_cameras(const SearchOptions& options);

}  // namespace kinglet::camera
