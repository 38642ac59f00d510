// SPDX-License-Identifier: Apache-2.0
// Why: one libcamera camera from found to released, in the order libcamera demands: which streams it is asked for,
// where its pictures are stored, when it runs. Knows no socket.
#pragma once

#include <libcamera/camera.h>
#include <libcamera/camera_manager.h>
#include <libcamera/framebuffer.h>
#include <libcamera/framebuffer_allocator.h>
#include <libcamera/request.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/libcamera/program/choice.h"
#include "camera/libcamera/protocol.h"
#include "camera/source/camera_settings.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

struct StreamWish {
  unsigned width = 1280;
  unsigned height = 720;
  unsigned small_width = 0;  // of a second stream; 0: none
  CameraSettings settings;   // how the picture is turned
};

// Asks the camera of this name for what stands in `wanted`, turned like `orientation`; its first stream is then what
// the camera made of it. kUnavailable: nothing that kinglet reads, or it cannot be turned so.
[[nodiscard]] Result<void> settle(libcamera::CameraConfiguration& wanted, libcamera::Orientation orientation,
                                  const std::string& camera);

// Validated. at(0): pictures of a size near to the wish; at(1), only where the camera offers it: the same pictures in
// the same format and shape, but smaller. kUnavailable: no stream that kinglet reads, or one that cannot be turned;
// kUsage: a rotation that is no right angle.
[[nodiscard]] Result<std::unique_ptr<libcamera::CameraConfiguration>> make_configuration(libcamera::Camera& camera,
                                                                                         const StreamWish& wish);

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

struct DeviceWish {
  CameraWish which;
  StreamWish streams;
  double frames_per_second = 0;  // 0: the camera's own
};

// One filled buffer.
struct Completed {
  enum class Kind { kGood, kBad, kStartup, kCancelled } kind = Kind::kGood;
  protocol::FrameReady frame;  // without sequence
  std::uint64_t lost = 0;      // frames that the sensor made and nobody stored
};

// Of the main thread; only libcamera's own thread calls on_completed and on_disconnected, which hand over and signal.
class Device {
 public:
  // The process may have one of these at a time (libcamera aborts otherwise). kUnavailable: libcamera does not start,
  // no camera, no such camera, one in use by another program, one without a format for us or without a control for a
  // setting, no memory.
  [[nodiscard]] static Result<std::unique_ptr<Device>> open(const DeviceWish& wish);
  [[nodiscard]] static Result<std::vector<CameraName>> list();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const protocol::Hello& hello() const { return hello_; }
  [[nodiscard]] const std::vector<BufferDescription>& buffers() const { return descriptions_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }  // for the log

  // All buffers are with the camera afterwards.
  [[nodiscard]] Result<void> start();
  void stop();

  // Readable when take_completed() or disconnected() has news.
  [[nodiscard]] int event() const { return event_.get(); }
  [[nodiscard]] std::vector<Completed> take_completed();
  [[nodiscard]] bool disconnected() const { return disconnected_.load(); }
  [[nodiscard]] Result<void> queue(std::uint32_t index);

 private:
  Device() = default;
  [[nodiscard]] Result<void> find(const CameraWish& wish);
  [[nodiscard]] Result<void> acquire();
  [[nodiscard]] Result<void> configure(const DeviceWish& wish);
  [[nodiscard]] Result<void> allocate();
  [[nodiscard]] Result<void> set_controls(const DeviceWish& wish);
  void on_completed(libcamera::Request* request);
  void on_disconnected();
  void signal_event();
  [[nodiscard]] Completed describe(libcamera::Request& request);

  std::unique_ptr<libcamera::CameraManager> manager_;
  std::shared_ptr<libcamera::Camera> camera_;
  std::unique_ptr<libcamera::CameraConfiguration> configuration_;
  std::vector<Buffers> buffers_;  // one a stream
  std::vector<std::unique_ptr<libcamera::Request>> requests_;
  std::unique_ptr<libcamera::ControlList> controls_;
  std::vector<BufferDescription> descriptions_;
  protocol::Hello hello_;
  std::string summary_;
  FileDescriptor event_;
  std::optional<unsigned> sensor_sequence_;
  bool hardware_ = false;
  bool acquired_ = false;
  bool running_ = false;
  std::atomic<bool> disconnected_ = false;

  Mutex mutex_;
  std::vector<libcamera::Request*> completed_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::camera
