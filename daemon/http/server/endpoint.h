// SPDX-License-Identifier: Apache-2.0
// Why: what stands between the HTTP library and ours for one server: connections are answered to their end
// (endpoint.cpp), requests become Calls and Replies go out (requests.cpp).
#pragma once

#include <httplib.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/http/server/body_rooms.h"
#include "daemon/http/server/exchange.h"
#include "daemon/http/server/server.h"
#include "daemon/http/server/sockets.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// Whose connection finds no thread.
[[nodiscard]] Reply crowded();

class Server::Endpoint final : public httplib::Server {
 public:
  explicit Endpoint(http::Server& owner);

  void end() { svr_sock_ = INVALID_SOCKET; }

  // Answers one connection to its end. `peer` as Door::identify() takes it.
  void serve(FileDescriptor connection, const std::string& peer, bool encrypted, Pool::Seat& seat);

 private:
  // One in work, for the handlers of the library, which are not told: they run on its thread.
  struct Connection {
    DeadlineStream& stream;
    Pool::Seat& seat;
    std::size_t left = 0;  // requests that it may still send
    // Of the newest request:
    bool body_is_over = false;  // it had one of a length that was said, and all of that was taken
    bool goes_on = false;       // as its answer says
    bool posted = false;        // it had a body
  };
  class Registered {
   public:
    Registered(Endpoint& endpoint, Connection& connection) : endpoint_(endpoint) {
      MutexLock lock(endpoint_.mutex_);
      endpoint_.connections_.emplace(std::this_thread::get_id(), &connection);
    }
    ~Registered() {
      MutexLock lock(endpoint_.mutex_);
      endpoint_.connections_.erase(std::this_thread::get_id());
    }
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;

   private:
    Endpoint& endpoint_;
  };
  Connection& connection();

  // nullptr: nobody there speaks it.
  std::unique_ptr<TlsSession> begin_tls(int socket, Pool::Seat& seat);

  void serve_requests(int socket, const std::string& peer, TlsSession* session, Pool::Seat& seat);

  // Said in the answer also when others wait for a thread, so that no client sends into a connection that closes.
  void say_whether_it_goes_on(const httplib::Request& request, httplib::Response& response);

  // The library says nothing where it could not read the request line to its end.
  void refuse_unread(DeadlineStream& stream);

  bool process_and_close_socket(socket_t /*socket*/) override { return false; }  // serve() instead

  // True: answered already; false: the body is wanted.
  bool before_body(const httplib::Request& request, httplib::Response& response);

  void after_body(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& reader);

  Reply answer_body(const httplib::Request& request, const Route& route, Call& call, std::uint64_t limit,
                    const httplib::ContentReader& reader);

  // False: it did not come to its end.
  bool read_body(const Call& call, const httplib::ContentReader& reader, const httplib::ContentReceiver& take);

  Reply take_body(const Route& route, Call& call, std::uint64_t limit, const httplib::ContentReader& reader);

  // The handler takes the body as it comes: nobody waits for this thread meanwhile.
  Reply run_upload(const httplib::Request& request, const Route& route, Call& call, std::uint64_t limit,
                   const httplib::ContentReader& reader);

  Call make_call(const httplib::Request& request);

  void finish(Reply reply, const Call& call, std::string_view pattern, const httplib::Request& request,
              httplib::Response& response, SteadyTime start);

  MorePieces counted_as_stream(MorePieces more);

  // The library refused the request before anybody of us saw it.
  void explain_library_error(const httplib::Request& request, httplib::Response& response);

  http::Server& owner_;
  Mutex mutex_;
  std::map<std::thread::id, Connection*> connections_ KINGLET_GUARDED_BY(mutex_);
  BodyRooms rooms_;
};

}  // namespace kinglet::daemon::http
