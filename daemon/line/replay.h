// SPDX-License-Identifier: Apache-2.0
// Why: recorded frames through the daemon's own line on a virtual clock: the same frames and settings give the same
// visits, to the byte, on a faster clock than the wall's.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "camera/source/source.h"
#include "daemon/line/frame_line.h"
#include "daemon/line/stats.h"
#include "visits/visit.h"

namespace kinglet::daemon {

struct ReplayOptions {
  LineModelOptions classifier;
  LineDetectorOptions detector;  // without a model: none
  LineOptions line;
  camera::SourceOptions source;                              // as of open_replay_input
  SteadyClock::duration length{};                            // of virtual time; zero: to the end
  std::function<void(SteadyClock::duration done)> progress;  // may be empty
};

// A visit, and how long people would have waited for its name.
struct ReplayedVisit {
  visits::Visit visit;
  SteadyClock::duration named_at{};  // since the first frame: when it was first told under the name that it ended with
};

struct ReplayReport {
  std::string description;  // of the input
  std::uint64_t frames = 0;
  std::uint64_t errors = 0;  // frames that could not be read, prepared or answered
  std::string first_error;
  std::uint64_t predictions = 0;
  std::array<std::uint64_t, kOutcomeCount> by_outcome{};
  std::uint64_t inferences = 0;                         // regions that were looked at
  std::array<std::uint64_t, kLeftOutCount> left_out{};  // regions that were not
  DetectorTotals detector;
  std::array<std::uint64_t, kSkipReasonCount> skipped{};
  SteadyClock::duration length{};     // from the first frame to the last
  std::vector<ReplayedVisit> visits;  // all ended, by seq
  std::vector<std::string> warnings;
};

// Every frame that passes the gate is answered, and each of its regions: a model that is too slow for the camera loses
// none here. Errors are
// those of the model and of the input's beginning.
[[nodiscard]] Result<ReplayReport> replay(const ReplayOptions& options);

}  // namespace kinglet::daemon
