// SPDX-License-Identifier: Apache-2.0
// Why: what the parts of the daemon do becomes events, on a thread of its own: neither the one that answers frames nor
// the one that feeds the watchdog ever waits for the history's disk.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/http/routes/views.h"
#include "daemon/tell/clock.h"
#include "daemon/tell/event_bus.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "engine/base/pulse.h"
#include "visits/tracker.h"

namespace kinglet::daemon::http {

// Owns the thread "events". `cameras`: of so many there are visits; `wall`: when something happens. note() and look()
// are thread-safe; start() and stop() belong to the owner.
class EventFeed {
 public:
  explicit EventFeed(std::string boot_tag, std::size_t cameras = 1, std::function<WallTime()> wall = Clock().wall)
      : most_without_picture_(kMostWithoutPicture * cameras),
        bus_(std::move(boot_tag), {}, [this] { look(); }, std::move(wall)) {}
  ~EventFeed() { stop(); }

  // What it asks about all that is not noted; lives until stop().
  struct Sources {
    const visits::VisitBook& visits;
    const PredictionsView& predictions;
    const FiguresView& figures;
  };
  void start(const Sources& sources);
  void stop();  // what was noted before is told first

  // A visit began, changed or ended. Never waits: of too many the oldest are left out, which is told as a gap.
  void note(visits::VisitEvent event, const visits::Visit& visit);
  // The first picture of a visit can be had: told when its start was told without one. Never waits.
  void note_picture(const std::string& visit);
  // The camera, the model or the newest prediction may be another one. Never waits.
  void look();
  [[nodiscard]] EventBus& bus() { return bus_; }
  [[nodiscard]] const Pulse& pulse() const { return pulse_; }

 private:
  static constexpr std::size_t kMostWithoutPicture = 16;  // of one camera: more visits are never open

  struct Noted {
    std::optional<visits::VisitEvent> event;  // nothing: its first picture
    visits::Visit visit;                      // of a picture only the id
  };
  void note(Noted noted);
  void tell_picture(const Sources& sources, const std::string& visit);
  void run(const std::stop_token& stop, const Sources& sources);
  void tell_visits(const Sources& sources);
  void tell_cameras(const Sources& sources);
  void tell_model(const Sources& sources);
  void tell_stats(const Sources& sources, SteadyTime now);
  void tell_predictions(const Sources& sources, bool anew);

  const std::size_t most_without_picture_;
  Pulse pulse_{"events"};
  EventBus bus_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Noted> noted_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t left_out_ KINGLET_GUARDED_BY(mutex_) = 0;  // of noted_, not yet told
  bool look_ KINGLET_GUARDED_BY(mutex_) = false;

  // The thread's own.
  std::deque<std::string> without_picture_;  // ids of visits whose start was told without one
  std::vector<std::string> cameras_;         // as they were last told
  std::uint32_t model_ = 0;                  // the number of the one last told
  std::uint64_t last_prediction_ = 0;
  bool predictions_told_ = false;  // somebody listened to them in the last turn
  bool stats_told_ = false;        // the same
  SteadyTime next_stats_{};
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon::http
