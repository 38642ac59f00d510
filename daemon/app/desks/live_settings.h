// SPDX-License-Identifier: Apache-2.0
// Why: what of the configuration may change while the daemon runs, and what a new configuration changes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/source/source.h"
#include "config/config.h"
#include "daemon/http/routes/setting.h"
#include "daemon/line/frame_line.h"
#include "daemon/models/trial.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// All is thread-safe; one reload() at a time.
class LiveSettings {
 public:
  // `origins`: as config::Loaded has them; empty is the default for all.
  LiveSettings(const config::Config& config, std::vector<std::string> origins, LogSink log);

  // Of the camera at this place.
  [[nodiscard]] camera::SourceOptions source(std::size_t camera = 0) const;
  [[nodiscard]] std::string language() const;  // of messages, "de"
  [[nodiscard]] TrialRule trial_rule() const;  // the owner's word on models that are to take the place of another
  // With the lists of birds as their files are now: kNotFound, kBadData.
  [[nodiscard]] Result<LineOptions> line_now() const;
  // Every key, in the order of the table.
  [[nodiscard]] std::vector<http::Setting> list() const;

  struct Change {
    std::optional<LineOptions> line;                         // for the pipeline
    std::optional<std::chrono::milliseconds> camera_settle;  // the first camera has to be opened anew, with this
    bool every_camera = false;                               // the others, too
  };
  // Takes up what may change and logs each key; those of the next start are logged as waiting. An error (a list that
  // cannot be read) takes up nothing.
  [[nodiscard]] Result<Change> reload(const config::Loaded& wanted);
  // The second half of it, with what line_options() made of `wanted`: it cannot fail.
  [[nodiscard]] Change take_up(const config::Loaded& wanted, const LineOptions& line);

 private:
  // True: a further camera has to be opened anew.
  [[nodiscard]] bool take_up_masks(const config::Config& wanted) KINGLET_REQUIRES(mutex_);
  void note_further_cameras(const config::Config& wanted) KINGLET_REQUIRES(mutex_);

  const LogSink log_;
  mutable Mutex mutex_;
  config::Config config_ KINGLET_GUARDED_BY(mutex_);                           // in effect
  std::vector<std::string> origins_ KINGLET_GUARDED_BY(mutex_);                // of its values
  std::vector<std::optional<PlainValue>> waiting_ KINGLET_GUARDED_BY(mutex_);  // values for the next start
  std::string waiting_cameras_ KINGLET_GUARDED_BY(mutex_);  // further ones of the next start, or empty
};

}  // namespace kinglet::daemon
