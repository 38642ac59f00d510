// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/network_camera.h"

#include <algorithm>
#include <utility>

#include "camera/stream/http_post.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"

namespace kinglet::camera {

CameraAnswer ask_camera(const CameraQuestion& question) {
  const SteadyTime deadline = SteadyClock::now() + question.patience;
  const AskOnvif ask = [&](const std::string& url, const std::string& message,
                           std::chrono::milliseconds patience) -> Result<OnvifAnswer> {
    const auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0) return fail(ErrorCode::kUnavailable, "it takes too long to answer");
    HttpAnswer answer = KINGLET_TRY(
        http_post(url, "application/soap+xml; charset=utf-8", message, std::min(patience, left), question.called_off));
    return OnvifAnswer{.status = answer.status, .body = std::move(answer.body), .from = std::move(answer.from)};
  };
  SearchOptions search = question.search;
  search.called_off = question.called_off;
  auto camera = find_camera(question.host, search, ask);
  if (!camera) return {.camera = std::nullopt, .stream = std::unexpected(std::move(camera).error())};
  const AskOnvif refuse = [](const auto&, const auto&, auto) -> Result<OnvifAnswer> {
    return OnvifAnswer{.status = 401, .body = {}, .from = {}};
  };
  auto stream = ask_for_stream(*camera, {.user = question.login.user, .password = question.login.password},
                               question.wish, question.login_rests ? refuse : ask);
  return {.camera = *std::move(camera), .stream = std::move(stream)};
}

std::string words_of(const OnvifStream& stream, StreamWish wish) {
  std::string text = stream.width > 0 ? format_text("{}x{}", stream.width, stream.height) : "of a size it does not say";
  if (!stream.encoding.empty()) text += " " + stream.encoding;
  if (stream.profiles == 1) return text + ", its only stream";
  const bool is_enough = stream.width >= kLeastWidth && stream.height >= kLeastHeight;
  if (wish == StreamWish::kLargest || !is_enough)
    return text + format_text(", the largest of its {} streams", stream.profiles);
  return text + format_text(", the smallest of its {} streams that is at least {}x{}", stream.profiles, kLeastWidth,
                            kLeastHeight);
}

}  // namespace kinglet::camera
