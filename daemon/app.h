// SPDX-License-Identifier: Apache-2.0
// Why: builds all parts in order from the configuration, and ends them in the reverse order. The only place that knows
// them all.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/base/error.h"
#include "engine/base/log.h"

namespace kinglet::daemon {

struct AppOptions {
  bool strict = false;               // a model or camera that cannot be had is an error
  std::vector<std::string> origins;  // config::Loaded::origins; may be empty
  std::function<void()> loaded;      // called once the model is loaded or refused, before anything is opened or written
};

class App {
 public:
  // Binds, loads the model, starts all threads. kUnavailable: a port in use. With strict also what the model says, or
  // kUnavailable when no frame comes within 10 s. Without it, a missing model or camera leaves the App not ready.
  [[nodiscard]] static Result<std::unique_ptr<App>> start(const config::Config& config, const AppOptions& options,
                                                          const LogSink& log);
  ~App();  // stops

  [[nodiscard]] const std::vector<std::string>& urls() const;
  // Takes up what changed: decisions, visits and the gate between two frames, the camera by opening it anew. What only
  // a start can change is logged as waiting. On an error (a list that cannot be read) nothing is taken up.
  [[nodiscard]] Result<void> reload(const config::Loaded& wanted);
  void set_reload_failed(bool failed);  // for /metrics
  // Called every fraction of a second by main: feeds the service manager with what is true.
  void tend();
  [[nodiscard]] std::string status_line() const;

 private:
  struct Parts;
  explicit App(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kinglet::daemon
