// SPDX-License-Identifier: Apache-2.0
#include "camera/discovery/onvif.h"
#include "camera/discovery/search.h"
#include "engine/base/check.h"
#include "engine/base/text.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

// The same text as the answer to every question about streams.
void converse(std::string_view text) {
  const camera::FoundCamera found{
      .address = "10.0.0.9", .name = {}, .hardware = {}, .services = {"http://10.0.0.9/onvif/device_service"}};
  for (const auto wish : {camera::StreamWish::kSmaller, camera::StreamWish::kLargest}) {
    const auto stream = camera::ask_for_stream(
        found, {}, wish, [&](const std::string& url, const auto&, auto) -> Result<camera::OnvifAnswer> {
          KINGLET_CHECK(url.contains("://10.0.0.9"));
          return camera::OnvifAnswer{.status = 200, .body = std::string(text), .from = "10.0.0.9"};
        });
    if (!stream) continue;
    KINGLET_CHECK(stream->address.starts_with("rtsp://10.0.0.9") &&
                  printable(stream->address, 1000) == stream->address);
    KINGLET_CHECK(printable(stream->encoding, 100) == stream->encoding && stream->encoding.size() < 32);
  }
}

}  // namespace

void discovery(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  converse(text);
  const auto cameras = camera::read_answer(text, "7", "10.0.0.9");
  if (!cameras) return;
  for (const camera::FoundCamera& camera : *cameras) {
    for (const std::string& shown : {camera.name, camera.hardware, camera.stream()}) {
      KINGLET_CHECK(printable(shown, 1000) == shown && shown.size() < 200);
    }
    for (const std::string& service : camera.services) {
      KINGLET_CHECK(service.contains("://10.0.0.9") && !service.substr(0, service.find('/', 8)).contains('@'));
    }
  }
}

}  // namespace kinglet::fuzz
