// SPDX-License-Identifier: Apache-2.0
// Why: the HTTP library is used here and nowhere else: connections in, Calls to the route table, Replies out.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/http/context.h"
#include "daemon/http/deadline_stream.h"
#include "daemon/http/guard.h"
#include "daemon/http/listener.h"
#include "daemon/http/pool.h"

namespace kinglet::daemon::http {

struct ServerOptions {
  std::string host_name;
  std::vector<std::string> allowed_hosts;
  std::size_t threads = 12;  // five posted pictures and four long answers may hold them; three are left
  std::size_t most_waiting = 64;
  TimeLimits limits;
};

// Owns the pool and one accepting thread a listener. start() and stop() belong to the owner.
class Server {
 public:
  // `context` outlives the server.
  Server(std::vector<Listener> listeners, ServerOptions options, const Context& context);
  ~Server();

  void start();
  // Ends connections at once; answers in work are given up within their next wait.
  void stop();

 private:
  class Endpoint;

  const ServerOptions options_;
  const Context& context_;
  const Guard guard_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Pool> pool_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::jthread> threads_;  // last: joined first
};

}  // namespace kinglet::daemon::http
