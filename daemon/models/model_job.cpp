// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_job.h"

#include "engine/base/words.h"

namespace kinglet::daemon {

std::string_view to_string(ModelJob::Kind kind) {
  using enum ModelJob::Kind;
  static constexpr Word<ModelJob::Kind> kWords[] = {{kActivate, "activate"}, {kPull, "pull"}, {kUpload, "upload"}};
  return word_of(kWords, kind);
}

std::string_view to_string(ModelJob::State state) {
  using enum ModelJob::State;
  static constexpr Word<ModelJob::State> kWords[] = {
      {kQueued, "queued"}, {kRunning, "running"}, {kSucceeded, "succeeded"}, {kFailed, "failed"}};
  return word_of(kWords, state);
}

std::string_view to_string(ModelJob::Step step) {
  using enum ModelJob::Step;
  static constexpr Word<ModelJob::Step> kWords[] = {{kReceive, "receive"}, {kCheck, "check"}, {kActivate, "activate"}};
  return word_of(kWords, step);
}

}  // namespace kinglet::daemon
