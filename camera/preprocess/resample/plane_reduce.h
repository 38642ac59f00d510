// SPDX-License-Identifier: Apache-2.0
// Why: the quickest way for video that becomes smaller, where 1080 rows would cost more than they give: the same filter
// as PlaneResample with weights of 7 bits, bytes between its two steps, and channels that are interleaved taken apart
// once the rows are few. Of a picture's bytes three of four are those of the fine way, the others one more or less,
// seldom two. What becomes a quarter or less along an axis is put into boxes first (plane_boxes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "camera/preprocess/resample/plane_boxes.h"
#include "camera/preprocess/resample/plane_resample.h"
#include "camera/preprocess/resample/row_kernels.h"

namespace kinglet::camera {

// Thread-bound. All buffers are made by make().
class PlaneReduce {
 public:
  // Nothing: not for these. The filter has a weight below zero or nearly one (bicubic, nearest, no reduction to speak
  // of), or the channels stand in a way that no format has.
  [[nodiscard]] static std::optional<PlaneReduce> make(std::span<const PlaneResample::Channel> channels,
                                                       const AxisWeights& rows, Boxes boxes = {});

  // As PlaneResample::run_row(), but the rows of a frame one after the other from 0 on. Two channels that are alone in
  // their rows are those of two planes.
  void run_row(std::span<const Plane> planes, std::size_t y, std::span<std::uint8_t* const> outputs);

 private:
  struct Narrow {
    Windows windows;
    std::size_t at = 0;  // of the channel's samples in `samples_`

    // Whether both read the same places of their samples with the same weights.
    [[nodiscard]] bool goes_with(const Narrow& other) const {
      return windows.window == other.windows.window && windows.first == other.windows.first &&
             windows.weights == other.windows.weights;
    }
  };

  PlaneReduce() = default;
  [[nodiscard]] static std::optional<Weave> weave_of(std::span<const PlaneResample::Channel> channels);
  // Of the columns of a channel that has so many samples.
  void add_channel(const AxisWeights& columns, std::size_t samples);
  void set_rows(const AxisWeights& rows);
  void set_boxes(const BoxedRows::Part& part, Boxes boxes);
  // A row's samples, channel after channel.
  void blend_row(std::span<const Plane> planes, std::size_t y);

  const ReduceKernels* kernels_ = nullptr;
  Weave weave_ = Weave::kPlain;
  std::vector<Narrow> channels_;
  bool last_two_together_ = false;
  std::optional<BoxedRows> boxes_;
  std::vector<std::int32_t> first_row_;
  std::vector<std::int32_t> row_count_;
  std::vector<std::uint8_t> row_weights_;
  std::size_t row_window_ = 0;
  std::size_t first_byte_ = 0;  // bytes of a row that any output needs, in whole groups of the weave
  std::size_t bytes_ = 0;
  std::vector<std::uint8_t> blended_;  // kPairs, kYuyv without boxes
  std::vector<std::uint8_t> chroma_;   // kYuyv without boxes: U V U V
  std::size_t sample_count_ = 0;
  std::vector<std::uint8_t> samples_;  // a blended row of each channel, then room for a window
};

}  // namespace kinglet::camera
