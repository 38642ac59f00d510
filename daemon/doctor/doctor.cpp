// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/doctor.h"

#include <algorithm>

#include "engine/base/format.h"

namespace kinglet::daemon {

std::vector<Finding> examine(const DoctorInput& input) {
  std::vector<Finding> findings;
  const auto add = [&](std::string_view name, Finding (*look)(const DoctorInput&)) {
    findings.push_back(look(input));
    findings.back().name = name;
  };
#define KINGLET_DOCTOR(name, function) add(name, &function);
#include "daemon/doctor/doctor.def"
#undef KINGLET_DOCTOR
  return findings;
}

CheckStatus worst(const std::vector<Finding>& findings) {
  CheckStatus status = CheckStatus::kPass;
  for (const Finding& finding : findings) status = std::max(status, finding.status);
  return status;
}

std::string rounded_bytes(std::uint64_t bytes) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  const double mebibytes = static_cast<double>(bytes) / kMebibyte;
  return mebibytes < 1024 ? format_text("{:.0f} MiB", mebibytes) : format_text("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace kinglet::daemon
