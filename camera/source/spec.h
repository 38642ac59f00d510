// SPDX-License-Identifier: Apache-2.0
// Why: what stands behind the scheme of a source: "REST?key=value&flag", the same for every source that draws or reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "camera/source/source.h"

namespace kinglet::camera {

struct SpecOption {
  std::string_view key;
  std::string_view value;  // empty for a flag
};

struct Spec {
  std::string_view path;  // what stands before the last '?'
  std::vector<SpecOption> options;
};

// kUsage: a key that is not in `known` (nearest named). Views into `rest`.
[[nodiscard]] Result<Spec> parse_spec(std::string_view rest, std::span<const std::string_view> known);

// The time between two frames: what the spec's "fps" says ("max": zero), else options.frames_per_second if that is set,
// else ten a second. kUsage: not a number from 0.01 to 1000.
[[nodiscard]] Result<SteadyClock::duration> period_of(const Spec& spec, const SourceOptions& options);

}  // namespace kinglet::camera
