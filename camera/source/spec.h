// SPDX-License-Identifier: Apache-2.0
// Why: what stands behind the scheme of a source: "REST?key=value&flag", the same for every source that draws or reads.
#pragma once

#include <optional>
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

enum class Repeat { kLoop, kOnce };

// Of pictures or frames that lie on the disk.
struct Playback {
  std::string path;
  Repeat repeat = Repeat::kLoop;
  std::optional<SteadyClock::duration> period;  // where the spec says one
};

// kUsage: a key that is not in `known` (nearest named). Views into `rest`.
[[nodiscard]] Result<Spec> parse_spec(std::string_view rest, std::span<const std::string_view> known);

// The time between two frames: what the spec's "fps" says ("max": zero), else options.frames_per_second if that is set,
// else ten a second. kUsage: not a number from 0.01 to 1000.
[[nodiscard]] Result<SteadyClock::duration> period_of(const Spec& spec, const SourceOptions& options);

// Of "SCHEME:PATH?fps=N&once". kUsage: as parse_spec and period_of; no path, which is to be a `what`.
[[nodiscard]] Result<Playback> parse_playback(std::string_view scheme, std::string_view what, std::string_view rest,
                                              const SourceOptions& options);

}  // namespace kinglet::camera
