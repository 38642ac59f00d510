// SPDX-License-Identifier: Apache-2.0
// Why: one connection to a broker, from its beginning to its end, over libmosquitto without a thread of its own. What
// to say, and when to try again, is the publisher's.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/values/mqtt_address.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

struct mosquitto;

namespace kinglet::daemon::mqtt {

struct BrokerOptions {
  Address address;
  std::string username;                // empty: nobody in particular
  std::filesystem::path password;      // a file (read_secret), read for each connection; empty: none
  std::filesystem::path certificates;  // authorities for mqtts; empty: the system's
  std::string client_id;
};

enum class Protocol : std::uint8_t { k311, k5 };
enum class Quality : std::uint8_t { kAtMostOnce, kAtLeastOnce };
enum class Keep : std::uint8_t { kPassing, kRetained };

// Thread-bound. Every error ends it: make another one. The time comes in as a value; only the keep-alive, every 30 s,
// goes by a clock of libmosquitto.
class Link {
 public:
  // `will_topic` gets "offline" when this link ends without close(). Somebody listens there (reach()), so this does not
  // block for long; whether the broker takes us comes later.
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(const BrokerOptions& options, Protocol protocol,
                                                          const std::string& will_topic, SteadyTime now);
  ~Link();

  struct Message {
    std::string topic;
    std::string payload;
    bool retained = false;
  };
  struct Turn {
    bool accepted = false;          // just now: say what is to be said
    std::vector<int> acknowledged;  // numbers of publish()
    std::vector<Message> messages;
  };
  // What happened, waiting at most so long for it. kUnavailable: the link is gone, or the broker sends far more than
  // what we listen to; kNotPermitted: it refuses us.
  [[nodiscard]] Result<Turn> turn(std::chrono::milliseconds patience, SteadyTime now);
  [[nodiscard]] bool accepted() const { return accepted_; }
  // The broker does not speak this version, or went away without a word when it was spoken to in it.
  [[nodiscard]] bool wrong_protocol() const { return wrong_protocol_; }

  // The message's number.
  [[nodiscard]] Result<int> publish(const std::string& topic, std::string_view payload, Quality quality, Keep keep);
  // What we publish there ourselves comes back in version 3.1.1 only.
  [[nodiscard]] Result<void> subscribe(const std::string& topic);
  // Says goodbye, so that no will is sent, and waits a moment for what is still on its way.
  void close();

 private:
  struct Free {
    void operator()(mosquitto* client) const;
  };
  Link(std::string shown, SteadyTime now) : shown_(std::move(shown)), opened_at_(now), span_began_(now) {}
  [[nodiscard]] Result<void> prepare(const BrokerOptions& options, Protocol protocol, const std::string& will_topic);
  [[nodiscard]] Error lost(int code) const;
  [[nodiscard]] bool receives_too_much(SteadyTime now);
  static void on_connect(mosquitto* client, void* self, int code);
  static void on_publish(mosquitto* client, void* self, int number);
  struct Callbacks;

  const std::string shown_;
  std::unique_ptr<mosquitto, Free> client_;
  bool v5_ = false;
  const SteadyTime opened_at_;
  SteadyTime span_began_;
  std::uint64_t received_before_ = 0;  // bytes, when the span began
  bool accepted_ = false;
  bool wrong_protocol_ = false;
  std::optional<int> refusal_;
  Turn happened_;
};

}  // namespace kinglet::daemon::mqtt
