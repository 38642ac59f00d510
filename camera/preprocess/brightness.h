// SPDX-License-Identifier: Apache-2.0
// Why: at dusk and under a camera's own lamp a bird is there, but dark, and a model that learnt from photographs of the
// day knows it by nothing. How bright a part of a frame is, and how much brighter a dark one is shown.
#pragma once

#include <array>
#include <cstddef>

#include "camera/frame/frame.h"
#include "camera/preprocess/resample/plane_resample.h"

namespace kinglet::camera {

// Factors of a pixel's values, the first for what is bright enough. Few, so that the tables of each are kept.
inline constexpr std::array<double, 8> kGains = {1, 1.25, 1.5, 2, 2.5, 3, 4, 5};

// The place in kGains for a part that is so bright on the whole, 0 to 255. Measured (docs/benchmarks.md, "By night").
[[nodiscard]] std::size_t gain_for(double brightness);

// The mean of at most 32 x 32 samples of one channel, spread over `width` x `height` of them: 0 to 255.
[[nodiscard]] double mean_level(const Plane& plane, const ChannelLayout& channel, int width, int height);

}  // namespace kinglet::camera
