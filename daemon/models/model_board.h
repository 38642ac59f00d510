// SPDX-License-Identifier: Apache-2.0
// Why: which model answers, for all who read it, and those before it whose predictions are still in memory.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "daemon/line/line_model.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "visits/decide.h"

namespace kinglet::daemon {

struct LoadedModel {
  std::shared_ptr<const ModelFacts> facts;   // empty: there is none
  std::shared_ptr<const visits::Rule> rule;  // made for it
  std::uint32_t number = 0;                  // rises with each model of this process
};

// Thread-safe. Published by the thread that runs the model.
class ModelBoard {
 public:
  // `problem`: why there is no model yet. `changed`, which may be empty, is called after another model was published.
  explicit ModelBoard(std::string problem = {}, std::function<void()> changed = {});

  // A model, or another rule for the one there is. Gives its number.
  std::uint32_t publish(std::shared_ptr<const ModelFacts> facts, std::shared_ptr<const visits::Rule> rule);

  [[nodiscard]] LoadedModel current() const;
  [[nodiscard]] std::shared_ptr<const ModelFacts> facts() const;  // of the current one; empty: there is none
  // Nothing: it answered too long ago.
  [[nodiscard]] std::shared_ptr<const ModelFacts> find(std::uint32_t number) const;
  [[nodiscard]] std::string problem() const;  // why there is no model
  [[nodiscard]] WallTime since() const;       // it answers, or is missing

 private:
  static constexpr std::size_t kRemembered = 8;

  const std::function<void()> changed_;
  mutable Mutex mutex_;
  std::deque<LoadedModel> models_ KINGLET_GUARDED_BY(mutex_);  // the newest at the end
  std::string problem_ KINGLET_GUARDED_BY(mutex_);
  WallTime since_ KINGLET_GUARDED_BY(mutex_);
};

// What `ask` says of the model that answers: asked again, a few times, where it was `refused` and another model has
// come meanwhile.
template <typename Ask, typename Refused>
[[nodiscard]] auto ask_current_model(const ModelBoard& models, const Ask& ask, const Refused& refused) {
  constexpr int kTimes = 3;
  for (int time = 1;; ++time) {
    const LoadedModel model = models.current();
    auto answer = ask(model);
    if (time == kTimes || !refused(answer) || models.facts() == model.facts) return answer;
  }
}

}  // namespace kinglet::daemon
