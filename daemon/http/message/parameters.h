// SPDX-License-Identifier: Apache-2.0
// Why: query values are read in one way, with one form of refusal.
#pragma once

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "camera/preprocess/preprocess.h"
#include "daemon/http/message/message.h"
#include "engine/base/clock.h"

namespace kinglet::daemon::http {

// `fallback` when absent. The error is 400 `bad-parameter`.
[[nodiscard]] std::expected<std::int64_t, Reply> integer_parameter(const Call& call, std::string_view name,
                                                                   std::int64_t fallback, std::int64_t low,
                                                                   std::int64_t high);
[[nodiscard]] std::expected<std::int64_t, Reply> integer_parameter(const Call& call, std::string_view name,
                                                                   std::int64_t fallback,
                                                                   std::initializer_list<std::int64_t> choices);

[[nodiscard]] std::expected<double, Reply> number_parameter(const Call& call, std::string_view name, double fallback);
// From 0 to 1.
[[nodiscard]] std::expected<double, Reply> ratio_parameter(const Call& call, std::string_view name, double fallback);
// RFC 3339 with any offset: "2026-05-04T06:12:09.318Z".
[[nodiscard]] std::expected<std::optional<WallTime>, Reply> time_parameter(const Call& call, std::string_view name);
// The place of the value among `words`; the first when absent.
[[nodiscard]] std::expected<std::size_t, Reply> word_parameter(const Call& call, std::string_view name,
                                                               std::initializer_list<std::string_view> words);

// "none", "center" or "x,y,w,h" for a picture of this size; absent: nothing (as the recipe says).
[[nodiscard]] std::expected<std::optional<CropRect>, Reply> crop_parameter(std::optional<std::string_view> text,
                                                                           int width, int height);

}  // namespace kinglet::daemon::http
