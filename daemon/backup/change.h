// SPDX-License-Identifier: Apache-2.0
// Why: from the old state to the one that was restored in steps of which each can be done again: wherever the power
// goes, the next start goes on with it. The old state stays beside until the new one is proven.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "daemon/backup/arrived.h"
#include "daemon/backup/parts.h"
#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::daemon::backup {

// STATE/restore/incoming is unpacked and checked, becomes "ready" by one rename, and from then on counts.
[[nodiscard]] std::filesystem::path incoming_folder(const std::filesystem::path& state);
[[nodiscard]] std::filesystem::path before_folder(const std::filesystem::path& state);
// Where the files of /etc wait: beside their place, so that they get there by a rename.
[[nodiscard]] std::filesystem::path waiting_etc(const std::filesystem::path& etc);

struct PlanItem {
  std::string name;      // as in an archive: "state/kinglet.db"; of folders as well
  bool has_new = false;  // else there is none afterwards
};

// One at a time brings or calls off a restore, as long as it holds this. kBusy: somebody else does; kIo.
[[nodiscard]] Result<FileDescriptor> hold_restores(const std::filesystem::path& state);

// Makes what lies in incoming the state to come. Where files of /etc are among what has arrived, they wait, too.
[[nodiscard]] Result<void> commit(const Places& places, std::vector<PlanItem> items, const Arrived& arrived);

// What was committed becomes the state, also where that was begun before. False: there is nothing to do. kBusy: files
// of /etc are still to come, which whoever restored has to do again. Nobody else has the state folder meanwhile.
[[nodiscard]] Result<bool> take_up(const Places& places);
[[nodiscard]] bool is_waiting(const std::filesystem::path& state);
// What it is that waits: without words where that cannot be read. Nothing: none waits.
[[nodiscard]] std::optional<Arrived> waiting(const std::filesystem::path& state);
// It waits no longer. False: none does. kBusy, kIo.
[[nodiscard]] Result<bool> call_off(const std::filesystem::path& state);
// The files that wait go to `etc`, those of before to ETC.before-restore.
[[nodiscard]] Result<void> take_up_etc(const std::filesystem::path& etc);

// The state of before the newest change waits to be taken up. kNotFound: it is not kept (any more).
[[nodiscard]] Result<void> turn_back(const Places& places);
// The newest change has worked for so long again. True: for a day in all, and what was before it is still kept. Counted
// and not told by a clock, which a board without one begins weeks behind. kIo: it cannot be written down.
[[nodiscard]] Result<bool> add_work(const std::filesystem::path& state, std::chrono::seconds worked);
void forget_before(const std::filesystem::path& state);

}  // namespace kinglet::daemon::backup
