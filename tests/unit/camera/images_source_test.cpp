// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;

class ImagesSource : public ::testing::Test {
 protected:
  void add(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(write_file(folder_.path() / name, bytes, Overwrite::kReplace));
  }
  void add_picture(const std::string& name, int width) {
    const auto bytes = encode_png(kinglet::testing::make_picture(width, 10).view()).value();
    add(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  void add_photograph(const std::string& name, int width, int height) {
    const auto bytes = encode_jpeg(kinglet::testing::make_picture(width, height).view(), 80).value();
    add(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  static Frame next(FrameSource& source) { return std::get<Frame>(source.next(SteadyClock::now() + 30s).value()); }
  static std::pair<int, int> sides(const FrameView& view) { return {view.width, view.height}; }
  std::unique_ptr<FrameSource> open(const std::string& options) {
    SourceOptions wish;
    wish.spec = "images:" + folder_.path().string() + options;
    wish.needs = needs_;
    wish.masks = masks_;
    wish.log = [this](LogLevel, std::string_view text) { said_.emplace_back(text); };
    auto source = open_source(wish);
    EXPECT_TRUE(source);
    return std::move(*source);
  }
  // Widths of the next frames: pictures are told apart by them. 0: the source ended.
  static std::vector<int> widths(FrameSource& source, int count) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) {
      const auto got = source.next(SteadyClock::now() + 30s);
      if (!got) return out;
      const auto* frame = std::get_if<Frame>(&*got);
      out.push_back(frame != nullptr ? frame->view().width : 0);
    }
    return out;
  }
  kinglet::testing::ScratchFolder folder_;
  const std::shared_ptr<PictureNeeds> needs_ = std::make_shared<PictureNeeds>();
  std::vector<Area> masks_;
  std::vector<std::string> said_;
};

TEST_F(ImagesSource, ShowsPicturesInTheOrderOfTheirNamesAgainAndAgain) {
  add_picture("b.png", 12);
  add_picture("a.png", 11);
  add_picture("c.png", 13);
  const auto source = open("?fps=max");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(widths(*source, 5), ::testing::ElementsAre(11, 12, 13, 11, 12));
}

TEST_F(ImagesSource, SaysWhatItLeavesOut) {
  add_picture("a.png", 11);
  EXPECT_THAT(open("")->description(), ::testing::HasSubstr("each looked at, whether it moves or not"));
}

TEST_F(ImagesSource, EndsAfterTheLastPictureWhenAskedForOnce) {
  add_picture("a.png", 11);
  add_picture("b.png", 12);
  const auto source = open("?once&fps=max");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(widths(*source, 4), ::testing::ElementsAre(11, 12, 0, 0));
  ASSERT_TRUE(source->start());
  EXPECT_THAT(widths(*source, 1), ::testing::ElementsAre(11));
}

TEST_F(ImagesSource, KnowsPicturesByTheirContentAndLeavesOtherFilesAlone) {
  add_picture("picture_without_ending", 11);
  add("labels.csv", "file,index\n");
  add(".hidden.png", "x");
  const auto source = open("?once&fps=max");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(widths(*source, 2), ::testing::ElementsAre(11, 0));
  EXPECT_TRUE(said_.empty());
}

TEST_F(ImagesSource, SkipsWhatCannotBeDecodedWithOneWarningAndCountsIt) {
  add_picture("a.png", 11);
  add("b.jpg", "not a picture");
  const auto source = open("?fps=max");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(widths(*source, 4), ::testing::ElementsAre(11, 11, 11, 11));
  EXPECT_EQ(source->dropped_count(), 1U);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0], "picture skipped: " + (folder_.path() / "b.jpg").string() +
                          ": not a JPEG or PNG picture (by its first bytes)");
}

TEST_F(ImagesSource, GivesAPhotographItselfAndBesideItWhatIsLookedAt) {
  add_photograph("a.jpg", 640, 480);
  add_picture("b.png", 640);
  add_photograph("c.jpg", 150, 100);
  needs_->say([](ImageSize picture) { return ImageSize{std::min(160, picture.width), std::min(120, picture.height)}; });
  const auto source = open("?fps=max");
  ASSERT_TRUE(source->start());
  {
    const Frame frame = next(*source);
    EXPECT_EQ(frame.view().format, PixelFormat::kMjpeg);
    EXPECT_TRUE(check_view(frame.view()));
    EXPECT_EQ(sides(frame.view()), std::pair(640, 480));
    EXPECT_EQ(frame.small().format, PixelFormat::kRgb888);
    EXPECT_EQ(sides(frame.small()), std::pair(160, 120));
    const Image all = to_rgb(frame.view()).value();
    EXPECT_EQ(sides(all.view()), std::pair(640, 480));
  }
  for (const std::pair<int, int>& size : {std::pair(640, 10), std::pair(150, 100)}) {
    const Frame frame = next(*source);
    EXPECT_EQ(frame.view().format, PixelFormat::kRgb888) << "all its pixels are looked at";
    EXPECT_EQ(sides(frame.view()), size);
    EXPECT_EQ(frame.small().planes[0].bytes.data(), frame.view().planes[0].bytes.data());
  }
  needs_->say({});
  EXPECT_EQ(sides(next(*source).small()), std::pair(640, 480)) << "nobody says what is enough";
}

TEST_F(ImagesSource, GivesAllPixelsOfAPhotographThatTheLineWouldTakeForDamaged) {
  const auto bytes = encode_jpeg(kinglet::testing::make_picture(640, 480).view(), 80).value();
  std::string odd(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  odd.at(odd.find(std::string_view("\xFF\xDA\0\x0C", 4)) + 12) = '\0';  // the last coefficient
  add("a.jpg", odd);
  needs_->say([](ImageSize) { return ImageSize{160, 120}; });
  const auto source = open("?fps=max");
  ASSERT_TRUE(source->start());
  const Frame frame = next(*source);
  EXPECT_EQ(frame.view().format, PixelFormat::kRgb888);
  EXPECT_EQ(sides(frame.view()), std::pair(640, 480));
}

TEST_F(ImagesSource, DecodesAPhotographOnceWhereMasksArePainted) {
  add_photograph("a.jpg", 640, 480);
  needs_->say([](ImageSize) { return ImageSize{160, 120}; });
  masks_ = {{.left = 0, .top = 0, .width = 0.5, .height = 0.5}};
  const auto source = open("?fps=max");
  ASSERT_TRUE(source->start());
  const Frame frame = next(*source);
  EXPECT_EQ(frame.view().format, PixelFormat::kRgb888) << "no JPEG, which the masks would have decoded again";
  EXPECT_EQ(sides(frame.small()), std::pair(640, 480));
  EXPECT_EQ(frame.small().planes[0].bytes.data(), frame.view().planes[0].bytes.data());
}

TEST_F(ImagesSource, NeverKeepsMoreThanThePixelsOfALargeScreen) {
  add_photograph("a.jpg", 4000, 3000);
  const auto source = open("?fps=max");
  ASSERT_TRUE(source->start());
  EXPECT_EQ(sides(next(*source).view()), std::pair(3000, 2250));
  needs_->say([](ImageSize) { return ImageSize{500, 375}; });
  const Frame frame = next(*source);
  EXPECT_EQ(frame.view().format, PixelFormat::kMjpeg);
  EXPECT_EQ(sides(frame.view()), std::pair(3000, 2250));
  EXPECT_EQ(sides(frame.small()), std::pair(500, 375));
}

TEST_F(ImagesSource, IsAnErrorWhenNothingCanBeDecoded) {
  add("b.jpg", "not a picture");
  const auto source = open("?fps=max");
  ASSERT_TRUE(source->start());
  EXPECT_EQ(source->next(SteadyClock::now() + 30s).error().message, "none of the pictures can be decoded");
}

TEST_F(ImagesSource, IsAnErrorWithoutPicturesOrFolder) {
  add("labels.csv", "file,index\n");
  EXPECT_EQ(open("")->start().error().message, "no JPEG or PNG picture in the folder");
  const Error missing = open("/nowhere")->start().error();
  EXPECT_EQ(missing.code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.message, ::testing::StartsWith("folder of pictures cannot be read"));
}

TEST_F(ImagesSource, KeepsToTheRateItIsGiven) {
  add_picture("a.png", 11);
  const auto source = open("?fps=50");
  const SteadyTime before = SteadyClock::now();
  ASSERT_TRUE(source->start());
  EXPECT_EQ(widths(*source, 4).size(), 4U);
  EXPECT_GE(SteadyClock::now() - before, 60ms);  // three periods between four frames, never less
}

TEST_F(ImagesSource, RefusesOptionsItDoesNotKnow) {
  SourceOptions wish;
  wish.spec = "images:/tmp?one";
  EXPECT_EQ(open_source(wish).error().hint, "did you mean \"once\"?");
  wish.spec = "images:/tmp?fps=fast";
  EXPECT_EQ(open_source(wish).error().code, ErrorCode::kUsage);
  wish.spec = "images:";
  EXPECT_EQ(open_source(wish).error().message, "images: needs a folder");
}

}  // namespace
}  // namespace kinglet::camera
