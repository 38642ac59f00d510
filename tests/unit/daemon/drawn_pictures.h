// SPDX-License-Identifier: Apache-2.0
// Why: tests of who answers frames lend the same pictures of the drawn scene again and again.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "daemon/line/replay_input.h"

namespace kinglet::daemon {

struct DrawnPictures {
  explicit DrawnPictures(std::size_t count) {
    const auto input = open_replay_input({.spec = "demo:1", .width = 320, .height = 180}).value();
    while (pictures.size() < count) {
      const auto frame = input->next().value();
      view = frame->view();
      EXPECT_EQ(view.plane_count, 1);
      pictures.emplace_back(view.planes[0].bytes.begin(), view.planes[0].bytes.end());
    }
  }

  // Taken now. The pictures outlive it.
  [[nodiscard]] camera::Frame lend(std::uint64_t sequence) const {
    camera::FrameView lent = view;
    lent.planes[0].bytes = pictures[sequence % pictures.size()];
    return {lent, {.sequence = sequence, .captured_at = SteadyClock::now(), .still = true}, [] {}};
  }

  std::vector<std::vector<std::byte>> pictures;
  camera::FrameView view;  // of all of them, but for the bytes
};

}  // namespace kinglet::daemon
