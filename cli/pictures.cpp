// SPDX-License-Identifier: Apache-2.0
#include "cli/pictures.h"

#include <filesystem>
#include <memory>

#include "camera/decode.h"
#include "camera/recording.h"
#include "cli/classifier.h"
#include "cli/labelled_pictures.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Frames by their number. Going back is reading the headers from the begin on.
class Frames {
 public:
  explicit Frames(camera::RecordingReader reader) : reader_(std::move(reader)) {}

  // A frame that is no JPEG becomes a PNG, which loses nothing.
  Result<std::string> read(std::uint64_t number) {
    if (number < next_) {
      reader_.rewind();
      next_ = 0;
    }
    for (; next_ < number; ++next_) (void)KINGLET_TRY(reader_.next_header(frame_));
    ++next_;
    if (!KINGLET_TRY(reader_.next(frame_))) return fail(ErrorCode::kBadData, "the recording has become shorter");
    const camera::FrameView& view = frame_.view;
    if (view.format == camera::PixelFormat::kMjpeg) return text_of(view.planes[0].bytes);
    const camera::Image image = KINGLET_TRY(camera::to_rgb(view));
    return text_of(KINGLET_TRY(camera::encode_png(image.view())));
  }

 private:
  camera::RecordingReader reader_;
  camera::RecordedFrame frame_;
  std::uint64_t next_ = 0;
};

Result<std::vector<Picture>> frames_of(const std::string& file) {
  auto reader = camera::RecordingReader::open(file);
  if (!reader) return std::unexpected(std::move(reader).error());
  const camera::RecordingFacts facts = KINGLET_TRY(camera::examine(*reader));
  const auto frames = std::make_shared<Frames>(std::move(*reader));
  std::vector<Picture> pictures;
  for (std::uint64_t i = 0; i < facts.frames; ++i) {
    pictures.push_back(
        {.name = format_text("{}, frame {}", file, i), .label = {}, .read = [frames, i] { return frames->read(i); }});
  }
  return pictures;
}

// With their labels; without folders of labels, all that lie in it.
Result<std::vector<Picture>> files_of(const std::string& folder) {
  std::vector<Labelled> found;
  if (auto labelled = read_labelled(folder); labelled && !labelled->empty()) {
    found = std::move(*labelled);
  } else {
    for (std::string& file : KINGLET_TRY(expand_pictures({folder}))) found.push_back({.file = std::move(file)});
  }
  std::vector<Picture> pictures;
  for (Labelled& one : found) {
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
  std::vector<Picture> all = KINGLET_TRY(is_folder ? files_of(where) : frames_of(where));
  if (all.size() <= most) return all;
  std::vector<Picture> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(std::move(all[i * all.size() / most]));
  return chosen;
}

}  // namespace kinglet::cli
