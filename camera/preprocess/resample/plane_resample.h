// SPDX-License-Identifier: Apache-2.0
// Why: the fast way for video: one 8-bit plane, also one hidden in interleaved bytes (NV12, YUYV), cropped and scaled
// with the same filter as for stills, columns first: sums run over contiguous bytes, and only as many rows as the
// output has are narrowed. Within one step of 255 of the exact way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "camera/preprocess/resample/pillow_resample.h"

namespace kinglet::camera {

// Samples of one channel stand `step` bytes apart in a row, the first at `offset`.
struct ChannelLayout {
  int step = 1;
  int offset = 0;
};

// Thread-bound. All buffers are made in the constructor.
class PlaneResample {
 public:
  PlaneResample() = default;
  // `channels` share rows, so that NV12's U and V or YUYV's three take one pass over the bytes. The column tables are
  // in samples of the channel; all have the same number of outputs.
  struct Channel {
    ChannelLayout layout;
    AxisWeights columns;
  };
  PlaneResample(std::span<const Channel> channels, AxisWeights rows);

  // Output row `y` of each channel of the first plane into outputs[i] (as long as the channel's columns).
  void run_row(std::span<const Plane> planes, std::size_t y, std::span<std::uint8_t* const> outputs);

 private:
  struct Narrow {
    std::vector<std::int32_t> first;    // of each output's window in the blended row
    std::vector<std::int16_t> weights;  // kFineBits
    std::size_t window = 0;             // multiple of kLanes
  };
  std::vector<Narrow> channels_;
  AxisWeights rows_;
  std::vector<std::int16_t> row_weights_;
  std::size_t first_byte_ = 0;  // bytes of a row that any output needs: [first_byte_, first_byte_ + bytes_)
  std::size_t bytes_ = 0;
  std::vector<std::int16_t> blended_;  // one a byte, kBlendedBits fractional bits, then room for a window
};

}  // namespace kinglet::camera
