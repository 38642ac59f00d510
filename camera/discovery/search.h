// SPDX-License-Identifier: Apache-2.0
// Why: asks the local net which cameras there are: one question by multicast that no router carries on, answers of the
// same net only, for a bounded time. Both are WS-Discovery (April 2005) with ONVIF's types and scopes (ONVIF Core
// Specification, 7). An answer is a stranger's: it speaks for its sender only. One camera alone is asked the same way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::camera {

// Which of a camera's streams. A model sees a few hundred pixels a side: the smaller one has enough, and costs less.
enum class StreamWish : std::uint8_t { kSmaller, kLargest };

struct FoundCamera {
  std::string address;                // from where it answered, "192.168.1.64"
  std::string name;                   // printable, may be empty
  std::string hardware;               // the same
  std::vector<std::string> services;  // its ONVIF addresses, of this host only
  bool operator==(const FoundCamera&) const = default;
  // Where its maker has that stream, "rtsp://192.168.1.64/stream2"; empty where nobody knows.
  [[nodiscard]] std::string stream(StreamWish wish = StreamWish::kSmaller) const;
};

// Where a maker has the smaller stream whose large one is at this path; empty where that is nobody's.
[[nodiscard]] std::string_view smaller_path(std::string_view path);

// Does HOST of SCHEME://HOST[:PORT][/...] stand there, with a port that is one, no login and no fragment? `schemes` end
// with "://". What a camera says of itself counts only so.
[[nodiscard]] bool is_address_of(std::string_view address, std::initializer_list<std::string_view> schemes,
                                 std::string_view host);

// A Probe for network cameras; `id` is a UUID.
[[nodiscard]] std::string probe_message(std::string_view id);

// The cameras of a datagram from `sender` that answers the probe `id`; none where it answers another one or is no
// camera's. kBadData: not such a message.
[[nodiscard]] Result<std::vector<FoundCamera>> read_answer(std::string_view message, std::string_view id,
                                                           std::string_view sender);

struct SearchOptions {
  std::chrono::milliseconds patience{3000};
  std::string interface;  // its name; empty: every one but loopback that is up and knows multicast
  // In numbers: this camera alone is looked for. It is asked itself as well, since a router may stand between, and its
  // first answer is enough.
  std::string only;
  std::function<bool()> called_off;  // asked every few milliseconds: true ends the search; may be empty
};

// By address. IPv4 only. kNotFound: no such interface, or this machine has no network. kUnavailable: no interface takes
// the question. Blocks for `patience` at most.
[[nodiscard]] Result<std::vector<FoundCamera>> search_cameras(const SearchOptions& options);

}  // namespace kinglet::camera
