// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/doctor.h"

#include <algorithm>

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

}  // namespace kinglet::daemon
