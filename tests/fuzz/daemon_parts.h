// SPDX-License-Identifier: Apache-2.0
// Why: the daemon's own parts, made once and not started: the demonstration model on the board, a visit in the history,
// no camera, and nobody who runs the model.
#pragma once

#include <memory>
#include <string>

#include "daemon/http/message/message.h"
#include "daemon/http/routes/views.h"
#include "engine/base/file.h"

namespace kinglet::fuzz {

class DaemonParts {
 public:
  static DaemonParts& instance();

  [[nodiscard]] const daemon::http::Views& views() const;
  [[nodiscard]] const visits::VisitBook& book() const;
  // Has the server answer what comes from this end of a connection.
  void serve(FileDescriptor connection, const std::string& peer);
  // As the door sees who may do everything.
  [[nodiscard]] daemon::http::Call call(std::string method, std::string path) const;
  [[nodiscard]] const std::string& visit_id() const;

 private:
  DaemonParts();
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace kinglet::fuzz
