// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_desk.h"

#include <gtest/gtest.h>

#include <thread>

namespace kinglet::daemon {
namespace {

LineModel named(const std::string& name) {
  return LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .name = name}).value();
}

SteadyTime soon() { return SteadyClock::now() + std::chrono::minutes(1); }

// The answer thread, as far as the desk knows it: takes what is offered within a minute.
ModelDesk::Offer taken_from(ModelDesk& desk) {
  const SteadyTime deadline = soon();
  std::optional<ModelDesk::Offer> offer;
  while (!(offer = desk.take()) && SteadyClock::now() < deadline) std::this_thread::yield();
  return std::move(offer.value());
}

TEST(ModelDesk, TheModelBeforeComesBackWhenTheOfferedOneAnswers) {
  bool woken = false;
  ModelDesk desk([&] { woken = true; });
  const std::jthread answering([&] {
    ModelDesk::Offer offer = taken_from(desk);
    EXPECT_EQ(offer.classifier.facts()->name, "new");
    desk.done({.classifier = named("old"), .report = {}, .error = {}, .taken = true});
  });
  const ModelDesk::Back back = desk.exchange({.classifier = named("new"), .trial = {}}, {}, soon(), {});
  EXPECT_TRUE(woken);
  EXPECT_TRUE(back.taken);
  ASSERT_TRUE(back.classifier);
  EXPECT_EQ(back.classifier->facts()->name, "old");
}

TEST(ModelDesk, WhatNobodyTookComesBackAtTheDeadline) {
  ModelDesk desk([] {});
  const ModelDesk::Back back = desk.exchange({.classifier = named("new"), .trial = {}}, {}, SteadyClock::now(), {});
  EXPECT_FALSE(back.taken);
  ASSERT_TRUE(back.classifier);
  EXPECT_EQ(back.classifier->facts()->name, "new");
  EXPECT_FALSE(desk.take()) << "it is not offered any more";
}

TEST(ModelDesk, WhatWasNotTakenComesBackWhenTheAnswerThreadEnds) {
  ModelDesk desk([] {});
  const std::jthread ending([&] { desk.close(); });
  const ModelDesk::Back back = desk.exchange({.classifier = named("new"), .trial = {}}, {}, soon(), {});
  EXPECT_FALSE(back.taken);
  EXPECT_TRUE(back.classifier);
}

TEST(ModelDesk, ATrialIsAskedBackWhenItsOwnerEnds) {
  ModelDesk desk([] {});
  std::stop_source stop;
  std::size_t told = 0;
  const std::jthread answering([&] {
    ModelDesk::Offer offer = taken_from(desk);
    ASSERT_TRUE(offer.trial);
    desk.note({.wanted = 10, .frames = 4});
    stop.request_stop();
    const SteadyTime deadline = soon();
    while (!desk.wanted_back() && SteadyClock::now() < deadline) std::this_thread::yield();
    desk.done(
        {.classifier = std::move(offer.classifier), .report = TrialReport{.wanted = 10, .frames = 4}, .error = {}});
  });
  const ModelDesk::Back back = desk.exchange({.classifier = named("new"), .trial = TrialRule{}}, stop.get_token(),
                                             soon(), [&](const TrialReport& report) { told = report.frames; });
  ASSERT_TRUE(back.report);
  EXPECT_EQ(back.report->frames, 4U);
  EXPECT_FALSE(back.taken);
}

}  // namespace
}  // namespace kinglet::daemon
