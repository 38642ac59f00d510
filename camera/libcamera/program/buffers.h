// SPDX-License-Identifier: Apache-2.0
// Why: where the camera's pictures are stored, and how the daemon is told about it.
#pragma once

#include <libcamera/camera.h>
#include <libcamera/framebuffer.h>
#include <libcamera/framebuffer_allocator.h>

#include <memory>
#include <string>
#include <vector>

#include "camera/libcamera/protocol.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// Buffers for one configured stream. Must die after the requests that use them and before the camera is released.
class Buffers {
 public:
  // Camera sensors of a board (`csi`): memory of our own from a dma-heap, because the CPU reads the driver's own
  // memory slowly there; if there is no heap, and for all other cameras, the driver's. kUnavailable: no memory.
  [[nodiscard]] static Result<Buffers> allocate(const std::shared_ptr<libcamera::Camera>& camera,
                                                const libcamera::StreamConfiguration& stream, bool csi);

  [[nodiscard]] std::size_t size() const { return buffers_.size(); }
  [[nodiscard]] libcamera::FrameBuffer* at(std::size_t index) const { return buffers_[index]; }
  [[nodiscard]] const std::string& kind() const { return kind_; }  // "vidbuf_cached", "libcamera"

 private:
  std::unique_ptr<libcamera::FrameBufferAllocator> allocator_;
  std::vector<std::unique_ptr<libcamera::FrameBuffer>> owned_;
  std::vector<libcamera::FrameBuffer*> buffers_;
  std::string kind_;
};

struct BufferDescription {
  protocol::Buffer message;
  std::vector<int> descriptors;  // borrowed from the FrameBuffer, each memory once
};

// Planes with the stride of the validated configuration. A buffer that libcamera describes as one piece is divided by
// stride and height. kUnavailable: a layout that cannot be told.
[[nodiscard]] Result<BufferDescription> describe_buffer(const libcamera::FrameBuffer& buffer, std::uint32_t index,
                                                        const libcamera::StreamConfiguration& stream);

}  // namespace kinglet::camera
