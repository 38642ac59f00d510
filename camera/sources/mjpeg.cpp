// SPDX-License-Identifier: Apache-2.0
// Why: "mjpeg:URL": a network camera that sends picture after picture in one answer that never ends.
#include "camera/stream/http_source.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

class MjpegSource final : public HttpSource {
 public:
  using HttpSource::HttpSource;

 protected:
  Result<std::unique_ptr<StreamParser>> parser_of(const std::string& type, const std::string& whole) override {
    if (type.starts_with("multipart/")) return make_multipart_parser(boundary_of(whole));
    if (type == "image/jpeg" || type == "image/jpg") {
      return fail(ErrorCode::kUnavailable, subject() + " gives single pictures", {},
                  "write snapshot: instead of mjpeg:");
    }
    return make_mjpeg_parser();
  }
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_mjpeg(std::string_view rest, const SourceOptions& options) {
  const AddressSpec spec = KINGLET_TRY(parse_http_address("mjpeg", rest, {}));
  HttpRequest request{.address = spec.address, .certificates = options.certificates};
  return std::make_unique<MjpegSource>(std::move(request), options, pause_of(options));
}

}  // namespace kinglet::camera
