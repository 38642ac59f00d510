// SPDX-License-Identifier: Apache-2.0
// What messages say, as people read it: tests/golden/notify/ has every sentence in every language.
#include "daemon/notify/message.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "visits/names/bird_names.h"

namespace kinglet::daemon::notify {
namespace {

using namespace std::chrono_literals;

Place feeder(std::string_view language) {
  Place place{.page = "http://feeder.local:8420",
              .zone = TimeZone::find("Europe/Berlin").value(),
              .language = language_of(language).value()};
  place.name = [](std::string_view id, std::string_view code) { return std::string(visits::bird_name(id, code)); };
  return place;
}

// At 06:05 of a summer's day.
visits::BookedVisit sparrow() {
  visits::BookedVisit booked;
  booked.visit.id = "vis_1";
  booked.visit.started_at = WallTime(std::chrono::sys_days(std::chrono::year(2026) / 6 / 1) + 4h + 5min);
  booked.visit.clock_synced = true;
  booked.visit.model_result = {.species_id = "passer-domesticus",
                               .score = 0.873F,
                               .top = {{.species_id = "passer-domesticus",
                                        .label = "Passer domesticus (House Sparrow)",
                                        .scientific_name = "Passer domesticus",
                                        .common_name = "House Sparrow"}}};
  return booked;
}

Day busy_day() {
  Day day;
  for (std::uint64_t i = 0; i < 21; ++i) day.species.push_back({.name = "Bird", .visits = 600 - i * 5, .picture = {}});
  return day;
}

std::string block(const Message& message) { return message.title + "\n" + message.text + "\n\n"; }

std::string every_message(std::string_view language) {
  const Place place = feeder(language);
  std::string all;
  visits::BookedVisit booked = sparrow();
  all += block(message_of_start(booked, place));
  booked.first_today = true;
  all += block(message_of_start(booked, place));
  booked.visit.unusual = true;
  all += block(message_of_start(booked, place));
  booked.visit.first_of_season = true;
  all += block(message_of_start(booked, place));
  booked.first_ever = true;
  booked.visit.count = 3;
  all += block(message_of_start(booked, place));
  booked.visit.duration = 45s;
  all += block(message_of_end(booked, place));
  booked.visit.duration = 754s;
  all += block(message_of_end(booked, place));
  for (const Part part : {Part::kCamera, Part::kDisk}) {
    for (const bool over : {false, true}) all += block(message_of_trouble(part, over, over ? "" : "(why)", place));
  }
  const Day day{.species = {{.name = "A", .visits = 1, .picture = {}}}};
  for (const Day& one : {Day{}, day, busy_day()}) all += block(message_of_day(one, 0, place));
  all += block(message_of_test({}, place));
  for (const std::uint64_t count : {1, 12'345}) {
    all += say_count(place.language, Phrase::kOneNotSent, Phrase::kNotSent, count) + "\n";
  }
  return all;
}

class EveryMessage : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryMessage, IsAsItsGoldenFileHasIt) {
  const std::string file = std::string(KINGLET_SOURCE_DIR "/tests/golden/notify/") + GetParam() + ".txt";
  const std::string now = every_message(GetParam());
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  if (std::getenv("KINGLET_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << now;
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), now);
}

INSTANTIATE_TEST_SUITE_P(InEachLanguage, EveryMessage, ::testing::Values("en", "de", "fr", "es", "ja", "zh"),
                         [](const auto& language) { return std::string(language.param); });

TEST(Message, TheOwnersNameCountsBeforeTheModels) {
  Place place = feeder("de");
  EXPECT_EQ(name_of(sparrow().visit, place), "Haussperling");
  place.name = [](std::string_view, std::string_view) { return "Spatz"; };
  EXPECT_EQ(name_of(sparrow().visit, place), "Spatz");
}

TEST(Message, WhatNobodyHasANameForIsCalledAsTheModelDoes) {
  Place place = feeder("fr");
  visits::Visit visit = sparrow().visit;
  visit.model_result.species_id = visit.model_result.top[0].species_id = "plain-demothrush";
  EXPECT_EQ(name_of(visit, place), "House Sparrow");
  visit.review = {.verdict = visits::Verdict::kCorrected, .species_id = "nobody-knows"};
  EXPECT_EQ(name_of(visit, place), "nobody-knows");
}

TEST(Message, NamesWithinAValueStayWhatTheyAre) {
  EXPECT_EQ(say(Language::kEnglish, Phrase::kSeveral, {{"n", "{name}"}, {"name", "{n}"}}), "{name} × {n}");
}

TEST(Message, ALanguageThatNobodySpeaksIsNone) {
  EXPECT_EQ(language_of("de"), Language::kGerman);
  for (const char* code : {"", "DE", "it", "english"}) EXPECT_FALSE(language_of(code)) << code;
}

}  // namespace
}  // namespace kinglet::daemon::notify
