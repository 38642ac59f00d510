// SPDX-License-Identifier: Apache-2.0
// What was seen and not named: what is kept of it, with which picture, and for how long.
#include "daemon/answer/unnamed_tracks.h"

#include <cstdio>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <jpeglib.h>

#include <atomic>

#include "camera/decode/decode.h"

namespace {
std::atomic<int> pictures_decoded{0};
}

// In place of the library's, which it calls: the answer thread decodes for no track what it decoded for another.
extern "C" boolean jpeg_start_decompress(j_decompress_ptr info) {
  ++pictures_decoded;
  static const auto library =
      reinterpret_cast<decltype(&jpeg_start_decompress)>(::dlsym(RTLD_NEXT, "jpeg_start_decompress"));
  return library(info);
}

namespace kinglet::daemon {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr auto kAll = [](const UnnamedTrack&) { return true; };

class UnnamedTracksTest : public ::testing::Test {
 protected:
  Track track(Outcome outcome, float score, bool somebody = true) {
    Track track(2);
    track.id = ids_.next(WallTime(seconds(1000)));
    track.by = ProposedBy::kMotion;
    track.was_somebody = somebody;
    track.begun = SteadyTime(seconds(10));
    track.looked_at = SteadyTime(seconds(13));
    track.looks = 21;
    track.answer.outcome = outcome;
    track.answer.entries[0] = {.taxon = 1, .index = 1, .score = 1 - score};
    track.answer.entries[1] = {.taxon = 0, .index = 0, .score = score};
    track.answer.count = 2;
    return track;
  }
  void end(const Track& track) { tracks_.ended(track, *rule_, "camera", "m", "sha256:0"); }
  std::vector<UnnamedTracks::Shared> all() { return tracks_.list(100, kAll); }

  std::vector<std::string> warnings_;
  std::shared_ptr<const visits::Rule> rule_ = visits::Rule::make(
      std::make_shared<const visits::Taxa>(
          visits::Taxa::make(engine::Labels::parse("Turdus merula\nbackground\n", "l.txt").value()).value()),
      {.min_score = 0.6, .scores = {{"turdus-merula", 0.7}}}, warnings_);
  visits::IdMaker ids_{1};
  UnnamedTracks tracks_;
};

TEST_F(UnnamedTracksTest, ATrackIsKeptWithItsReasonAndWhatWouldHaveBeenSaid) {
  end(track(Outcome::kBelowThreshold, 0.4F));
  ASSERT_THAT(all(), SizeIs(1));
  const UnnamedTrack& kept = *all()[0];
  EXPECT_EQ(kept.outcome, Outcome::kBelowThreshold);
  EXPECT_EQ(kept.visit.model_result.species_id, "turdus-merula");
  EXPECT_FLOAT_EQ(kept.visit.model_result.score, 0.4F);
  EXPECT_EQ(kept.wanted_score, 0.7);
  EXPECT_EQ(kept.visit.duration, seconds(3));
  EXPECT_EQ(kept.id.substr(4), kept.visit.id.substr(4));
}

TEST_F(UnnamedTracksTest, ATrackHasTheWordOfTheDetector) {
  const engine::Labels labels = engine::Labels::parse("bird\nsquirrel\n", "l.txt").value();
  Track squirrel = track(Outcome::kBelowThreshold, 0.4F);
  for (int i = 0; i < 3; ++i) squirrel.opinions.add({.being = Being::kAnimal, .score = 0.5F, .label = 1});
  tracks_.ended(squirrel, *rule_, "camera", "m", "sha256:0", &labels);
  EXPECT_EQ(all()[0]->being, Being::kAnimal);
  EXPECT_EQ(all()[0]->being_label, "squirrel");
  Track nobody = track(Outcome::kBackground, 0.1F);
  for (int i = 0; i < 3; ++i) nobody.opinions.add({});
  tracks_.ended(nobody, *rule_, "camera", "m", "sha256:0", &labels);
  EXPECT_EQ(all()[0]->being, Being::kNobody);
  EXPECT_EQ(all()[0]->being_label, "");
}

TEST_F(UnnamedTracksTest, WhatWasNamedAndAPlaceWithNobodyAreNotKept) {
  Track named = track(Outcome::kAccepted, 0.9F);
  named.named = true;
  end(named);
  Track place = track(Outcome::kBackground, 0.1F, false);
  place.by = ProposedBy::kWhole;
  end(place);
  EXPECT_THAT(all(), SizeIs(0));
  place.was_somebody = true;
  end(place);
  EXPECT_THAT(all(), SizeIs(1));
}

TEST_F(UnnamedTracksTest, LeavesInTheWindPushNoBirdOut) {
  end(track(Outcome::kBelowThreshold, 0.4F));
  for (std::size_t i = 0; i < 2 * UnnamedTracks::kMost; ++i) end(track(Outcome::kBackground, 0.1F));
  EXPECT_THAT(all(), SizeIs(UnnamedTracks::kMost));
  EXPECT_EQ(all().back()->outcome, Outcome::kBelowThreshold);
  for (std::size_t i = 0; i < 2 * UnnamedTracks::kMost; ++i) end(track(Outcome::kAmbiguous, 0.4F));
  EXPECT_THAT(all(), SizeIs(UnnamedTracks::kMost));
  EXPECT_EQ(all().back()->outcome, Outcome::kAmbiguous);
}

TEST_F(UnnamedTracksTest, OneThatIsTakenIsNoLongerListedUntilItIsGivenBack) {
  for (int i = 0; i < 3; ++i) end(track(Outcome::kAmbiguous, 0.4F));
  const auto middle = tracks_.take(all()[1]->id);
  ASSERT_TRUE(middle);
  EXPECT_FALSE(tracks_.find(middle->id));
  EXPECT_FALSE(tracks_.take(middle->id));
  tracks_.give_back(middle);
  EXPECT_EQ(all()[1], middle);
}

// A picture whose left half is red and whose right half is blue.
class UnnamedPictures : public UnnamedTracksTest {
 protected:
  static constexpr int kWidth = 64;
  static constexpr int kHeight = 32;

  UnnamedPictures() {
    picture_.width = kWidth;
    picture_.height = kHeight;
    for (int i = 0; i < kWidth * kHeight; ++i) {
      const bool left = i % kWidth < kWidth / 2;
      for (const int part : {left ? 255 : 0, 0, left ? 0 : 255}) picture_.rgb.push_back(static_cast<std::byte>(part));
    }
  }
  void look(const camera::FrameView& view, const Track& track, CropRect crop) { look(view, {{&track, crop}}); }
  void look(const camera::FrameView& view, std::initializer_list<std::pair<const Track*, CropRect>> seen) {
    Prediction prediction;
    for (const auto& [track, crop] : seen) {
      prediction.regions[prediction.region_count++] = {.track = track->id, .crop = crop, .best_unnamed = true};
    }
    tracks_.look(camera::Frame(view, {}, {}), prediction);
  }
  // The size of the picture that is kept of the newest track, and red and blue of the pixel in its middle.
  std::vector<int> kept() {
    const std::string& jpeg = all().front()->crop;
    const auto decoded = camera::decode_image(std::as_bytes(std::span(jpeg)), {}, camera::Upright::kAsStored);
    if (!decoded) return {};
    const camera::Image* const image = &decoded->image;
    const auto middle = static_cast<std::size_t>(3 * (image->height / 2 * image->width + image->width / 2));
    const auto level = [&](std::size_t part) { return std::to_integer<int>(image->rgb[middle + part]) / 128; };
    return {image->width, image->height, level(0), level(2)};
  }
  camera::Image picture_;
};

TEST_F(UnnamedPictures, ThePictureIsThePartThatTheBestLookSaw) {
  const Track seen = track(Outcome::kAmbiguous, 0.4F);
  look(picture_.view(), seen, {3, 5, 20, 20});
  look(picture_.view(), seen, {37, 5, 21, 19});
  end(seen);
  EXPECT_THAT(kept(), ElementsAre(21, 19, 0, 1));
}

TEST_F(UnnamedPictures, OfAJpegTheWholeIsKeptUntilTheTrackEnds) {
  const auto jpeg = camera::encode_jpeg(picture_.view(), 95);
  ASSERT_TRUE(jpeg);
  const camera::FrameView view{.format = camera::PixelFormat::kMjpeg,
                               .width = kWidth,
                               .height = kHeight,
                               .planes = {camera::Plane{.bytes = *jpeg}},
                               .plane_count = 1};
  const Track seen = track(Outcome::kAmbiguous, 0.4F);
  look(view, seen, {2, 2, 20, 20});
  end(seen);
  EXPECT_THAT(kept(), ElementsAre(20, 20, 1, 0));
}

TEST_F(UnnamedPictures, AJpegIsDecodedOnceForAllTracksThatAreInIt) {
  camera::Image other = picture_;
  std::ranges::reverse(other.rgb);  // blue and red, each on the other side and in the other place: the same colours
  std::ranges::rotate(other.rgb, other.rgb.begin() + 3 * kWidth / 2);
  const auto left_first = camera::encode_jpeg(picture_.view(), 95);
  const auto rotated = camera::encode_jpeg(other.view(), 95);
  ASSERT_TRUE(left_first && rotated);
  const auto view_of = [](const std::vector<std::byte>& jpeg) {
    return camera::FrameView{.format = camera::PixelFormat::kMjpeg,
                             .width = kWidth,
                             .height = kHeight,
                             .planes = {camera::Plane{.bytes = jpeg}},
                             .plane_count = 1};
  };
  const Track left = track(Outcome::kAmbiguous, 0.4F);
  const Track right = track(Outcome::kAmbiguous, 0.4F);
  const Track later = track(Outcome::kAmbiguous, 0.4F);
  look(view_of(*left_first), {{&left, {2, 2, 20, 20}}, {&right, {40, 2, 20, 18}}});
  pictures_decoded = 0;
  end(left);
  end(right);
  EXPECT_EQ(pictures_decoded, 1);
  EXPECT_THAT(kept(), ElementsAre(20, 18, 0, 1));
  look(view_of(*rotated), later, {2, 2, 20, 20});  // in the same memory
  end(later);
  EXPECT_THAT(kept(), ElementsAre(20, 20, 0, 1));
}

TEST_F(UnnamedPictures, APictureIsOfItsOwnTrackHoweverManyThereAre) {
  for (std::size_t i = 0; i < 3 * Tracks::kMost; ++i) {
    const Track seen = track(Outcome::kAmbiguous, 0.4F);
    look(picture_.view(), seen, {i % 2 == 0 ? 0 : 40, 4, 16, 16});
    end(seen);
    EXPECT_THAT(kept(), ElementsAre(16, 16, i % 2 == 0 ? 1 : 0, i % 2 == 0 ? 0 : 1));
  }
}

}  // namespace
}  // namespace kinglet::daemon
