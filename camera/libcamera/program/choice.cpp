// SPDX-License-Identifier: Apache-2.0
// Why: see choice.h.
#include "camera/libcamera/program/choice.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

Error no_camera() {
  return {ErrorCode::kUnavailable, "no camera found", "",
          "connect a camera (a ribbon cable is seen at boot only; this user needs the group video), or use source = "
          "\"demo:\""};
}

std::string all_names(std::span<const CameraName> cameras) {
  std::string names;
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    names += format_text("{}{}: {}", names.empty() ? "" : ", ", i, cameras[i].id);
  }
  return names;
}

std::optional<std::size_t> find(std::span<const CameraName> cameras, std::string CameraName::* member,
                                const std::string& value) {
  const auto found = std::ranges::find(cameras, value, member);
  if (found == cameras.end()) return std::nullopt;
  return static_cast<std::size_t>(found - cameras.begin());
}

std::optional<std::size_t> index_of(const std::string& camera) {
  std::size_t index = 0;
  const char* end = camera.data() + camera.size();
  if (std::from_chars(camera.data(), end, index).ptr != end) return std::nullopt;
  return index;
}

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace

Result<std::size_t> choose_camera(std::span<const CameraName> cameras, const CameraWish& wish) {
  if (const auto same = find(cameras, &CameraName::id, wish.camera)) return *same;
  if (!wish.model.empty()) {
    if (std::ranges::count(cameras, wish.model, &CameraName::model) == 1) {
      return *find(cameras, &CameraName::model, wish.model);
    }
    return fail(ErrorCode::kUnavailable, format_text("camera {} is not connected any more", wish.model), "",
                cameras.empty() ? "connect it again"
                                : "connect it again, or choose another as source: there are " + all_names(cameras));
  }
  if (cameras.empty()) return std::unexpected(no_camera());
  const auto index = index_of(wish.camera);
  if (wish.camera.empty()) return 0;
  if (index && *index < cameras.size()) return *index;
  if (const auto model = find(cameras, &CameraName::model, wish.camera)) return *model;
  return fail(ErrorCode::kUnavailable, format_text("no camera \"{}\"", wish.camera), "",
              "there are " + all_names(cameras) + " (kinglet-camera --list)");
}

bool is_usb_camera(std::string_view id) {
  constexpr std::size_t kTail = 10;  // "-1209:0001"
  if (id.size() < kTail) return false;
  const std::string_view tail = id.substr(id.size() - kTail);
  return tail[0] == '-' && tail[5] == ':' && is_hexadecimal(tail.substr(1, 4)) && is_hexadecimal(tail.substr(6));
}

}  // namespace kinglet::camera
