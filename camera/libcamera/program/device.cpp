// SPDX-License-Identifier: Apache-2.0
// Why: see device.h. The order of calls and what is believed of a frame's metadata are libcamera's traps; each rule
// that is not visible in its headers has its reason here.
#include "camera/libcamera/program/device.h"

#include <libcamera/control_ids.h>
#include <libcamera/property_ids.h>
#include <libcamera/version.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "camera/libcamera/program/controls.h"
#include "camera/libcamera/program/formats.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

std::string location_name(const libcamera::ControlList& properties) {
  const auto location = properties.get(libcamera::properties::Location);
  if (!location) return {};
  switch (*location) {
    case libcamera::properties::CameraLocationFront:
      return "front";
    case libcamera::properties::CameraLocationBack:
      return "back";
    case libcamera::properties::CameraLocationExternal:
      return "external";
    default:
      return {};
  }
}

CameraName name_of(const libcamera::Camera& camera) {
  return {.id = camera.id(),
          .model = std::string(camera.properties().get(libcamera::properties::Model).value_or("")),
          .location = location_name(camera.properties())};
}

std::vector<CameraName> names_of(const std::vector<std::shared_ptr<libcamera::Camera>>& cameras) {
  std::vector<CameraName> names;
  names.reserve(cameras.size());
  for (const auto& camera : cameras) names.push_back(name_of(*camera));
  return names;
}

Result<std::unique_ptr<libcamera::CameraManager>> start_manager() {
  auto manager = std::make_unique<libcamera::CameraManager>();
  if (const int result = manager->start(); result < 0) {
    return fail(ErrorCode::kUnavailable, "libcamera does not start: " + errno_text(-result));
  }
  return manager;
}

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// SensorTimestamp is CLOCK_BOOTTIME by its documentation and CLOCK_MONOTONIC in the virtual camera; they are the same
// until the machine sleeps.
std::int64_t capture_time(const libcamera::ControlList& metadata) {
  const std::int64_t now = nanoseconds_of(CLOCK_MONOTONIC);
  const auto stamp = metadata.get(libcamera::controls::SensorTimestamp);
  if (!stamp) return now;
  const std::int64_t slept = nanoseconds_of(CLOCK_BOOTTIME) - now;
  for (const std::int64_t candidate : {*stamp - slept, *stamp}) {
    if (candidate <= now && now - candidate < 1'000'000'000) return candidate;
  }
  return now;
}

// As bytes: the virtual camera of libcamera 0.4 never writes it, and what lies there need not be a Status.
std::underlying_type_t<libcamera::FrameMetadata::Status> status_of(const libcamera::FrameMetadata& metadata) {
  std::underlying_type_t<libcamera::FrameMetadata::Status> status{};
  static_assert(sizeof(status) == sizeof(metadata.status));
  std::memcpy(&status, &metadata.status, sizeof(status));
  return status;
}

bool is_startup(const libcamera::FrameMetadata& metadata) {
#if LIBCAMERA_VERSION_MAJOR > 0 || LIBCAMERA_VERSION_MINOR > 5 || \
    (LIBCAMERA_VERSION_MINOR == 5 && LIBCAMERA_VERSION_PATCH >= 2)
  return status_of(metadata) == libcamera::FrameMetadata::FrameStartup;
#else
  static_cast<void>(metadata);
  return false;
#endif
}

}  // namespace

Result<std::vector<CameraName>> Device::list() {
  auto manager = KINGLET_TRY(start_manager());
  std::vector<CameraName> names = names_of(manager->cameras());
  manager->stop();
  return names;
}

Result<std::unique_ptr<Device>> Device::open(const DeviceWish& wish) {
  std::unique_ptr<Device> device(new Device());
  device->event_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  device->manager_ = KINGLET_TRY(start_manager());
  KINGLET_TRY(device->find(wish.which));
  KINGLET_TRY(device->acquire());
  KINGLET_TRY(device->configure(wish));
  KINGLET_TRY(device->allocate());
  KINGLET_TRY(device->set_controls(wish));
  return device;
}

Device::~Device() {
  stop();
  if (camera_) {
    camera_->requestCompleted.disconnect(this);
    camera_->disconnected.disconnect(this);
  }
  requests_.clear();
  buffers_.clear();
  configuration_.reset();
  if (acquired_) camera_->release();
  camera_.reset();
  if (manager_) manager_->stop();
}

Result<void> Device::find(const CameraWish& wish) {
  const auto cameras = manager_->cameras();
  const std::vector<CameraName> names = names_of(cameras);
  const std::size_t chosen = KINGLET_TRY(choose_camera(names, wish));
  camera_ = cameras[chosen];
  hello_.camera_count = static_cast<std::uint32_t>(cameras.size());
  hello_.alike_count = static_cast<std::uint32_t>(std::ranges::count(names, names[chosen].model, &CameraName::model));
  return {};
}

Result<void> Device::acquire() {
  const int result = camera_->acquire();
  if (result == -EBUSY) {
    return fail(ErrorCode::kUnavailable, format_text("camera {} is in use by another program", camera_->id()), "",
                "stop the other program (rpicam-vid, motion, mediamtx, another kingletd)");
  }
  if (result < 0) {
    return fail(ErrorCode::kUnavailable, format_text("camera {}: {}", camera_->id(), errno_text(-result)));
  }
  acquired_ = true;
  camera_->requestCompleted.connect(this, &Device::on_completed);
  camera_->disconnected.connect(this, &Device::on_disconnected);
  return {};
}

Result<void> Device::configure(const DeviceWish& wish) {
  configuration_ = KINGLET_TRY(make_configuration(*camera_, wish.streams));
  int result = camera_->configure(configuration_.get());
  if (result < 0 && configuration_->size() > 1) {
    StreamWish one = wish.streams;
    one.small_width = 0;
    configuration_ = KINGLET_TRY(make_configuration(*camera_, one));
    result = camera_->configure(configuration_.get());
  }
  const libcamera::StreamConfiguration& stream = configuration_->at(0);
  if (result < 0) {
    return fail(ErrorCode::kUnavailable,
                format_text("camera {}: configuration {}: {}", camera_->id(), stream.toString(), errno_text(-result)));
  }
  // The virtual camera has no device behind it.
  const auto devices = camera_->properties().get(libcamera::properties::SystemDevices);
  hardware_ = devices && !devices->empty();
  const PixelFormat format = from_libcamera(stream.pixelFormat).value_or(PixelFormat::kRgb888);
  const Colors colors = choose_colors(stream.colorSpace, format, hardware_);
  const CameraName name = name_of(*camera_);
  hello_.library = protocol::to_text("libcamera " + libcamera::CameraManager::version());
  hello_.camera = protocol::to_text(name.id);
  hello_.model = protocol::to_text(name.model);
  hello_.format = static_cast<std::uint32_t>(format);
  hello_.matrix = static_cast<std::uint32_t>(colors.matrix);
  hello_.range = static_cast<std::uint32_t>(colors.range);
  hello_.width = stream.size.width;
  hello_.height = stream.size.height;
  if (configuration_->size() > 1) {
    hello_.small_width = configuration_->at(1).size.width;
    hello_.small_height = configuration_->at(1).size.height;
  }
  summary_ =
      format_text("{}: {}, {}", camera_->id(), stream.toString(), libcamera::ColorSpace::toString(stream.colorSpace));
  if (hello_.has_small()) summary_ += format_text(", {}", configuration_->at(1).toString());
  if (wish.streams.small_width > 0 && !hello_.has_small()) summary_ += ", no second, smaller stream beside it";
  return {};
}

Result<void> Device::allocate() {
  const std::string& id = camera_->id();
  const bool csi = id.starts_with("/base/") && !is_usb_camera(id);
  std::size_t count = protocol::kMaxBuffers;
  for (const libcamera::StreamConfiguration& stream : *configuration_) {
    buffers_.push_back(KINGLET_TRY(Buffers::allocate(camera_, stream, csi)));
    count = std::min(count, buffers_.back().size());
  }
  hello_.buffer_count = static_cast<std::uint32_t>(count);
  for (std::uint32_t i = 0; i < count; ++i) requests_.push_back(camera_->createRequest(i));
  for (std::uint32_t at = 0; at < buffers_.size(); ++at) {
    const libcamera::StreamConfiguration& stream = configuration_->at(at);
    for (std::uint32_t i = 0; i < count; ++i) {
      libcamera::FrameBuffer* buffer = buffers_[at].at(i);
      const auto index = static_cast<std::uint32_t>(at * count + i);
      descriptions_.push_back(KINGLET_TRY(describe_buffer(*buffer, index, stream)));
      if (!requests_[i] || requests_[i]->addBuffer(stream.stream(), buffer) < 0) {
        return fail(ErrorCode::kUnavailable, format_text("camera {}: no request for buffer {}", id, index));
      }
    }
  }
  summary_ += format_text(", {} buffers ({})", count, buffers_.front().kind());
  return {};
}

Result<void> Device::set_controls(const DeviceWish& wish) {
  auto controls = make_controls(wish.streams.settings, wish.frames_per_second, camera_->controls());
  if (!controls) {
    Error error = std::move(controls).error();
    error.message = format_text("camera {}: {}", camera_->id(), error.message);
    return std::unexpected(std::move(error));
  }
  controls_ = std::make_unique<libcamera::ControlList>(std::move(*controls));
  return {};
}

Result<void> Device::start() {
  if (const int result = camera_->start(controls_.get()); result < 0) {
    return fail(ErrorCode::kUnavailable,
                format_text("camera {} does not start: {}", camera_->id(), errno_text(-result)));
  }
  running_ = true;
  for (const auto& request : requests_) {
    if (const int result = camera_->queueRequest(request.get()); result < 0) {
      return fail(ErrorCode::kUnavailable, format_text("camera {}: queue: {}", camera_->id(), errno_text(-result)));
    }
  }
  return {};
}

void Device::stop() {
  if (!std::exchange(running_, false)) return;
  camera_->stop();
  // No callback comes any more, but what came before still waits and must not outlive the requests.
  const MutexLock lock(mutex_);
  completed_.clear();
}

void Device::on_completed(libcamera::Request* request) {
  {
    const MutexLock lock(mutex_);
    completed_.push_back(request);
  }
  signal_event();
}

void Device::on_disconnected() {
  disconnected_.store(true);
  signal_event();
}

void Device::signal_event() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event_.get(), &one, sizeof(one)));
}

std::vector<Completed> Device::take_completed() {
  std::uint64_t count = 0;
  static_cast<void>(::read(event_.get(), &count, sizeof(count)));
  std::vector<libcamera::Request*> requests;
  {
    const MutexLock lock(mutex_);
    requests.swap(completed_);
  }
  std::vector<Completed> completed;
  completed.reserve(requests.size());
  for (libcamera::Request* request : requests) completed.push_back(describe(*request));
  return completed;
}

Completed Device::describe(libcamera::Request& request) {
  Completed completed;
  completed.frame.index = static_cast<std::uint32_t>(request.cookie());
  if (request.status() == libcamera::Request::RequestCancelled) {
    completed.kind = Completed::Kind::kCancelled;
    return completed;
  }
  const libcamera::FrameMetadata& metadata = buffers_.front().at(completed.frame.index)->metadata();
  const auto status = status_of(metadata);
  if (status == libcamera::FrameMetadata::FrameError || status == libcamera::FrameMetadata::FrameCancelled) {
    completed.kind = Completed::Kind::kBad;
  } else if (is_startup(metadata)) {
    completed.kind = Completed::Kind::kStartup;
  }
  completed.frame.captured_at_ns = capture_time(request.metadata());
  if (!metadata.planes().empty()) completed.frame.bytes_used = metadata.planes()[0].bytesused;
  if (hardware_) {
    const unsigned gap = sensor_sequence_ ? metadata.sequence - *sensor_sequence_ - 1 : 0;
    if (gap < 1000) completed.lost = gap;
    sensor_sequence_ = metadata.sequence;
  }
  return completed;
}

Result<void> Device::queue(std::uint32_t index) {
  libcamera::Request& request = *requests_.at(index);
  request.reuse(libcamera::Request::ReuseBuffers);
  if (const int result = camera_->queueRequest(&request); result < 0) {
    return fail(ErrorCode::kUnavailable, format_text("camera {}: queue: {}", camera_->id(), errno_text(-result)));
  }
  return {};
}

}  // namespace kinglet::camera
