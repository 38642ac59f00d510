// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clips/clip_avi.h"
#include "daemon/capture/clips/clip_file.h"
#include "engine/base/check.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void clip(std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t taken = 0;
  for (std::string_view rest = file; const auto part = daemon::take_part(rest);) {
    KINGLET_CHECK(part->bytes.size() > part->jpeg.size());
    taken += part->bytes.size();
  }
  KINGLET_CHECK(taken <= file.size());
  // Pauses have places of a few bytes each, bounded in number; pictures are there once.
  constexpr std::size_t kPlaces = 10'000 * 24;
  if (const auto avi = daemon::make_avi(file)) KINGLET_CHECK(avi->size() <= file.size() + kPlaces + 1000);
}

}  // namespace kinglet::fuzz
