// SPDX-License-Identifier: Apache-2.0
// Why: OpenCV's way of a frame into a model's input, for preprocess_worker where OpenCV is installed.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "camera/frame/frame.h"

namespace kinglet::bench {

struct OpencvJob {
  int side = 0;      // of the input, channels last
  bool area = true;  // INTER_AREA, else INTER_LINEAR
  bool integers = false;
  std::array<float, 3> mean{};
  std::array<float, 3> std{};
  float scale = 1;
  int zero_point = 0;
};

// cvtColor of the whole frame, resize, then scale and shift (floats) or a table (integers). Buffers stay. One thread.
class OpencvWay {
 public:
  explicit OpencvWay(const OpencvJob& job);
  OpencvWay(OpencvWay&&) noexcept;
  OpencvWay& operator=(OpencvWay&&) noexcept;
  ~OpencvWay();
  void run(const camera::FrameView& frame, std::byte* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kinglet::bench
