// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/live/event_feed.h"

#include <ranges>
#include <utility>

#include "daemon/answer/latest.h"
#include "daemon/doctor/health.h"
#include "daemon/http/live/stats.h"
#include "daemon/http/routes/json.h"
#include "daemon/machine/thread_entry.h"
#include "daemon/models/model_board.h"
#include "daemon/tell/visit_json.h"
#include "visits/book.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t kMostNoted = 256;
constexpr std::size_t kMostPredictions = 256;
constexpr std::chrono::seconds kStatsEvery{5};

EventType type_of(visits::VisitEvent event) {
  switch (event) {
    case visits::VisitEvent::kStart:
      return EventType::kVisitStart;
    case visits::VisitEvent::kUpdate:
      return EventType::kVisitUpdate;
    case visits::VisitEvent::kEnd:
      return EventType::kVisitEnd;
  }
  return EventType::kVisitUpdate;
}

}  // namespace

void EventFeed::start(const Sources& sources) {
  model_ = sources.predictions.models.current().number;
  thread_ =
      std::jthread([this, sources](const std::stop_token& stop) { enter_thread(pulse_, [&] { run(stop, sources); }); });
}

void EventFeed::stop() {
  {
    MutexLock lock(mutex_);
    thread_.request_stop();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EventFeed::look() {
  {
    MutexLock lock(mutex_);
    look_ = true;
  }
  changed_.notify_all();
}

void EventFeed::note(visits::VisitEvent event, const visits::Visit& visit) { note({.event = event, .visit = visit}); }

void EventFeed::note_picture(const std::string& visit) { note({.event = {}, .visit = {.id = visit}}); }

void EventFeed::note(Noted noted) {
  {
    MutexLock lock(mutex_);
    if (noted_.size() == kMostNoted) {
      noted_.pop_front();
      ++left_out_;
    }
    noted_.push_back(std::move(noted));
  }
  changed_.notify_all();
}

void EventFeed::run(const std::stop_token& stop, const Sources& sources) {
  while (!stop.stop_requested()) {
    pulse_.beat(kStatsEvery);
    const bool predictions = bus_.wanted(EventType::kPrediction);
    const SteadyTime now = SteadyClock::now();
    tell_visits(sources);
    tell_cameras(sources);
    tell_model(sources);
    if (predictions) tell_predictions(sources, !predictions_told_);
    predictions_told_ = predictions;
    tell_stats(sources, now);
    MutexLock lock(mutex_);
    // That a camera hangs is a matter of time passing: it is seen when statistics are due.
    while (noted_.empty() && !look_ && !stop.stop_requested()) {
      if (changed_.wait_until(mutex_, next_stats_) == std::cv_status::timeout) break;
    }
    look_ = false;
  }
  tell_visits(sources);
}

// As it was when it was noted, among the others of its day as they are now.
void EventFeed::tell_visits(const Sources& sources) {
  for (;;) {
    std::optional<Noted> noted;
    std::uint64_t left_out = 0;
    {
      MutexLock lock(mutex_);
      if (noted_.empty()) return;
      left_out = std::exchange(left_out_, 0);
      noted = std::move(noted_.front());
      noted_.pop_front();
    }
    if (left_out > 0) {
      bus_.publish_gap(
          set_of({EventType::kVisitStart, EventType::kVisitPicture, EventType::kVisitUpdate, EventType::kVisitEnd}),
          left_out);
    }
    if (!noted->event) {
      tell_picture(sources, noted->visit.id);
      continue;
    }
    visits::BookedVisit booked;
    if (auto found = sources.visits.find(noted->visit.id); found && *found) booked = std::move(**found);
    noted->visit.review = booked.visit.review;
    booked.visit = std::move(noted->visit);
    if (noted->event == visits::VisitEvent::kStart && !booked.has_crop) {
      without_picture_.push_back(booked.visit.id);
      if (without_picture_.size() > most_without_picture_) without_picture_.pop_front();
    }
    bus_.publish(type_of(*noted->event), std::move(booked));
  }
}

void EventFeed::tell_picture(const Sources& sources, const std::string& visit) {
  if (std::erase(without_picture_, visit) == 0) return;
  auto found = sources.visits.find(visit);
  if (found && *found) bus_.publish(EventType::kVisitPicture, std::move(**found));
}

void EventFeed::tell_cameras(const Sources& sources) {
  const CamerasView& view = sources.figures.cameras;
  const Vitals vitals = view.vitals();
  cameras_.resize(view.cameras.size());
  for (std::size_t i = 0; i < view.cameras.size(); ++i) {
    const CameraStatus& status = vitals.cameras[i].status;
    // Who shows whether all is paused asks when a camera's state is told, which may be that of one that gives nothing.
    std::string now = std::string(to_string(status.state)) + (vitals.paused ? " paused " : " ") + status.detail;
    if (now == cameras_[i]) continue;
    cameras_[i] = std::move(now);
    bus_.publish(EventType::kCamera, "camera", camera_json(view.cameras[i], vitals, i).dump());
  }
}

void EventFeed::tell_model(const Sources& sources) {
  const LoadedModel model = sources.predictions.models.current();
  if (!model.facts || model.number == model_) return;
  Json json = model_reference(*model.facts);
  if (const auto before = sources.predictions.models.find(model_)) json["before"] = model_reference(*before);
  model_ = model.number;
  bus_.publish(EventType::kModel, "model", json.dump());
}

void EventFeed::tell_stats(const Sources& sources, SteadyTime now) {
  const bool is_first = !std::exchange(stats_told_, bus_.wanted(EventType::kStats));
  if (now < next_stats_ && !(is_first && stats_told_)) return;
  next_stats_ = now + kStatsEvery;
  if (!stats_told_) return;
  bus_.publish(EventType::kStats, "stats", stats_json(sources.figures).dump());
}

void EventFeed::tell_predictions(const Sources& sources, bool anew) {
  // Who has just come is not told of old ones.
  if (anew) {
    if (const auto newest = sources.predictions.latest.get()) last_prediction_ = newest->seq;
    return;
  }
  const auto fresh = sources.predictions.latest.list(
      kMostPredictions, [this](const Prediction& prediction) { return prediction.seq > last_prediction_; });
  if (!fresh.empty() && fresh.back().seq > last_prediction_ + 1) {
    bus_.publish_gap(set_of({EventType::kPrediction}), fresh.back().seq - last_prediction_ - 1);
  }
  for (const Prediction& prediction : fresh | std::views::reverse) {
    last_prediction_ = prediction.seq;
    const auto model = sources.predictions.models.find(prediction.model);
    if (model) {
      bus_.publish(EventType::kPrediction, "prediction",
                   to_json(prediction, *model, sources.predictions.cameras[prediction.camera]).dump());
    }
  }
}

}  // namespace kinglet::daemon::http
