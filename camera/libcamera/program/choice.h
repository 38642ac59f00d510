// SPDX-License-Identifier: Apache-2.0
// Why: which of libcamera's cameras is meant. Knows no libcamera, so that it can be tried with any set of cameras.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::camera {

struct CameraName {
  std::string id;
  std::string model;
  std::string location;  // "front", "back", "external" or empty
};

struct CameraWish {
  std::string camera;  // libcamera's id, an index or a model name; empty: the first
  // Where it is not empty, `camera` is the id of one that was here before: if it is gone (a USB camera's id names its
  // port) it may have come back as the only one of this model.
  std::string model;
};

// Its place in `cameras`. kUnavailable: none, or none that is meant; the hint says what there is.
[[nodiscard]] Result<std::size_t> choose_camera(std::span<const CameraName> cameras, const CameraWish& wish);

// libcamera's ids of USB cameras end with "-PORT:CONFIGURATION.INTERFACE-VENDOR:PRODUCT"; what stands before depends on
// the board.
[[nodiscard]] bool is_usb_camera(std::string_view id);

}  // namespace kinglet::camera
