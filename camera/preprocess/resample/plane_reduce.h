// SPDX-License-Identifier: Apache-2.0
// Why: the quickest way for video that becomes much smaller, where 1080 rows would cost more than they give: the same
// filter as PlaneResample with weights of 7 bits, bytes between its two steps, and channels that are interleaved taken
// apart once the rows are few. Of a picture's bytes three of four are those of the fine way, the others one more or
// less, seldom two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "camera/preprocess/resample/plane_resample.h"
#include "camera/preprocess/resample/row_kernels.h"

namespace kinglet::camera {

// Thread-bound. All buffers are made by make().
class PlaneReduce {
 public:
  // Nothing: not for these. The filter has a weight below zero or nearly one (bicubic, nearest, no reduction to speak
  // of), or the channels stand in a way that no format has.
  [[nodiscard]] static std::optional<PlaneReduce> make(std::span<const PlaneResample::Channel> channels,
                                                       const AxisWeights& rows);

  // As PlaneResample::run_row().
  void run_row(const Plane& plane, std::size_t y, std::span<std::uint8_t* const> outputs);

 private:
  // How the channels stand in a row: alone, U V U V, or Y U Y V.
  enum class Weave : std::uint8_t { kPlain, kPairs, kYuyv };
  struct Narrow {
    std::vector<std::int32_t> first;  // of each output's window in the channel's row
    std::vector<std::uint8_t> weights;
    std::size_t window = 0;
    std::vector<std::uint8_t> row;  // the channel's samples, then room for a window

    // Whether both read the same places of their rows with the same weights.
    [[nodiscard]] bool goes_with(const Narrow& other) const {
      return window == other.window && first == other.first && weights == other.weights;
    }
  };

  PlaneReduce() = default;
  [[nodiscard]] static std::optional<Weave> weave_of(std::span<const PlaneResample::Channel> channels);

  const ReduceKernels* kernels_ = nullptr;
  Weave weave_ = Weave::kPlain;
  std::vector<Narrow> channels_;
  bool last_two_together_ = false;
  std::vector<std::int32_t> first_row_;
  std::vector<std::int32_t> row_count_;
  std::vector<std::uint8_t> row_weights_;
  std::size_t row_window_ = 0;
  std::size_t first_byte_ = 0;  // bytes of a row that any output needs, in whole groups of the weave
  std::size_t bytes_ = 0;
  std::vector<std::uint8_t> blended_;  // kPairs, kYuyv
  std::vector<std::uint8_t> chroma_;   // kYuyv: U V U V
};

}  // namespace kinglet::camera
