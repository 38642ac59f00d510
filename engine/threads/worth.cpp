// SPDX-License-Identifier: Apache-2.0
#include "engine/threads/worth.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

// What the workers' tiles would have taken the caller, by either's pace: whoever lost its core in the middle looks
// slow.
Worth::Duration saved(const Worth::Command& command) {
  if (command.own == 0) return std::min(command.helped, command.worked);
  const auto others = static_cast<std::int64_t>(command.tiles - command.own);
  return std::min(command.helped, command.worked / static_cast<std::int64_t>(command.own) * others);
}

}  // namespace

bool Worth::add(const Command& command) {
  credit_ = std::min(credit_ + saved(command) - command.waited, kMostCredit);
  if (credit_ == kMostCredit) pause_ = kFirstPause;
  if (credit_ >= -kMostDebt) return false;
  credit_ = {};
  pause_left_ = pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  return true;
}

}  // namespace kinglet::engine
