// SPDX-License-Identifier: Apache-2.0
// Why: what kingletd and kinglet-camera say to each other: small fixed messages over a SOCK_SEQPACKET socket pair, and
// the camera's buffers once, as descriptors. No libcamera here. Everything received is checked before it is used.
//
//   kinglet-camera                       kingletd
//     Hello            ->                  (camera runs; geometry of all frames)
//     Buffer x count   -> + descriptors    (maps each descriptor once, for reading; with a second, small stream as
//                                           many again: the same pictures)
//                      <-  Want            (one frame, the newest)
//     FrameReady       ->                  (a lease on one buffer)
//                      <-  Return          (the lease ends)
//                      <-  (end of the socket: the program stops the camera and ends)
//     Failure          ->                  (at any time, then the program ends)
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "camera/frame/frame.h"
#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::camera::protocol {

inline constexpr std::uint32_t kVersion = 3;  // changes with any message; both sides must have the same
inline constexpr int kSocket = 3;             // the descriptor kinglet-camera inherits
inline constexpr std::uint32_t kMaxBuffers = 32;
inline constexpr std::uint32_t kMaxPlanes = 3;
inline constexpr std::uint32_t kMaxSide = 16'384;

using Text = std::array<char, 256>;  // ends with a zero byte, rest zero

// Sent when the camera runs.
struct Hello {
  Text library{};            // "libcamera 0.4.0"
  Text camera{};             // libcamera's id
  Text model{};              // "imx708"
  std::uint32_t format = 0;  // PixelFormat
  std::uint32_t matrix = 0;  // ColorMatrix
  std::uint32_t range = 0;   // ColorRange
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t buffer_count = 0;
  std::uint32_t small_width = 0;  // of a second stream of the same format and colours; 0: none
  std::uint32_t small_height = 0;
  std::uint32_t camera_count = 0;  // connected, with this one
  std::uint32_t alike_count = 0;   // of them of this model

  [[nodiscard]] bool has_small() const { return small_width != 0; }
  [[nodiscard]] std::uint32_t all_buffers() const { return has_small() ? 2 * buffer_count : buffer_count; }
};

struct BufferPlane {
  std::uint32_t descriptor = 0;  // which of the message's descriptors
  std::uint32_t stride = 0;      // bytes from row to row; 0 for kMjpeg
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// One message a buffer, in the order of the index; those of the small stream come after all others: the small picture
// of buffer i is in buffer i + buffer_count.
struct Buffer {
  std::uint32_t index = 0;
  std::uint32_t plane_count = 0;
  std::array<BufferPlane, kMaxPlanes> planes{};
};

struct FrameReady {
  std::uint32_t index = 0;
  std::uint32_t bytes_used = 0;     // kMjpeg: length of the picture, 0 where the camera does not tell
  std::uint64_t sequence = 0;       // from 0, grows, jumps are drops
  std::int64_t captured_at_ns = 0;  // CLOCK_MONOTONIC
  std::int64_t sent_at_ns = 0;      // CLOCK_MONOTONIC
};

// For people, one line each.
struct Failure {
  Text message{};
  Text hint{};
};

struct Want {};
struct Return {
  std::uint32_t index = 0;
};

using Message = std::variant<Hello, Buffer, FrameReady, Failure, Want, Return>;

struct Received {
  Message message;
  std::array<FileDescriptor, kMaxPlanes> descriptors;
  std::uint32_t descriptor_count = 0;
};

// A connected pair; both ends close on exec and never block.
struct SocketPair {
  FileDescriptor daemon;
  FileDescriptor program;
};
[[nodiscard]] Result<SocketPair> make_socket_pair();

// Reentrant: the kernel keeps messages whole. kUnavailable: the other side is gone. kBusy: its queue is full.
[[nodiscard]] Result<void> send(int socket, const Message& message, std::span<const int> descriptors = {});

// One message, or nothing when none waits. kUnavailable: the other side is gone. kBadData: another version, a length
// or a descriptor count that does not fit, a text without end.
[[nodiscard]] Result<std::optional<Received>> receive(int socket);

// kBadData names the field: unknown format, a size that is odd or out of range, too many buffers.
[[nodiscard]] Result<void> check(const Hello& hello);

// `sizes`: bytes behind each descriptor of the message. kBadData names the plane: wrong count for the format, a stride
// below the row, a plane shorter than its rows or outside its memory.
[[nodiscard]] Result<void> check(const Buffer& buffer, const Hello& hello, std::span<const std::uint64_t> sizes);

[[nodiscard]] Text to_text(std::string_view text);      // cut to what fits
[[nodiscard]] std::string to_string(const Text& text);  // printable

}  // namespace kinglet::camera::protocol
