// SPDX-License-Identifier: Apache-2.0
// Why: the owner's own certificate, taken up anew while connections go on with the one they began with.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// One encrypted connection over a socket that does not block. Thread-bound.
class TlsSession {
 public:
  enum class Need : std::uint8_t { kNothing, kRead, kWrite, kEnd };
  struct Moved {
    std::size_t count = 0;
    Need need = Need::kNothing;  // what has to come first when nothing was moved; kEnd: the connection is over
  };

  explicit TlsSession(SSL* ssl) : ssl_(ssl, &SSL_free) {}

  [[nodiscard]] Need accept();
  [[nodiscard]] Moved receive(char* data, std::size_t size);
  [[nodiscard]] Moved send(const char* data, std::size_t size);
  [[nodiscard]] bool pending() const { return SSL_pending(ssl_.get()) > 0; }
  void say_goodbye();

 private:
  [[nodiscard]] Need need_of(int result) const;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

// Thread-safe.
class Tls {
 public:
  // kNotFound, kNotPermitted (others may read the key), kConfig: what is wrong with which file.
  [[nodiscard]] static Result<std::unique_ptr<Tls>> open(const std::filesystem::path& certificate,
                                                         const std::filesystem::path& key);
  // Reads both files again; on an error the ones before stay.
  [[nodiscard]] Result<void> reload();
  // For a socket that does not block; nullptr: out of memory.
  [[nodiscard]] std::unique_ptr<TlsSession> session(int socket) const;

 private:
  using Context = std::shared_ptr<SSL_CTX>;
  Tls(std::filesystem::path certificate, std::filesystem::path key, Context context)
      : certificate_(std::move(certificate)), key_(std::move(key)), context_(std::move(context)) {}
  [[nodiscard]] static Result<Context> make(const std::filesystem::path& certificate, const std::filesystem::path& key);

  const std::filesystem::path certificate_;
  const std::filesystem::path key_;
  mutable Mutex mutex_;
  Context context_ KINGLET_GUARDED_BY(mutex_);
};

// Shakes hands within the time; `give_up` is asked every 100 ms. False: the connection is not worth more.
[[nodiscard]] bool shake_hands(TlsSession& session, int socket, SteadyTime deadline, const std::atomic<bool>& stopping,
                               const std::function<bool()>& give_up);

}  // namespace kinglet::daemon::http
