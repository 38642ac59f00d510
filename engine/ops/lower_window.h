// SPDX-License-Identifier: Apache-2.0
// Why: an operator's window in the words of XNNPACK.
#pragma once

#include <limits>
#include <optional>

#include "engine/backend/xnnpack/checks.h"
#include "engine/ops/window.h"

namespace kinglet::engine::ops {

// Nothing when the window is not two-dimensional or a number does not fit 32 bits.
[[nodiscard]] inline std::optional<xnn::Window> to_xnn(const Window& window) {
  if (window.kernel.size() != 2) return std::nullopt;
  const auto all = {&window.kernel, &window.strides, &window.dilations, &window.pads_begin, &window.pads_end};
  for (const auto* numbers : all) {
    if (numbers->size() != 2) return std::nullopt;
    for (const std::int64_t number : *numbers) {
      if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    }
  }
  const auto narrow = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  return xnn::Window{.kernel_height = narrow(window.kernel[0]),
                     .kernel_width = narrow(window.kernel[1]),
                     .stride_height = narrow(window.strides[0]),
                     .stride_width = narrow(window.strides[1]),
                     .dilation_height = narrow(window.dilations[0]),
                     .dilation_width = narrow(window.dilations[1]),
                     .pad_top = narrow(window.pads_begin[0]),
                     .pad_left = narrow(window.pads_begin[1]),
                     .pad_bottom = narrow(window.pads_end[0]),
                     .pad_right = narrow(window.pads_end[1])};
}

}  // namespace kinglet::engine::ops
