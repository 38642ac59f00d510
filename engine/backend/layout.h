// SPDX-License-Identifier: Apache-2.0
// Why: the physical order of a value's numbers. Shapes everywhere stay logical (as ONNX says them); only the plan and
// the backend know that 4-D values of images lie in memory as [N,H,W,C].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/graph.h"

namespace kinglet::engine {

enum class Layout : std::uint8_t { kLogical, kNhwc };

// The layout of each value of one graph; kLogical where nothing was said. kNhwc only for 4-D values.
class Layouts {
 public:
  [[nodiscard]] Layout of(ValueId id) const {
    const auto index = static_cast<std::size_t>(id);
    return index < layouts_.size() ? layouts_[index] : Layout::kLogical;
  }
  void set(ValueId id, Layout layout) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= layouts_.size()) layouts_.resize(index + 1, Layout::kLogical);
    layouts_[index] = layout;
  }

 private:
  std::vector<Layout> layouts_;
};

// The layout in which a value crosses a border between segments or leaves the session: graph outputs are logical.
[[nodiscard]] inline Layout border_layout(const Graph& graph, const Layouts& layouts, ValueId id) {
  return graph.is_output(id) ? Layout::kLogical : layouts.of(id);
}

// [N,C,H,W] -> [N,H,W,C] for kNhwc; unchanged otherwise. Own bug: kNhwc for a shape that is not 4-D.
[[nodiscard]] Shape physical_shape(const Shape& logical, Layout layout);

// Where a logical axis lies in memory: 1 of NCHW is 3 of NHWC.
[[nodiscard]] std::size_t physical_axis(std::size_t logical_axis, Layout layout);

// The inverse: the logical axis that lies at a physical place.
[[nodiscard]] std::size_t logical_axis(std::size_t physical_axis, Layout layout);

// The numbers lie in the same order in both layouts: not 4-D, or only one channel, or one pixel.
[[nodiscard]] bool layout_neutral(const Shape& logical);

// Copies a tensor of `logical` shape from layout `from` to layout `to`; both spans have the tensor's size.
void copy_layout(const Shape& logical, std::size_t element_size, std::span<const std::byte> source, Layout from,
                 std::span<std::byte> target, Layout to);

}  // namespace kinglet::engine
