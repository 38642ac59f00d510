// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/fused_clip.h"

#include <algorithm>

#include "engine/ops/levels.h"
#include "engine/ops/quantized.h"

namespace kinglet::engine {
namespace {

template <typename T>
void clip_levels(const FusedClip& clip, float scale, std::int32_t zero_point, std::span<T> levels) {
  const T low = ops::quantized<T>(clip.min, scale, zero_point);
  const T high = ops::quantized<T>(clip.max, scale, zero_point);
  for (T& level : levels) level = std::min(std::max(level, low), high);
}

}  // namespace

void apply_fused_clip(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const FusedClip clip = fused_clip(node);
  if (clip.open()) return;
  const QLinearForm* form = qlinear_form(node);
  for (Tensor& output : outputs) {
    if (output.type() == DataType::kF32) {
      for (float& x : output.mutable_data<float>()) x = std::min(std::max(x, clip.min), clip.max);
    } else if (form != nullptr) {
      ops::visit_bytes(output.type(), [&]<typename T>() {
        clip_levels<T>(clip, ops::scale_of(inputs, form->y_scale), ops::zero_point_of(inputs, form->y_scale + 1),
                       output.mutable_data<T>());
      });
    }
  }
}

}  // namespace kinglet::engine
