// SPDX-License-Identifier: Apache-2.0
// Why: streams of bytes (a program's output, a network camera's answer) cut into frames. All input is hostile: memory
// is bounded, and what is not a frame is skipped or an Error, never a frame of something else.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "camera/frame/frame.h"

namespace kinglet::camera {

// No frame of a stream is larger,
inline constexpr std::size_t kMaxStreamFrame = std::size_t{64} << 20;
// and no raw one, of which several are held: 4096x4096 pixels of yuv420p are 24 MiB.
inline constexpr std::size_t kMaxRawFrame = std::size_t{32} << 20;

// Thread-bound.
class StreamParser {
 public:
  virtual ~StreamParser() = default;

  struct Step {
    std::size_t consumed = 0;  // of the bytes given; all of them when no frame is complete
    bool complete = false;     // `into` holds a frame: ask view(), then go on with an empty one
  };
  // Takes bytes that follow those of the last call. `into` is the frame so far: the same one until it is complete.
  // kBadData: this is not such a stream, or a frame is larger than kMaxStreamFrame; nothing more can be read from it.
  [[nodiscard]] virtual Result<Step> feed(std::span<const std::byte> bytes, std::vector<std::byte>& into) = 0;

  // The rest of the frame that `into` has the beginning of is not wanted. Returns how many bytes that is, none of which
  // are fed: the next ones are of the next frame. 0: this parser cannot tell, and nothing has changed.
  [[nodiscard]] virtual std::size_t leave_rest(std::vector<std::byte>& /*into*/) { return 0; }

  // The complete frame as its planes. kBadData: it cannot be used; the stream goes on.
  [[nodiscard]] virtual Result<FrameView> view(std::span<const std::byte> frame) const = 0;
};

// JPEG pictures one after the other; what stands between them is skipped. Sizes may change.
[[nodiscard]] std::unique_ptr<StreamParser> make_mjpeg_parser();

// Colour where a stream does not tell it; nothing: BT.709 from 1280x720 up, BT.601 below, limited range.
struct ColorWish {
  std::optional<ColorMatrix> matrix;
  std::optional<ColorRange> range;
};

// YUV4MPEG2 with 4:2:0 of 8 bits and even sides. A new stream header may follow a frame.
[[nodiscard]] std::unique_ptr<StreamParser> make_y4m_parser(const ColorWish& color);

// Frames of one format and size without anything between them, rows without padding. kUsage: kMjpeg, odd or too large
// sides, more than kMaxRawFrame.
[[nodiscard]] Result<std::unique_ptr<StreamParser>> make_raw_parser(PixelFormat format, int width, int height,
                                                                    const ColorWish& color);

// multipart/x-mixed-replace (RFC 2046): parts by Content-Length where it is given, else up to the next boundary. Parts
// that say they are no JPEG are skipped. `boundary` may be empty: then the first line that begins with "--" is it.
[[nodiscard]] std::unique_ptr<StreamParser> make_multipart_parser(std::string_view boundary);

// The parameter "boundary" of a Content-Type; empty when there is none.
[[nodiscard]] std::string_view boundary_of(std::string_view content_type);

// A picture's view: a JPEG whose header tells its size. kBadData: it is not.
[[nodiscard]] Result<FrameView> jpeg_view(std::span<const std::byte> bytes);

}  // namespace kinglet::camera
