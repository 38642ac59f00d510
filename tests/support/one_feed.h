// SPDX-License-Identifier: Apache-2.0
// Why: a feed cannot be copied, and so no list of one be written where a pipeline is made.
#pragma once

#include <utility>
#include <vector>

#include "daemon/answer/pipeline.h"

namespace kinglet::daemon {

// Of the only camera.
inline std::vector<Feed> one_feed(Feed feed) {
  std::vector<Feed> feeds;
  feeds.push_back(std::move(feed));
  return feeds;
}

}  // namespace kinglet::daemon
