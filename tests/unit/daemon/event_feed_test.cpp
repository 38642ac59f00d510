// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/live/event_feed.h"

#include <gtest/gtest.h>

#include "tests/fuzz/daemon_parts.h"

namespace kinglet::daemon::http {
namespace {

// As after a disk that stood still for as long as 300 events took.
TEST(EventFeed, OfTooManyVisitsTheOldestAreLeftOutAndCounted) {
  constexpr std::uint64_t kNoted = 300;
  EventFeed feed("a");
  const auto reader = feed.bus().subscribe(set_of({EventType::kVisitStart}), {});
  for (std::uint64_t i = 0; i < kNoted; ++i) feed.note(visits::VisitEvent::kStart, {.id = "vis_1", .seq = i});
  const fuzz::DaemonParts& daemon = fuzz::DaemonParts::instance();
  feed.start({.visits = daemon.book(),
              .predictions = std::get<PredictionsView>(daemon.views()),
              .figures = std::get<FiguresView>(daemon.views())});
  std::uint64_t missed = 0;
  std::uint64_t told = 0;
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(1);
  while (missed + told < kNoted && SteadyClock::now() < deadline) {
    const auto event = feed.bus().take_one(*reader, std::chrono::milliseconds(100));
    if (!event) continue;
    missed += event->missed;
    told += event->type == EventType::kVisitStart ? 1 : 0;
  }
  EXPECT_EQ(missed + told, kNoted);
  EXPECT_GE(missed, 44U) << "256 wait";
}

}  // namespace
}  // namespace kinglet::daemon::http
