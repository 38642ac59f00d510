// SPDX-License-Identifier: Apache-2.0
// Why: what is set over HTTP, from the wish to the daemon that has it: checked as the start checks it, kept in the
// state folder, taken up as a reload is, told in the log. One change at a time, whoever wishes it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "daemon/app/desks/live_settings.h"
#include "daemon/http/routes/setting.h"
#include "daemon/settings/settings_file.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct SettingsKeeperOptions {
  config::LoadOptions load;      // where the owner's configuration is
  std::filesystem::path folder;  // of the state; empty: nothing can be set
  config::Settings kept;         // as they were read at the start
  std::string trouble;           // why they were not; empty: they were
  // Now, of what else is set on the page; may be empty.
  std::function<std::string()> other_trouble = {};
};

// Thread-safe. Nothing that only reads waits for the disk.
class SettingsKeeper final : public http::SettingsDesk {
 public:
  // Hands the parts of the daemon what changed for them; called by one thread at a time.
  using TakeUp = std::function<void(const LiveSettings::Change& change, const config::Loaded& wanted)>;
  SettingsKeeper(SettingsKeeperOptions options, LiveSettings& live, TakeUp take_up, LogSink log);

  // SIGHUP: all of it read again. `before` comes between reading and taking up; its error takes up nothing.
  [[nodiscard]] std::expected<config::Loaded, config::Faults> reload(const std::function<Result<void>()>& before);

  // Runs while no settings are changed or read again.
  void in_turn(const std::function<void()>& task);

  [[nodiscard]] std::vector<http::Setting> list() const override { return live_.list(); }
  [[nodiscard]] State state() const override;
  [[nodiscard]] std::expected<void, http::SettingsRefusal> change(const http::SettingsWish& wish) override;
  [[nodiscard]] std::expected<void, http::SettingsRefusal> undo(const http::SettingsWish& wish) override;
  [[nodiscard]] std::vector<http::SettingsChange> history() const override;

 private:
  struct Book {
    config::Settings kept;
    std::vector<PastChange> past;  // oldest first
    std::string trouble;
  };
  [[nodiscard]] Book book() const;
  void set_book(Book book);
  // What the start would make of these, and the parts' half of it.
  struct Ready {
    config::Loaded loaded;
    LineOptions line;
  };
  // `past`: what does not fit any more is left out.
  [[nodiscard]] std::expected<Ready, http::SettingsRefusal> judge(const config::Settings& settings,
                                                                  bool past = false) const;
  [[nodiscard]] std::expected<void, http::SettingsRefusal> refuse_set_in_file(const http::SettingsWish& wish) const;
  void take_up(const Ready& ready) KINGLET_REQUIRES(turn_);

  const SettingsKeeperOptions options_;
  LiveSettings& live_;
  const TakeUp take_up_;
  const LogSink log_;
  Mutex turn_;  // of a change: held while files are read and written
  mutable Mutex mutex_;
  Book book_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon
