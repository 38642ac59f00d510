// SPDX-License-Identifier: Apache-2.0
#include "daemon/tokens/qr.h"

#include <qrencode.h>

#include <memory>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

constexpr int kQuiet = 4;  // modules of border that readers want

}  // namespace

bool QrCode::at(int x, int y) const {
  return x >= 0 && y >= 0 && x < side && y < side &&
         dark[static_cast<std::size_t>(y) * static_cast<std::size_t>(side) + static_cast<std::size_t>(x)];
}

Result<QrCode> make_qr(std::string_view text) {
  const std::string terminated(text);
  const std::unique_ptr<QRcode, decltype(&QRcode_free)> made(
      QRcode_encodeString(terminated.c_str(), 0, QR_ECLEVEL_M, QR_MODE_8, 1), &QRcode_free);
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
