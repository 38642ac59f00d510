// SPDX-License-Identifier: Apache-2.0
#include "daemon/values/mqtt_address.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::daemon::mqtt {
namespace {

constexpr std::chrono::seconds kLookUp{10};
constexpr std::chrono::seconds kConnect{5};
constexpr int kTurnMs = 100;

std::unexpected<Error> bad_address(std::string_view text, std::string_view what) {
  return fail(ErrorCode::kConfig, format_text("mqtt.url: {}: \"{}\"", what, printable(text)), {},
              "write mqtt://HOST, mqtt://HOST:1883 or mqtts://HOST:8883");
}

// One that may be left alone: the system's lookup cannot be called off.
struct LookUp {
  std::string host;
  std::string port;
  addrinfo hints{};
  gaicb request{};
  std::shared_ptr<LookUp> kept;

  ~LookUp() {
    if (request.ar_result != nullptr) freeaddrinfo(request.ar_result);
  }
};

std::unexpected<Error> unreachable(const Address& address, std::string_view why) {
  return fail(ErrorCode::kUnavailable, std::string(why), address.text());
}

// One that takes too long is left to itself: its memory then stays until the process ends.
Result<std::shared_ptr<LookUp>> look_up(const Address& address, const std::stop_token& stop, SteadyTime last) {
  auto look_up = std::make_shared<LookUp>();
  look_up->host = address.host;
  look_up->port = std::to_string(address.port);
  look_up->hints.ai_socktype = SOCK_STREAM;
  look_up->request.ar_name = look_up->host.c_str();
  look_up->request.ar_service = look_up->port.c_str();
  look_up->request.ar_request = &look_up->hints;
  // An address as it is needs nobody's answer.
  addrinfo numeric = look_up->hints;
  numeric.ai_flags = AI_NUMERICHOST;
  if (getaddrinfo(look_up->host.c_str(), look_up->port.c_str(), &numeric, &look_up->request.ar_result) == 0) {
    return look_up;
  }
  look_up->request.ar_result = nullptr;
  gaicb* list = &look_up->request;
  if (getaddrinfo_a(GAI_NOWAIT, &list, 1, nullptr) != 0) return unreachable(address, "names cannot be looked up");
  const SteadyTime deadline = std::min(SteadyClock::now() + kLookUp, last);
  int state = EAI_INPROGRESS;
  while ((state = gai_error(list)) == EAI_INPROGRESS) {
    if (stop.stop_requested() || SteadyClock::now() > deadline) {
      if (gai_cancel(list) == EAI_CANCELED) return unreachable(address, "the lookup of its name was called off");
      look_up->kept = look_up;  // the system still writes there
      return unreachable(address, "its name is not answered");
    }
    constexpr timespec kTurn{.tv_sec = 0, .tv_nsec = kTurnMs * 1'000'000L};
    const gaicb* waited = list;
    gai_suspend(&waited, 1, &kTurn);
  }
  if (state != 0) return unreachable(address, format_text("its name is not known: {}", gai_strerror(state)));
  return look_up;
}

// The connection, or what stood in its way.
int try_one(const addrinfo& found, const std::stop_token& stop, SteadyTime last) {
  const FileDescriptor socket(::socket(found.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, found.ai_protocol));
  if (!socket.valid()) return errno;
  if (::connect(socket.get(), found.ai_addr, found.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  const SteadyTime deadline = std::min(SteadyClock::now() + kConnect, last);
  while (SteadyClock::now() < deadline && !stop.stop_requested()) {
    pollfd waited{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&waited, 1, kTurnMs) <= 0) continue;
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
  }
  return ETIMEDOUT;
}

}  // namespace

std::string Address::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return format_text("{}://{}{}{}:{}", encrypted ? "mqtts" : "mqtt", brackets ? "[" : "", host, brackets ? "]" : "",
                     port);
}

Result<Address> parse_address(std::string_view text) {
  Address address;
  std::string_view rest = text;
  if (rest.starts_with("mqtts://")) {
    address.encrypted = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("mqtt://")) {
    rest.remove_prefix(7);
  } else {
    return bad_address(text, "it begins with neither mqtt:// nor mqtts://");
  }
  address.port = address.encrypted ? 8883 : 1883;
  if (rest.contains('@')) {
    return fail(ErrorCode::kConfig, "mqtt.url: a login does not belong into an address", {},
                "mqtt.username, and mqtt.password_file names a file with the password");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  if (bracket == std::string_view::npos) return bad_address(text, "a bracket is open");
  const std::size_t colon = rest.find(':', bracket);
  if (colon != std::string_view::npos) {
    const auto port = parse_number<std::uint16_t>(rest.substr(colon + 1));
    if (!port || *port == 0) return bad_address(text, "no such port");
    address.port = *port;
    rest = rest.substr(0, colon);
  }
  if (bracket > 0) rest = rest.substr(1, bracket - 1);
  const auto strange = [](char c) { return !is_visible(c) || c == '/' || c == '?' || c == '#' || c == '['; };
  if (rest.empty() || std::ranges::any_of(rest, strange)) return bad_address(text, "no such host");
  address.host = rest;
  return address;
}

Result<void> reach(const Address& address, const std::stop_token& stop, SteadyTime deadline) {
  const std::shared_ptr<LookUp> found = KINGLET_TRY(look_up(address, stop, deadline));
  int error = EHOSTUNREACH;
  for (const addrinfo* one = found->request.ar_result; one != nullptr; one = one->ai_next) {
    error = try_one(*one, stop, deadline);
    if (error == 0) return {};
  }
  return unreachable(address, errno_text(error));
}

}  // namespace kinglet::daemon::mqtt
