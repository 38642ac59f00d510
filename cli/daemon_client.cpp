// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_client.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "camera/stream/curl_library.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

using camera::CurlLibrary;
using Json = nlohmann::ordered_json;
using Take = std::function<bool(std::string_view)>;

constexpr const char* kServiceSocket = "/run/kinglet/http.sock";
constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMostAnswer = std::size_t{64} << 20;

// The daemon's own address for this machine: its socket, where that is this user's to open.
std::string configured_address(const config::Config& config) {
  const std::string scheme = config.http.tls_certificate.empty() ? "http" : "https";
  std::string tcp;
  std::string socket;
  for (const std::string& address : config.http.listen) {
    const bool is_socket = address.starts_with(kUnix);
    if (is_socket && socket.empty()) socket = address.substr(kUnix.size());
    if (!is_socket && tcp.empty()) tcp = scheme + "://127.0.0.1:" + address.substr(address.rfind(':') + 1);
  }
  if (socket.empty() && (tcp.empty() || access(kServiceSocket, F_OK) == 0)) socket = kServiceSocket;
  const bool locked = access(socket.c_str(), F_OK) == 0 && access(socket.c_str(), W_OK) != 0;
  if (socket.empty() || (locked && !tcp.empty())) return tcp;
  return std::string(kUnix) + socket;
}

struct Receiving {
  const CurlLibrary& curl;
  CURL* handle;
  const Take* take;
  std::string text;
};

// libcurl's write callback: anything but the byte count ends the transfer.
std::size_t receive(char* bytes, std::size_t /*one*/, std::size_t count, void* context) {
  Receiving& receiving = *static_cast<Receiving*>(context);
  long status = 0;
  receiving.curl.getinfo(receiving.handle, CURLINFO_RESPONSE_CODE, &status);
  if (receiving.take != nullptr && status < 400) {
    return (*receiving.take)(std::string_view(bytes, count)) ? count : 0;
  }
  if (receiving.text.size() + count > kMostAnswer) return 0;
  receiving.text.append(bytes, count);
  return count;
}

struct Sent {
  const char* method;
  std::string url;
  const std::string& socket;
  const std::string& token;
  const std::string& body;
  const Take* take = nullptr;
};

Result<DaemonAnswer> send(const Sent& sent, const std::string& address) {
  const CurlLibrary& curl = *KINGLET_TRY(camera::curl_library());
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(curl.init(), curl.cleanup);
  if (!handle) return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  Receiving receiving{.curl = curl, .handle = handle.get(), .take = sent.take, .text = {}};
  curl_slist* list = nullptr;
  const auto header = [&](const std::string& line) { list = curl.list_append(list, line.c_str()); };
  if (!sent.token.empty()) header("Authorization: Bearer " + sent.token);
  if (!sent.body.empty()) header("Content-Type: application/json");
  const std::unique_ptr<curl_slist, decltype(curl.list_free)> headers(list, curl.list_free);
  curl.setopt(handle.get(), CURLOPT_URL, sent.url.c_str());
  curl.setopt(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  // A proxy of the environment knows nothing of this machine.
  curl.setopt(handle.get(), CURLOPT_NOPROXY, "*");
  curl.setopt(handle.get(), CURLOPT_CUSTOMREQUEST, sent.method);
  curl.setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl.setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl.setopt(handle.get(), CURLOPT_CONNECTTIMEOUT, 5L);
  if (sent.take == nullptr) curl.setopt(handle.get(), CURLOPT_TIMEOUT, 60L);
  curl.setopt(handle.get(), CURLOPT_USERAGENT, "kinglet/" KINGLET_VERSION);
  curl.setopt(handle.get(), CURLOPT_WRITEFUNCTION, &receive);
  curl.setopt(handle.get(), CURLOPT_WRITEDATA, &receiving);
  if (!sent.socket.empty()) curl.setopt(handle.get(), CURLOPT_UNIX_SOCKET_PATH, sent.socket.c_str());
  if (!sent.body.empty()) {
    curl.setopt(handle.get(), CURLOPT_POSTFIELDS, sent.body.c_str());
    curl.setopt(handle.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(sent.body.size()));
  }
  const CURLcode code = curl.perform(handle.get());
  long status = 0;
  curl.getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 0 && (code == CURLE_OK || sent.take != nullptr)) {
    return DaemonAnswer{.status = static_cast<int>(status), .body = std::move(receiving.text)};
  }
  if (!sent.socket.empty() && access(sent.socket.c_str(), F_OK) == 0 && access(sent.socket.c_str(), W_OK) != 0) {
    return fail(ErrorCode::kNotPermitted, "the daemon's socket is not yours to use", address,
                "run this with sudo, or join the group kinglet: sudo adduser $USER kinglet");
  }
  return fail(ErrorCode::kUnavailable, format_text("kingletd does not answer: {}", curl.strerror(code)), address,
              "systemctl status kingletd shows whether it runs; --daemon names another address");
}

ErrorCode code_of(int status) {
  if (status == 401 || status == 403) return ErrorCode::kNotPermitted;
  if (status == 404) return ErrorCode::kNotFound;
  if (status == 409 || status == 429 || status == 503) return ErrorCode::kBusy;
  return status < 500 ? ErrorCode::kUsage : ErrorCode::kUnavailable;
}

std::unexpected<Error> refused(const DaemonAnswer& answer, const std::string& address) {
  const Json json = answer.json();
  const auto text = [&](const char* member) {
    return json.is_object() && json.contains(member) && json[member].is_string() ? json[member].get<std::string>()
                                                                                 : std::string();
  };
  std::string message = text("detail");
  if (message.empty()) message = format_text("the answer is {}", answer.status);
  ErrorCode code = code_of(answer.status);
  if (text("type") == "/problems/model-not-valid") code = ErrorCode::kBadData;
  std::string hint = text("hint");
  if (code == ErrorCode::kNotPermitted && hint.empty()) hint = "sudo, for the daemon's socket, or --token-file FILE";
  return fail(code, printable(message, 1000), address, printable(hint, 1000));
}

}  // namespace

void add_daemon_options(CLI::App& app, DaemonOptions& options) {
  app.add_option("--daemon", options.address, "unix:/path or http://host:port (default: as the configuration has it)")
      ->type_name("ADDRESS");
  app.add_option("--token-file", options.token_file, "a file with a token, for addresses that want one")
      ->type_name("FILE");
}

nlohmann::ordered_json DaemonAnswer::json() const { return Json::parse(body, nullptr, false); }

Result<DaemonClient> DaemonClient::open(const DaemonOptions& options) {
  DaemonClient client;
  client.address_ = options.address;
  if (client.address_.empty()) {
    const auto loaded = load_config(options.config);
    if (!loaded) return std::unexpected(loaded.error().front());
    client.address_ = configured_address(loaded->config);
  }
  if (client.address_.starts_with('/')) client.address_ = std::string(kUnix) + client.address_;
  if (client.address_.starts_with(kUnix)) {
    client.socket_ = client.address_.substr(kUnix.size());
    client.base_ = "http://localhost";
  } else if (client.address_.starts_with("http://") || client.address_.starts_with("https://")) {
    client.base_ = client.address_.substr(0, client.address_.find_last_not_of('/') + 1);
  } else {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is no address of a daemon", printable(client.address_)),
                "--daemon", "such as unix:/run/kinglet/http.sock or http://feeder.local:8420");
  }
  if (!options.token_file.empty()) {
    constexpr std::uint64_t kMostToken = 4096;
    const std::string text = KINGLET_TRY(read_file(options.token_file, kMostToken));
    client.token_ = text.substr(0, text.find_first_of(" \t\r\n"));
  }
  return client;
}

Result<DaemonAnswer> DaemonClient::look(const std::string& path) const {
  const std::string nothing;
  return send({.method = "GET", .url = base_ + path, .socket = socket_, .token = token_, .body = nothing}, address_);
}

Result<DaemonAnswer> DaemonClient::ask(const std::string& method, const std::string& path,
                                       const std::string& body) const {
  DaemonAnswer answer = KINGLET_TRY(send(
      {.method = method.c_str(), .url = base_ + path, .socket = socket_, .token = token_, .body = body}, address_));
  if (answer.status >= 400) return refused(answer, address_);
  return answer;
}

Result<void> DaemonClient::follow(const std::string& path, const Take& take) const {
  const std::string nothing;
  const DaemonAnswer answer = KINGLET_TRY(
      send({.method = "GET", .url = base_ + path, .socket = socket_, .token = token_, .body = nothing, .take = &take},
           address_));
  if (answer.status >= 400) return refused(answer, address_);
  return {};
}

std::string url_encoded(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, static_cast<char>(c)) : format_text("%{:02X}", c);
  }
  return out;
}

}  // namespace kinglet::cli
