// SPDX-License-Identifier: Apache-2.0
// Why: one HTTP(S) download, resumable, that can be called off. libcurl is loaded when it is first needed, by its
// soname.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/base/error.h"

namespace kinglet::daemon {

struct Download {
  std::string address;
  std::uint64_t from_byte = 0;        // asks for the rest of a file
  std::uint64_t limit_bytes = 0;      // of the whole file; more is an error
  std::chrono::seconds patience{30};  // ends when for so long less than a kilobyte a second came
};

// Called with the bytes as they come, and where the first of them belongs in the file: a server that does not know
// ranges starts again at 0. An error ends the download.
using Sink = std::function<Result<void>(std::uint64_t offset, std::span<const std::byte> bytes)>;

// kUnavailable: no libcurl, no network, the server refuses or stops, or `go_on`, asked ten times a second, said no;
// kBadData: more than limit_bytes. Follows redirects, http and https only, certificates checked; what began encrypted
// stays so.
[[nodiscard]] Result<void> download(const Download& request, const Sink& sink, const std::function<bool()>& go_on);

}  // namespace kinglet::daemon
