// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "camera/decode/decode.h"
#include "camera/preprocess/preprocess.h"
#include "tests/support/picture_server.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::jpeg_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Read {
  std::vector<std::string> frames;
  std::vector<FrameView> views;  // planes dangle
  int unusable = 0;
  Error error;  // of the parser, if it gave up
};

// All frames of `stream`, given in pieces of `step` bytes.
Read read_all(StreamParser& parser, const std::string& stream, std::size_t step) {
  Read read;
  std::vector<std::byte> frame;
  for (std::size_t at = 0; at < stream.size(); at += step) {
    std::span<const std::byte> rest = bytes_of(std::string_view(stream).substr(at, step));
    while (!rest.empty()) {
      const auto got = parser.feed(rest, frame);
      if (!got) {
        read.error = got.error();
        return read;
      }
      rest = rest.subspan(got->consumed);
      if (!got->complete) {
        EXPECT_TRUE(rest.empty());
        continue;
      }
      if (const auto view = parser.view(frame)) {
        EXPECT_TRUE(check_view(*view));
        read.frames.emplace_back(reinterpret_cast<const char*>(frame.data()), frame.size());
        read.views.push_back(*view);
      } else {
        ++read.unusable;
      }
      frame.clear();
    }
  }
  return read;
}

// The same whether bytes come one by one or all at once.
Read read_in_all_steps(const std::function<std::unique_ptr<StreamParser>()>& make, const std::string& stream) {
  Read first = read_all(*make(), stream, stream.size());
  for (const std::size_t step : {1UL, 3UL, 1000UL, 4096UL}) {
    const Read other = read_all(*make(), stream, step);
    EXPECT_EQ(first.frames, other.frames) << "in steps of " << step;
    EXPECT_EQ(first.unusable, other.unusable);
    EXPECT_EQ(first.error.message, other.error.message);
  }
  return first;
}

// A JPEG that holds another one in a segment, as cameras do.
std::string with_thumbnail() {
  const std::string picture = jpeg_of(64, 48, 1);
  const std::string inner = jpeg_of(16, 16, 2);
  const std::size_t length = inner.size() + 2;
  std::string segment = "\xFF\xE1";
  segment += static_cast<char>(length >> 8);
  segment += static_cast<char>(length & 0xFF);
  return picture.substr(0, 2) + segment + inner + picture.substr(2);
}

TEST(MjpegParser, FindsPicturesOneAfterTheOther) {
  const std::string one = jpeg_of(64, 48, 1);
  const std::string two = jpeg_of(32, 16, 2);
  const Read read = read_in_all_steps(make_mjpeg_parser, one + two + "\n--text between--\n" + one);
  EXPECT_THAT(read.frames, ElementsAre(one, two, one));
  EXPECT_EQ(read.views[0].width, 64);
  EXPECT_EQ(read.views[1].width, 32);
  EXPECT_EQ(read.views[1].range, ColorRange::kFull);
}

TEST(MjpegParser, IsNotDeceivedByAPictureInsideOfOne) {
  const std::string picture = with_thumbnail();
  EXPECT_THAT(read_in_all_steps(make_mjpeg_parser, picture + picture).frames, ElementsAre(picture, picture));
}

TEST(MjpegParser, LosesOnlyThePictureThatWasCutOff) {
  const std::string picture = jpeg_of(64, 48, 1);
  for (const std::size_t length : {3UL, 40UL, 700UL, picture.size() - 1}) {
    const Read read = read_in_all_steps(make_mjpeg_parser, picture.substr(0, length) + picture + picture);
    ASSERT_FALSE(read.frames.empty()) << length;
    EXPECT_EQ(read.frames.back(), picture) << length;
    EXPECT_LE(read.frames.size(), 3U);
  }
}

TEST(MjpegParser, GivesUpAStreamWithoutPictures) {
  EXPECT_THAT(read_all(*make_mjpeg_parser(), std::string(20 << 20, 'x'), 65536).error.message, HasSubstr("no JPEG"));
}

TEST(MjpegParser, GivesUpAPictureWithoutEnd) {
  const std::string head = jpeg_of(64, 48).substr(0, 700);
  EXPECT_THAT(read_all(*make_mjpeg_parser(), head + std::string(65 << 20, 'x'), 65536).error.message,
              HasSubstr("JPEG of more than"));
}

std::unique_ptr<StreamParser> y4m() { return make_y4m_parser({}); }

TEST(Y4mParser, ReadsFramesOfTheHeadersSize) {
  const std::string frame(4 * 2 * 3 / 2, 'a');
  const std::string other(2 * 2 * 3 / 2, 'b');
  const Read read = read_in_all_steps(y4m, "YUV4MPEG2 W4 H2 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n" + frame +
                                               "FRAME Ip\n" + frame + "YUV4MPEG2 W2 H2\nFRAME\n" + other);
  EXPECT_THAT(read.frames, ElementsAre(frame, frame, other));
  EXPECT_EQ(read.views[0].format, PixelFormat::kYuv420);
  EXPECT_EQ(read.views[0].range, ColorRange::kFull);
  EXPECT_EQ(read.views[0].matrix, ColorMatrix::kBt601);
  EXPECT_EQ(read.views[2].range, ColorRange::kLimited);
  EXPECT_EQ(read.views[2].width, 2);
}

TEST(Y4mParser, RefusesWhatItCannotReadRight) {
  const auto error = [](const std::string& stream) { return read_in_all_steps(y4m, stream).error; };
  EXPECT_THAT(error("hello\n").message, HasSubstr("\"hello\" where a header"));
  EXPECT_THAT(error("YUV4MPEG2 W4 H2\nFRAMES\n").message, HasSubstr("where a frame"));
  EXPECT_THAT(error("YUV4MPEG2 W4\n").message, HasSubstr("no size"));
  EXPECT_THAT(error("YUV4MPEG2 W5 H2\n").message, HasSubstr("\"5\""));
  EXPECT_THAT(error("YUV4MPEG2 W99999999999999999999 H2\n").message, HasSubstr("side"));
  EXPECT_THAT(error("YUV4MPEG2 W-4 H2\n").message, HasSubstr("\"-4\""));
  EXPECT_THAT(error("YUV4MPEG2 W16384 H16384\n").message, HasSubstr("384 MiB; the limit is 32 MiB"));
  EXPECT_THAT(error("YUV4MPEG2 W4 H2 C444\n").hint, HasSubstr("yuv420p"));
  EXPECT_THAT(error("YUV4MPEG2 W4 H2 C420p10\n").message, HasSubstr("420p10"));
  EXPECT_THAT(error(std::string(5000, 'x')).message, HasSubstr("without an end"));
}

TEST(RawParser, CutsFramesOfItsSize) {
  const auto make = [] { return make_raw_parser(PixelFormat::kNv12, 4, 2, {}).value(); };
  const Read read = read_in_all_steps(make, std::string(12, 'a') + std::string(12, 'b') + "cc");
  EXPECT_THAT(read.frames, ElementsAre(std::string(12, 'a'), std::string(12, 'b')));
  EXPECT_EQ(make_raw_parser(PixelFormat::kNv12, 3, 2, {}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(make_raw_parser(PixelFormat::kMjpeg, 4, 2, {}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(make_raw_parser(PixelFormat::kRgb888, 16384, 16384, {}).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(make_raw_parser(PixelFormat::kYuv420, 4096, 4096, {}));
  EXPECT_THAT(make_raw_parser(PixelFormat::kRgb888, 4096, 4096, {}).error().message,
              HasSubstr("48 MiB a frame; the limit is 32 MiB"));
  EXPECT_EQ(make_raw_parser(PixelFormat::kYuv420, -4, 2, {}).error().code, ErrorCode::kUsage);
}

std::string part(const std::string& body, const std::string& headers) { return headers + "\r\n" + body; }

std::unique_ptr<StreamParser> multipart() { return make_multipart_parser("frame"); }

TEST(MultipartParser, ReadsPartsWithAndWithoutTheirLength) {
  const std::string one = jpeg_of(64, 48, 1);
  const std::string two = jpeg_of(32, 16, 2);
  const std::string length = "Content-Length: " + std::to_string(one.size()) + "\r\n";
  const std::string stream = "preamble\r\n--frame\r\n" + part(one, "Content-Type: image/jpeg\r\n" + length) +
                             "\r\n--frame\r\n" + part(two, "content-type: IMAGE/JPEG; x=y\r\n") + "\r\n--frame\n" +
                             "\n" + one + "\n--frame\r\n\r\n" + two + "\r\n--frame--\r\n";
  EXPECT_THAT(read_in_all_steps(multipart, stream).frames, ElementsAre(one, two, one, two));
}

TEST(MultipartParser, KnowsBoundariesThatAreWrittenWrong) {
  const std::string one = jpeg_of(64, 48, 1);
  const std::string stream = "--frame\r\n" + part(one, "") + "\r\n--frame\r\n" + part(one, "") + "\r\n--frame\r\n";
  for (const char* named : {"frame", "--frame", ""}) {
    const auto make = [named] { return make_multipart_parser(named); };
    EXPECT_THAT(read_in_all_steps(make, stream).frames, ElementsAre(one, one)) << named;
  }
}

TEST(MultipartParser, KnowsABoundaryThatHasDashesOfItsOwn) {
  const std::string one = jpeg_of(64, 48, 1);
  const std::string stream =
      "----frame\r\n" + part(one, "") + "\r\n----frame\r\n" + part(one, "") + "\r\n----frame--\r\n";
  const auto make = [] { return make_multipart_parser("--frame"); };
  EXPECT_THAT(read_in_all_steps(make, stream).frames, ElementsAre(one, one));
}

TEST(MultipartParser, LosesOnlyThePartWhoseLengthLies) {
  const std::string one = jpeg_of(64, 48, 1);
  const auto with_length = [&](const std::string& length) {
    return "--frame\r\n" + part(one, "Content-Length: " + length + "\r\n") + "\r\n";
  };
  const std::string right = with_length(std::to_string(one.size()));
  for (const std::string& length : {std::string("10"), std::to_string(one.size() + 50), std::string("0")}) {
    const Read read = read_in_all_steps(multipart, with_length(length) + right + right + right);
    EXPECT_GE(std::ranges::count(read.frames, one), 2) << length;
  }
  // No number, or two of them: the boundary counts.
  EXPECT_THAT(read_in_all_steps(multipart, with_length("many") + right).frames, ElementsAre(one, one));
  EXPECT_THAT(read_in_all_steps(multipart, with_length("10\r\nContent-Length: 12") + right).frames,
              ElementsAre(one, one));
  EXPECT_THAT(read_in_all_steps(multipart, with_length("99999999999") + right).frames, ElementsAre(one, one));
  EXPECT_THAT(read_in_all_steps(multipart, with_length("99999999999999999999999") + right).frames,
              ElementsAre(one, one));
}

TEST(MultipartParser, SkipsPartsThatAreNoPicture) {
  const std::string one = jpeg_of(64, 48, 1);
  const std::string text = "--frame\r\n" + part("it is raining", "Content-Type: text/plain\r\n") + "\r\n";
  const std::string liar = "--frame\r\n" + part("it is raining", "Content-Type: image/jpeg\r\n") + "\r\n";
  const Read read =
      read_in_all_steps(multipart, text + liar + "--frame\r\n" + part(one, "") + "\r\n" + text + "--frame\r\n");
  EXPECT_THAT(read.frames, ElementsAre(one));
  EXPECT_EQ(read.unusable, 1);
}

TEST(MultipartParser, GivesUpWhatHasNoEnd) {
  const std::string head = "--frame\r\n";
  EXPECT_THAT(read_all(*multipart(), head + std::string(20'000, 'x'), 4096).error.message, HasSubstr("headers"));
  std::string lines = head;
  for (int i = 0; i < 4000; ++i) lines += "X-A: b\r\n";
  EXPECT_THAT(read_all(*multipart(), lines, 4096).error.message, HasSubstr("headers"));
  EXPECT_THAT(read_all(*multipart(), std::string(17 << 20, 'x'), 65536).error.message, HasSubstr("no boundary"));
  EXPECT_THAT(read_all(*multipart(), head + "\r\n" + std::string(65 << 20, 'x'), 65536).error.message,
              HasSubstr("a part of more"));
}

TEST(Boundary, IsReadFromContentTypesAsServersWriteThem) {
  EXPECT_EQ(boundary_of("multipart/x-mixed-replace; boundary=frame"), "frame");
  EXPECT_EQ(boundary_of("multipart/x-mixed-replace;BOUNDARY=\"--my b\"; charset=x"), "--my b");
  EXPECT_EQ(boundary_of("multipart/x-mixed-replace ; charset=x ;boundary= b "), "b");
  EXPECT_EQ(boundary_of("multipart/x-mixed-replace"), "");
  EXPECT_EQ(boundary_of("boundary="), "");
  EXPECT_EQ(boundary_of(";;;=;boundary"), "");
}

TEST(JpegView, RefusesWhatIsNoPicture) {
  EXPECT_FALSE(jpeg_view({}));
  EXPECT_FALSE(jpeg_view(bytes_of("hello")));
  EXPECT_FALSE(jpeg_view(bytes_of("\xFF\xD8\xFF\xD9")));
  EXPECT_TRUE(jpeg_view(bytes_of(jpeg_of(16, 16))));
}

}  // namespace
}  // namespace kinglet::camera
