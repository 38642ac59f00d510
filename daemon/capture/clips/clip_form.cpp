// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clips/clip_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEnough{100};  // as often as a frame is looked at
// A clip that waits for the disk leaves the next one less room, which is to have its width all the same: what became
// large with a third to spare is at most 3/8 of the store's room, and 1.25 of half of the other 5/8 is more than that.
constexpr double kToGrow = 4.0 / 3;
constexpr double kToStay = 1.25;
constexpr double kBytesByWidth = 1.5;  // the power; measured: 24 KB at 640, 67 to 77 at 1280, 129 to 150 at 1920

// Best first; where something is set one may come twice.
std::array<ClipForm, 4> forms_of(const ClipForm& wished) {
  const bool every = wished.interval == milliseconds(0);
  const milliseconds seldom = every ? kSmallClip.interval : wished.interval;
  return {{wished,
           {wished.width, every ? kEnough : wished.interval},
           {wished.width, seldom},
           {wished.width == 0 ? kSmallClip.width : wished.width, seldom}}};
}

bool fits(const ClipForm& form, const ClipForm& now, const ClipLimits& limits, const ClipNeeds& needs) {
  constexpr SteadyClock::duration kAtLeast = milliseconds(1);
  const int width = width_of(form, needs.width);
  const double share = static_cast<double>(width) / std::max(needs.width, 1);
  const Seconds pause = std::max<SteadyClock::duration>({form.interval, needs.pause, kAtLeast});
  const double spare = width > width_of(now, needs.width) ? kToGrow : 1;
  const double per_second = static_cast<double>(needs.bytes) * bytes_times(share) * spare / pause.count();
  const Seconds clip = limits.before + limits.after;
  // One clip waits for the end of its visit while a second visit may have begun.
  const Seconds kept = clip + limits.before + limits.known_within;
  return per_second * clip.count() <= static_cast<double>(needs.clip_bytes) &&
         per_second * kept.count() <= static_cast<double>(limits.bytes);
}

}  // namespace

int width_of(const ClipForm& form, int width) { return form.width == 0 ? width : std::min(form.width, width); }

double bytes_times(double width_times) { return std::pow(width_times, kBytesByWidth); }

ClipForm form_of(const ClipForm& wished, const ClipForm& now, const ClipLimits& limits, const ClipNeeds& needs) {
  const std::array<ClipForm, 4> forms = forms_of(wished);
  const auto found = std::ranges::find_if(forms, [&](const ClipForm& form) { return fits(form, now, limits, needs); });
  const ClipForm& form = found == forms.end() ? forms.back() : *found;
  if (width_of(form, needs.width) >= width_of(now, needs.width)) return form;
  const ClipForm& fewest = forms[2];
  ClipNeeds eased = needs;
  eased.clip_bytes = static_cast<std::uint64_t>(static_cast<double>(needs.clip_bytes) * kToStay);
  return fits(fewest, now, limits, eased) ? fewest : form;
}

}  // namespace kinglet::daemon
