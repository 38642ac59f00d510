// SPDX-License-Identifier: Apache-2.0
// Why: the HTTP library is used in this folder and nowhere else: connections in, Calls to the route table, Replies out.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/http/access/guard.h"
#include "daemon/http/routes/views.h"
#include "daemon/http/server/deadline_stream.h"
#include "daemon/http/server/listener.h"
#include "daemon/http/server/pool.h"
#include "engine/base/pulse.h"

namespace kinglet::visits {
class IdMaker;
}

namespace kinglet::daemon::http {

struct ServerOptions {
  std::string host_name;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  PoolLimits pool;
  TimeLimits limits;
  Tls* tls = nullptr;  // of listeners that speak it; outlives the server
};

// What a server is made with; referred to, it outlives the server and is thread-safe.
struct ServerParts {
  const Views& views;  // of its handlers
  Door& door;
  Traffic& traffic;
  visits::IdMaker& ids;  // of requests
  const LogBook& log_book;
  LogSink log;
  std::uint64_t max_body_bytes = 8U << 20;
};

// Owns the pool and the thread that accepts. start() and stop() belong to the owner.
class Server {
 public:
  Server(std::vector<Listener> listeners, ServerOptions options, ServerParts parts);
  ~Server();

  void start();
  // Answers one connection to its end on the caller's thread, as if it had been accepted, without start().
  void answer(FileDescriptor connection, const std::string& peer);
  // Ends connections at once; answers in work are given up within their next wait.
  void stop();
  [[nodiscard]] std::vector<const Pulse*> pulses() const;  // of its threads; after start()

 private:
  class Endpoint;
  void accept_all();
  void accept_one(const Listener& listener);

  const ServerOptions options_;
  const ServerParts parts_;
  const Guard guard_;
  const std::string crowded_;  // the answer to connections that are too many
  const std::vector<Listener> listeners_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Pool> pool_;
  Pulse pulse_{"http-accept"};
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon::http
