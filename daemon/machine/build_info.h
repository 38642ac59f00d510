// SPDX-License-Identifier: Apache-2.0
// Why: what this program was built from, for /version, --version and metrics. Written by build_info.cmake.
#pragma once

#include <string_view>

namespace kinglet::daemon {

struct BuildInfo {
  std::string_view version;
  std::string_view commit;  // empty outside a git checkout
  std::string_view compiler;
  std::string_view xnnpack;    // package version; empty when not known
  std::string_view libcamera;  // empty when built without
};

[[nodiscard]] const BuildInfo& build_info();

}  // namespace kinglet::daemon
