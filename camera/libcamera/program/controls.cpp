// SPDX-License-Identifier: Apache-2.0
// Why: see controls.h.
#include "camera/libcamera/program/controls.h"

#include <libcamera/control_ids.h>
#include <libcamera/geometry.h>
#include <libcamera/version.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

namespace controls = libcamera::controls;

constexpr std::array<std::pair<std::string_view, std::int32_t>, 6> kWhiteBalances{{
    {"incandescent", controls::AwbIncandescent},
    {"tungsten", controls::AwbTungsten},
    {"fluorescent", controls::AwbFluorescent},
    {"indoor", controls::AwbIndoor},
    {"daylight", controls::AwbDaylight},
    {"cloudy", controls::AwbCloudy},
}};

// Collects controls until the first one that this camera refuses.
class Wishes {
 public:
  explicit Wishes(const libcamera::ControlInfoMap& offered) : offered_(offered), list_(offered) {}

  [[nodiscard]] bool has(const libcamera::ControlId& control) const {
    return offered_.find(control.id()) != offered_.end();
  }

  template <typename T>
  void set(std::string_view setting, const libcamera::Control<T>& control, const T& value) {
    const auto info = offered_.find(control.id());
    if (info == offered_.end()) {
      refuse(setting, format_text("the camera has no control {}", control.name()));
    } else if (const std::string range = outside(info->second, libcamera::ControlValue(value)); !range.empty()) {
      refuse(setting, format_text("{} is {}, the camera takes {}", control.name(),
                                  libcamera::ControlValue(value).toString(), range));
    } else {
      list_.set(control, value);
    }
  }

  void refuse(std::string_view setting, std::string why, ErrorCode code = ErrorCode::kUnavailable) {
    if (result_)
      result_ = fail(code, format_text("camera.{}: {}", setting, why), "", "take it out of the configuration");
  }

  [[nodiscard]] const libcamera::ControlInfo& info(const libcamera::ControlId& control) const {
    return offered_.find(control.id())->second;
  }

  [[nodiscard]] libcamera::ControlList& list() { return list_; }

  [[nodiscard]] Result<libcamera::ControlList> take() {
    KINGLET_TRY(std::move(result_));
    return std::move(list_);
  }

 private:
  // What is accepted instead of `value`; empty if it is.
  [[nodiscard]] static std::string outside(const libcamera::ControlInfo& info, const libcamera::ControlValue& value) {
    const auto& choices = info.values();
    if (!choices.empty()) {
      if (std::ranges::contains(choices, value)) return {};
      std::string all;
      for (const auto& choice : choices) all += (all.empty() ? "" : ", ") + choice.toString();
      return all;
    }
    if (info.min().type() != value.type() || info.max().type() != value.type()) return {};
    const bool fits = value.type() == libcamera::ControlTypeFloat       ? within<float>(info, value)
                      : value.type() == libcamera::ControlTypeInteger32 ? within<std::int32_t>(info, value)
                                                                        : true;
    return fits ? std::string() : format_text("{} to {}", info.min().toString(), info.max().toString());
  }

  template <typename T>
  [[nodiscard]] static bool within(const libcamera::ControlInfo& info, const libcamera::ControlValue& value) {
    return value.get<T>() >= info.min().get<T>() && value.get<T>() <= info.max().get<T>();
  }

  const libcamera::ControlInfoMap& offered_;
  libcamera::ControlList list_;
  Result<void> result_;
};

void set_exposure(Wishes& wishes, const CameraSettings& settings) {
// Since 0.5 a fixed value counts only in manual mode.
#if LIBCAMERA_VERSION_MAJOR > 0 || LIBCAMERA_VERSION_MINOR >= 5
  if (settings.exposure > 0 && wishes.has(controls::ExposureTimeMode)) {
    wishes.list().set(controls::ExposureTimeMode, controls::ExposureTimeModeManual);
  }
  if (settings.gain > 0 && wishes.has(controls::AnalogueGainMode)) {
    wishes.list().set(controls::AnalogueGainMode, controls::AnalogueGainModeManual);
  }
#endif
  if (settings.exposure > 0) {
    wishes.set("exposure", controls::ExposureTime, static_cast<std::int32_t>(std::lround(settings.exposure * 1000)));
  }
  if (settings.gain > 0) wishes.set("gain", controls::AnalogueGain, static_cast<float>(settings.gain));
  if (settings.exposure_value != 0) {
    wishes.set("exposure_value", controls::ExposureValue, static_cast<float>(settings.exposure_value));
  }
}

void set_white_balance(Wishes& wishes, const std::string& name) {
  if (name == "auto") return;
  const auto row = std::ranges::find(kWhiteBalances, name, &decltype(kWhiteBalances)::value_type::first);
  if (row == kWhiteBalances.end()) {
    wishes.refuse("white_balance", format_text("\"{}\" is none that is known", name), ErrorCode::kUsage);
  } else {
    wishes.set("white_balance", controls::AwbMode, row->second);
  }
}

void set_focus(Wishes& wishes, const CameraSettings& settings) {
  const std::string& focus = settings.focus;
  if (settings.lens_position != 0 && focus != "manual") {
    wishes.refuse("lens_position", format_text("counts with focus = \"manual\" only, which is \"{}\"", focus),
                  ErrorCode::kUsage);
  } else if (focus == "continuous" || (focus == "auto" && wishes.has(controls::AfMode))) {
    wishes.set<std::int32_t>("focus", controls::AfMode, controls::AfModeContinuous);
  } else if (focus == "once") {
    wishes.set<std::int32_t>("focus", controls::AfMode, controls::AfModeAuto);
    wishes.set<std::int32_t>("focus", controls::AfTrigger, controls::AfTriggerStart);
  } else if (focus == "manual") {
    wishes.set<std::int32_t>("focus", controls::AfMode, controls::AfModeManual);
    wishes.set("lens_position", controls::LensPosition, static_cast<float>(settings.lens_position));
  } else if (focus != "auto") {
    wishes.refuse("focus", format_text("\"{}\" is none that is known", focus), ErrorCode::kUsage);
  }
}

// Shares of the largest crop, which is the whole picture of the sensor's mode.
void set_crop(Wishes& wishes, const Area& crop) {
  if (crop == Area{}) return;
  libcamera::Rectangle part;
  if (wishes.has(controls::ScalerCrop) &&
      wishes.info(controls::ScalerCrop).max().type() == libcamera::ControlTypeRectangle) {
    const auto whole = wishes.info(controls::ScalerCrop).max().get<libcamera::Rectangle>();
    const auto pixels = [](double share, unsigned side) { return static_cast<int>(std::lround(share * side)); };
    part = {whole.x + pixels(crop.left, whole.width), whole.y + pixels(crop.top, whole.height),
            static_cast<unsigned>(pixels(crop.width, whole.width)),
            static_cast<unsigned>(pixels(crop.height, whole.height))};
  }
  wishes.set("crop", controls::ScalerCrop, part);
}

}  // namespace

Result<libcamera::ControlList> make_controls(const CameraSettings& settings, double frames_per_second,
                                             const libcamera::ControlInfoMap& offered) {
  Wishes wishes(offered);
  if (frames_per_second > 0 && wishes.has(controls::FrameDurationLimits)) {
    const auto microseconds = static_cast<std::int64_t>(1e6 / frames_per_second);
    wishes.list().set(controls::FrameDurationLimits,
                      libcamera::Span<const std::int64_t, 2>(std::array{microseconds, microseconds}));
  }
  set_exposure(wishes, settings);
  set_white_balance(wishes, settings.white_balance);
  set_focus(wishes, settings);
  set_crop(wishes, settings.crop);
  return wishes.take();
}

Result<libcamera::Transform> make_transform(const CameraSettings& settings) {
  bool is_right_angle = false;
  libcamera::Transform transform = libcamera::transformFromRotation(settings.rotation, &is_right_angle);
  if (!is_right_angle) {
    return fail(ErrorCode::kUsage, format_text("camera.rotation is {}", settings.rotation), "",
                "write 0, 90, 180 or 270");
  }
  if (settings.hflip) transform = libcamera::Transform::HFlip * transform;
  if (settings.vflip) transform = libcamera::Transform::VFlip * transform;
  return transform;
}

}  // namespace kinglet::camera
