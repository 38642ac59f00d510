// SPDX-License-Identifier: Apache-2.0
#include "cli/pictures.h"

#include <chrono>
#include <filesystem>
#include <memory>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/stream/recording.h"
#include "cli/labelled_pictures.h"
#include "cli/picture_files.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `most` of `all`, evenly chosen.
template <typename T>
std::vector<T> evenly(std::vector<T> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> chosen;
  chosen.reserve(most);
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(std::move(all[i * all.size() / most]));
  return chosen;
}

struct FramePlace {
  std::uint64_t number = 0;
  std::chrono::nanoseconds at{0};
};

// Frames by their number. Going back is reading the headers from the begin on.
class Frames {
 public:
  explicit Frames(camera::RecordingReader reader) : reader_(std::move(reader)) {}

  // All whose headers are sound.
  Result<std::vector<FramePlace>> places() {
    std::vector<FramePlace> places;
    while (KINGLET_TRY(reader_.next_header(frame_))) places.push_back({.number = next_++, .at = frame_.at});
    return places;
  }

  // A frame that is no JPEG becomes a PNG, which loses nothing.
  Result<std::string> read(const FramePlace& place) {
    if (place.number < next_) {
      reader_.rewind();
      next_ = 0;
    }
    for (; next_ < place.number; ++next_) (void)KINGLET_TRY(reader_.next_header(frame_));
    next_ = kLost;
    // The reader skips a frame whose pixels are damaged.
    if (!KINGLET_TRY(reader_.next(frame_)) || frame_.at != place.at) {
      return fail(ErrorCode::kBadData, "the frame is damaged");
    }
    next_ = place.number + 1;
    const camera::FrameView& view = frame_.view;
    if (view.format == camera::PixelFormat::kMjpeg) return text_of(view.planes[0].bytes);
    const camera::Image image = KINGLET_TRY(camera::to_rgb(view));
    return text_of(KINGLET_TRY(camera::encode_png(image.view())));
  }

 private:
  static constexpr std::uint64_t kLost = ~std::uint64_t{0};  // the next read begins at the first frame

  camera::RecordingReader reader_;
  camera::RecordedFrame frame_;
  std::uint64_t next_ = 0;
};

Result<std::vector<Picture>> frames_of(const std::string& file, std::size_t most) {
  const auto frames = std::make_shared<Frames>(KINGLET_TRY(camera::RecordingReader::open(file)));
  std::vector<Picture> pictures;
  for (const FramePlace& place : evenly(KINGLET_TRY(frames->places()), most)) {
    const std::string name = format_text("{}, frame {}", file, place.number);
    const auto read = [frames, place, name]() -> Result<std::string> {
      Result<std::string> bytes = frames->read(place);
      if (!bytes) return std::unexpected(with_context(std::move(bytes).error(), name));
      return bytes;
    };
    pictures.push_back({.name = name, .label = {}, .read = read});
  }
  return pictures;
}

// With their labels; without folders of labels, all that lie in it.
Result<std::vector<Picture>> files_of(const std::string& folder, std::size_t most) {
  std::vector<Labelled> found;
  if (auto labelled = read_labelled(folder); labelled && !labelled->empty()) {
    found = std::move(*labelled);
  } else {
    for (std::string& file : KINGLET_TRY(expand_pictures({folder}))) found.push_back({.file = std::move(file)});
  }
  std::vector<Picture> pictures;
  for (Labelled& one : evenly(std::move(found), most)) {
    pictures.push_back(
        {.name = one.file, .label = std::move(one.label), .read = [file = one.file] { return read_picture(file); }});
  }
  return pictures;
}

}  // namespace

Result<std::vector<Picture>> find_pictures(const std::string& where, std::size_t most) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(where, ignored);
  if (!is_folder && !std::filesystem::is_regular_file(where, ignored)) {
    return fail(ErrorCode::kNotFound, "there is no such folder or recording", printable(where),
                "expected a folder of JPEG or PNG files, or a file of kinglet record");
  }
  return is_folder ? files_of(where, most) : frames_of(where, most);
}

}  // namespace kinglet::cli
