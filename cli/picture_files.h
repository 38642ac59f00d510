// SPDX-License-Identifier: Apache-2.0
// Why: pictures as a person names them on the command line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "camera/decode/decode.h"
#include "engine/base/error.h"

namespace kinglet::cli {

// Pictures of the arguments in order: files as they are, folders as their *.jpg, *.jpeg and *.png by name, "-" as
// stdin. kNotFound: a folder without pictures.
[[nodiscard]] Result<std::vector<std::string>> expand_pictures(const std::vector<std::string>& arguments);
// A JPEG or PNG within the tool's limits. kBadData as camera::decode_image.
[[nodiscard]] Result<camera::DecodedImage> decode_picture(std::span<const std::byte> picture, camera::Upright upright);
// The bytes of a file, or of stdin for "-".
[[nodiscard]] Result<std::string> read_picture(const std::string& name);

}  // namespace kinglet::cli
