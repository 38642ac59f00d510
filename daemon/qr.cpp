// SPDX-License-Identifier: Apache-2.0
#include "daemon/qr.h"

#include <dlfcn.h>

#include <memory>
#include <optional>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

constexpr int kQuiet = 4;  // modules of border that readers want

// The interface of libqrencode.so.4 (qrencode.h), as far as it is used.
struct LibraryCode {
  int version;
  int width;
  unsigned char* data;  // bit 0 of each: dark
};
constexpr int kMedium = 1;     // QR_ECLEVEL_M
constexpr int kEightBits = 2;  // QR_MODE_8

struct Library {
  LibraryCode* (*encode)(const char* text, int version, int level, int mode, int case_sensitive) = nullptr;
  void (*release)(LibraryCode* code) = nullptr;
};

std::optional<Library> load() {
  void* library = ::dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Library found;
  found.encode = reinterpret_cast<decltype(found.encode)>(::dlsym(library, "QRcode_encodeString"));
  found.release = reinterpret_cast<decltype(found.release)>(::dlsym(library, "QRcode_free"));
  if (found.encode == nullptr || found.release == nullptr) return std::nullopt;
  return found;
}

}  // namespace

bool QrCode::at(int x, int y) const {
  return x >= 0 && y >= 0 && x < side && y < side &&
         dark[static_cast<std::size_t>(y) * static_cast<std::size_t>(side) + static_cast<std::size_t>(x)];
}

Result<QrCode> make_qr(std::string_view text) {
  static const std::optional<Library> library = load();
  if (!library) {
    return fail(ErrorCode::kUnavailable, "libqrencode.so.4 is not installed, which draws QR codes", {},
                "apt install libqrencode4, or use the link");
  }
  const std::string terminated(text);
  const std::unique_ptr<LibraryCode, decltype(library->release)> made(
      library->encode(terminated.c_str(), 0, kMedium, kEightBits, 1), library->release);
  if (!made) {
    return fail(ErrorCode::kUsage, format_text("{} bytes do not fit into a QR code: {}", text.size(), errno_text()));
  }
  QrCode code{.side = made->width, .dark = {}};
  const std::size_t count = static_cast<std::size_t>(code.side) * static_cast<std::size_t>(code.side);
  code.dark.reserve(count);
  for (std::size_t i = 0; i < count; ++i) code.dark.push_back((made->data[i] & 1) != 0);
  return code;
}

// Light modules are drawn: most terminals are dark.
std::string qr_for_terminal(const QrCode& code) {
  std::string text;
  for (int y = -kQuiet; y < code.side + kQuiet; y += 2) {
    for (int x = -kQuiet; x < code.side + kQuiet; ++x) {
      const bool upper = !code.at(x, y);
      const bool lower = !code.at(x, y + 1);
      text += upper && lower ? "█" : upper ? "▀" : lower ? "▄" : " ";
    }
    text += '\n';
  }
  return text;
}

std::string qr_as_svg(const QrCode& code) {
  std::string path;
  for (int y = 0; y < code.side; ++y) {
    for (int x = 0; x < code.side; ++x) {
      if (!code.at(x, y)) continue;
      int width = 1;
      while (code.at(x + width, y)) ++width;
      path += format_text("M{} {}h{}v1h-{}z", x + kQuiet, y + kQuiet, width, width);
      x += width;
    }
  }
  const int side = code.side + 2 * kQuiet;
  return format_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" shape-rendering=\"crispEdges\">"
      "<path fill=\"#fff\" d=\"M0 0h{0}v{0}H0z\"/><path d=\"{1}\"/></svg>",
      side, path);
}

}  // namespace kinglet::daemon
