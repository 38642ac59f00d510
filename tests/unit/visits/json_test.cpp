// SPDX-License-Identifier: Apache-2.0
#include "visits/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kinglet::visits {
namespace {

TEST(VisitJson, SaysHowManyThereWereAtOnceAndWhere) {
  Visit visit{.id = "vis_1", .count = 2};
  EXPECT_EQ(to_json(visit)["count"], 2);
  EXPECT_FALSE(to_json(visit).contains("box_ratio")) << "nobody knows";
  visit.best_box = Area{.left = 0.123456, .top = 0, .width = 1.0 / 3, .height = 1};
  EXPECT_EQ(to_json(visit)["box_ratio"].dump(), R"({"x":0.1235,"y":0.0,"width":0.3333,"height":1.0})");
}

}  // namespace
}  // namespace kinglet::visits
