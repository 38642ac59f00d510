// SPDX-License-Identifier: Apache-2.0
#include "engine/base/format.h"

namespace kinglet {

std::string format_erased(std::string_view text, std::format_args arguments) { return std::vformat(text, arguments); }

}  // namespace kinglet
