// SPDX-License-Identifier: Apache-2.0
// Why: what must be true of every parser of a stream, whatever its bytes are.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "camera/stream/parser.h"
#include "engine/base/check.h"

namespace kinglet::fuzz {

struct StreamRead {
  std::vector<std::vector<std::byte>> frames;
  std::string error;
  bool operator==(const StreamRead&) const = default;
};

inline StreamRead read_stream(camera::StreamParser& parser, std::span<const std::byte> bytes, std::size_t step) {
  StreamRead read;
  std::vector<std::byte> frame;
  while (!bytes.empty()) {
    std::span<const std::byte> piece = bytes.first(std::min(step, bytes.size()));
    bytes = bytes.subspan(piece.size());
    while (!piece.empty()) {
      const auto got = parser.feed(piece, frame);
      if (!got) {
        read.error = got.error().message;
        return read;
      }
      KINGLET_CHECK(got->consumed <= piece.size() && (got->complete || got->consumed == piece.size()));
      piece = piece.subspan(got->consumed);
      if (!got->complete) continue;
      if (const auto view = parser.view(frame)) KINGLET_CHECK(camera::check_view(*view).has_value());
      read.frames.push_back(std::move(frame));
      frame.clear();
    }
  }
  return read;
}

// How the bytes are cut by the network changes nothing.
template <typename Make>
void read_both_ways(Make make, std::span<const std::byte> bytes) {
  const StreamRead whole = read_stream(*make(), bytes, bytes.size());
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
    KINGLET_CHECK(read_stream(*make(), bytes, step) == whole);
  }
}

}  // namespace kinglet::fuzz
