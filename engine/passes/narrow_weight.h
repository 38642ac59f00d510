// SPDX-License-Identifier: Apache-2.0
// Why: a weight of uint8 around another level than 128 is int8 around 0 but for the numbers at one of its ends. Of
// Coral's birds those are 90 of 3.4 million, so that all of a model may run as int8, and few channels are computed once
// more.
#pragma once

#include <optional>
#include <vector>

#include "engine/graph/tensor.h"

namespace kinglet::engine {

struct NarrowWeight {
  Tensor levels;                   // int8 around 0; of wide channels all 0
  std::vector<std::int64_t> wide;  // output channels with a number that is none of int8, in their order
};

// The weight `levels` of uint8 around `zero_point`, one number for all, whose output channels lie along `axis`. Nothing
// for another form, and where too many channels would be computed twice.
[[nodiscard]] std::optional<NarrowWeight> narrowed(const Tensor& levels, const Tensor& zero_point, std::size_t axis);

// Those channels alone, as they were, with the channels first.
[[nodiscard]] Tensor channels_of(const Tensor& levels, std::size_t axis, const std::vector<std::int64_t>& channels);

}  // namespace kinglet::engine
