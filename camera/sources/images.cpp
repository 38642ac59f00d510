// SPDX-License-Identifier: Apache-2.0
// Why: "images:DIR": the pictures of a folder as if a camera sent them, in the order of their names.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "camera/decode/decode.h"
#include "camera/source/spec.h"
#include "camera/sources/paced_source.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{64} << 20;
constexpr std::size_t kKeptFileBytes = std::size_t{4} << 20;  // the memory of a larger one is given back
// A larger picture is made smaller before anybody has it: several are on their way at once.
constexpr DecodeLimits kLimits{.max_pixels = 64'000'000, .max_side = 16'384, .kept_pixels = 3840 * 2160};
constexpr int kMadeSmallerQuality = 92;

// By the first bytes; files that only call themselves pictures count too, so that they are reported.
bool may_be_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (extension == ".jpg" || extension == ".jpeg" || extension == ".png") return true;
  std::array<std::byte, 4> head{};
  const auto file = InputFile::open(path);
  if (!file || !file->read_at(0, head)) return false;
  constexpr std::array kJpeg{std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  constexpr std::array kPng{std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
  return std::ranges::equal(std::span(head).first(3), kJpeg) || std::ranges::equal(head, kPng);
}

class ImagesSource final : public PacedSource {
 public:
  ImagesSource(fs::path folder, SteadyClock::duration period, Repeat repeat, const SourceOptions& options)
      : PacedSource(period, Late::kDelay),
        folder_(std::move(folder)),
        repeat_(repeat),
        needs_(options.needs),
        log_(options.log) {}

  [[nodiscard]] std::string description() const override {
    return format_text("pictures of {}{}, each looked at, whether it moves or not", printable(folder_.string()),
                       repeat_ == Repeat::kOnce ? ", once" : "");
  }

 protected:
  [[nodiscard]] Result<void> rewind() override {
    files_.clear();
    bad_count_ = 0;
    at_ = 0;
    std::error_code error;
    fs::directory_iterator entries(folder_, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::path& path = entries->path();
      std::error_code ignored;
      if (path.filename().string().starts_with('.') || !entries->is_regular_file(ignored)) continue;
      if (may_be_picture(path)) files_.push_back({path, false});
    }
    if (error) {
      return fail(ErrorCode::kNotFound, "folder of pictures cannot be read: " + error.message(),
                  printable(folder_.string()), "name a folder: images:/path/to/folder");
    }
    if (files_.empty()) {
      return fail(ErrorCode::kNotFound, "no JPEG or PNG picture in the folder", printable(folder_.string()),
                  "put pictures there, or name another folder");
    }
    std::ranges::sort(files_, {}, &File::path);
    return {};
  }

  [[nodiscard]] Result<Drawn> draw(std::uint64_t /*sequence*/, MadePicture& picture) override {
    if (at_ == files_.size()) {
      if (repeat_ == Repeat::kOnce) return Drawn::kEnd;
      at_ = 0;
    }
    if (bad_count_ == files_.size()) {
      return fail(ErrorCode::kBadData, "none of the pictures can be decoded", printable(folder_.string()));
    }
    File& file = files_[at_++];
    if (file.bad) return Drawn::kNothing;
    if (const Result<void> decoded = decode_file(file.path, picture); !decoded) {
      file.bad = true;
      ++bad_count_;
      count_dropped(1);
      if (log_) log_(LogLevel::kWarning, "picture skipped: " + describe(decoded.error()));
      return Drawn::kNothing;
    }
    return Drawn::kFrame;
  }

 private:
  struct File {
    fs::path path;
    bool bad;
  };

  [[nodiscard]] Result<void> decode_file(const fs::path& path, MadePicture& picture) {
    const InputFile file = KINGLET_TRY(InputFile::open(path));
    if (file.size() > kMaxFileBytes) {
      return fail(ErrorCode::kBadData, format_text("has {} bytes, the limit is {}", file.size(), kMaxFileBytes),
                  printable(path.string()));
    }
    file_.resize(file.size());
    KINGLET_TRY(file.read_at(0, file_));
    const Result<void> decoded = decode(picture);
    if (file_.capacity() > kKeptFileBytes) file_ = {};
    if (!decoded) return std::unexpected(with_context(decoded.error(), printable(path.string())));
    return {};
  }

  // Of the file. The picture's memory is used again.
  [[nodiscard]] Result<void> decode(MadePicture& picture) {
    const PictureNeeds::Enough enough = needs_ ? needs_->enough() : PictureNeeds::Enough();
    const ImageSize size = KINGLET_TRY(read_image_size(file_, kLimits));
    std::vector<std::byte> room = std::exchange(picture.jpeg, {});
    std::optional<std::vector<std::byte>> jpeg;
    if (enough && std::int64_t{size.width} * size.height <= kLimits.kept_pixels) {
      jpeg = as_frame(file_, std::move(room));
    }
    if (!jpeg) {
      DecodedImage all =
          KINGLET_TRY(decode_image(file_, kLimits, Upright::kApplyExif, {}, std::exchange(picture.image.rgb, {})));
      picture.image = std::move(all.image);
      if (!enough || picture.image.width == all.size.width) return {};
      file_ = {};
      return make_both(enough, picture);
    }
    DecodedImage decoded =
        KINGLET_TRY(decode_image(*jpeg, kLimits, Upright::kAsStored, enough, std::exchange(picture.image.rgb, {})));
    picture.image = std::move(decoded.image);
    if (picture.image.width == decoded.size.width) return {};
    picture.jpeg = *std::move(jpeg);
    picture.size = decoded.size;
    return {};
  }

  // Of one that was made smaller already: a JPEG, and the pixels that are enough.
  [[nodiscard]] static Result<void> make_both(const PictureNeeds::Enough& enough, MadePicture& picture) {
    const ImageSize size{.width = picture.image.width, .height = picture.image.height};
    const ImageSize least = enough(size);
    const int times = std::min(size.width / std::max(1, least.width), size.height / std::max(1, least.height));
    if (times < 2) return {};
    picture.jpeg = KINGLET_TRY(encode_jpeg(picture.image.view(), kMadeSmallerQuality));
    picture.size = size;
    picture.image = means_of(picture.image, times);
    return {};
  }

  const fs::path folder_;
  const Repeat repeat_;
  const std::shared_ptr<const PictureNeeds> needs_;
  const LogSink log_;
  std::vector<File> files_;
  std::vector<std::byte> file_;  // the newest one's bytes
  std::size_t at_ = 0;
  std::size_t bad_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_images(std::string_view rest, const SourceOptions& options) {
  const Playback playback = KINGLET_TRY(parse_playback("images", "folder", rest, options));
  const SteadyClock::duration period = playback.period ? *playback.period : KINGLET_TRY(period_of({}, options));
  return std::make_unique<ImagesSource>(fs::path(playback.path), period, playback.repeat, options);
}

}  // namespace kinglet::camera
