// SPDX-License-Identifier: Apache-2.0
// The form: Microsoft, "AVI RIFF File Reference" (AVIMAINHEADER, AVISTREAMHEADER, BITMAPINFOHEADER, AVIOLDINDEX); all
// numbers are little-endian. A chunk of no bytes in the stream is a picture that did not change.
#include "daemon/capture/clips/clip_avi.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/decode/decode.h"
#include "daemon/capture/clips/clip_file.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortest{20};  // of a picture
constexpr milliseconds kLongest{1'000};
constexpr std::size_t kMostPlaces = 10'000;  // pictures and pauses: clocks that jump make no endless file
constexpr std::uint32_t kHasIndex = 0x10;    // AVIF_HASINDEX
constexpr std::uint32_t kKeyFrame = 0x10;    // AVIIF_KEYFRAME
constexpr std::string_view kPicture = "00dc";

struct Shown {
  std::string_view jpeg;
  std::size_t place;  // counted in durations of a picture
};

class Riff {
 public:
  void word(std::uint16_t value) { number(value, 2); }
  void dword(std::size_t value) { number(value, 4); }
  void text(std::string_view value) { bytes_ += value; }

  // Where a chunk's size stands, for end().
  [[nodiscard]] std::size_t begin(std::string_view name, std::string_view kind = {}) {
    text(name);
    dword(0);
    const std::size_t place = bytes_.size();
    text(kind);
    return place;
  }
  void end(std::size_t place) {
    const std::size_t size = bytes_.size() - place;
    for (std::size_t i = 0; i < 4; ++i) bytes_[place - 4 + i] = static_cast<char>(size >> (8 * i) & 0xFF);
    if (size % 2 != 0) bytes_ += '\0';
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  void number(std::size_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  std::string bytes_;
};

std::optional<camera::ImageSize> size_of(std::string_view jpeg) {
  const auto size = camera::read_image_size(std::as_bytes(std::span(jpeg)));
  if (!size) return std::nullopt;
  return *size;
}

// The parts that are pictures of the first one's size; a file has one size.
std::vector<ClipPart> pictures_of(std::string_view clip, camera::ImageSize& size) {
  std::vector<ClipPart> parts;
  while (const std::optional<ClipPart> part = take_part(clip)) {
    const std::optional<camera::ImageSize> own = size_of(part->jpeg);
    if (!own) continue;
    if (parts.empty()) size = *own;
    if (own->width == size.width && own->height == size.height) parts.push_back(*part);
  }
  return parts;
}

// The shortest pause between two: no picture waits for its place, where some seconds have more of them than others.
milliseconds duration_of(const std::vector<ClipPart>& parts) {
  milliseconds shortest = kLongest;
  for (std::size_t i = 1; i < parts.size(); ++i) shortest = std::min(shortest, parts[i].at - parts[i - 1].at);
  return std::max(shortest, kShortest);
}

std::vector<Shown> places_of(const std::vector<ClipPart>& parts, milliseconds duration) {
  std::vector<Shown> shown;
  std::size_t next = 0;
  for (const ClipPart& part : parts) {
    const std::int64_t after = std::max<std::int64_t>(0, (part.at - parts.front().at).count());
    const auto place = static_cast<std::size_t>((after + duration.count() / 2) / duration.count());
    if (place >= kMostPlaces) break;
    shown.push_back({part.jpeg, std::max(place, next)});
    next = shown.back().place + 1;
  }
  return shown;
}

void put_headers(Riff& riff, camera::ImageSize size, milliseconds duration, std::size_t count, std::size_t largest) {
  const auto width = static_cast<std::uint32_t>(size.width);
  const auto height = static_cast<std::uint32_t>(size.height);
  const std::size_t list = riff.begin("LIST", "hdrl");
  const std::size_t main = riff.begin("avih");
  const std::size_t per_second = largest * 1000 / static_cast<std::size_t>(duration.count());
  for (const std::size_t value :
       {static_cast<std::size_t>(duration.count()) * 1000, per_second, std::size_t{0}, std::size_t{kHasIndex}, count,
        std::size_t{0}, std::size_t{1}, largest, std::size_t{width}, std::size_t{height}}) {
    riff.dword(value);
  }
  for (int reserved = 0; reserved < 4; ++reserved) riff.dword(0);
  riff.end(main);
  const std::size_t stream = riff.begin("LIST", "strl");
  const std::size_t header = riff.begin("strh");
  riff.text("vidsMJPG");
  riff.dword(0);  // flags
  riff.dword(0);  // priority, language
  riff.dword(0);  // initial frames
  riff.dword(static_cast<std::size_t>(duration.count()));
  riff.dword(1000);  // so many durations are as many pictures
  riff.dword(0);     // start
  riff.dword(count);
  riff.dword(largest);
  riff.dword(0xFFFF'FFFF);  // quality: not told
  riff.dword(0);            // sample size: each its own
  riff.word(0);
  riff.word(0);
  riff.word(static_cast<std::uint16_t>(width));
  riff.word(static_cast<std::uint16_t>(height));
  riff.end(header);
  const std::size_t format = riff.begin("strf");
  riff.dword(40);
  riff.dword(width);
  riff.dword(height);
  riff.word(1);   // planes
  riff.word(24);  // bits a pixel
  riff.text("MJPG");
  riff.dword(std::size_t{3} * width * height);
  for (int i = 0; i < 4; ++i) riff.dword(0);  // pixels a metre, colours
  riff.end(format);
  riff.end(stream);
  riff.end(list);
}

struct Place {
  std::size_t offset;  // from the begin of the list's kind
  std::size_t size;
};

std::vector<Place> put_pictures(Riff& riff, const std::vector<Shown>& shown) {
  std::vector<Place> places;
  const std::size_t list = riff.begin("LIST", "movi");
  const auto put = [&](std::string_view jpeg) {
    places.push_back({riff.size() - list, jpeg.size()});
    const std::size_t chunk = riff.begin(kPicture);
    riff.text(jpeg);
    riff.end(chunk);
  };
  for (const Shown& picture : shown) {
    while (places.size() < picture.place) put({});
    put(picture.jpeg);
  }
  riff.end(list);
  return places;
}

void put_index(Riff& riff, const std::vector<Place>& places) {
  const std::size_t index = riff.begin("idx1");
  for (const Place& place : places) {
    riff.text(kPicture);
    riff.dword(place.size > 0 ? kKeyFrame : 0);
    riff.dword(place.offset);
    riff.dword(place.size);
  }
  riff.end(index);
}

}  // namespace

std::optional<std::string> make_avi(std::string_view clip) {
  camera::ImageSize size;
  const std::vector<ClipPart> parts = pictures_of(clip, size);
  if (parts.empty()) return std::nullopt;
  const milliseconds duration = duration_of(parts);
  const std::vector<Shown> shown = places_of(parts, duration);
  const std::size_t largest = std::ranges::max(shown, {}, [](const Shown& one) { return one.jpeg.size(); }).jpeg.size();
  Riff riff;
  const std::size_t file = riff.begin("RIFF", "AVI ");
  put_headers(riff, size, duration, shown.back().place + 1, largest);
  put_index(riff, put_pictures(riff, shown));
  riff.end(file);
  return std::move(riff).take();
}

}  // namespace kinglet::daemon
