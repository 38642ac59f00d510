// SPDX-License-Identifier: Apache-2.0
// Why: see protocol.h. A message is a header and the struct's bytes: both sides run on the same machine and are
// built together, and the version says when they were not.
#include "camera/libcamera/protocol.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "camera/frame/plane_shape.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera::protocol {
namespace {

constexpr std::uint32_t kMagic = 0x4B474C43;  // "KGLC"

struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t type = 0;  // index in Message
  std::uint32_t length = 0;
};

constexpr std::size_t kMaxMessage = sizeof(Header) + sizeof(Hello);
static_assert(sizeof(Buffer) <= sizeof(Hello) && sizeof(Failure) <= sizeof(Hello));

using Packet = std::array<std::byte, kMaxMessage>;
using Control = std::array<char, CMSG_SPACE(sizeof(int) * kMaxPlanes)>;

Error bad_message(std::string message) {
  return {ErrorCode::kBadData, "message of kinglet-camera: " + std::move(message), "",
          "install kinglet and kinglet-camera of the same version, and restart kingletd"};
}

Error peer_gone() { return {ErrorCode::kUnavailable, "the other side of the camera socket is gone", "", ""}; }

Error socket_error(const char* what) {
  return {ErrorCode::kIo, format_text("camera socket: {}: {}", what, errno_text()), "", ""};
}

template <std::size_t index = 0>
Result<Message> parse(std::uint32_t type, std::span<const std::byte> body) {
  if constexpr (index < std::variant_size_v<Message>) {
    using Body = std::variant_alternative_t<index, Message>;
    static_assert(std::is_trivially_copyable_v<Body>);
    if (type != index) return parse<index + 1>(type, body);
    if (body.size() != sizeof(Body)) {
      return std::unexpected(
          bad_message(format_text("type {} has {} bytes, expected {}", type, body.size(), sizeof(Body))));
    }
    Body value;
    std::memcpy(&value, body.data(), sizeof(Body));
    return Message(value);
  } else {
    return std::unexpected(bad_message(format_text("unknown type {}", type)));
  }
}

// Takes ownership of every descriptor that came along, also of those of a message that is refused.
void take_descriptors(msghdr& packet, Received& received, bool& too_many) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&packet); part != nullptr; part = CMSG_NXTHDR(&packet, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      FileDescriptor owned(fd);
      if (received.descriptor_count == received.descriptors.size()) {
        too_many = true;
      } else {
        received.descriptors[received.descriptor_count++] = std::move(owned);
      }
    }
  }
}

Result<void> check_texts(const Message& message) {
  const auto ends = [](const Text& text) { return text.back() == '\0'; };
  bool good = true;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    good = ends(hello->library) && ends(hello->camera) && ends(hello->model);
  } else if (const auto* failure = std::get_if<Failure>(&message)) {
    good = ends(failure->message) && ends(failure->hint);
  }
  if (!good) return std::unexpected(bad_message("a text without end"));
  return {};
}

Result<Message> parse_packet(std::span<const std::byte> packet) {
  Header header;
  if (packet.size() < sizeof(header)) return std::unexpected(bad_message(format_text("{} bytes", packet.size())));
  std::memcpy(&header, packet.data(), sizeof(header));
  if (header.magic != kMagic) return std::unexpected(bad_message("not kinglet's protocol"));
  if (header.version != kVersion) {
    return std::unexpected(bad_message(
        format_text("protocol version {}, expected {}: kinglet and kinglet-camera are of different versions",
                    header.version, kVersion)));
  }
  if (header.length != packet.size() - sizeof(header)) {
    return std::unexpected(bad_message(format_text("length {} in a packet of {}", header.length, packet.size())));
  }
  Message message = KINGLET_TRY(parse(header.type, packet.subspan(sizeof(header))));
  KINGLET_TRY(check_texts(message));
  return message;
}

Result<void> check_plane(const BufferPlane& plane, PixelFormat format, PlaneShape shape, std::uint64_t size) {
  if (plane.length > size || plane.offset > size - plane.length) {
    return std::unexpected(bad_message(
        format_text("bytes {} to {} are outside a memory of {}", plane.offset, plane.offset + plane.length, size)));
  }
  if (format == PixelFormat::kMjpeg) {
    if (plane.length == 0) return std::unexpected(bad_message("an empty plane"));
    return {};
  }
  if (plane.stride < shape.row_bytes || plane.stride > kMaxSide * 16) {
    return std::unexpected(bad_message(format_text("stride {} for rows of {}", plane.stride, shape.row_bytes)));
  }
  const std::uint64_t needed = plane.stride * (shape.rows - 1) + shape.row_bytes;
  if (plane.length < needed) {
    return std::unexpected(bad_message(format_text("a plane of {} bytes, its rows need {}", plane.length, needed)));
  }
  return {};
}

}  // namespace

Result<SocketPair> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return std::unexpected(socket_error("socketpair"));
  }
  return SocketPair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Result<void> send(int socket, const Message& message, std::span<const int> descriptors) {
  Packet bytes;
  const std::size_t length = std::visit(
      [&](const auto& body) {
        const Header header{.type = static_cast<std::uint32_t>(message.index()), .length = sizeof(body)};
        std::memcpy(bytes.data(), &header, sizeof(header));
        std::memcpy(bytes.data() + sizeof(header), &body, sizeof(body));
        return sizeof(header) + sizeof(body);
      },
      message);
  iovec part{bytes.data(), length};
  alignas(cmsghdr) Control control{};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (!descriptors.empty()) {
    packet.msg_control = control.data();
    packet.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&packet);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  while (::sendmsg(socket, &packet, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return std::unexpected(peer_gone());
    if (errno == EAGAIN) return fail(ErrorCode::kBusy, "the other side of the camera socket does not read");
    return std::unexpected(socket_error("sendmsg"));
  }
  return {};
}

Result<std::optional<Received>> receive(int socket) {
  Packet bytes;
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) Control control{};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control.data();
  packet.msg_controllen = control.size();
  ssize_t length = 0;
  while ((length = ::recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return std::nullopt;
    if (errno == ECONNRESET || errno == ENOTCONN) return std::unexpected(peer_gone());
    return std::unexpected(socket_error("recvmsg"));
  }
  Received received;
  bool too_many = false;
  take_descriptors(packet, received, too_many);
  if (length == 0) return std::unexpected(peer_gone());
  if (too_many || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return std::unexpected(bad_message("longer than any message, or too many descriptors"));
  }
  received.message = KINGLET_TRY(parse_packet(std::span(bytes).first(static_cast<std::size_t>(length))));
  if (received.descriptor_count != 0 && !std::holds_alternative<Buffer>(received.message)) {
    return std::unexpected(bad_message("descriptors with a message that has none"));
  }
  return received;
}

Result<void> check(const Hello& hello) {
  if (hello.format > static_cast<std::uint32_t>(PixelFormat::kMjpeg)) {
    return std::unexpected(bad_message(format_text("unknown pixel format {}", hello.format)));
  }
  if (hello.matrix > static_cast<std::uint32_t>(ColorMatrix::kBt709) ||
      hello.range > static_cast<std::uint32_t>(ColorRange::kLimited)) {
    return std::unexpected(bad_message(format_text("unknown colours {}/{}", hello.matrix, hello.range)));
  }
  const auto format = static_cast<PixelFormat>(hello.format);
  const bool any_size = format == PixelFormat::kRgb888 || format == PixelFormat::kMjpeg;
  const auto bad_side = [&](std::uint32_t side) {
    return side == 0 || side > kMaxSide || (!any_size && side % 2 != 0);
  };
  if (bad_side(hello.width) || bad_side(hello.height)) {
    return std::unexpected(bad_message(format_text("size {}x{}", hello.width, hello.height)));
  }
  const bool larger = hello.small_width > hello.width || hello.small_height > hello.height;
  if (hello.has_small() && (larger || bad_side(hello.small_width) || bad_side(hello.small_height))) {
    return std::unexpected(bad_message(format_text("small size {}x{}", hello.small_width, hello.small_height)));
  }
  if (hello.buffer_count == 0 || hello.buffer_count > kMaxBuffers) {
    return std::unexpected(bad_message(format_text("{} buffers, expected 1 to {}", hello.buffer_count, kMaxBuffers)));
  }
  return {};
}

Result<void> check(const Buffer& buffer, const Hello& hello, std::span<const std::uint64_t> sizes) {
  const auto format = static_cast<PixelFormat>(hello.format);
  if (buffer.index >= hello.all_buffers()) {
    return std::unexpected(bad_message(format_text("buffer {} of {}", buffer.index, hello.all_buffers())));
  }
  const bool is_small = buffer.index >= hello.buffer_count;
  if (buffer.plane_count != plane_count(format)) {
    return std::unexpected(bad_message(format_text("{} planes, expected {}", buffer.plane_count, plane_count(format))));
  }
  for (std::uint32_t i = 0; i < buffer.plane_count; ++i) {
    const BufferPlane& plane = buffer.planes[i];
    if (plane.descriptor >= sizes.size()) {
      return std::unexpected(bad_message(format_text("descriptor {} of {}", plane.descriptor, sizes.size())));
    }
    const PlaneShape shape = is_small ? plane_shape(format, i, hello.small_width, hello.small_height)
                                      : plane_shape(format, i, hello.width, hello.height);
    KINGLET_TRY(check_plane(plane, format, shape, sizes[plane.descriptor]));
  }
  return {};
}

Text to_text(std::string_view text) {
  Text out{};
  const std::string clean = printable(text, out.size() - 1);
  std::ranges::copy(clean.substr(0, out.size() - 1), out.begin());
  return out;
}

std::string to_string(const Text& text) {
  return printable(std::string_view(text.data(), ::strnlen(text.data(), text.size())), text.size());
}

}  // namespace kinglet::camera::protocol
