// SPDX-License-Identifier: Apache-2.0
#include "camera/discovery/search.h"
#include "engine/base/check.h"
#include "engine/base/text.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void discovery(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto cameras = camera::read_answer(text, "7", "10.0.0.9");
  if (!cameras) return;
  for (const camera::FoundCamera& camera : *cameras) {
    for (const std::string& shown : {camera.name, camera.hardware, camera.stream()}) {
      KINGLET_CHECK(printable(shown, 1000) == shown && shown.size() < 200);
    }
    for (const std::string& service : camera.services) KINGLET_CHECK(service.contains("://10.0.0.9"));
  }
}

}  // namespace kinglet::fuzz
