// SPDX-License-Identifier: Apache-2.0
// Why: what a real board's cameras offer, which no virtual camera does: formats, colours, buffers of one plane.
#include "camera/libcamera/program/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libcamera/formats.h>
#include <sys/mman.h>

#include <map>
#include <vector>

#include "camera/libcamera/program/device.h"

namespace kinglet::camera {
namespace {

namespace formats = libcamera::formats;
using libcamera::ColorSpace;
using libcamera::FrameBuffer;
using libcamera::SharedFD;
using libcamera::Size;
using libcamera::SizeRange;
using libcamera::StreamFormats;
using ::testing::HasSubstr;

libcamera::PixelFormat chosen(const std::map<libcamera::PixelFormat, std::vector<SizeRange>>& offered, Size size) {
  return choose_format(StreamFormats(offered), size).value();
}

const std::vector<SizeRange> kAnySize{SizeRange(Size(32, 32), Size(4096, 4096))};

TEST(ChooseFormat, TakesNv12OfABoardCamera) {
  EXPECT_EQ(
      chosen({{formats::XRGB8888, kAnySize}, {formats::YUV420, kAnySize}, {formats::NV12, kAnySize}}, Size(1280, 720)),
      formats::NV12);
}

TEST(ChooseFormat, TakesMjpegOfAUsbCameraForLargePictures) {
  const std::map<libcamera::PixelFormat, std::vector<SizeRange>> usb{
      {formats::YUYV, {SizeRange(Size(640, 480)), SizeRange(Size(1280, 720))}},
      {formats::MJPEG, {SizeRange(Size(640, 480)), SizeRange(Size(1280, 720))}}};
  EXPECT_EQ(chosen(usb, Size(1280, 720)), formats::MJPEG);
  EXPECT_EQ(chosen(usb, Size(640, 480)), formats::YUYV);
}

TEST(ChooseFormat, ListsWhatTheCameraGivesWhenNothingFits) {
  const auto none = choose_format(StreamFormats({{formats::R8, kAnySize}}), Size(640, 480));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(none.error().message, HasSubstr("R8"));
}

TEST(FromLibcamera, RedFirstInMemoryIsLibcamerasBgr888) {
  EXPECT_EQ(from_libcamera(formats::BGR888), PixelFormat::kRgb888);
  EXPECT_EQ(from_libcamera(formats::RGB888), std::nullopt);
}

TEST(ChooseColors, FollowTheValidatedColorSpace) {
  const Colors sycc = choose_colors(ColorSpace::Sycc, PixelFormat::kNv12, true);
  EXPECT_EQ(sycc.matrix, ColorMatrix::kBt601);
  EXPECT_EQ(sycc.range, ColorRange::kFull);
  const Colors rec709 = choose_colors(ColorSpace::Rec709, PixelFormat::kYuv420, true);
  EXPECT_EQ(rec709.matrix, ColorMatrix::kBt709);
  EXPECT_EQ(rec709.range, ColorRange::kLimited);
}

TEST(ChooseColors, WithoutColorSpaceADeviceIsLimited) {
  EXPECT_EQ(choose_colors(std::nullopt, PixelFormat::kYuyv, true).range, ColorRange::kLimited);
}

TEST(ChooseColors, TheVirtualCameraShowsJpegFilesWhateverItSays) {
  for (const auto& said : {std::optional<ColorSpace>(), std::optional(ColorSpace::Rec709)}) {
    const Colors colors = choose_colors(said, PixelFormat::kNv12, false);
    EXPECT_EQ(colors.matrix, ColorMatrix::kBt601);
    EXPECT_EQ(colors.range, ColorRange::kFull);
  }
}

using Planes = std::vector<FrameBuffer::Plane>;  // by name: libcamera 0.7 takes a span

FrameBuffer::Plane plane(const SharedFD& memory, unsigned offset, unsigned length) {
  FrameBuffer::Plane made;
  made.fd = memory;
  made.offset = offset;
  made.length = length;
  return made;
}

libcamera::StreamConfiguration stream(const libcamera::PixelFormat& format, unsigned stride) {
  libcamera::StreamConfiguration made;
  made.pixelFormat = format;
  made.size = Size(456, 342);
  made.stride = stride;
  return made;
}

TEST(DescribeBuffer, OnePieceOfYuv420IsDividedByStrideAndHeight) {
  const SharedFD memory(::memfd_create("test", MFD_CLOEXEC));
  const Planes planes{plane(memory, 0, 512 * 342 * 3 / 2)};
  const FrameBuffer buffer(planes);
  const auto described = describe_buffer(buffer, 5, stream(formats::YUV420, 512)).value();
  EXPECT_EQ(described.message.index, 5U);
  ASSERT_EQ(described.message.plane_count, 3U);
  EXPECT_EQ(described.descriptors.size(), 1U);
  EXPECT_EQ(described.message.planes[1].offset, 512U * 342);
  EXPECT_EQ(described.message.planes[1].stride, 256U);
  EXPECT_EQ(described.message.planes[2].offset, 512U * 342 + 256U * 171);
  EXPECT_EQ(described.message.planes[2].length, 256U * 171);
}

TEST(DescribeBuffer, EmptyPlaneOfTheVirtualCameraIsLeftOut) {
  const SharedFD memory(::memfd_create("test", MFD_CLOEXEC));
  const Planes planes{plane(memory, 0, 456 * 342), plane(memory, 456 * 342, 456 * 171), plane(memory, 0, 0)};
  const FrameBuffer buffer(planes);
  const auto described = describe_buffer(buffer, 0, stream(formats::NV12, 456)).value();
  EXPECT_EQ(described.message.plane_count, 2U);
  EXPECT_EQ(described.message.planes[1].offset, 456U * 342);
  EXPECT_EQ(described.message.planes[1].stride, 456U);
}

TEST(DescribeBuffer, CopiesOfOneDescriptorAreOneMemory) {
  const SharedFD memory(::memfd_create("test", MFD_CLOEXEC));
  const SharedFD other(::memfd_create("other", MFD_CLOEXEC));
  const SharedFD copy(::dup(memory.get()));
  const Planes one_memory{plane(memory, 0, 456 * 342), plane(copy, 456 * 342, 456 * 171)};
  const FrameBuffer same(one_memory);
  EXPECT_EQ(describe_buffer(same, 0, stream(formats::NV12, 456)).value().descriptors.size(), 1U);
  const Planes two_memories{plane(memory, 0, 456 * 342), plane(other, 0, 456 * 171)};
  const FrameBuffer two(two_memories);
  EXPECT_EQ(describe_buffer(two, 0, stream(formats::NV12, 456)).value().descriptors.size(), 2U);
}

TEST(DescribeBuffer, MissingPlanesAreAnError) {
  const SharedFD memory(::memfd_create("test", MFD_CLOEXEC));
  const Planes planes{plane(memory, 0, 456 * 342), plane(memory, 456 * 342, 456 * 171)};
  const FrameBuffer buffer(planes);
  EXPECT_FALSE(describe_buffer(buffer, 0, stream(formats::YUV420, 456)));
}

}  // namespace
}  // namespace kinglet::camera
