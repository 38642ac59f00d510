// SPDX-License-Identifier: Apache-2.0
#include "daemon/mqtt/link.h"

#include <linux/tcp.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/tokens/secret_file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::mqtt {
namespace {

constexpr int kKeepAliveSeconds = 30;
constexpr std::chrono::seconds kAcceptance{10};
constexpr std::chrono::milliseconds kGoodbye{500};
constexpr std::size_t kMostMessages = 64;      // of one turn
constexpr std::size_t kLongestMessage = 1024;  // of what we listen to
constexpr std::uint32_t kLargestPacket = 4096;
// A packet without end is read by libmosquitto as long as it comes, into memory that grows with it. So little is in
// the system's hands that it returns to us every now and then, and more than this in so long ends the connection.
constexpr int kReceiveBuffer = 16 << 10;
constexpr std::uint64_t kMostReceived = 64U << 10;
constexpr std::chrono::seconds kSpan{10};

// Once for the process; libmosquitto wants it and counts.
struct Library {
  Library() { mosquitto_lib_init(); }
  ~Library() { mosquitto_lib_cleanup(); }
};

// Since the connection was made, encrypted or not; 0 without one.
std::uint64_t bytes_received(mosquitto* client) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(mosquitto_socket(client), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_bytes_received;
}

// MQTT 5, section 3.1.2.11.4: what is larger is not sent to us. Version 3.1.1 knows no such thing.
int connect(mosquitto* client, const Address& address, bool v5) {
  mosquitto_property* properties = nullptr;
  int code = MOSQ_ERR_SUCCESS;
  if (v5) code = mosquitto_property_add_int32(&properties, MQTT_PROP_MAXIMUM_PACKET_SIZE, kLargestPacket);
  if (code == MOSQ_ERR_SUCCESS) {
    code =
        mosquitto_connect_bind_v5(client, address.host.c_str(), address.port, kKeepAliveSeconds, nullptr, properties);
  }
  mosquitto_property_free_all(&properties);
  if (code != MOSQ_ERR_SUCCESS) return code;
  ::setsockopt(mosquitto_socket(client), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  return code;
}

}  // namespace

// What libmosquitto calls, from inside of mosquitto_loop().
struct Link::Callbacks {
  static Link& of(void* self) { return *static_cast<Link*>(self); }
  static void message(mosquitto* /*client*/, void* self, const mosquitto_message* message) {
    Link& link = of(self);
    const auto length = static_cast<std::size_t>(std::max(message->payloadlen, 0));
    if (link.happened_.messages.size() == kMostMessages || length > kLongestMessage) return;
    link.happened_.messages.push_back({.topic = message->topic,
                                       .payload = std::string(static_cast<const char*>(message->payload), length),
                                       .retained = message->retain});
  }
};

void Link::Free::operator()(mosquitto* client) const { mosquitto_destroy(client); }

void Link::on_connect(mosquitto* /*client*/, void* self, int code) {
  Link& link = Callbacks::of(self);
  if (code == 0) {
    link.accepted_ = true;
    link.happened_.accepted = true;
    return;
  }
  link.refusal_ = code;
  link.wrong_protocol_ = link.v5_ ? code == MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION : code == 1;
}

void Link::on_publish(mosquitto* /*client*/, void* self, int number) {
  Callbacks::of(self).happened_.acknowledged.push_back(number);
}

Result<std::unique_ptr<Link>> Link::open(const BrokerOptions& options, Protocol protocol, const std::string& will_topic,
                                         SteadyTime now) {
  static const Library library;
  std::unique_ptr<Link> link(new Link(options.address.text(), now));
  link->client_.reset(mosquitto_new(options.client_id.c_str(), true, link.get()));
  if (!link->client_) return fail(ErrorCode::kUnavailable, "libmosquitto cannot start");
  KINGLET_TRY(link->prepare(options, protocol, will_topic));
  const int code = connect(link->client_.get(), options.address, link->v5_);
  if (code != MOSQ_ERR_SUCCESS) return std::unexpected(link->lost(code));
  return link;
}

Link::~Link() = default;

Result<void> Link::prepare(const BrokerOptions& options, Protocol protocol, const std::string& will_topic) {
  mosquitto* client = client_.get();
  v5_ = protocol == Protocol::k5;
  int code = mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, v5_ ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311);
  if (code == MOSQ_ERR_SUCCESS) code = mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  constexpr std::string_view kWill = "offline";
  if (code == MOSQ_ERR_SUCCESS)
    code = mosquitto_will_set(client, will_topic.c_str(), kWill.size(), kWill.data(), 1, true);
  if (code == MOSQ_ERR_SUCCESS && !options.username.empty()) {
    std::string password;
    if (!options.password.empty()) password = KINGLET_TRY(read_secret(options.password));
    code = mosquitto_username_pw_set(client, options.username.c_str(), password.empty() ? nullptr : password.c_str());
  }
  if (code == MOSQ_ERR_SUCCESS && options.address.encrypted) {
    if (options.certificates.empty()) {
      code = mosquitto_int_option(client, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
    } else {
      code = mosquitto_tls_set(client, options.certificates.c_str(), nullptr, nullptr, nullptr, nullptr);
    }
  }
  if (code != MOSQ_ERR_SUCCESS) return std::unexpected(lost(code));
  mosquitto_connect_callback_set(client, &Link::on_connect);
  mosquitto_publish_callback_set(client, &Link::on_publish);
  mosquitto_message_callback_set(client, &Callbacks::message);
  return {};
}

Error Link::lost(int code) const {
  const std::string system = code == MOSQ_ERR_ERRNO ? errno_text() : mosquitto_strerror(code);
  Error error{ErrorCode::kUnavailable, printable(system), shown_, {}};
  if (code == MOSQ_ERR_TLS) {
    error.message = "no encrypted connection: its certificate is not trusted, or is for another name";
    error.hint = "mqtt.certificates names a file with the authority that signed it";
  } else if (!accepted_ && code == MOSQ_ERR_CONN_LOST) {
    error.message = "it closed the connection before it took us";
  }
  return error;
}

Result<Link::Turn> Link::turn(std::chrono::milliseconds patience, SteadyTime now) {
  int code = mosquitto_loop(client_.get(), static_cast<int>(patience.count()), 1);
  // A handshake that fails is told as an error of the system.
  if (code == MOSQ_ERR_ERRNO && errno == EPROTO) code = MOSQ_ERR_TLS;
  if (refusal_) {
    const char* why = v5_ ? mosquitto_reason_string(*refusal_) : mosquitto_connack_string(*refusal_);
    return fail(ErrorCode::kNotPermitted, format_text("the broker refuses us: {}", printable(why)), shown_,
                "mqtt.username, mqtt.password_file");
  }
  if (code != MOSQ_ERR_SUCCESS) {
    if (!accepted_ && v5_ && code != MOSQ_ERR_TLS) wrong_protocol_ = true;
    return std::unexpected(lost(code));
  }
  if (receives_too_much(now)) {
    return fail(ErrorCode::kUnavailable,
                format_text("it sends more than {} bytes in {} s", kMostReceived, kSpan.count()), shown_,
                "who publishes so much to our topics?");
  }
  if (!accepted_ && now - opened_at_ > kAcceptance) {
    return fail(ErrorCode::kUnavailable, "it does not answer in MQTT", shown_);
  }
  return std::exchange(happened_, {});
}

bool Link::receives_too_much(SteadyTime now) {
  const std::uint64_t received = bytes_received(client_.get());
  if (now - span_began_ > kSpan) {
    span_began_ = now;
    received_before_ = received;
  }
  return received > received_before_ + kMostReceived;
}

Result<int> Link::publish(const std::string& topic, std::string_view payload, Quality quality, Keep keep) {
  int number = 0;
  const int code = mosquitto_publish(client_.get(), &number, topic.c_str(), static_cast<int>(payload.size()),
                                     payload.data(), quality == Quality::kAtLeastOnce ? 1 : 0, keep == Keep::kRetained);
  if (code != MOSQ_ERR_SUCCESS) return std::unexpected(lost(code));
  return number;
}

Result<void> Link::subscribe(const std::string& topic) {
  const int options = v5_ ? MQTT_SUB_OPT_NO_LOCAL : 0;
  const int code = mosquitto_subscribe_v5(client_.get(), nullptr, topic.c_str(), 1, options, nullptr);
  if (code != MOSQ_ERR_SUCCESS) return std::unexpected(lost(code));
  return {};
}

void Link::close() {
  mosquitto_disconnect(client_.get());
  const SteadyTime deadline = SteadyClock::now() + kGoodbye;
  while (SteadyClock::now() < deadline && mosquitto_socket(client_.get()) >= 0) {
    if (mosquitto_loop(client_.get(), 50, 1) != MOSQ_ERR_SUCCESS) return;
  }
}

}  // namespace kinglet::daemon::mqtt
