// SPDX-License-Identifier: Apache-2.0
// Why: see buffers.h.
#include "camera/libcamera/program/device.h"

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "camera/frame/plane_shape.h"
#include "camera/libcamera/program/formats.h"
#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

// The first is a link that Raspberry Pi OS makes to the heap that suits the board.
constexpr std::array<const char*, 2> kHeaps{"vidbuf_cached", "linux,cma"};

libcamera::SharedFD allocate_from(int heap, std::uint64_t length) {
  dma_heap_allocation_data request{};
  request.len = length;
  request.fd_flags = O_CLOEXEC | O_RDWR;
  if (::ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &request) != 0) return libcamera::SharedFD();
  return libcamera::SharedFD(static_cast<int>(request.fd));
}

std::vector<std::unique_ptr<libcamera::FrameBuffer>> from_heap(const char* name,
                                                               const libcamera::StreamConfiguration& stream) {
  std::vector<std::unique_ptr<libcamera::FrameBuffer>> buffers;
  const FileDescriptor heap(::open(format_text("/dev/dma_heap/{}", name).c_str(), O_RDWR | O_CLOEXEC));
  if (!heap.valid()) return buffers;
  for (unsigned i = 0; i < stream.bufferCount; ++i) {
    libcamera::SharedFD memory = allocate_from(heap.get(), stream.frameSize);
    if (!memory.isValid()) return {};
    libcamera::FrameBuffer::Plane whole;
    whole.fd = std::move(memory);
    whole.offset = 0;
    whole.length = stream.frameSize;
    buffers.push_back(std::make_unique<libcamera::FrameBuffer>(std::vector{whole}));
  }
  return buffers;
}

// Different descriptors may stand for one memory.
bool same_memory(int a, int b) {
  if (a == b) return true;
  struct stat first{};
  struct stat second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::uint32_t descriptor_index(std::vector<int>& descriptors, int fd) {
  const auto found = std::ranges::find_if(descriptors, [fd](int known) { return same_memory(known, fd); });
  if (found != descriptors.end()) return static_cast<std::uint32_t>(found - descriptors.begin());
  descriptors.push_back(fd);
  return static_cast<std::uint32_t>(descriptors.size() - 1);
}

// libcamera gives the stride of the first plane only.
std::uint32_t plane_stride(PixelFormat format, std::uint32_t plane, std::uint32_t stride) {
  if (format == PixelFormat::kMjpeg) return 0;
  return format == PixelFormat::kYuv420 && plane > 0 ? stride / 2 : stride;
}

}  // namespace

Result<Buffers> Buffers::allocate(const std::shared_ptr<libcamera::Camera>& camera,
                                  const libcamera::StreamConfiguration& stream, bool csi) {
  Buffers buffers;
  for (const char* heap : kHeaps) {
    if (csi && buffers.owned_.empty()) {
      buffers.owned_ = from_heap(heap, stream);
      buffers.kind_ = heap;
    }
  }
  for (const auto& buffer : buffers.owned_) buffers.buffers_.push_back(buffer.get());
  if (!buffers.buffers_.empty()) return buffers;

  buffers.kind_ = "libcamera";
  buffers.allocator_ = std::make_unique<libcamera::FrameBufferAllocator>(camera);
  if (const int result = buffers.allocator_->allocate(stream.stream()); result <= 0) {
    return fail(ErrorCode::kUnavailable,
                format_text("no memory for {} camera buffers of {}: {}", stream.bufferCount, stream.size.toString(),
                            errno_text(-result)),
                "", "ask for a smaller picture, or give this user the devices /dev/dma_heap (group video)");
  }
  for (const auto& buffer : buffers.allocator_->buffers(stream.stream())) buffers.buffers_.push_back(buffer.get());
  return buffers;
}

Result<BufferDescription> describe_buffer(const libcamera::FrameBuffer& buffer, std::uint32_t index,
                                          const libcamera::StreamConfiguration& stream) {
  const std::optional<PixelFormat> format = from_libcamera(stream.pixelFormat);
  if (!format) return fail(ErrorCode::kInternal, "a format without a name: " + stream.pixelFormat.toString());
  const std::uint32_t count = plane_count(*format);
  BufferDescription description;
  description.message.index = index;
  description.message.plane_count = count;
  std::uint32_t found = 0;
  for (const auto& plane : buffer.planes()) {
    if (plane.length == 0 || found == count) continue;  // libcamera 0.4's virtual camera adds an empty plane
    if (plane.offset == libcamera::FrameBuffer::Plane::kInvalidOffset) break;
    description.message.planes[found] = {.descriptor = descriptor_index(description.descriptors, plane.fd.get()),
                                         .stride = plane_stride(*format, found, stream.stride),
                                         .offset = plane.offset,
                                         .length = plane.length};
    ++found;
  }
  if (found == 1 && count > 1) {
    const protocol::BufferPlane whole = description.message.planes[0];
    std::uint64_t offset = whole.offset;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t stride = plane_stride(*format, i, stream.stride);
      const std::uint64_t rows = plane_shape(*format, i, stream.size.width, stream.size.height).rows;
      description.message.planes[i] = {
          .descriptor = whole.descriptor, .stride = stride, .offset = offset, .length = rows * stride};
      offset += rows * stride;
    }
    found = count;
  }
  if (found != count || description.descriptors.size() > protocol::kMaxPlanes) {
    return fail(ErrorCode::kUnavailable, format_text("the camera's buffers have {} planes, expected {}", found, count));
  }
  return description;
}

}  // namespace kinglet::camera
