// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/stream_reader.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void stream(std::span<const std::byte> bytes) {
  read_both_ways([] { return camera::make_mjpeg_parser(); }, bytes);
  read_both_ways([] { return camera::make_y4m_parser({}); }, bytes);
}

}  // namespace kinglet::fuzz
