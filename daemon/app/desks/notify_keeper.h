// SPDX-License-Identifier: Apache-2.0
// Why: who is to get messages, from the owner's files and from the page together: checked, kept in the state folder
// with secrets apart, and handed to the thread that sends.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "daemon/http/routes/notify_desk.h"
#include "daemon/notify/notifier.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Thread-safe.
class NotifyKeeper final : public http::NotifyDesk {
 public:
  // `folder`: of the state; empty: nothing is kept. What lies there and cannot be used is set aside. `files`: judged
  // (daemon/settings/notify_settings.h).
  NotifyKeeper(std::filesystem::path folder, std::vector<config::Notify> files, LogSink log);

  // Why what was set on the page before the start does not count; empty: it does, or a service was set anew.
  [[nodiscard]] std::string trouble() const;
  // From now on this one sends; it outlives all calls.
  void attach(notify::Notifier& notifier);
  // The owner's files were read again.
  void take_up(std::vector<config::Notify> files);

  [[nodiscard]] std::vector<http::NotifyService> list() const override;
  [[nodiscard]] std::expected<void, http::SettingsRefusal> put(const http::NotifyWish& wish) override;
  [[nodiscard]] std::expected<bool, http::SettingsRefusal> remove(const std::string& name,
                                                                  const std::string& by) override;
  [[nodiscard]] Result<void> try_now(const std::string& name) override;

 private:
  struct Book {
    std::vector<config::Notify> files;
    std::vector<config::Notify> kept;
  };
  [[nodiscard]] Book book() const;
  [[nodiscard]] notify::Notifier* notifier() const;
  [[nodiscard]] std::expected<config::Notify, http::SettingsRefusal> judge(const http::NotifyWish& wish) const;
  [[nodiscard]] bool keeps_secret(const Book& book, const config::Notify& now) const;
  void hand_over(Book book) KINGLET_REQUIRES(turn_);

  const std::filesystem::path folder_;
  const LogSink log_;
  Mutex turn_;  // of a change: held while files are written
  mutable Mutex mutex_;
  std::string trouble_ KINGLET_GUARDED_BY(mutex_);
  Book book_ KINGLET_GUARDED_BY(mutex_);
  notify::Notifier* notifier_ KINGLET_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace kinglet::daemon
