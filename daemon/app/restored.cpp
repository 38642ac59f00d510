// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/restored.h"

#include <utility>

#include "daemon/backup/change.h"
#include "daemon/settings/settings.h"
#include "daemon/settings/settings_file.h"
#include "store/folder_lock.h"

namespace kinglet::daemon {

Result<bool> take_up_restore(const Usable& usable) {
  if (!backup::is_waiting(usable.folder)) return false;
  const FileDescriptor lock = KINGLET_TRY(store::lock_folder(usable.folder));
  return backup::take_up(
      {.state = usable.folder, .models = model_folder(usable.loaded.config, usable.folder), .etc = {}});
}

backup::Incoming::JudgeSettings judge_with(config::LoadOptions load, std::filesystem::path state_folder) {
  return [load = std::move(load), folder = std::move(state_folder)](
             const std::string& text, const std::filesystem::path& /*etc*/) -> Result<JudgedSettings> {
    config::LoadOptions wish = load;
    wish.settings = {.file = settings_file(folder), .text = text};
    wish.foreign_settings = true;
    auto loaded = load_settings(std::move(wish));
    if (!loaded) return std::unexpected(loaded.error().front());
    return JudgedSettings{.kept = std::move(loaded->settings), .left_out = std::move(loaded->left_out)};
  };
}

void forget_proven(const std::filesystem::path& state_folder, std::chrono::seconds worked, const LogSink& log) {
  if (!backup::add_work(state_folder, worked).value_or(false)) return;
  backup::forget_before(state_folder);
  log(LogLevel::kInfo, "what was before the newest restore is no longer kept: the new state has worked for a day");
}

}  // namespace kinglet::daemon
