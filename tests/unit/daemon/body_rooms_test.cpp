// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/body_rooms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace kinglet::daemon::http {
namespace {

TEST(BodyRooms, AreForPicturesThatHaveSpaceInOne) {
  EXPECT_FALSE(BodyRooms::suits(0));
  EXPECT_FALSE(BodyRooms::suits(1000));
  EXPECT_TRUE(BodyRooms::suits(300'000));
  EXPECT_TRUE(BodyRooms::suits(BodyRooms::kBytes));
  EXPECT_FALSE(BodyRooms::suits(BodyRooms::kBytes + 1));
}

TEST(BodyRooms, ARoomIsTakenAgainAndHoldsNothingOfTheOneBefore) {
  BodyRooms rooms;
  std::string room = rooms.take();
  EXPECT_EQ(room, "");
  EXPECT_GE(room.capacity(), BodyRooms::kBytes);
  room.assign(BodyRooms::kBytes, 'x');
  const char* const memory = room.data();
  rooms.keep(std::move(room));
  const std::string again = rooms.take();
  EXPECT_EQ(again.data(), memory);
  EXPECT_EQ(again, "");
}

TEST(BodyRooms, NoMoreAreKeptThanSaid) {
  BodyRooms rooms;
  std::vector<std::string> taken;
  std::set<const char*> memories;
  for (std::size_t i = 0; i < BodyRooms::kMost + 3; ++i) memories.insert(taken.emplace_back(rooms.take()).data());
  EXPECT_EQ(memories.size(), taken.size()) << "nobody has the room of another";
  const auto kept = std::ranges::count_if(taken, [&](std::string& room) { return rooms.keep(std::move(room)); });
  EXPECT_EQ(static_cast<std::size_t>(kept), BodyRooms::kMost);
}

TEST(BodyRooms, OneThatGrewIsNotKept) {
  BodyRooms rooms;
  std::string grown = rooms.take();
  grown.resize(4 * BodyRooms::kBytes);
  EXPECT_FALSE(rooms.keep(std::move(grown)));
  EXPECT_LT(rooms.take().capacity(), 4 * BodyRooms::kBytes);
}

TEST(BodyRooms, ThoseWhoTakeAtTheSameTimeNeverShareOne) {
  BodyRooms rooms;
  std::atomic<int> spoilt = 0;
  {
    std::vector<std::jthread> takers;
    for (const char mine : {'a', 'b', 'c', 'd'}) {
      takers.emplace_back([&rooms, &spoilt, mine] {
        for (int i = 0; i < 200; ++i) {
          std::string room = rooms.take();
          spoilt += room.empty() ? 0 : 1;
          room.assign(5000, mine);
          std::this_thread::yield();
          spoilt += std::ranges::count(room, mine) == 5000 ? 0 : 1;
          rooms.keep(std::move(room));
        }
      });
    }
  }
  EXPECT_EQ(spoilt, 0);
}

}  // namespace
}  // namespace kinglet::daemon::http
