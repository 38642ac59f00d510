// SPDX-License-Identifier: Apache-2.0
// Why: where a changed model's numbers part from those before: values of the same name, layer by layer.
#pragma once

#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/quantize/calibration/samples.h"

namespace kinglet::engine {

struct ValueNoise {
  std::string value;
  std::string op_type;  // what makes it in the graph before
  double signal_to_noise_db = 0;
};

// Of the float values that both graphs compute under the same name, in the order of `before`; on at most 8 samples.
// Noise adds up: a value has that of all before it. Values that equalisation rescaled are left out.
[[nodiscard]] Result<std::vector<ValueNoise>> layer_noise(const Graph& before, const Graph& after,
                                                          const Samples& samples, const Progress& progress);

}  // namespace kinglet::engine
