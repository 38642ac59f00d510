// SPDX-License-Identifier: Apache-2.0
// Why: a link as a picture that a phone reads: drawn on the device, so that a token never leaves it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::daemon {

struct QrCode {
  int side = 0;                               // in modules
  std::vector<bool> dark;                     // row by row
  [[nodiscard]] bool at(int x, int y) const;  // false outside
};

// kUsage: more text than fits.
[[nodiscard]] Result<QrCode> make_qr(std::string_view text);

// Two rows a line, in blocks that terminals draw; with its quiet border.
[[nodiscard]] std::string qr_for_terminal(const QrCode& code);
// A whole SVG file, black on white, with its quiet border.
[[nodiscard]] std::string qr_as_svg(const QrCode& code);

}  // namespace kinglet::daemon
