// SPDX-License-Identifier: Apache-2.0
// Why: one piece of work on a model, for people and programs that wait for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/models/trial.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

struct ModelJob {
  enum class Kind : std::uint8_t { kActivate, kPull, kUpload };
  enum class State : std::uint8_t { kQueued, kRunning, kSucceeded, kFailed };
  enum class Step : std::uint8_t { kReceive, kCheck, kActivate };  // each kind ends with some of them, in this order
  Kind kind = Kind::kActivate;
  std::string id;
  std::string model;
  State state = State::kQueued;
  Step step = Step::kActivate;
  double progress = 0;  // 0 to 1
  WallTime created{};
  WallTime started{};
  WallTime ended{};
  bool then_activate = true;
  bool on_its_way = false;     // of kUpload: its bytes still come; nobody works on it
  std::uint64_t received = 0;  // bytes, of kPull and kUpload
  std::uint64_t size = 0;      // of all of them; 0: none have to come
  std::optional<TrialRule> trial;
  std::optional<TrialReport> report;
  std::optional<Error> error;  // of kFailed: the model before answers on
  bool activated = false;      // of kSucceeded
  std::string reason;          // of kSucceeded and not activated: what the owner's rule says
  bool kept = false;           // the next start takes it as well

  [[nodiscard]] bool is_over() const { return state == State::kSucceeded || state == State::kFailed; }
};
[[nodiscard]] std::string_view to_string(ModelJob::Kind kind);
[[nodiscard]] std::string_view to_string(ModelJob::State state);
[[nodiscard]] std::string_view to_string(ModelJob::Step step);

}  // namespace kinglet::daemon
