// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/recording.h"

#include "engine/base/check.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void recording(std::span<const std::byte> bytes) {
  const MemoryFile file(bytes);
  auto reader = camera::RecordingReader::open(file.path());
  if (!reader) return;
  const auto facts = camera::examine(*reader);
  KINGLET_CHECK(facts.has_value());
  camera::RecordedFrame frame;
  std::uint64_t frames = 0;
  while (reader->next(frame).value()) {
    ++frames;
    KINGLET_CHECK(camera::check_view(frame.view).has_value() && frame.bytes.size() <= bytes.size());
  }
  KINGLET_CHECK(frames <= facts->frames && reader->skipped_bytes() <= bytes.size());
}

}  // namespace kinglet::fuzz
