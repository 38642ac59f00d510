// SPDX-License-Identifier: Apache-2.0
// Why: one libcamera camera from found to released, in the order libcamera demands. Knows no socket.
#pragma once

#include <libcamera/camera.h>
#include <libcamera/camera_manager.h>
#include <libcamera/request.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/libcamera/program/buffers.h"
#include "camera/libcamera/program/choice.h"
#include "camera/libcamera/program/configuration.h"
#include "camera/libcamera/protocol.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

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
