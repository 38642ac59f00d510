// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/recording.h"

#include <zlib.h>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <utility>

#include "camera/decode/decode.h"
#include "camera/frame/packed_frame.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

using std::chrono::nanoseconds;

constexpr std::array<unsigned char, 8> kMagic{0x89, 'K', 'G', 'R', '\r', '\n', 0x1A, '\n'};
constexpr std::array<unsigned char, 4> kFrameMark{'K', 'G', 'F', 'r'};
constexpr std::array<unsigned char, 4> kEndMark{'K', 'G', 'E', 'n'};
constexpr std::size_t kHeaderBytes = 28;
constexpr std::size_t kFrameBytes = 48;
constexpr std::size_t kEndBytes = 16;
constexpr std::size_t kMaxText = 4096;
constexpr std::uint64_t kMaxPayload = std::uint64_t{256} << 20;
constexpr nanoseconds kLongest = std::chrono::hours(24 * 366);

std::uint32_t crc(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// Numbers one after the other, little-endian.
class Packer {
 public:
  template <std::integral Number>
  Packer& add(Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_[size_++] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xFF);
    }
    return *this;
  }
  Packer& add(std::span<const unsigned char> mark) {
    for (const unsigned char c : mark) add(c);
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, kFrameBytes> bytes_{};
  std::size_t size_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <std::integral Number>
  Number take() {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      number |= std::to_integer<std::uint64_t>(bytes_[at_++]) << (8 * i);
    }
    return static_cast<Number>(number);
  }
  bool take_mark(std::span<const unsigned char> mark) {
    const bool same = std::memcmp(bytes_.data() + at_, mark.data(), mark.size()) == 0;
    at_ += mark.size();
    return same;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

nanoseconds since_epoch(WallTime time) { return std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()); }
WallTime wall_time(std::int64_t ns) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(nanoseconds(ns)));
}

bool known(std::uint8_t format, std::uint8_t matrix, std::uint8_t range) {
  return format <= std::to_underlying(PixelFormat::kMjpeg) && matrix <= std::to_underlying(ColorMatrix::kBt709) &&
         range <= std::to_underlying(ColorRange::kLimited);
}

}  // namespace

Result<RecordingWriter> RecordingWriter::begin(const PutBytes& put, RecordingOptions options) {
  RecordingWriter writer(put, std::move(options));
  std::string text = printable(writer.options_.description, kMaxText - 4);
  Packer header;
  header.add(kMagic).add(kRecordingVersion).add(std::uint16_t{0}).add(static_cast<std::uint32_t>(text.size()));
  header.add(since_epoch(writer.options_.started_at).count());
  const auto text_bytes = std::as_bytes(std::span(text));
  header.add(crc(text_bytes, crc(header.bytes())));
  KINGLET_TRY(writer.write(header.bytes()));
  KINGLET_TRY(writer.write(text_bytes));
  return writer;
}

Result<void> RecordingWriter::write(std::span<const std::byte> bytes) {
  KINGLET_TRY((*put_)(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  bytes_ += bytes.size();
  return {};
}

Result<FrameView> RecordingWriter::prepare(const FrameView& view) {
  pack(view, payload_);
  const FrameView kept = KINGLET_TRY(packed_view(view, payload_));
  if (kept.format == PixelFormat::kMjpeg || options_.jpeg_quality == 0) return kept;
  payload_ = KINGLET_TRY(encode_jpeg(kept, options_.jpeg_quality));
  FrameView jpeg{.format = PixelFormat::kMjpeg, .width = kept.width, .height = kept.height};
  jpeg.range = ColorRange::kFull;
  return packed_view(jpeg, payload_);
}

Result<bool> RecordingWriter::add(const FrameView& view, const FrameInfo& info) {
  KINGLET_TRY(check_view(view));
  if (packed_size(view) > kMaxPayload) {
    return fail(ErrorCode::kBadData,
                format_text("a frame of {} bytes is too large for a recording", packed_size(view)));
  }
  const FrameView kept = KINGLET_TRY(prepare(view));
  if (bytes_ + kFrameBytes + payload_.size() + kEndBytes > options_.max_bytes) return false;
  if (frames_ == 0) first_ = info.captured_at;
  last_ = std::clamp<nanoseconds>(info.captured_at - first_, last_, kLongest);
  Packer header;
  header.add(kFrameMark).add(static_cast<std::uint32_t>(payload_.size())).add(info.sequence).add(last_.count());
  header.add(since_epoch(info.captured_wall).count());
  header.add(static_cast<std::uint16_t>(kept.width)).add(static_cast<std::uint16_t>(kept.height));
  header.add(std::to_underlying(kept.format)).add(std::to_underlying(kept.matrix)).add(std::to_underlying(kept.range));
  header.add(std::uint8_t{0}).add(crc(payload_));
  header.add(crc(header.bytes()));
  KINGLET_TRY(write(header.bytes()));
  KINGLET_TRY(write(payload_));
  ++frames_;
  return true;
}

Result<void> RecordingWriter::end() {
  Packer mark;
  mark.add(kEndMark).add(frames_);
  mark.add(crc(mark.bytes()));
  return write(mark.bytes());
}

Result<RecordingReader> RecordingReader::open(const std::filesystem::path& path) {
  RecordingReader reader(KINGLET_TRY(InputFile::open(path)));
  KINGLET_TRY(reader.read_header());
  return reader;
}

Result<void> RecordingReader::read_header() {
  const std::string name = printable(file_.path().string());
  std::array<std::byte, kHeaderBytes> bytes{};
  if (file_.size() >= bytes.size()) KINGLET_TRY(file_.read_at(0, bytes));
  Unpacker header(bytes);
  if (!header.take_mark(kMagic)) {
    return fail(ErrorCode::kBadData, "not a recording of kinglet", name, "`kinglet record` makes one");
  }
  const auto version = header.take<std::uint16_t>();
  if (version == 0 || version > kRecordingVersion) {
    return fail(ErrorCode::kUnsupported,
                format_text("recording of version {}, expected {}", version, kRecordingVersion), name,
                "use the kinglet that made it, or a newer one");
  }
  header.take<std::uint16_t>();
  const auto text_bytes = header.take<std::uint32_t>();
  started_at_ = wall_time(header.take<std::int64_t>());
  const auto sum = header.take<std::uint32_t>();
  if (text_bytes > kMaxText || kHeaderBytes + text_bytes > file_.size()) {
    return fail(ErrorCode::kBadData, format_text("the recording's header is damaged: a text of {} bytes", text_bytes),
                name);
  }
  std::string text(text_bytes, '\0');
  KINGLET_TRY(file_.read_at(kHeaderBytes, std::as_writable_bytes(std::span(text))));
  if (crc(std::as_bytes(std::span(text)), crc(std::span(bytes).first(kHeaderBytes - 4))) != sum) {
    return fail(ErrorCode::kBadData, "the recording's header is damaged: its checksum is another", name);
  }
  description_ = printable(text, kMaxText);
  first_ = kHeaderBytes + text_bytes;
  rewind();
  return {};
}

void RecordingReader::rewind() {
  at_ = first_;
  last_ = nanoseconds(0);
  skipped_ = 0;
  complete_ = false;
}

bool RecordingReader::parse_frame(std::span<const std::byte> bytes, Found& found) {
  Unpacker header(bytes);
  if (!header.take_mark(kFrameMark)) return false;
  RecordedFrame& frame = *found.frame;
  found.payload_bytes = header.take<std::uint32_t>();
  frame.sequence = header.take<std::uint64_t>();
  frame.at = nanoseconds(header.take<std::int64_t>());
  frame.wall = wall_time(header.take<std::int64_t>());
  frame.view = {};
  frame.view.width = header.take<std::uint16_t>();
  frame.view.height = header.take<std::uint16_t>();
  const auto format = header.take<std::uint8_t>();
  const auto matrix = header.take<std::uint8_t>();
  const auto range = header.take<std::uint8_t>();
  header.take<std::uint8_t>();
  found.payload_crc = header.take<std::uint32_t>();
  if (header.take<std::uint32_t>() != crc(bytes.first(kFrameBytes - 4)) || !known(format, matrix, range)) return false;
  frame.view.format = static_cast<PixelFormat>(format);
  frame.view.matrix = static_cast<ColorMatrix>(matrix);
  frame.view.range = static_cast<ColorRange>(range);
  return found.payload_bytes <= kMaxPayload && frame.at >= last_ && frame.at <= kLongest;
}

Result<std::optional<RecordingReader::Found>> RecordingReader::find_frame(RecordedFrame& frame) {
  Found found{.frame = &frame, .payload_bytes = 0, .payload_crc = 0};
  std::array<std::byte, kFrameBytes> bytes{};
  while (at_ < file_.size()) {
    const std::uint64_t left = file_.size() - at_;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size()));
    KINGLET_TRY(file_.read_at(at_, std::span(bytes).first(count)));
    if (count == bytes.size() && parse_frame(bytes, found)) {
      // A proven header tells the truth: what is missing was cut off.
      if (found.payload_bytes > left - kFrameBytes) break;
      at_ += kFrameBytes;
      return found;
    }
    if (left == kEndBytes) {
      Unpacker end(bytes);
      const bool mark = end.take_mark(kEndMark);
      end.take<std::uint64_t>();
      complete_ = mark && end.take<std::uint32_t>() == crc(std::span(bytes).first(kEndBytes - 4));
      if (complete_) return std::nullopt;
    }
    KINGLET_TRY(resync());
  }
  skipped_ += file_.size() - at_;
  at_ = file_.size();
  return std::nullopt;
}

// Steps to the next place that may be a mark, at least one byte.
Result<void> RecordingReader::resync() {
  const std::uint64_t from = at_++;
  std::array<std::byte, 4096> chunk{};  // small: a file full of false marks is read once a mark
  while (at_ < file_.size()) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(file_.size() - at_, chunk.size()));
    KINGLET_TRY(file_.read_at(at_, std::span(chunk).first(count)));
    const std::string_view text(reinterpret_cast<const char*>(chunk.data()), count);
    std::size_t place = std::min(text.find("KGFr"), text.find("KGEn"));
    // A mark may begin in the last three bytes.
    if (place == std::string_view::npos) place = count > 3 && at_ + count < file_.size() ? count - 3 : count;
    at_ += place;
    if (place < count - 3 || count <= 3) break;
  }
  skipped_ += at_ - from;
  return {};
}

Result<bool> RecordingReader::next_header(RecordedFrame& frame) {
  const std::optional<Found> found = KINGLET_TRY(find_frame(frame));
  if (!found) return false;
  at_ += found->payload_bytes;
  last_ = frame.at;
  frame.bytes.clear();
  return true;
}

Result<bool> RecordingReader::next(RecordedFrame& frame) {
  while (true) {
    const std::optional<Found> found = KINGLET_TRY(find_frame(frame));
    if (!found) return false;
    frame.bytes.resize(found->payload_bytes);
    KINGLET_TRY(file_.read_at(at_, frame.bytes));
    at_ += found->payload_bytes;
    last_ = frame.at;
    Result<FrameView> view = packed_view(frame.view, frame.bytes);
    if (view && crc(frame.bytes) == found->payload_crc) {
      frame.view = *view;
      return true;
    }
    skipped_ += kFrameBytes + found->payload_bytes;
  }
}

Result<RecordingFacts> examine(RecordingReader& reader) {
  reader.rewind();
  RecordingFacts facts;
  RecordedFrame frame;
  while (KINGLET_TRY(reader.next_header(frame))) {
    if (facts.frames++ > 0) facts.longest_pause = std::max(facts.longest_pause, frame.at - facts.duration);
    facts.duration = frame.at;
  }
  facts.skipped_bytes = reader.skipped_bytes();
  facts.complete = reader.complete();
  reader.rewind();
  return facts;
}

}  // namespace kinglet::camera
