// SPDX-License-Identifier: Apache-2.0
// Why: what the broker is to be told next besides events: the retained state, when it is new or a turn has gone by. The
// time comes in as a value and nothing here waits, so that days of it are tests.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/clock.h"

namespace kinglet::daemon::mqtt {

// Thread-bound. take_X: is it time to tell X? Then that is taken as done; today and figures come again by themselves.
class Agenda {
 public:
  explicit Agenda(std::chrono::milliseconds stats_every) : stats_every_(stats_every) {}

  void visit_is_new() { visit_is_new_ = true; }
  void today_is_new() { today_is_new_ = true; }
  void stats_are_new() { next_stats_ = {}; }
  void everything_is_new() {
    visit_is_new();
    today_is_new();
    stats_are_new();
  }
  [[nodiscard]] bool has_new_visit() const { return visit_is_new_; }

  bool take_visit() { return std::exchange(visit_is_new_, false); }
  bool take_today(SteadyTime now) {
    if (!today_is_new_ && now < next_today_) return false;
    today_is_new_ = false;
    next_today_ = now + kTodayEvery;
    return true;
  }
  bool take_stats(SteadyTime now) {
    if (now < next_stats_) return false;
    next_stats_ = now + stats_every_;
    return true;
  }

  // The first picture is made when a visit begins, the best one after it has ended; the newest visit's is waited for.
  void expect_picture(std::string visit, SteadyTime now) {
    picture_ = Picture{.visit = std::move(visit), .give_up = now + kPictureTime};
  }
  [[nodiscard]] bool expects_picture() const { return picture_.has_value(); }
  // `crop` says the JPEG of a visit, empty: not yet, or none. Empty: nothing is to be shown now.
  template <typename Crop>
  [[nodiscard]] std::string take_picture(SteadyTime now, const Crop& crop) {
    if (!picture_) return {};
    std::string jpeg = crop(picture_->visit);
    if (!jpeg.empty() || now >= picture_->give_up) picture_.reset();
    return jpeg;
  }

 private:
  static constexpr std::chrono::seconds kPictureTime{10};
  static constexpr std::chrono::seconds kTodayEvery{60};  // a new day begins by itself
  struct Picture {
    std::string visit;
    SteadyTime give_up{};
  };

  std::chrono::milliseconds stats_every_;
  bool visit_is_new_ = false;
  bool today_is_new_ = false;
  SteadyTime next_stats_{};
  SteadyTime next_today_{};
  std::optional<Picture> picture_;
};

}  // namespace kinglet::daemon::mqtt
