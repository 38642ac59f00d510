// SPDX-License-Identifier: Apache-2.0
// Why: "snapshot:URL": a network camera that gives one picture a request; it is asked again and again.
#include <algorithm>

#include "camera/source/spec.h"
#include "camera/stream/http_source.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

class SnapshotSource final : public HttpSource {
 public:
  using HttpSource::HttpSource;
  // A slow camera may take for one picture whatever a request may take.
  [[nodiscard]] SteadyClock::duration longest_pause() const override {
    return std::max<SteadyClock::duration>(*request().period, kLongestRequest);
  }

 protected:
  // The pictures follow each other in the stream as those of Motion-JPEG do.
  Result<std::unique_ptr<StreamParser>> parser_of(const std::string& type, const std::string& /*whole*/) override {
    if (type.starts_with("multipart/")) {
      return fail(ErrorCode::kUnavailable, subject() + " gives a stream", {}, "write mjpeg: instead of snapshot:");
    }
    if (type.starts_with("image/") && type != "image/jpeg" && type != "image/jpg") {
      return fail(ErrorCode::kUnavailable, format_text("{} gives {}, expected image/jpeg", subject(), printable(type)));
    }
    return make_mjpeg_parser();
  }
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_snapshot(std::string_view rest, const SourceOptions& options) {
  constexpr std::string_view kKnown[] = {"fps"};
  const AddressSpec http = KINGLET_TRY(parse_http_address("snapshot", rest, kKnown));
  Spec spec;
  for (const auto& [key, value] : http.options) spec.options.push_back({key, value});
  SourceOptions wish;
  wish.frames_per_second = options.frames_per_second > 0 ? options.frames_per_second : 1;
  HttpRequest request{
      .address = http.address, .certificates = options.certificates, .period = KINGLET_TRY(period_of(spec, wish))};
  // The first picture is asked for at once: it keeps nothing waiting for a period.
  return std::make_unique<SnapshotSource>(std::move(request), options, SteadyClock::duration{});
}

}  // namespace kinglet::camera
