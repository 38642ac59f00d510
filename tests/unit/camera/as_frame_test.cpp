// SPDX-License-Identifier: Apache-2.0
// Why: a photograph that is sent on as a frame shows the same and tells nothing else, whatever its file holds.
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <algorithm>
#include <string_view>

#include "camera/decode/decode.h"
#include "camera/preprocess/mjpeg_planes.h"
#include "tests/support/corpus.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

using Bytes = std::vector<std::byte>;

Bytes photograph() { return encode_jpeg(kinglet::testing::make_picture(64, 48).view(), 90).value(); }

Bytes bytes_of_text(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

// Behind the first two bytes: a segment of this kind.
Bytes with_segment(Bytes jpeg, int marker, std::string_view payload) {
  Bytes segment{std::byte{0xFF}, static_cast<std::byte>(marker), std::byte{0},
                static_cast<std::byte>(payload.size() + 2)};
  const Bytes text = bytes_of_text(payload);
  segment.insert(segment.end(), text.begin(), text.end());
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

bool has(const Bytes& bytes, std::string_view text) { return !std::ranges::search(bytes, bytes_of_text(text)).empty(); }

Bytes shown_by(const Bytes& bytes) { return decode_image(bytes, {}, Upright::kAsStored).value().image.rgb; }

// In the other ways in which a JPEG may be made.
Bytes of_kind(TJSAMP subsampling, int flags) {
  const Image picture = kinglet::testing::make_picture(64, 48);
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  unsigned char* raw = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(handle.get(), reinterpret_cast<const unsigned char*>(picture.rgb.data()), 64, 0, 48, TJPF_RGB,
                        &raw, &size, subsampling, 90, flags),
            0);
  const auto* first = reinterpret_cast<const std::byte*>(raw);
  Bytes bytes(first, first + size);
  tjFree(raw);
  return bytes;
}

TEST(AsFrame, HasThePixelsAndNothingThatStandsBesideThem) {
  Bytes bytes = photograph();
  for (const int marker : {0xE1, 0xE2, 0xED, 0xEF, 0xFE}) bytes = with_segment(bytes, marker, "secret place");
  bytes = with_segment(bytes, 0xE0, std::string_view("JFXX\0 secret preview", 20));
  const Bytes film = bytes_of_text("secret film");
  bytes.insert(bytes.end(), film.begin(), film.end());
  ASSERT_TRUE(has(bytes, "secret"));
  const auto frame = as_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_FALSE(has(*frame, "secret"));
  EXPECT_EQ(*frame, photograph()) << "what was left alone is not changed";
  EXPECT_EQ(shown_by(*frame), shown_by(bytes));
}

TEST(AsFrame, IsOneThatTheLineCanRead) {
  for (const TJSAMP subsampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_440, TJSAMP_GRAY}) {
    const auto frame = as_frame(of_kind(subsampling, 0));
    ASSERT_TRUE(frame) << subsampling;
    FrameView view{.format = PixelFormat::kMjpeg, .width = 64, .height = 48};
    view.planes[0] = {.bytes = *frame, .stride = 0};
    view.plane_count = 1;
    MjpegPlanes planes;
    EXPECT_TRUE(planes.decode(view, 64, 48)) << subsampling;
  }
}

TEST(AsFrame, IsNothingOfWhatACameraDoesNotSend) {
  EXPECT_FALSE(as_frame(encode_png(kinglet::testing::make_picture(8, 8).view()).value()));
  EXPECT_FALSE(as_frame(of_kind(TJSAMP_420, TJFLAG_PROGRESSIVE)));
  EXPECT_FALSE(as_frame({}));
  std::string turned("Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\0", 32);
  EXPECT_FALSE(as_frame(with_segment(photograph(), 0xE1, turned)));
  turned[25] = 1;
  EXPECT_TRUE(as_frame(with_segment(photograph(), 0xE1, turned))) << "upright";
}

// Some phones write such; their pixels are whole.
TEST(AsFrame, IsNothingWhereTheLineWouldTakeAWarningForDamage) {
  const Bytes plain = photograph();
  Bytes no_end = plain;
  const auto scan = std::ranges::search(no_end, Bytes{std::byte{0xFF}, std::byte{0xDA}, std::byte{0}, std::byte{12}});
  ASSERT_FALSE(scan.empty());
  *(scan.begin() + 12) = std::byte{0};  // the last coefficient
  Bytes newer = plain;
  const auto name = std::ranges::search(newer, bytes_of_text("JFIF"));
  ASSERT_FALSE(name.empty());
  *(name.begin() + 5) = std::byte{2};
  Bytes nameless = plain;
  nameless.erase(nameless.begin() + 2, nameless.begin() + 20);
  const std::string_view transform("Adobe\0d\0\0\0\0\5", 12);
  for (const Bytes& strange : {no_end, newer, with_segment(nameless, 0xEE, transform)}) {
    EXPECT_EQ(shown_by(strange), shown_by(plain));
    EXPECT_FALSE(as_frame(strange));
  }
}

TEST(AsFrame, KeepsNothingInSegmentsThatAreNone) {
  for (const int marker : {0x02, 0xBF, 0xC8, 0xCC, 0xDC, 0xDE, 0xF0, 0xFD}) {
    EXPECT_FALSE(as_frame(with_segment(photograph(), marker, "secret place"))) << marker;
  }
  // A decoder sees a marker without a length and EXIF behind it; who takes 0xFFE1 for the length keeps the EXIF.
  for (const int marker : {0x01, 0xD0, 0xD7}) {
    Bytes hidden(2 + 0xFFE1, std::byte{' '});
    const Bytes begin{std::byte{0xFF}, static_cast<std::byte>(marker),
                      std::byte{0xFF}, std::byte{0xE1},
                      std::byte{0xFF}, std::byte{0xDF}};
    std::ranges::copy(begin, hidden.begin());
    std::ranges::copy(bytes_of_text("secret place"), hidden.begin() + 6);
    Bytes bytes = photograph();
    bytes.insert(bytes.begin() + 2, hidden.begin(), hidden.end());
    ASSERT_EQ(shown_by(bytes), shown_by(photograph())) << marker;
    EXPECT_FALSE(as_frame(bytes)) << marker;
  }
}

TEST(AsFrame, KnowsAdobesSegmentFromOthersOfItsNumber) {
  EXPECT_EQ(as_frame(with_segment(photograph(), 0xEE, "secret place")), photograph());
  const Bytes adobe = with_segment(photograph(), 0xEE, std::string_view("Adobe\0d\0\0\0\0\1", 12));
  EXPECT_EQ(as_frame(adobe), adobe);
  // Without it the colours would be other ones.
  EXPECT_FALSE(as_frame(with_segment(photograph(), 0xEE, std::string_view("Adobe\0d\0\0\0\0\1secret place", 24))));
}

TEST(AsFrame, OfAPhotographThatIsCutOffIsDamagedOrNothing) {
  const Bytes bytes = photograph();
  for (std::size_t size = 0; size + 2 < bytes.size(); ++size) {
    const auto frame = as_frame(std::span(bytes).first(size));
    EXPECT_FALSE(frame && decode_image(*frame, {}, Upright::kAsStored)) << size;
  }
  EXPECT_EQ(as_frame(std::span(bytes).first(bytes.size() - 2)).value(), bytes) << "only the end marker was missing";
}

TEST(AsFrame, HasThePixelsOfThePhotographsOfTheCorpus) {
  KINGLET_NEEDS_CORPUS();
  int frames = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kinglet::testing::corpus() / "photos")) {
    const Bytes bytes = kinglet::testing::read_bytes(entry.path());
    const auto frame = as_frame(bytes);
    if (!frame || !decode_image(bytes, {}, Upright::kAsStored)) continue;
    ++frames;
    EXPECT_EQ(shown_by(*frame), shown_by(bytes)) << entry.path();
  }
  EXPECT_GE(frames, 12);
}

}  // namespace
}  // namespace kinglet::camera
