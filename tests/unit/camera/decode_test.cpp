// SPDX-License-Identifier: Apache-2.0
#include "camera/decode/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <cstdlib>
#include <string>

#include "camera/decode/decode_parts.h"
#include "camera/decode/to_rgb.h"
#include "tests/support/pictures.h"
#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::make_picture;
using Buffer = std::vector<std::byte>;

Result<DecodedImage> decode(const Buffer& bytes) { return decode_image(bytes, DecodeLimits{}, Upright::kApplyExif); }
std::string message_of(const Buffer& bytes) {
  const auto decoded = decode(bytes);
  return decoded ? "" : decoded.error().message;
}

Buffer jpeg(int width = 32, int height = 24) { return encode_jpeg(make_picture(width, height).view(), 90).value(); }
Buffer png(int width = 32, int height = 24) { return encode_png(make_picture(width, height).view()).value(); }

Buffer progressive_jpeg(int width = 32, int height = 24) {
  const Image picture = make_picture(width, height);
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  unsigned char* raw = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(handle.get(), reinterpret_cast<const unsigned char*>(picture.rgb.data()), width, 0, height,
                        TJPF_RGB, &raw, &size, TJSAMP_420, 90, TJFLAG_PROGRESSIVE),
            0);
  const auto* first = reinterpret_cast<const std::byte*>(raw);
  Buffer bytes(first, first + size);
  tjFree(raw);
  return bytes;
}

Buffer bytes_of(std::initializer_list<int> values) {
  Buffer out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

// Offset of the first segment with this marker, and its length with the marker.
std::pair<std::size_t, std::size_t> segment(const Buffer& bytes, int marker) {
  std::size_t at = 2;
  while (at + 4 < bytes.size()) {
    const std::size_t length =
        2 + std::to_integer<std::size_t>(bytes[at + 2]) * 256 + std::to_integer<std::size_t>(bytes[at + 3]);
    if (std::to_integer<int>(bytes[at + 1]) == marker) return {at, length};
    at += length;
  }
  return {0, 0};
}

TEST(DecodeImage, GivesAPngBackToTheLastBit) { EXPECT_EQ(decode(png())->image.rgb, make_picture(32, 24).rgb); }

TEST(DecodeImage, GivesAJpegBackAlmost) {
  Image flat{32, 24, Buffer(3 * 32 * 24, std::byte{120})};
  const auto decoded = decode(encode_jpeg(flat.view(), 95).value());
  ASSERT_TRUE(decoded);
  EXPECT_LE(kinglet::testing::largest_difference(decoded->image.rgb, flat.rgb), 2);
}

TEST(DecodeImage, TakesAJpegWithoutHuffmanTablesAsCamerasSendIt) {
  const Buffer whole = jpeg();
  Buffer bare = whole;
  for (auto [at, length] = segment(bare, 0xC4); length > 0; std::tie(at, length) = segment(bare, 0xC4)) {
    bare.erase(bare.begin() + static_cast<std::ptrdiff_t>(at), bare.begin() + static_cast<std::ptrdiff_t>(at + length));
  }
  ASSERT_LT(bare.size(), whole.size());
  EXPECT_EQ(decode(bare)->image.rgb, decode(whole)->image.rgb);
}

TEST(DecodeImage, RefusesAJpegCutOffAnywhereInItsPixels) {
  for (const Buffer& whole : {jpeg(64, 64), progressive_jpeg()}) {
    const std::size_t pixels = segment(whole, 0xDA).first;
    for (std::size_t size = pixels; size + 8 < whole.size(); size += 1 + whole.size() / 40) {
      EXPECT_NE(message_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), "") << size;
    }
  }
}

TEST(DecodeImage, TakesABaselineJpegThatLacksOnlyItsEndMarker) {
  Buffer bytes = jpeg();
  bytes.resize(bytes.size() - 2);
  EXPECT_EQ(message_of(bytes), "");
}

TEST(DecodeImage, RefusesAPngCutOffAnywhereInItsPixels) {
  const Buffer whole = png();
  for (std::size_t size = 8; size + 16 < whole.size(); size += 100) {
    EXPECT_THAT(message_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}),
                ::testing::StartsWith("PNG cannot be decoded: "))
        << size;
  }
}

TEST(DecodeImage, RefusesMoreThanAHundredScans) {
  Buffer bytes = progressive_jpeg();
  std::size_t last = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == std::byte{0xFF} && bytes[i + 1] == std::byte{0xDA}) last = i;
  }
  const Buffer scan(bytes.begin() + static_cast<std::ptrdiff_t>(last), bytes.end() - 2);
  ASSERT_EQ(message_of(bytes), "");
  for (int i = 0; i < 120; ++i) bytes.insert(bytes.end() - 2, scan.begin(), scan.end());
  EXPECT_EQ(message_of(bytes), "JPEG cannot be decoded: more than 100 scans");
}

TEST(DecodeImage, BoundsWhatAPictureInSeveralScansHolds) {
  constexpr DecodeLimits kLimits{.max_pixels = 64 * 64};
  const auto taken = [&](const Buffer& bytes) { return decode_image(bytes, kLimits, Upright::kApplyExif); };
  EXPECT_TRUE(taken(jpeg(64, 64))) << "as many pixels in one scan";
  const Error error = taken(progressive_jpeg(64, 64)).error();
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_THAT(error.message, ::testing::HasSubstr("64x64 pixels in several scans"));
  EXPECT_TRUE(taken(progressive_jpeg(48, 48)));
  EXPECT_FALSE(read_image_size(progressive_jpeg(64, 64), kLimits)) << "nor is a camera's frame taken";
}

TEST(DecodeImage, RefusesAnAnimatedPng) {
  Buffer bytes = png();
  const Buffer control = bytes_of({0, 0, 0, 8, 'a', 'c', 'T', 'L', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0});
  bytes.insert(bytes.begin() + 33, control.begin(), control.end());
  EXPECT_EQ(message_of(bytes), "animated PNG, expected a still picture");
}

TEST(DecodeImage, ChecksTheLimitsInTheHeader) {
  const auto limited = [](std::int64_t pixels, int side) {
    return decode_image(png(32, 24), {.max_pixels = pixels, .max_side = side}, Upright::kApplyExif);
  };
  EXPECT_TRUE(limited(32 * 24, 32));
  EXPECT_EQ(limited(32 * 24 - 1, 32).error().message, "32x24 is 0.0 megapixels; the limit is 0.0");
  EXPECT_EQ(limited(32 * 24, 31).error().message, "32x24 pixels; the limit for a side is 31");
}

TEST(DecodeImage, SaysWhatIsWrongWithOtherBytes) {
  EXPECT_EQ(message_of({}), "picture is empty (zero bytes)");
  EXPECT_EQ(message_of(bytes_of({'G', 'I', 'F', '8', '9', 'a'})), "not a JPEG or PNG picture (by its first bytes)");
  EXPECT_THAT(message_of(bytes_of({0xFF, 0xD8, 0xFF})), ::testing::StartsWith("JPEG cannot be decoded: "));
}

TEST(ReadImageSize, KnowsBothFormats) {
  EXPECT_EQ(read_image_size(jpeg(40, 30))->width, 40);
  EXPECT_EQ(read_image_size(png(40, 30))->height, 30);
  EXPECT_FALSE(read_image_size({}));
}

// The picture "abc / def", one letter a pixel.
Image letters() {
  Image image{3, 2, {}};
  for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f'})
    image.rgb.insert(image.rgb.end(), 3, static_cast<std::byte>(letter));
  return image;
}

std::string text_of(const Image& image) {
  std::string text;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    if (i > 0 && i / 3 % static_cast<std::size_t>(image.width) == 0) text += '/';
    text += static_cast<char>(image.rgb[i]);
  }
  return text;
}

TEST(Upright, TurnsAndMirrorsAsEachOrientationMeans) {
  constexpr std::string_view kWanted[] = {"abc/def",  "abc/def",  "cba/fed",  "fed/cba", "def/abc",
                                          "ad/be/cf", "da/eb/fc", "fc/eb/da", "cf/be/ad"};
  for (int orientation = 0; orientation <= 8; ++orientation) {
    EXPECT_EQ(text_of(internal::upright(letters(), orientation)), kWanted[orientation]) << orientation;
  }
}

Buffer tiff(bool little, int tag, int type, int value) {
  if (little)
    return bytes_of({'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, tag & 255, tag >> 8, type, 0, 1, 0, 0, 0, value, 0, 0, 0});
  return bytes_of({'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, tag >> 8, tag & 255, 0, type, 0, 0, 0, 1, 0, value, 0, 0});
}

TEST(OrientationOfTiff, IsReadInBothByteOrders) {
  EXPECT_EQ(internal::orientation_of_tiff(tiff(true, 0x112, 3, 6)), 6);
  EXPECT_EQ(internal::orientation_of_tiff(tiff(false, 0x112, 3, 8)), 8);
}

TEST(OrientationOfTiff, IsUprightWhenItMakesNoSense) {
  EXPECT_EQ(internal::orientation_of_tiff(tiff(true, 0x112, 3, 9)), 1);
  EXPECT_EQ(internal::orientation_of_tiff(tiff(true, 0x112, 3, 0)), 1);
  EXPECT_EQ(internal::orientation_of_tiff(tiff(true, 0x112, 2, 6)), 1);
  EXPECT_EQ(internal::orientation_of_tiff(tiff(true, 0x113, 3, 6)), 1);
}

TEST(OrientationOfTiff, IsUprightForEveryPrefixThatLacksTheValue) {
  const Buffer whole = tiff(true, 0x112, 3, 6);
  for (std::size_t size = 0; size < 20; ++size) {
    const Buffer part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(internal::orientation_of_tiff(part), 1) << size;
  }
  Buffer far_away = whole;
  std::fill_n(far_away.begin() + 4, 4, std::byte{0xFF});
  EXPECT_EQ(internal::orientation_of_tiff(far_away), 1);
}

TEST(DecodeImage, TurnsAJpegByItsExifSegment) {
  Buffer bytes = jpeg(32, 24);
  Buffer app1 = bytes_of({0xFF, 0xE1, 0, 2 + 6 + 22, 'E', 'x', 'i', 'f', 0, 0});
  const Buffer directory = tiff(false, 0x112, 3, 6);
  app1.insert(app1.end(), directory.begin(), directory.end());
  bytes.insert(bytes.begin() + 2, app1.begin(), app1.end());
  const auto turned = decode(bytes).value();
  EXPECT_TRUE(turned.orientation_applied);
  EXPECT_EQ(turned.image.rgb, internal::upright(decode(jpeg(32, 24))->image, 6).rgb);
  EXPECT_EQ(turned.image.width, 24);
}

TEST(DecodeImage, TurnsAPngByItsExifChunk) {
  Buffer chunk = bytes_of({0, 0, 0, 22, 'e', 'X', 'I', 'f'});
  const Buffer directory = tiff(false, 0x112, 3, 6);
  chunk.insert(chunk.end(), directory.begin(), directory.end());
  const Buffer checksum = bytes_of({0x39, 0x2F, 0xA3, 0x52});
  chunk.insert(chunk.end(), checksum.begin(), checksum.end());
  Buffer bytes = png(32, 24);
  constexpr int kAfterHeader = 8 + 25;
  bytes.insert(bytes.begin() + kAfterHeader, chunk.begin(), chunk.end());
  const auto turned = decode(bytes).value();
  EXPECT_TRUE(turned.orientation_applied);
  EXPECT_EQ(turned.image.rgb, internal::upright(make_picture(32, 24), 6).rgb);
}

struct Colours {
  const char* name;
  PixelFormat format;
  ColorMatrix matrix;
  ColorRange range;
};

class EncodeVideo : public ::testing::TestWithParam<Colours> {};

// Sides that no block of a JPEG fits, rows that are padded.
TEST_P(EncodeVideo, ShowsTheColoursOfTheFrame) {
  const Image picture = make_picture(50, 38);
  const kinglet::testing::VideoFrame frame =
      kinglet::testing::make_video_frame(picture, GetParam().format, GetParam().matrix, GetParam().range);
  const auto decoded = decode(encode_jpeg(frame.view, 98).value());
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->size.width, 50);
  ASSERT_EQ(decoded->size.height, 38);
  const Image shown = to_rgb(frame.view).value();
  double sum = 0;
  for (std::size_t i = 0; i < shown.rgb.size(); ++i) {
    sum += std::abs(std::to_integer<int>(shown.rgb[i]) - std::to_integer<int>(decoded->image.rgb[i]));
  }
  EXPECT_LT(sum / static_cast<double>(shown.rgb.size()), 4);
}

constexpr Colours kColours[] = {
    {"yuv420_of_jfif", PixelFormat::kYuv420, ColorMatrix::kBt601, ColorRange::kFull},
    {"nv12_of_jfif", PixelFormat::kNv12, ColorMatrix::kBt601, ColorRange::kFull},
    {"yuv420_limited", PixelFormat::kYuv420, ColorMatrix::kBt601, ColorRange::kLimited},
    {"nv12_of_hd", PixelFormat::kNv12, ColorMatrix::kBt709, ColorRange::kFull},
};
INSTANTIATE_TEST_SUITE_P(Frames, EncodeVideo, ::testing::ValuesIn(kColours),
                         [](const auto& test) { return test.param.name; });

TEST(EncodeJpeg, IsTheSamePictureOfPlanesHoweverTheyLie) {
  const Image picture = make_picture(50, 38);
  const auto of = [&](PixelFormat format) {
    const kinglet::testing::VideoFrame frame =
        kinglet::testing::make_video_frame(picture, format, ColorMatrix::kBt601, ColorRange::kFull);
    return encode_jpeg(frame.view, 90).value();
  };
  EXPECT_EQ(of(PixelFormat::kYuv420), of(PixelFormat::kNv12));
}

TEST(EncodeJpeg, RefusesAViewThatIsTooShort) {
  const Image picture = make_picture(32, 24);
  FrameView view = picture.view();
  view.height = 25;
  EXPECT_EQ(encode_jpeg(view, 90).error().code, ErrorCode::kBadData);
  EXPECT_EQ(encode_png(view).error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace kinglet::camera
