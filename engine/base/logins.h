// SPDX-License-Identifier: Apache-2.0
// Why: what a person wrote or a program said may have a login in an address, which is nobody else's to read.
#pragma once

#include <string>

namespace kinglet {

// `text` with "***" for what stands before the @ of each address in it ("://user:password@host").
[[nodiscard]] std::string without_logins(std::string text);

}  // namespace kinglet
