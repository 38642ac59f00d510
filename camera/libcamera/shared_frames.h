// SPDX-License-Identifier: Apache-2.0
// Why: the daemon's side of kinglet-camera's buffers: mapped once, read-only, handed out as leases without a copy, and
// readable until the last lease ends, whatever happened to the program meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/libcamera/protocol.h"
#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::camera {

// Thread-bound but for the leases it gave out, which may end on any thread and keep it alive.
class SharedFrames : public std::enable_shared_from_this<SharedFrames> {
 public:
  // `socket`: connected to kinglet-camera; leases are given back through it.
  explicit SharedFrames(FileDescriptor socket) : socket_(std::move(socket)) {}
  ~SharedFrames();
  SharedFrames(const SharedFrames&) = delete;
  SharedFrames& operator=(const SharedFrames&) = delete;

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] const protocol::Hello& hello() const { return hello_; }
  // True when the camera and all its buffers are known.
  [[nodiscard]] bool complete() const { return hello_.buffer_count != 0 && buffers_.size() == hello_.all_buffers(); }

  // kBadData: not in order, or what protocol::check refuses, or memory that could shrink under a reader (neither a
  // dma-buf nor sealed), or memory that cannot be mapped.
  [[nodiscard]] Result<void> accept(const protocol::Hello& hello);
  [[nodiscard]] Result<void> accept(const protocol::Buffer& buffer, std::span<FileDescriptor> descriptors);

  // kBadData: no such buffer, or one that is leased already.
  [[nodiscard]] Result<Frame> lease(const protocol::FrameReady& ready);

 private:
  struct Memory {
    FileDescriptor descriptor;
    std::byte* start = nullptr;
    std::size_t length = 0;
    bool is_dma_buf = false;
  };
  struct MappedBuffer {
    std::vector<Memory> memories;
    FrameView view;
  };
  enum class Reading { kBegins, kEnds };

  [[nodiscard]] Result<Memory> map(FileDescriptor descriptor, std::uint64_t length) const;
  static void unmap(std::vector<Memory>& memories);
  void tell_memory(std::uint32_t index, Reading reading) const;
  void give_back(std::uint32_t index);

  FileDescriptor socket_;
  protocol::Hello hello_;
  std::vector<MappedBuffer> buffers_;  // those of the small stream at the end
  std::array<std::atomic<bool>, protocol::kMaxBuffers> leased_{};
};

}  // namespace kinglet::camera
