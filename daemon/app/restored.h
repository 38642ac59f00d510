// SPDX-License-Identifier: Apache-2.0
// Why: what a restore means for the daemon: taken up before anything of the state is opened, judged as a start would,
// and forgotten what was before when the new state has worked for a day.
#pragma once

#include <chrono>
#include <filesystem>

#include "config/config.h"
#include "daemon/backup/desk.h"
#include "daemon/settings/settings_check.h"
#include "engine/base/log.h"

namespace kinglet::daemon {

// True: the state is another one now, read everything again. Errors are reasons not to start: the state is between two.
[[nodiscard]] Result<bool> take_up_restore(const Usable& usable);

// Settings that came from elsewhere, perhaps of another version, with the owner's files of here.
[[nodiscard]] backup::Incoming::JudgeSettings judge_with(config::LoadOptions load, std::filesystem::path state_folder);

// Now and then, with what the new state has worked since the last time. A disk that takes nothing is told elsewhere.
void forget_proven(const std::filesystem::path& state_folder, std::chrono::seconds worked, const LogSink& log);

}  // namespace kinglet::daemon
