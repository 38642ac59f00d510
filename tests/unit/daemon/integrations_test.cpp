// SPDX-License-Identifier: Apache-2.0
// What integrations are told of the history, at an hour that the test says: the daemon's own parts, a virtual clock and
// a real neighbour.
#include "daemon/app/integrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

#include "daemon/app/integration_sources.h"
#include "engine/base/format.h"
#include "store/store.h"
#include "tests/fuzz/daemon_parts.h"
#include "tests/unit/daemon/standing_clock.h"

namespace kinglet::daemon {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// Of a day that nobody else writes about; in Berlin it is an hour later.
WallTime utc(std::chrono::seconds time) {
  return WallTime(std::chrono::sys_days(std::chrono::year(2031) / 1 / 15) + time);
}

class IntegrationsTest : public ::testing::Test {
 protected:
  IntegrationsTest() {
    receiver_.Post("/", [this](const httplib::Request& request, httplib::Response& reply) {
      MutexLock lock(mutex_);
      heard_.push_back(request.body.substr(2));
      reply.status = 204;
    });
    const int port = receiver_.bind_to_any_port("127.0.0.1");
    server_ = format_text("http://127.0.0.1:{}/", port);
    serving_ = std::jthread([this] { receiver_.listen_after_bind(); });
    receiver_.wait_until_ready();
  }
  ~IntegrationsTest() override {
    integrations_.reset();
    receiver_.stop();
    for (const std::string& id : visits_) EXPECT_TRUE(history().store.erase(id));
  }

  static const http::HistoryView& history() {
    return std::get<http::HistoryView>(fuzz::DaemonParts::instance().views());
  }
  void visit_of(const std::string& species, WallTime at, visits::Verdict said = visits::Verdict::kNone,
                const std::string& source = "camera") {
    visits::Visit visit;
    visit.seq = history().store.next_seq();
    visit.id = format_text("vis_{:026}", visit.seq);
    visit.state = visits::VisitState::kEnded;
    visit.source = source;
    visit.started_at = at;
    visit.clock_synced = true;
    visit.model_result.species_id = species;
    history().store.put(visit);
    visits_.push_back(visit.id);
    if (said == visits::Verdict::kNone) return;
    EXPECT_TRUE(history().store.review(visit.id, {.verdict = said}, {}));
  }
  // At `at` in Berlin; it speaks German.
  void start_with_digest(std::chrono::minutes at) {
    IntegrationOptions options;
    options.zone = TimeZone::find("Europe/Berlin").value();
    options.clock = clock_.clock();
    integrations_.emplace(std::move(options), [] { return std::string("de"); }, [](LogLevel, std::string_view) {});
    integrations_->start(fuzz::DaemonParts::instance().views(), "http://feeder");
    integrations_->notifier().adopt(
        {{.target = {.name = "phone", .service = notify::Service::kOwn, .server = server_, .body = "> {title}\n{text}"},
          .rule = {.digest = at}}});
  }
  std::vector<std::string> heard() const {
    MutexLock lock(mutex_);
    return heard_;
  }

  mutable Mutex mutex_;
  std::vector<std::string> heard_ KINGLET_GUARDED_BY(mutex_);
  StandingClock clock_;
  httplib::Server receiver_;
  std::string server_;
  std::jthread serving_;
  std::vector<std::string> visits_;
  std::optional<Integrations> integrations_;
};

TEST_F(IntegrationsTest, ADigestIsOfThe24HoursBeforeItByItsClock) {
  visit_of("turdus-merula", utc(-5h - 1s));
  visit_of("turdus-merula", utc(-5h));
  visit_of("turdus-merula", utc(-2h));
  visit_of("parus-major", utc(10h));
  visit_of("parus-major", utc(11h), visits::Verdict::kNotABird);
  visit_of("turdus-merula", utc(19h));
  clock_.set_wall(utc(18h + 59min));
  start_with_digest(20h);
  clock_.pass(2min);
  EXPECT_THAT(heard(), ElementsAre("Die letzten 24 Stunden: 3 Besuche von 2 Arten\n2 Amsel\n1 Kohlmeise"));
}

TEST_F(IntegrationsTest, ACamerasLastVisitIsFoundBehindAnyNumberOfAnothers) {
  visit_of("turdus-merula", utc(9h));
  for (int i = 0; i < 600; ++i) visit_of("parus-major", utc(10h), visits::Verdict::kNone, "tree");
  const mqtt::Sources sources = mqtt_sources(fuzz::DaemonParts::instance().views(),
                                             {.node = "test", .cameras = {"tree", "attic"}}, {}, Clock().wall);
  ASSERT_TRUE(sources.last_visit(0));
  EXPECT_EQ(sources.last_visit(0)->visit.id, visits_.front());
  ASSERT_TRUE(sources.last_visit(1));
  EXPECT_EQ(sources.last_visit(1)->visit.id, visits_.back());
  EXPECT_FALSE(sources.last_visit(2));
}

TEST_F(IntegrationsTest, ADigestOfTheMorningTellsOfTheDayBefore) {
  for (int i = 0; i < 1200; ++i) visit_of("turdus-merula", utc(9h + std::chrono::seconds(i)));
  clock_.set_wall(utc(29h + 59min));
  start_with_digest(7h);
  clock_.pass(2min);
  EXPECT_THAT(heard(), ElementsAre("Die letzten 24 Stunden: 1.200 Besuche von 1 Art\n1.200 Amsel")) << "all of them";
}

}  // namespace
}  // namespace kinglet::daemon
