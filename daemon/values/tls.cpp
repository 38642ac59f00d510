// SPDX-License-Identifier: Apache-2.0
#include "daemon/values/tls.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

namespace fs = std::filesystem;

// What the library says of the newest error, and forgets all of them: they belong to the thread.
std::string library_words() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "it cannot be read";
  if (ERR_GET_LIB(code) == ERR_LIB_SYS) return errno_text(ERR_GET_REASON(code));
  ERR_error_string_n(code, text.data(), text.size());
  const std::string words = text.data();
  const std::size_t last = words.rfind(':');
  return printable(last == std::string::npos ? words : words.substr(last + 1));
}

// Never asks on a terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) { return 0; }

// Browsers offer more; this server speaks HTTP/1.1.
int choose_protocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* length, const unsigned char* offered,
                    unsigned offered_length, void* /*context*/) {
  static constexpr std::array<unsigned char, 9> kOurs{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, length, kOurs.data(), kOurs.size(), offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

Result<void> check_key_file(const fs::path& key) {
  struct stat status{};
  if (stat(key.c_str(), &status) != 0) {
    return fail(ErrorCode::kNotFound, format_text("http.tls_key cannot be read: {}", errno_text()), key.string());
  }
  if ((status.st_mode & S_IROTH) == 0) return {};
  return fail(ErrorCode::kNotPermitted, "others may read the key of http.tls_key", key.string(),
              "chmod o= FILE; chgrp kinglet FILE lets the service read it");
}

bool wait_for(int socket, short events, std::chrono::milliseconds time) {
  pollfd item{.fd = socket, .events = events, .revents = 0};
  return poll(&item, 1, static_cast<int>(std::max<std::int64_t>(0, time.count()))) > 0;
}

}  // namespace

TlsSession::Need TlsSession::need_of(int result) const {
  const int error = SSL_get_error(ssl_.get(), result);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ) return Need::kRead;
  if (error == SSL_ERROR_WANT_WRITE) return Need::kWrite;
  return Need::kEnd;
}

TlsSession::Need TlsSession::accept() {
  const int result = SSL_accept(ssl_.get());
  return result == 1 ? Need::kNothing : need_of(result);
}

TlsSession::Moved TlsSession::receive(char* data, std::size_t size) {
  std::size_t count = 0;
  const int result = SSL_read_ex(ssl_.get(), data, size, &count);
  if (result == 1) return {.count = count};
  return {.need = need_of(result)};
}

TlsSession::Moved TlsSession::send(const char* data, std::size_t size) {
  std::size_t count = 0;
  const int result = SSL_write_ex(ssl_.get(), data, size, &count);
  if (result == 1) return {.count = count};
  return {.need = need_of(result)};
}

void TlsSession::say_goodbye() {
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

Result<Tls::Context> Tls::make(const fs::path& certificate, const fs::path& key) {
  if (certificate.empty() || key.empty()) {
    return fail(ErrorCode::kConfig,
                format_text("http.{} is set, http.{} is not", key.empty() ? "tls_certificate" : "tls_key",
                            key.empty() ? "tls_key" : "tls_certificate"),
                {}, "TLS needs both, as PEM files");
  }
  KINGLET_TRY(check_key_file(key));
  Context context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context) return fail(ErrorCode::kUnavailable, "TLS cannot start: " + library_words());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A large answer is written in pieces from a buffer that may move.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context.get(), &no_password);
  SSL_CTX_set_alpn_select_cb(context.get(), &choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) {
    return fail(ErrorCode::kConfig, "http.tls_certificate is no certificate: " + library_words(), certificate.string(),
                "a PEM file: the certificate, then those that signed it");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(ErrorCode::kConfig, "http.tls_key is no key of this certificate: " + library_words(), key.string(),
                "a PEM file without a password, of the same pair as http.tls_certificate");
  }
  return context;
}

Result<std::unique_ptr<Tls>> Tls::open(const fs::path& certificate, const fs::path& key) {
  Context context = KINGLET_TRY(make(certificate, key));
  return std::unique_ptr<Tls>(new Tls(certificate, key, std::move(context)));
}

Result<void> Tls::reload() {
  Context context = KINGLET_TRY(make(certificate_, key_));
  MutexLock lock(mutex_);
  context_ = std::move(context);
  return {};
}

std::unique_ptr<TlsSession> Tls::session(int socket) const {
  Context context;
  {
    MutexLock lock(mutex_);
    context = context_;
  }
  SSL* ssl = SSL_new(context.get());  // which keeps the context
  if (ssl == nullptr) return nullptr;
  auto session = std::make_unique<TlsSession>(ssl);
  return SSL_set_fd(ssl, socket) == 1 ? std::move(session) : nullptr;
}

bool shake_hands(TlsSession& session, int socket, SteadyTime deadline, const std::atomic<bool>& stopping,
                 const std::function<bool()>& give_up) {
  constexpr std::chrono::milliseconds kPiece{100};
  while (!stopping && !give_up()) {
    const TlsSession::Need need = session.accept();
    if (need == TlsSession::Need::kNothing) return true;
    if (need == TlsSession::Need::kEnd || SteadyClock::now() >= deadline) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    (void)wait_for(socket, need == TlsSession::Need::kRead ? POLLIN : POLLOUT, std::min(left, kPiece));
  }
  return false;
}

}  // namespace kinglet::daemon::http
