// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_board.h"

#include <algorithm>
#include <utility>

namespace kinglet::daemon {

ModelBoard::ModelBoard(std::string problem, std::function<void()> changed)
    : changed_(std::move(changed)), problem_(std::move(problem)), since_(std::chrono::system_clock::now()) {}

std::uint32_t ModelBoard::publish(std::shared_ptr<const ModelFacts> facts, std::shared_ptr<const visits::Rule> rule) {
  std::uint32_t number = 1;
  {
    MutexLock lock(mutex_);
    if (!models_.empty() && models_.back().facts == facts) {
      models_.back().rule = std::move(rule);
      return models_.back().number;
    }
    if (!models_.empty()) number = models_.back().number + 1;
    models_.push_back({.facts = std::move(facts), .rule = std::move(rule), .number = number});
    if (models_.size() > kRemembered) models_.pop_front();
    problem_.clear();
    since_ = std::chrono::system_clock::now();
  }
  if (changed_) changed_();
  return number;
}

LoadedModel ModelBoard::current() const {
  MutexLock lock(mutex_);
  return models_.empty() ? LoadedModel{} : models_.back();
}

std::shared_ptr<const ModelFacts> ModelBoard::facts() const { return current().facts; }

std::shared_ptr<const ModelFacts> ModelBoard::find(std::uint32_t number) const {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(models_, number, &LoadedModel::number);
  return found == models_.end() ? nullptr : found->facts;
}

std::string ModelBoard::problem() const {
  MutexLock lock(mutex_);
  return problem_;
}

WallTime ModelBoard::since() const {
  MutexLock lock(mutex_);
  return since_;
}

}  // namespace kinglet::daemon
