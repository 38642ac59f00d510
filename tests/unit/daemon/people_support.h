// SPDX-License-Identifier: Apache-2.0
// Why: what the tests of hidden people have in common: a bright picture, and whether somebody in it is black.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "camera/decode/decode.h"
#include "camera/frame/frame.h"
#include "daemon/capture/people/people.h"
#include "daemon/capture/visit_pictures.h"
#include "daemon/line/prediction.h"
#include "tests/unit/store/store_support.h"
#include "visits/ids.h"
#include "visits/visit.h"

namespace kinglet::daemon {

inline constexpr int kPictureWidth = 160;
inline constexpr int kPictureHeight = 120;
inline constexpr Area kPerson{
    .left = 0.5, .top = 0.25, .width = 0.25, .height = 0.5};  // with its room 74 to 126, 21 to 99
inline constexpr SteadyTime kSeen{std::chrono::seconds(1000)};

inline camera::Image bright() {
  return {.width = kPictureWidth,
          .height = kPictureHeight,
          .rgb = std::vector<std::byte>(3 * kPictureWidth * kPictureHeight, std::byte{200})};
}

inline camera::Image decoded(const std::string& jpeg) {
  return camera::decode_image(std::as_bytes(std::span(jpeg)), {}, camera::Upright::kAsStored).value().image;
}

// Is the person black and the rest as it was? `x`, `y`: where in the frame the picture begins.
inline void expect_hidden(const std::string& jpeg, int x = 0, int y = 0) {
  ASSERT_FALSE(jpeg.empty());
  const camera::Image image = decoded(jpeg);
  const auto level = [&](int column, int row) {
    const auto at = 3 * (static_cast<std::size_t>(row - y) * static_cast<std::size_t>(image.width) +
                         static_cast<std::size_t>(column - x));
    return std::to_integer<int>(image.rgb.at(at));
  };
  for (const auto& [column, row] : {std::pair(81, 31), std::pair(118, 88), std::pair(100, 60)}) {
    EXPECT_LT(level(column, row), 10) << column << "," << row;
  }
  for (const auto& [column, row] : {std::pair(60, 60), std::pair(100, 12), std::pair(65, 105)}) {
    EXPECT_GT(level(column, row), 180) << column << "," << row;
  }
}

inline bool is_bright(const std::string& jpeg) {
  const camera::Image image = decoded(jpeg);
  return std::ranges::all_of(image.rgb, [](std::byte value) { return std::to_integer<int>(value) > 180; });
}
inline bool is_black(const std::string& jpeg) {
  const camera::Image image = decoded(jpeg);
  return std::ranges::all_of(image.rgb, [](std::byte value) { return std::to_integer<int>(value) < 10; });
}

class PeopleTest : public ::testing::Test {
 protected:
  // Looks every second, until `until` after kSeen.
  void look_until(std::chrono::seconds until) {
    for (std::chrono::seconds at(-10); at <= until; at += std::chrono::seconds(1)) people_->looked(kSeen + at);
  }

  [[nodiscard]] camera::Frame frame() const {
    return {picture_.view(), {.sequence = 1, .captured_at = kSeen + std::chrono::seconds(1)}, {}};
  }
  [[nodiscard]] static Prediction prediction_of(const visits::Ulid& id) {
    Prediction prediction;
    prediction.regions[0] = {
        .track = id, .crop = {40, 0, 100, 120}, .visit = id, .best_of_visit = true, .best_unnamed = true};
    prediction.region_count = 1;
    return prediction;
  }
  [[nodiscard]] visits::Visit visit_of(const visits::Ulid& id) const {
    visits::Visit visit = store::make_visit(1);
    visit.id = "vis_" + std::string(id.view());
    visit.duration = {};
    return visit;
  }

  // A visit, and a history that keeps its pictures.
  struct AtHand {
    explicit AtHand(PeopleTest& test) : pictures(history, nullptr, {}, test.people_), visit(test.visit_of(id)) {}

    // Nothing: said as a failure.
    [[nodiscard]] std::string kept(store::Picture kind) {
      const Result<std::string> picture = history.picture(visit.id, kind);
      EXPECT_TRUE(picture) << describe(picture.error());
      return picture.value_or("");
    }

    const store::ScratchFolder folder;
    store::Store history{store::quiet_options(folder.path())};
    VisitPictures pictures;
    const visits::Ulid id = visits::IdMaker(1).next(WallTime(std::chrono::seconds(1000)));
    const visits::Visit visit;
  };

  camera::Image picture_ = bright();
  visits::IdMaker ids_{1};
  bool sees_ = true;
  const std::shared_ptr<People> people_ = std::make_shared<People>([this] { return sees_; });
};

}  // namespace kinglet::daemon
