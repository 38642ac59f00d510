// SPDX-License-Identifier: Apache-2.0
// Why: an archive on its way into a box: hostile until all of it has been looked at. It is unpacked beside the state as
// it comes, never into it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/backup/arrived.h"
#include "daemon/backup/parts.h"
#include "daemon/settings/settings_file.h"
#include "engine/base/error.h"

namespace kinglet::daemon::backup {

// Thread-bound.
class Incoming {
 public:
  // kBusy: another archive comes in; kNotPermitted, kCannotCreate: the folder cannot be written. `takes`: what is left
  // aside of an archive that has more.
  [[nodiscard]] static Result<Incoming> begin(Places places, Carry takes);
  Incoming(Incoming&&) noexcept;
  Incoming& operator=(Incoming&&) = delete;
  ~Incoming();  // what was not committed is gone

  // kBadData, kUnsupported: of the archive; kIo: of the disk.
  [[nodiscard]] Result<void> take(std::string_view bytes);
  // After the last byte: everything is judged, `settings` by the caller: the text of settings.toml, empty where there
  // is none, and the folder with the owner's files to come, empty where there are none.
  using JudgeSettings =
      std::function<Result<JudgedSettings>(const std::string& text, const std::filesystem::path& etc)>;
  [[nodiscard]] Result<Arrived> finish(const JudgeSettings& settings, const std::function<bool()>& stop);
  // It counts from now on: take_up() makes it the state. After finish().
  [[nodiscard]] Result<void> commit();

 private:
  struct State;
  explicit Incoming(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kinglet::daemon::backup
