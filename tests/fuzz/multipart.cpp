// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/stream_reader.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void multipart(std::span<const std::byte> bytes) {
  read_both_ways([] { return camera::make_multipart_parser("frame"); }, bytes);
  read_both_ways([] { return camera::make_multipart_parser(""); }, bytes);
  static_cast<void>(camera::boundary_of(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
}

}  // namespace kinglet::fuzz
