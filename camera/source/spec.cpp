// SPDX-License-Identifier: Apache-2.0
#include "camera/source/spec.h"

#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {

Result<Spec> parse_spec(std::string_view rest, std::span<const std::string_view> known) {
  Spec spec;
  const std::size_t mark = rest.rfind('?');
  spec.path = rest.substr(0, mark);
  std::string_view text = mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 1);
  while (!text.empty()) {
    const std::string_view option = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(option.size() + 1, text.size()));
    const std::string_view key = option.substr(0, option.find('='));
    if (std::ranges::find(known, key) == known.end()) {
      const std::string_view nearest = nearest_name(key, known);
      return fail(ErrorCode::kUsage, format_text("unknown source option \"{}\"", printable(key, 40)),
                  printable(rest, 80), nearest.empty() ? "" : format_text("did you mean \"{}\"?", nearest));
    }
    spec.options.push_back({key, option.substr(std::min(key.size() + 1, option.size()))});
  }
  return spec;
}

Result<SteadyClock::duration> period_of(const Spec& spec, const SourceOptions& options) {
  double fps = options.frames_per_second > 0 ? options.frames_per_second : 10.0;
  for (const SpecOption& option : spec.options) {
    if (option.key != "fps") continue;
    if (option.value == "max") return SteadyClock::duration::zero();
    fps = parse_number<double>(option.value).value_or(0);
  }
  if (!(fps >= 0.01 && fps <= 1000)) {
    return fail(ErrorCode::kUsage, "source option \"fps\" is not a number from 0.01 to 1000, nor \"max\"");
  }
  return std::chrono::duration_cast<SteadyClock::duration>(Seconds(1 / fps));
}

Result<Playback> parse_playback(std::string_view scheme, std::string_view what, std::string_view rest,
                                const SourceOptions& options) {
  constexpr std::string_view kKnown[] = {"fps", "once", "loop"};
  const Spec spec = KINGLET_TRY(parse_spec(rest, kKnown));
  if (spec.path.empty()) {
    return fail(ErrorCode::kUsage, format_text("{}: needs a {}", scheme, what), {},
                format_text("write {}:/path/to/{}", scheme, what));
  }
  Playback playback{.path = std::string(spec.path)};
  for (const SpecOption& option : spec.options) {
    if (option.key == "once") playback.repeat = Repeat::kOnce;
    if (option.key == "fps") playback.period = KINGLET_TRY(period_of(spec, options));
  }
  return playback;
}

}  // namespace kinglet::camera
