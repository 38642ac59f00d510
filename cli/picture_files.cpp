// SPDX-License-Identifier: Apache-2.0
#include "cli/picture_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>

#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;

constexpr camera::DecodeLimits kLimits{.max_pixels = 200'000'000, .max_side = 65'535};
constexpr std::uint64_t kPictureLimit = 512 << 20;

bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

}  // namespace

Result<std::vector<std::string>> expand_pictures(const std::vector<std::string>& arguments) {
  std::vector<std::string> pictures;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (argument == "-" || !fs::is_directory(argument, error)) {
      pictures.push_back(argument);
      continue;
    }
    const std::size_t first = pictures.size();
    for (const auto& entry : fs::directory_iterator(argument, error)) {
      if (is_picture_name(entry.path())) pictures.push_back(entry.path().string());
    }
    if (error) return fail(ErrorCode::kNotFound, "cannot read the folder: " + error.message(), argument);
    if (pictures.size() == first) {
      return fail(ErrorCode::kNotFound, "no *.jpg, *.jpeg or *.png in this folder", argument);
    }
    std::sort(pictures.begin() + static_cast<std::ptrdiff_t>(first), pictures.end());
  }
  return pictures;
}

Result<camera::DecodedImage> decode_picture(std::span<const std::byte> picture, camera::Upright upright) {
  return camera::decode_image(picture, kLimits, upright);
}

Result<std::string> read_picture(const std::string& name) {
  if (name != "-") return read_file(name, kPictureLimit);
  std::string bytes;
  char block[1 << 16];
  while (std::cin.read(block, sizeof block) || std::cin.gcount() > 0) {
    bytes.append(block, static_cast<std::size_t>(std::cin.gcount()));
    if (bytes.size() > kPictureLimit) {
      return fail(ErrorCode::kBadData, format_text("has more than {} bytes", kPictureLimit), "standard input");
    }
  }
  return bytes;
}

}  // namespace kinglet::cli
