// SPDX-License-Identifier: Apache-2.0
#include "camera/source/camera_settings.h"

#include <algorithm>
#include <type_traits>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

template <typename Value>
void add_words(std::vector<std::string>& words, std::string option, const Value& value) {
  words.push_back(std::move(option));
  if constexpr (std::is_same_v<Value, Area>) {
    for (const double share : {value.left, value.top, value.width, value.height}) {
      words.push_back(format_text("{}", share));
    }
  } else if constexpr (!std::is_same_v<Value, bool>) {
    words.push_back(format_text("{}", value));
  }
}

}  // namespace

std::string option_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

std::vector<std::string> to_arguments(const CameraSettings& settings) {
  const CameraSettings defaults;
  std::vector<std::string> words;
#define KINGLET_CAMERA_SETTING(type, name, default_, help) \
  if (settings.name != defaults.name) add_words(words, option_of(#name), settings.name);
#include "camera/source/settings.def"
#undef KINGLET_CAMERA_SETTING
  return words;
}

}  // namespace kinglet::camera
