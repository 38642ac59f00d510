// SPDX-License-Identifier: Apache-2.0
// Why: tests of who answers frames lend the same pictures of the drawn scene again and again.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "camera/frame/packed_frame.h"
#include "daemon/line/replay_input.h"

namespace kinglet::daemon {

struct DrawnPictures {
  explicit DrawnPictures(std::size_t count) {
    const auto input = open_replay_input({.spec = "demo:1", .width = 320, .height = 180}).value();
    while (pictures.size() < count) {
      const auto frame = input->next().value();
      view = frame->view();
      camera::pack(view, pictures.emplace_back());
    }
  }

  // Taken now. The pictures outlive it.
  [[nodiscard]] camera::Frame lend(std::uint64_t sequence) const {
    return {camera::packed_view(view, pictures[sequence % pictures.size()]).value(),
            {.sequence = sequence, .captured_at = SteadyClock::now(), .still = true},
            [] {}};
  }

  std::vector<std::vector<std::byte>> pictures;
  camera::FrameView view;  // of all of them, but for the bytes
};

}  // namespace kinglet::daemon
