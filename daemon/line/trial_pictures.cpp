// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/trial_pictures.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "camera/decode/decode.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/file.h"
#include "engine/picture/made_pictures.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFewest = 4, kMost = 8;
constexpr std::uint64_t kLargestFile = 4U << 20;

// Names begin with the time.
std::vector<fs::path> newest_squares(const fs::path& folder) {
  std::vector<fs::path> found;
  const auto newer = [](const fs::path& a, const fs::path& b) { return a.filename() > b.filename(); };
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder / "pictures", failed), end; !failed && at != end;
       at.increment(failed)) {
    if (!at->path().filename().string().ends_with(".crop.jpg")) continue;
    found.insert(std::ranges::upper_bound(found, at->path(), newer), at->path());
    if (found.size() > kMost) found.pop_back();
  }
  return found;
}

Result<void> fill_from(const fs::path& file, const engine::Recipe& recipe, const engine::PictureInput& input) {
  const std::string bytes = KINGLET_TRY(read_file(file, kLargestFile));
  const camera::DecodedImage decoded =
      KINGLET_TRY(camera::decode_image(std::as_bytes(std::span(bytes)), {}, camera::Upright::kApplyExif));
  camera::Preprocessor preprocessor(recipe, input.width, input.height);
  const CropRect whole{.x = 0, .y = 0, .width = decoded.image.width, .height = decoded.image.height};
  KINGLET_TRY(preprocessor.run(decoded.image.view(), whole, input));
  return {};
}

}  // namespace

engine::TrialPictures stored_trial_pictures(const fs::path& folder) {
  std::vector<fs::path> files = newest_squares(folder);
  if (files.size() < kFewest) return {};
  const std::size_t count = files.size();
  return {.count = count,
          .fill = [files = std::move(files)](std::size_t index, const engine::Recipe& recipe,
                                             const engine::PictureInput& input) -> Result<void> {
            if (!fill_from(files.at(index), recipe, input)) engine::draw_made_picture(index, recipe, input);
            return {};
          }};
}

}  // namespace kinglet::daemon
