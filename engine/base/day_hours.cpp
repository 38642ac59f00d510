// SPDX-License-Identifier: Apache-2.0
#include "engine/base/day_hours.h"

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet {

using std::chrono::minutes;

std::optional<minutes> parse_day_time(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const std::size_t at : {0U, 1U, 3U, 4U}) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (minute > 59 || hour * 60 + minute > 24 * 60) return std::nullopt;
  return minutes(hour * 60 + minute);
}

Result<DayHours> parse_day_hours(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const std::optional<minutes> begin = parse_day_time(text.substr(0, dash));
    const std::optional<minutes> end = parse_day_time(text.substr(dash + 1));
    if (begin && end && *begin != *end) return DayHours{*begin, *end};
  }
  return fail(
      ErrorCode::kBadData,
      format_text("\"{}\" is no span of hours, expected two different times such as 06:30-20:00", printable(text, 40)));
}

}  // namespace kinglet
