// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/http/access/door.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/server/endpoint.h"
#include "daemon/http/server/sockets.h"
#include "daemon/machine/thread_entry.h"

namespace kinglet::daemon::http {
namespace {

constexpr int kAcceptTurnMs = 100;
constexpr std::chrono::milliseconds kBreath{20};

// For connections of which nothing was read: there is no call to complete it with.
std::string crowded_text() {
  Reply reply = crowded();
  reply.body = problem_json(reply.problem).dump();
  return refusal_text(reply);
}

}  // namespace

Server::Server(std::vector<Listener> listeners, ServerOptions options, ServerParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      guard_(options_.host_name, options_.allowed_hosts, options_.allowed_origins, parts_.max_body_bytes),
      crowded_(crowded_text()),
      listeners_(std::move(listeners)),
      endpoint_(std::make_unique<Endpoint>(*this)) {}

Server::~Server() { stop(); }

void Server::start() {
  pool_ = std::make_unique<Pool>(options_.pool);
  thread_ = std::jthread([this] { enter_thread(pulse_, [this] { accept_all(); }); });
}

void Server::accept_all() {
  std::vector<pollfd> sockets;
  sockets.reserve(listeners_.size());
  for (const Listener& listener : listeners_) {
    sockets.push_back({.fd = listener.socket.get(), .events = POLLIN, .revents = 0});
    // A connection that is gone before it is accepted must not hold up the others.
    fcntl(listener.socket.get(), F_SETFL, fcntl(listener.socket.get(), F_GETFL) | O_NONBLOCK);
  }
  while (!stopping_) {
    pulse_.beat(std::chrono::milliseconds(kAcceptTurnMs));
    if (poll(sockets.data(), sockets.size(), kAcceptTurnMs) <= 0) continue;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if ((sockets[i].revents & POLLIN) != 0) accept_one(listeners_[i]);
    }
  }
}

void Server::accept_one(const Listener& listener) {
  auto connection = std::make_shared<FileDescriptor>(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection->valid()) {
    // Out of descriptors: those in work end soon.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) std::this_thread::sleep_for(kBreath);
    return;
  }
  const int on = 1;
  std::string peer(kUnixPeer);
  if (!listener.unix_socket) {
    peer = peer_of(connection->get());
    setsockopt(connection->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // Without an address nobody can say who that is.
  if (peer.empty()) return;
  const auto turned_away = [this, connection, tls = listener.tls] {
    if (!tls) refuse(connection->get(), crowded_);
  };
  const bool taken =
      pool_->add({.visitor = parts_.door.visitor(peer),
                  .run = [this, connection, peer, tls = listener.tls](
                             Pool::Seat& seat) { endpoint_->serve(std::move(*connection), peer, tls, seat); },
                  .refuse = turned_away});
  if (!taken) turned_away();
}

void Server::answer(FileDescriptor connection, const std::string& peer) {
  if (!pool_) pool_ = std::make_unique<Pool>(options_.pool);
  Pool::Seat seat(*pool_, parts_.door.visitor(peer));
  endpoint_->serve(std::move(connection), peer, false, seat);
}

std::vector<const Pulse*> Server::pulses() const {
  std::vector<const Pulse*> pulses = pool_ ? pool_->pulses() : std::vector<const Pulse*>{};
  pulses.push_back(&pulse_);
  return pulses;
}

void Server::stop() {
  if (stopping_.exchange(true)) return;
  endpoint_->end();
  if (thread_.joinable()) thread_.join();
  if (pool_) pool_->stop();
  for (const Listener& listener : listeners_) {
    if (!listener.file.empty()) unlink(listener.file.c_str());
  }
}

}  // namespace kinglet::daemon::http
