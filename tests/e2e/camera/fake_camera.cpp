// SPDX-License-Identifier: Apache-2.0
// Why: stands where kinglet-camera stands and says what a broken or hostile one would: fake-kinglet-camera MODE ...
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "camera/frame/plane_shape.h"
#include "camera/libcamera/protocol.h"

namespace kinglet::camera {
namespace {

using protocol::Buffer;
using protocol::BufferPlane;
using protocol::FrameReady;
using protocol::Hello;
using protocol::kSocket;

constexpr std::uint32_t kWidth = 64;
constexpr std::uint32_t kHeight = 48;
constexpr std::uint32_t kPadded = 80;  // stride of the first plane, also with RGB (then times 3)
constexpr std::uint64_t kMemory = 64 * 1024;

struct Camera {
  Hello hello;
  std::array<BufferPlane, 3> planes{};
};

Camera camera_of(PixelFormat format) {
  Camera camera;
  camera.hello = {.library = protocol::to_text("fake 1.0"),
                  .camera = protocol::to_text("fake"),
                  .format = static_cast<std::uint32_t>(format),
                  .matrix = static_cast<std::uint32_t>(ColorMatrix::kBt709),
                  .range = static_cast<std::uint32_t>(ColorRange::kLimited),
                  .width = kWidth,
                  .height = kHeight,
                  .buffer_count = 4};
  std::uint64_t offset = 256;
  for (std::uint32_t i = 0; i < plane_count(format); ++i) {
    std::uint32_t stride = kPadded;
    if (format == PixelFormat::kRgb888) stride = 3 * kPadded;
    if (format == PixelFormat::kYuyv) stride = 2 * kPadded;
    if (format == PixelFormat::kYuv420 && i > 0) stride = kPadded / 2;
    if (format == PixelFormat::kMjpeg) stride = 0;
    const std::uint64_t length =
        format == PixelFormat::kMjpeg ? 4096 : stride * plane_shape(format, i, kWidth, kHeight).rows;
    camera.planes[i] = {.stride = stride, .offset = offset, .length = length};
    offset += length;
  }
  return camera;
}

// Every byte of plane p is 16 * (p + 1) + buffer index.
FileDescriptor make_memory(const Camera& camera, std::uint32_t index, bool sealed) {
  FileDescriptor memory(::memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::vector<unsigned char> bytes(kMemory, 0xEE);
  for (std::size_t p = 0; p < camera.planes.size(); ++p) {
    const BufferPlane& plane = camera.planes[p];
    std::memset(bytes.data() + plane.offset, static_cast<int>(16 * (p + 1) + index), plane.length);
  }
  static_cast<void>(::write(memory.get(), bytes.data(), bytes.size()));
  if (sealed) ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  return memory;
}

void say_raw(const std::vector<std::uint32_t>& words) { ::send(kSocket, words.data(), words.size() * 4, MSG_NOSIGNAL); }

template <typename Message>
void say(const Message& message, const std::vector<int>& descriptors = {}) {
  static_cast<void>(protocol::send(kSocket, message, descriptors));
}

void say_buffer(const Camera& camera, std::uint32_t index, bool sealed = true) {
  const FileDescriptor memory = make_memory(camera, index, sealed);
  say(Buffer{.index = index,
             .plane_count = plane_count(static_cast<PixelFormat>(camera.hello.format)),
             .planes = camera.planes},
      {memory.get()});
}

void introduce(const Camera& camera) {
  say(camera.hello);
  for (std::uint32_t i = 0; i < camera.hello.buffer_count; ++i) say_buffer(camera, i);
}

std::int64_t now_ns() { return std::chrono::nanoseconds(SteadyClock::now().time_since_epoch()).count(); }

FrameReady frame(std::uint32_t index, std::uint64_t sequence) {
  return {.index = index, .bytes_used = 100, .sequence = sequence, .captured_at_ns = now_ns(), .sent_at_ns = now_ns()};
}

// Blocks until the daemon wants a frame; ends the process when it has gone.
void wait_for_want() {
  while (true) {
    pollfd waiting{kSocket, POLLIN, 0};
    ::poll(&waiting, 1, -1);
    const auto received = protocol::receive(kSocket);
    if (!received) ::_exit(0);
    if (*received && std::holds_alternative<protocol::Want>((*received)->message)) return;
  }
}

void wait_for_end() {
  while (true) wait_for_want();
}

void serve(PixelFormat format) {
  introduce(camera_of(format));
  for (std::uint32_t i = 0;; ++i) {
    wait_for_want();
    say(frame(i % 4, i));
  }
}

Camera nv12() { return camera_of(PixelFormat::kNv12); }

// The bytes of the small pictures are those of the buffers after the full ones.
void introduce_with_small() {
  Camera camera = nv12();
  camera.hello.small_width = kWidth / 2;
  camera.hello.small_height = kHeight / 2;
  say(camera.hello);
  for (std::uint32_t i = 0; i < camera.hello.all_buffers(); ++i) say_buffer(camera, i);
}

void serve_with_small() {
  introduce_with_small();
  for (std::uint32_t i = 0;; ++i) {
    wait_for_want();
    say(frame(i % 4, i));
  }
}

// Lends each buffer once until it comes back, as the real program does; 200 frames a second.
void serve_well() {
  const Camera camera = nv12();
  introduce(camera);
  std::vector<bool> out(camera.hello.buffer_count);
  bool wanted = false;
  for (std::uint64_t sequence = 0;; ++sequence) {
    ::usleep(5000);
    while (true) {
      const auto received = protocol::receive(kSocket);
      if (!received) ::_exit(0);
      if (!*received) break;
      if (const auto* back = std::get_if<protocol::Return>(&(*received)->message)) out.at(back->index) = false;
      wanted = wanted || std::holds_alternative<protocol::Want>((*received)->message);
    }
    const auto free = std::ranges::find(out, false);
    if (!wanted || free == out.end()) continue;
    *free = true;
    wanted = false;
    say(frame(static_cast<std::uint32_t>(free - out.begin()), sequence));
  }
}

void with_hello(auto change) {
  Hello hello = nv12().hello;
  change(hello);
  say(hello);
  wait_for_end();
}

void with_plane(auto change) {
  Camera camera = nv12();
  change(camera.planes[1]);
  say(camera.hello);
  const FileDescriptor memory = make_memory(nv12(), 0, true);
  say(Buffer{.plane_count = 2, .planes = camera.planes}, {memory.get()});
  wait_for_end();
}

void with_frames(const std::vector<FrameReady>& frames) {
  introduce(nv12());
  for (const FrameReady& ready : frames) {
    wait_for_want();
    say(ready);
  }
  wait_for_end();
}

// A lease on a buffer of the small stream alone.
void with_small_frame() {
  introduce_with_small();
  wait_for_want();
  say(frame(5, 0));
  wait_for_end();
}

void serve_one_of_two() {
  Camera camera = nv12();
  camera.hello.model = protocol::to_text("Fake camera");
  camera.hello.camera_count = 2;
  camera.hello.alike_count = 1;
  introduce(camera);
  wait_for_end();
}

const std::map<std::string, void (*)()> kModes{
    {"good", serve_well},
    {"nv12", [] { serve(PixelFormat::kNv12); }},
    {"yuv420", [] { serve(PixelFormat::kYuv420); }},
    {"yuyv", [] { serve(PixelFormat::kYuyv); }},
    {"rgb888", [] { serve(PixelFormat::kRgb888); }},
    {"mjpeg", [] { serve(PixelFormat::kMjpeg); }},
    {"small", serve_with_small},
    {"one_of_two", serve_one_of_two},
    {"small_is_larger", [] { with_hello([](Hello& hello) { hello.small_width = 2 * (hello.small_height = 1000); }); }},
    {"small_frame", [] { with_small_frame(); }},
    {"ends", [] { std::fprintf(stderr, "last words\n"); }},
    {"silent", [] { wait_for_end(); }},
    {"garbage", [] { say_raw({1, 2, 3, 4, 5}), wait_for_end(); }},
    {"version", [] { say_raw({0x4B474C43, 99, 0, 0}), wait_for_end(); }},
    {"truncated", [] { say_raw({0x4B474C43, protocol::kVersion, 0, 8, 1, 2}), wait_for_end(); }},
    {"long", [] { say_raw(std::vector<std::uint32_t>(4096, 7)), wait_for_end(); }},
    {"endless_text", [] { with_hello([](Hello& hello) { hello.camera.fill('x'); }); }},
    {"huge", [] { with_hello([](Hello& hello) { hello.width = 1U << 30; }); }},
    {"no_buffers", [] { with_hello([](Hello& hello) { hello.buffer_count = 0; }); }},
    {"hello_twice", [] { say(nv12().hello), say(nv12().hello), wait_for_end(); }},
    {"buffer_first", [] { say_buffer(nv12(), 0), wait_for_end(); }},
    {"buffer_order", [] { say(nv12().hello), say_buffer(nv12(), 2), wait_for_end(); }},
    {"frame_first", [] { say(nv12().hello), say(frame(0, 0)), wait_for_end(); }},
    {"no_descriptor",
     [] { say(nv12().hello), say(Buffer{.plane_count = 2, .planes = nv12().planes}), wait_for_end(); }},
    {"not_sealed", [] { say(nv12().hello), say_buffer(nv12(), 0, false), wait_for_end(); }},
    {"offset", [] { with_plane([](BufferPlane& plane) { plane.offset = kMemory; }); }},
    {"offset_wraps", [] { with_plane([](BufferPlane& plane) { plane.offset = ~std::uint64_t{0}; }); }},
    {"length", [] { with_plane([](BufferPlane& plane) { plane.length = std::uint64_t{1} << 62; }); }},
    {"stride", [] { with_plane([](BufferPlane& plane) { plane.stride = 1U << 31; }); }},
    {"frame_index", [] { with_frames({frame(31, 0)}); }},
    {"frame_twice", [] { with_frames({frame(0, 0), frame(0, 1)}); }},
    {"frame_backwards", [] { with_frames({frame(0, 5), frame(1, 5)}); }},
    {"stale", [] { with_frames({{.index = 0, .sequence = 0, .sent_at_ns = 1}, frame(1, 1)}); }},
    {"dies_later", [] { introduce(nv12()), wait_for_want(), say(frame(2, 0)), wait_for_want(); }},
    {"hangs",
     [] {
       introduce(nv12());
       wait_for_want();
       while (true) ::pause();
     }},
};

}  // namespace
}  // namespace kinglet::camera

int main(int argc, char** argv) {
  const auto mode = kinglet::camera::kModes.find(argc > 1 ? argv[1] : "");
  if (mode == kinglet::camera::kModes.end()) return 64;
  mode->second();
  return 7;
}
