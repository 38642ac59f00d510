// SPDX-License-Identifier: Apache-2.0
// Handlers asked by themselves, with the view of their subject and no daemon around them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "daemon/answer/unnamed_tracks.h"
#include "daemon/doctor/health.h"
#include "daemon/doctor/log_book.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/history/history.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "daemon/tell/event_bus.h"
#include "store/store.h"
#include "tests/unit/daemon/handlers/asked.h"
#include "tests/unit/daemon/people_support.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;

Vitals sound_vitals(SteadyTime now) {
  Vitals vitals{.now = now, .answer_heartbeat = now};
  vitals.cameras[0].status.turn_by = now + std::chrono::seconds(1);
  return vitals;
}

TEST(Handlers, ThreadsThatGiveNoSignOfLifeAreUnwell) {
  const SteadyTime now = SteadyClock::now();
  Vitals vitals = sound_vitals(now);
  const HealthView view{.vitals = [&] { return vitals; }, .doctor = {}};
  EXPECT_EQ(get_livez(view, {}).status, 200);
  vitals.answer_heartbeat = now - std::chrono::hours(1);
  const Reply unwell = get_livez(view, {});
  EXPECT_EQ(unwell.status, 503);
  EXPECT_THAT(unwell.body, HasSubstr("no sign of life for 3600 s"));
}

TEST(Handlers, APauseIsPassedOnAndToldWithItsName) {
  std::vector<bool> paused;
  std::string said;
  const LogBook book("info");
  const ControlView view{.set_paused = [&](bool value) { paused.push_back(value); },
                         .restart = {},
                         .log_book = book,
                         .log = [&](LogLevel, std::string_view line) { said += std::string(line) + "\n"; }};
  EXPECT_EQ(post_pause(view, {}).status, 200);
  EXPECT_EQ(post_resume(view, {}).status, 200);
  EXPECT_EQ(paused, (std::vector{true, false}));
  EXPECT_THAT(said, HasSubstr("paused by"));
}

class HistoryHandlers : public ::testing::Test {
 protected:
  store::Store store_{store::StoreOptions{}};  // in memory
  const visits::VisitBook book_ = store_.book();
  ModelBoard models_;
  EventBus events_{"a"};
  Slots slots_{{8, 4}, 8};
  const HistoryView view_{
      .visits = book_, .store = store_, .models = models_, .events = events_, .long_answers = slots_};

  std::string put_visit(const std::string& species) {
    const std::uint64_t seq = store_.next_seq();
    visits::Visit visit{.id = "vis_0000000000000000000000000" + std::to_string(seq), .seq = seq, .source = "camera"};
    visit.state = visits::VisitState::kEnded;
    visit.started_at = std::chrono::system_clock::now();
    visit.model_result.species_id = species;
    store_.put(visit);
    return visit.id;
  }

  // The demonstration's model, whose owner calls birds so.
  void call_birds(std::initializer_list<std::pair<const char*, const char*>> names) {
    ModelFacts facts = *demonstration();
    std::vector<visits::SpeciesRow> rows;
    for (const auto& [bird, name] : names) {
      visits::SpeciesRow& row = rows.emplace_back();
      row.species_id = bird;
      row.common_name = name;
      row.owners_name = true;
    }
    facts.taxa = std::make_shared<const visits::Taxa>(visits::Taxa::make(facts.labels, rows).value());
    std::vector<std::string> warnings;
    models_.publish(std::make_shared<const ModelFacts>(facts), visits::Rule::make(facts.taxa, {}, warnings));
  }
};

TEST_F(HistoryHandlers, VisitsAreListedNewestFirst) {
  put_visit("parus-major");
  put_visit("turdus-merula");
  const Parsed items = Parsed::parse(get_visits(view_, {}).body)["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["species_id"], "turdus-merula");
}

TEST_F(HistoryHandlers, ADeletedVisitIsGoneAndTold) {
  const std::string id = put_visit("parus-major");
  const auto reader = events_.subscribe(set_of({EventType::kVisitDeleted}), {});
  Call call{.method = "DELETE", .path = "/api/v1/visits/" + id};
  call.path_parameters = {{"id", id}};
  EXPECT_EQ(delete_visit(view_, call).status, 204);
  EXPECT_EQ(get_visit(view_, call).status, 404);
  const auto told = events_.take_one(*reader, std::chrono::milliseconds(0));
  ASSERT_TRUE(told && told->visit);
  EXPECT_EQ(told->visit->visit.id, id);
}

// Of visits that retention has removed the id is left, not what a person called them.
TEST_F(HistoryHandlers, ATypedNameIsKeptThoughTheHistoryKnowsItsIdAlone) {
  put_visit("mystery-bird");
  put_visit("corvus-ruficollis");
  ASSERT_TRUE(store_.flush().has_value());
  const auto named = [&](const std::string& name) {
    Call call{.method = "PATCH", .path = "/api/v1/visits/vis_0"};
    call.content_type = "application/json";
    call.body = Parsed{{"review", {{"verdict", "corrected"}, {"name", name}}}}.dump();
    return read_review(view_, call, {});
  };
  const auto typed = named("Mystery Bird");
  ASSERT_TRUE(typed) << typed.error().problem.detail;
  EXPECT_EQ(typed->species_id, "mystery-bird");
  EXPECT_EQ(typed->name, "Mystery Bird");
  const auto scientific = named("Corvus ruficollis");
  ASSERT_TRUE(scientific) << scientific.error().problem.detail;
  EXPECT_EQ(scientific->species_id, "corvus-ruficollis");
  EXPECT_EQ(scientific->name, "");
}

TEST_F(HistoryHandlers, ABirdThatTheModelLacksIsCalledAsItsOwnerCallsIt) {
  call_birds({{"poecile-montanus", "Mattkopf"}, {"turdus-pilaris", "Schacker"}});
  put_visit("poecile-montanus");
  put_visit("turdus-pilaris");
  put_visit("turdus-merula");
  ASSERT_TRUE(store_.flush().has_value());
  std::map<std::string, std::string> names;
  const Parsed items = Parsed::parse(get_species(view_, {}).body)["items"];
  for (const Parsed& one : items) names[one["species_id"]] = one["common_name"];
  EXPECT_EQ(names, (std::map<std::string, std::string>{{"poecile-montanus", "Mattkopf"},
                                                       {"turdus-pilaris", "Schacker"},
                                                       {"turdus-merula", "Eurasian Blackbird"}}));
  const Call call{.content_type = "application/json",
                  .body = R"({"review": {"verdict": "corrected", "name": "mattkopf"}})"};
  const auto review = read_review(view_, call, {});
  ASSERT_TRUE(review) << review.error().problem.detail;
  EXPECT_EQ(review->species_id, "poecile-montanus");
  EXPECT_EQ(review->name, "");
}

TEST_F(HistoryHandlers, WhoHasTheListGetsItAgainWhenABirdIsCalledOtherwise) {
  call_birds({{"turdus-merula", "Amsel"}});
  put_visit("turdus-merula");
  Call call;
  call.if_none_match = list_tag(view_);
  EXPECT_EQ(get_species(view_, call).status, 304);
  call_birds({{"turdus-merula", "Schwarzdrossel"}});
  const Reply reply = get_species(view_, call);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("Schwarzdrossel"));
}

class TrackHandlers : public HistoryHandlers {
 protected:
  TrackHandlers() { end_track(); }

  // One of which a look is the best that saw a frame exposed at that time, where somebody may be hidden.
  void end_track(const std::shared_ptr<const People>& people = {}, SteadyTime exposed_at = {}) {
    Track track(1);
    track.id = ids_.next(std::chrono::system_clock::now());
    track.by = ProposedBy::kMotion;
    track.begun_wall = std::chrono::system_clock::now();
    track.answer = {.outcome = Outcome::kBelowThreshold, .count = 1};
    track.answer.entries[0] = {.taxon = 0, .index = 0, .score = 0.4F};
    std::vector<std::string> warnings;
    const auto rule =
        visits::Rule::make(std::make_shared<const visits::Taxa>(
                               visits::Taxa::make(engine::Labels::parse("Turdus merula\n", "l.txt").value()).value()),
                           {}, warnings);
    if (people) {
      const camera::Image picture = bright();
      Prediction prediction;
      prediction.regions[0] = {.track = track.id, .crop = {40, 0, 100, 120}, .best_unnamed = true};
      prediction.region_count = 1;
      unnamed_.look(camera::Frame(picture.view(), {.captured_at = exposed_at}, {}), prediction, people);
    }
    unnamed_.ended(track, *rule, "camera", "m", "sha256:0");
    id_ = Parsed::parse(get_tracks(tracks_, {}).body)["items"][0]["id"];
  }
  Reply patch(const std::string& body) {
    return patch_track(tracks_, {.method = "PATCH",
                                 .path_parameters = {{"id", id_}},
                                 .content_type = "application/merge-patch+json",
                                 .body = body});
  }
  std::size_t count() { return Parsed::parse(get_tracks(tracks_, {}).body)["items"].size(); }

  visits::IdMaker ids_{1};
  UnnamedTracks unnamed_;
  const TracksView tracks_{.tracks = unnamed_, .history = view_};
  std::string id_;
};

TEST_F(TrackHandlers, ATrackThatAPersonNamesIsAVisitAndNoLongerListed) {
  put_visit("parus-major");
  const auto reader = events_.subscribe(set_of({EventType::kVisitReviewed}), {});
  const Reply made = patch(R"({"review":{"verdict":"corrected","species_id":"parus-major"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const Parsed visit = Parsed::parse(made.body);
  EXPECT_EQ(visit["species_id"], "parus-major");
  EXPECT_EQ(visit["model_result"]["species_id"], "turdus-merula");
  EXPECT_EQ(visit["seq"], 2);
  EXPECT_EQ(Parsed::parse(get_visits(view_, {}).body)["items"][0]["id"], visit["id"]);
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(patch(R"({"review":{"verdict":"confirmed"}})").status, 404);
  const auto told = events_.take_one(*reader, std::chrono::milliseconds(0));
  ASSERT_TRUE(told && told->visit);
  EXPECT_EQ(told->visit->visit.id, visit["id"].get<std::string>());
}

// Looks that would say more of its picture may never come, and the track is no longer there for them.
TEST_F(TrackHandlers, OneThatIsNamedBeforeItsPictureIsShownGivesItToTheVisitAsFarAsItIsKnown) {
  const auto people = std::make_shared<People>([] { return true; });
  people->seen(kSeen, kPerson);
  people->looked(kSeen);
  for (const bool looked : {true, false}) {
    end_track(people, looked ? kSeen : kSeen + std::chrono::seconds(1));
    EXPECT_EQ(get_track_crop(tracks_, {.path_parameters = {{"id", id_}}}).status, 404);
    const Reply made = patch(R"({"review":{"verdict":"confirmed"}})");
    ASSERT_EQ(made.status, 201) << made.body;
    ASSERT_TRUE(store_.flush());
    const auto crop = store_.picture(Parsed::parse(made.body)["id"].get<std::string>(), store::Picture::kCrop);
    ASSERT_TRUE(crop) << describe(crop.error());
    if (looked) {
      expect_hidden(*crop, 40, 0);
    } else {
      EXPECT_TRUE(is_black(*crop));
    }
  }
}

TEST_F(TrackHandlers, WhatTheModelThoughtMayBeConfirmed) {
  const Reply made = patch(R"({"review":{"verdict":"confirmed"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(Parsed::parse(made.body)["species_id"], "turdus-merula");
}

TEST_F(TrackHandlers, WhatIsNoBirdIsNoLongerListedAndNoVisit) {
  EXPECT_EQ(patch(R"({"review":{"verdict":"not_a_bird"}})").status, 204);
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(Parsed::parse(get_visits(view_, {}).body)["items"].size(), 0U);
}

TEST_F(TrackHandlers, AReviewThatNamesNobodyOrIsNoneLeavesTheTrackListed) {
  EXPECT_EQ(patch(R"({"review":{"verdict":"none"}})").status, 400);
  EXPECT_EQ(patch(R"({"review":{"verdict":"corrected","species_id":"nobody-knows"}})").status, 422);
  EXPECT_EQ(patch("{").status, 400);
  EXPECT_EQ(count(), 1U);
}

}  // namespace
}  // namespace kinglet::daemon::http
