// SPDX-License-Identifier: Apache-2.0
// Why: builds all parts in order from the configuration, and ends them in the reverse order. The only place that knows
// them all.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/pulse.h"

namespace kinglet::daemon {

struct AppOptions {
  bool strict = false;               // a model or camera that cannot be had is an error
  std::vector<std::string> origins;  // config::Loaded::origins; may be empty
  config::LoadOptions load;          // where the configuration came from: a change of it is read from there
  config::Settings settings;         // config::Loaded::settings
  std::string settings_trouble;      // why settings.toml does not count; empty: it does
  std::function<void(const std::string& level)> set_log_level;  // may be empty
  bool has_manager = false;                                     // a service manager starts us again when we ask for it
  // The three may be empty. Files of sockets that were made, which go at the end; from now on the end has things to put
  // in order; is the start to be given up?
  std::function<void(std::vector<std::string> files)> opened;
  std::function<void()> started;
  std::function<bool()> called_off;
  const Pulse* signals = nullptr;  // of who hears them, as long as the App
};

struct AppParts;  // daemon/app/app_parts.h

class App {
 public:
  // Binds, loads the model, starts all threads. kUnavailable: a port in use. With strict also what the model says, or
  // kUnavailable when no frame comes within 10 s. Without it, a missing model or camera leaves the App not ready.
  [[nodiscard]] static Result<std::unique_ptr<App>> start(const config::Config& config, const AppOptions& options,
                                                          const LogSink& log);
  ~App();  // stops, and waits for all of it

  // The end in order: frames stop, the open visit ends and is told and stored, those who tell others say goodbye, what
  // is slow is waited for last. `note_step` gets what is waited for. False: a model that runs or loads goes on, which
  // nothing interrupts; the caller then ends the process without destroying the App. Nothing that matters is lost.
  [[nodiscard]] bool stop(const std::function<void(const char* step)>& note_step);

  [[nodiscard]] const std::vector<std::string>& urls() const;
  // Reads the configuration again and takes up what changed: decisions, visits and the gate between two frames, the
  // camera by opening it anew. What only a start can change is logged as waiting. Of a fault nothing is taken up.
  [[nodiscard]] std::expected<config::Loaded, config::Faults> reload();
  void set_reload_failed(bool failed);  // for /metrics
  // Has an owner asked that the service manager starts us again?
  [[nodiscard]] bool restart_is_wanted() const;
  // Called every fraction of a second by main: feeds the service manager with what is true.
  void tend();
  [[nodiscard]] std::string status_line() const;

 private:
  explicit App(std::unique_ptr<AppParts> parts);
  // Of each camera, for AppOptions::strict.
  [[nodiscard]] Result<void> wait_for_frames(const std::function<bool()>& called_off) const;
  std::unique_ptr<AppParts> parts_;
  bool stopped_ = false;
};

}  // namespace kinglet::daemon
