// SPDX-License-Identifier: Apache-2.0
// Why: frames of any source in a file, to be looked at again: when each was taken, its format, size and colour, and
// its pixels without any change. Written by `kinglet record`, read by the source "recording:" and `kinglet replay`.
//
// Little-endian. The file: header, frames, end.
//   header  "\x89KGR\r\n\x1a\n" (8), version u16, flags u16 (0), text length u32 (to 4096), start i64 (ns since 1970),
//           CRC-32 u32 of the 24 bytes before and the text, then the text: what the source said of itself, UTF-8
//   frame   "KGFr" (4), payload length u32, sequence u64, time i64 (ns since the first frame, never goes back),
//           wall time i64 (ns since 1970), width u16, height u16, format u8, matrix u8, range u8, zero u8,
//           CRC-32 u32 of the payload, CRC-32 u32 of the 44 bytes before; then the payload: the planes one after the
//           other, rows without padding, or the JPEG
//   end     "KGEn" (4), frames u64, CRC-32 u32 of the 12 bytes before. Missing where writing was cut off.
// Each part proves itself, so that a reader finds the next frame after damage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/base/file.h"

namespace kinglet::camera {

inline constexpr std::uint16_t kRecordingVersion = 1;

struct RecordingOptions {
  std::string description;  // of the source
  WallTime started_at{};
  std::uint64_t max_bytes = ~std::uint64_t{0};  // of the file, its end included
  int jpeg_quality = 0;  // 1 to 100: frames that are no JPEG become one; 0: they stay as they are
};

// Thread-bound. After an error the file is spoilt.
class RecordingWriter {
 public:
  // Writes the header. `put` takes the bytes in order (write_file of engine/base/file.h) and outlives the writer.
  [[nodiscard]] static Result<RecordingWriter> begin(const PutBytes& put, RecordingOptions options);

  // False: the file would become larger than max_bytes. kBadData: a frame that does not fit its own format. Nothing was
  // written then. Else what `put` says.
  [[nodiscard]] Result<bool> add(const FrameView& view, const FrameInfo& info);
  [[nodiscard]] Result<void> end();

  [[nodiscard]] std::uint64_t frame_count() const { return frames_; }
  [[nodiscard]] std::uint64_t byte_count() const { return bytes_; }

 private:
  RecordingWriter(const PutBytes& put, RecordingOptions options) : put_(&put), options_(std::move(options)) {}
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  // The frame as it is to be written, its bytes in payload_.
  [[nodiscard]] Result<FrameView> prepare(const FrameView& view);

  const PutBytes* put_;
  RecordingOptions options_;
  std::vector<std::byte> payload_;
  SteadyTime first_{};
  std::chrono::nanoseconds last_{0};
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
};

// A frame as it was: view() of the reader's own bytes.
struct RecordedFrame {
  std::vector<std::byte> bytes;    // used again by the next read
  FrameView view;                  // of `bytes`
  std::uint64_t sequence = 0;      // the source's own
  std::chrono::nanoseconds at{0};  // since the first frame; never goes back
  WallTime wall{};
};

// Reads hostile files: bounded memory, every number checked, damage skipped and counted. Thread-bound.
class RecordingReader {
 public:
  // kNotFound; kBadData: not a recording, a damaged header. kUnsupported: a newer version.
  [[nodiscard]] static Result<RecordingReader> open(const std::filesystem::path& path);

  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] WallTime started_at() const { return started_at_; }

  // The next whole frame into `frame`; false at the end. Damaged parts are skipped. kIo: the file became shorter.
  [[nodiscard]] Result<bool> next(RecordedFrame& frame);
  // The same without pixels: `frame.bytes` and `frame.view.planes` stay empty, and only the header is proven.
  [[nodiscard]] Result<bool> next_header(RecordedFrame& frame);
  // To the first frame again.
  void rewind();

  // Since open or rewind.
  [[nodiscard]] std::uint64_t skipped_bytes() const { return skipped_; }
  // After the end was reached: was it the end that the writer made?
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  struct Found {
    RecordedFrame* frame;
    std::uint32_t payload_bytes;
    std::uint32_t payload_crc;
  };
  explicit RecordingReader(InputFile file) : file_(std::move(file)) {}
  [[nodiscard]] Result<void> read_header();
  // Reads a frame's header at at_ and steps behind it. Nothing: the file's end.
  [[nodiscard]] Result<std::optional<Found>> find_frame(RecordedFrame& frame);
  [[nodiscard]] bool parse_frame(std::span<const std::byte> bytes, Found& found);
  [[nodiscard]] Result<void> resync();

  InputFile file_;
  std::string description_;
  WallTime started_at_{};
  std::uint64_t first_ = 0;  // where frames begin
  std::uint64_t at_ = 0;
  std::chrono::nanoseconds last_{0};
  std::uint64_t skipped_ = 0;
  bool complete_ = false;
};

struct RecordingFacts {
  std::uint64_t frames = 0;
  std::chrono::nanoseconds duration{0};       // of the last frame's time
  std::chrono::nanoseconds longest_pause{0};  // between two frames
  std::uint64_t skipped_bytes = 0;
  bool complete = false;
};
// Reads all headers, then rewinds.
[[nodiscard]] Result<RecordingFacts> examine(RecordingReader& reader);

}  // namespace kinglet::camera
