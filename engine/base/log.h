// SPDX-License-Identifier: Apache-2.0
// Why: libraries below the daemon say things through this narrow sink; the daemon routes it to spdlog, tests to a list.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kinglet {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// What a person wrote or a program said may have a login in an address, which is nobody else's to read: `text` with
// "***" for what stands before the @ of each address in it ("://user:password@host").
[[nodiscard]] std::string without_logins(std::string text);

// Called from any thread; must be thread-safe. `text` is one line, already safe to print.
using LogSink = std::function<void(LogLevel level, std::string_view text)>;

}  // namespace kinglet
