// SPDX-License-Identifier: Apache-2.0
// Why: the lists of birds that come over HTTP, from the wish to the daemon that has them: kept in the state folder,
// taken up at once, less than what the configuration names.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/routes/bird_lists.h"
#include "daemon/http/routes/setting.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct BirdListsOptions {
  std::filesystem::path folder;  // of the state; empty: nothing can be kept
  std::function<std::vector<http::Setting>()> settings;
  // A list was changed on the disk: what it says counts from now on. An error is told, the list stays kept.
  std::function<Result<void>(http::BirdList list)> take_up;
  LogSink log;
};

class BirdLists final : public http::BirdListDesk {
 public:
  explicit BirdLists(BirdListsOptions options);

  [[nodiscard]] Result<Current> current(http::BirdList list) const override;
  [[nodiscard]] std::expected<void, Refusal> keep(http::BirdList list, const std::string& text,
                                                  std::string_view by) override;

 private:
  // The key that names such a file.
  [[nodiscard]] http::Setting setting_of(http::BirdList list) const;

  const BirdListsOptions options_;
  Mutex turn_;
};

}  // namespace kinglet::daemon
