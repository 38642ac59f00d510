// SPDX-License-Identifier: Apache-2.0
// Why: see shared_frames.h. Every offset was checked against the real size of the memory before it becomes a span.
#include "camera/libcamera/shared_frames.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

// Without it the caches of the CPU may show an older picture (Linux: dma-buf, CPU access).
bool sync_dma_buf(int descriptor, std::uint64_t flags) {
  dma_buf_sync sync{};
  sync.flags = flags | DMA_BUF_SYNC_READ;
  while (::ioctl(descriptor, DMA_BUF_IOCTL_SYNC, &sync) != 0) {
    if (errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

bool can_not_shrink(int descriptor) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

SteadyTime to_steady(std::int64_t nanoseconds, SteadyTime now) {
  const SteadyTime time{std::chrono::nanoseconds(nanoseconds)};
  const bool plausible = time <= now && now - time < std::chrono::minutes(1);
  return plausible ? time : now;
}

}  // namespace

SharedFrames::~SharedFrames() {
  for (MappedBuffer& buffer : buffers_) unmap(buffer.memories);
}

void SharedFrames::unmap(std::vector<Memory>& memories) {
  for (Memory& memory : memories) {
    if (memory.start != nullptr) ::munmap(memory.start, memory.length);
  }
  memories.clear();
}

Result<void> SharedFrames::accept(const protocol::Hello& hello) {
  if (hello_.buffer_count != 0) return fail(ErrorCode::kBadData, "kinglet-camera said hello twice");
  KINGLET_TRY(protocol::check(hello));
  hello_ = hello;
  buffers_.reserve(hello.all_buffers());
  return {};
}

Result<SharedFrames::Memory> SharedFrames::map(FileDescriptor descriptor, std::uint64_t length) const {
  Memory memory{.descriptor = std::move(descriptor), .length = static_cast<std::size_t>(length)};
  const int fd = memory.descriptor.get();
  memory.is_dma_buf = sync_dma_buf(fd, DMA_BUF_SYNC_START) && sync_dma_buf(fd, DMA_BUF_SYNC_END);
  if (!memory.is_dma_buf && !can_not_shrink(fd)) {
    return fail(ErrorCode::kBadData,
                "kinglet-camera gave memory that is neither a dma-buf nor sealed against shrinking");
  }
  void* start = ::mmap(nullptr, memory.length, PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) return fail(ErrorCode::kBadData, "cannot map a camera buffer: " + errno_text());
  memory.start = static_cast<std::byte*>(start);
  return memory;
}

Result<void> SharedFrames::accept(const protocol::Buffer& buffer, std::span<FileDescriptor> descriptors) {
  if (hello_.buffer_count == 0 || buffer.index != buffers_.size()) {
    return fail(ErrorCode::kBadData, format_text("kinglet-camera sent buffer {}, expected {} of {}", buffer.index,
                                                 buffers_.size(), hello_.all_buffers()));
  }
  // lseek, because a dma-buf tells its size that way only.
  std::array<std::uint64_t, protocol::kMaxPlanes> sizes{};
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    sizes[i] = static_cast<std::uint64_t>(std::max<off_t>(0, ::lseek(descriptors[i].get(), 0, SEEK_END)));
  }
  KINGLET_TRY(protocol::check(buffer, hello_, std::span(sizes).first(descriptors.size())));

  MappedBuffer mapped;
  const std::span planes = std::span(buffer.planes).first(buffer.plane_count);
  for (std::uint32_t i = 0; i < descriptors.size(); ++i) {
    std::uint64_t end = 0;
    for (const protocol::BufferPlane& plane : planes) {
      if (plane.descriptor == i) end = std::max(end, plane.offset + plane.length);
    }
    auto memory = end == 0 ? Result<Memory>(Memory{}) : map(std::move(descriptors[i]), end);
    if (!memory) {
      unmap(mapped.memories);
      return std::unexpected(memory.error());
    }
    mapped.memories.push_back(std::move(*memory));
  }
  const bool is_small = buffer.index >= hello_.buffer_count;
  mapped.view = {.format = static_cast<PixelFormat>(hello_.format),
                 .width = static_cast<int>(is_small ? hello_.small_width : hello_.width),
                 .height = static_cast<int>(is_small ? hello_.small_height : hello_.height),
                 .matrix = static_cast<ColorMatrix>(hello_.matrix),
                 .range = static_cast<ColorRange>(hello_.range),
                 .plane_count = static_cast<int>(buffer.plane_count)};
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const std::byte* start = mapped.memories[planes[i].descriptor].start + planes[i].offset;
    mapped.view.planes[i] = {std::span(start, planes[i].length), planes[i].stride};
  }
  buffers_.push_back(std::move(mapped));
  return {};
}

Result<Frame> SharedFrames::lease(const protocol::FrameReady& ready) {
  if (!complete() || ready.index >= hello_.buffer_count || leased_[ready.index].exchange(true)) {
    return fail(ErrorCode::kBadData,
                format_text("kinglet-camera sent a frame in buffer {}, which it does not have", ready.index));
  }
  tell_memory(ready.index, Reading::kBegins);
  FrameView view = buffers_[ready.index].view;
  if (view.format == PixelFormat::kMjpeg && ready.bytes_used != 0) {
    const std::span bytes = view.planes[0].bytes;
    view.planes[0].bytes = bytes.first(std::min<std::size_t>(bytes.size(), ready.bytes_used));
  }
  const SteadyTime now = SteadyClock::now();
  const SteadyTime captured_at = to_steady(ready.captured_at_ns, now);
  const FrameInfo info{
      .sequence = ready.sequence,
      .captured_at = captured_at,
      .captured_wall = std::chrono::system_clock::now() -
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(now - captured_at)};
  const FrameView small = hello_.has_small() ? buffers_[ready.index + hello_.buffer_count].view : view;
  return Frame(view, small, info, [frames = shared_from_this(), index = ready.index] { frames->give_back(index); });
}

void SharedFrames::tell_memory(std::uint32_t index, Reading reading) const {
  const std::uint64_t flags = reading == Reading::kBegins ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END;
  for (std::size_t i = index; i < buffers_.size(); i += hello_.buffer_count) {
    for (const Memory& memory : buffers_[i].memories) {
      if (memory.is_dma_buf) static_cast<void>(sync_dma_buf(memory.descriptor.get(), flags));
    }
  }
}

void SharedFrames::give_back(std::uint32_t index) {
  tell_memory(index, Reading::kEnds);
  leased_[index].store(false);
  // Fails only when the program has gone: then nobody waits for the buffer.
  static_cast<void>(protocol::send(socket_.get(), protocol::Return{.index = index}));
}

}  // namespace kinglet::camera
