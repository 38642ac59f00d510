// SPDX-License-Identifier: Apache-2.0
// Why: where bytes come from that hold frames: a program's output, an answer over HTTP.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// One run: from its opening until close(). read() belongs to one thread, close() may come from any.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Some bytes into `out`; 0 at the deadline or after close(). kUnavailable: the stream is over, why stands in the
  // message; what came before was read already.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> out, SteadyTime deadline) = 0;

  // The same of at most `count` bytes, 1 or more, that nobody wants; `scratch` may be written to.
  [[nodiscard]] virtual Result<std::size_t> drop(std::size_t count, std::span<std::byte> scratch, SteadyTime deadline) {
    return read(scratch.first(std::min(count, scratch.size())), deadline);
  }

  // Wakes a waiting read() for good and ends what gives the bytes. Takes at most a second and a half. Idempotent.
  virtual void close() = 0;
};

}  // namespace kinglet::camera
