// SPDX-License-Identifier: Apache-2.0
// Why: what a backup is that came in: told when it has arrived, and as long as it waits for the next start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/settings/settings_file.h"

namespace kinglet::daemon::backup {

struct Arrived {
  std::string made_at;
  std::string version;  // of the program that made it
  bool has_history = false;
  std::uint64_t visits = 0;
  std::uint64_t pictures = 0;
  std::uint64_t pictures_missing = 0;  // rows tell of them; they were removed while the backup was made
  std::uint64_t models = 0;
  std::uint64_t settings = 0;       // keys that were set on the page, without those that are left out
  std::uint64_t private_files = 0;  // tokens and what else only kEverything has
  std::uint64_t owners_files = 0;   // of /etc
  // Keys that were set on the page and that this version does not know or take.
  std::vector<config::LeftOut> left_out;
};

}  // namespace kinglet::daemon::backup
