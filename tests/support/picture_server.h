// SPDX-License-Identifier: Apache-2.0
// Why: a network camera that tests own: a real server on this machine that answers with whatever they say.
#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "camera/decode/decode.h"
#include "engine/base/check.h"
#include "tests/support/pictures.h"

namespace kinglet::testing {

// A JPEG, told from others by its size and seed.
inline std::string jpeg_of(int width, int height, unsigned seed = 1) {
  const auto bytes = camera::encode_jpeg(make_picture(width, height, seed).view(), 90).value();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PictureServer {
 public:
  PictureServer() {
    server_.Get("/snapshot.jpg", [this](const httplib::Request& request, httplib::Response& response) {
      ++requests_;
      if (!admitted(request, response)) return;
      response.set_content(jpeg_of(64, 48, requests_), "image/jpeg");
    });
    server_.Get("/stream", [this](const httplib::Request& request, httplib::Response& response) {
      ++requests_;
      if (!admitted(request, response)) return;
      send(response, "multipart/x-mixed-replace; boundary=frame", [](int i) { return part(i); });
    });
    server_.set_keep_alive_max_count(1);  // an answer without a length ends with its connection
    port_ = server_.bind_to_any_port("127.0.0.1");
    KINGLET_CHECK(port_ > 0);
  }
  ~PictureServer() {
    ended_ = true;
    server_.stop();
  }
  PictureServer(const PictureServer&) = delete;
  PictureServer& operator=(const PictureServer&) = delete;

  // What `make` gives for 0, 1, ... every few milliseconds, until it gives nothing.
  void answer(const std::string& path, const std::string& type, std::function<std::string(int)> make) {
    server_.Get(path, [this, type, make = std::move(make)](const httplib::Request&, httplib::Response& response) {
      ++requests_;
      send(response, type, make);
    });
  }

  // Who is let in is sent on from this path.
  void send_on(const std::string& path, const std::string& to) {
    server_.Get(path, [this, to](const httplib::Request& request, httplib::Response& response) {
      ++requests_;
      if (admitted(request, response)) response.set_redirect(to);
    });
  }

  // Nothing but "user:password" gets in from now on.
  void require(const std::string& login) { login_ = login; }

  // The server answers from here on: what it says and whom it lets in has to be settled before.
  [[nodiscard]] std::string address(const std::string& path) {
    if (!thread_.joinable()) {
      thread_ = std::jthread([this] { server_.listen_after_bind(); });
      server_.wait_until_ready();
    }
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  [[nodiscard]] unsigned requests() const { return requests_; }
  [[nodiscard]] unsigned logins() const { return logins_; }  // requests that came with one, right or wrong

  static std::string part(int i) {
    static const std::array<std::string, 4> kPictures{jpeg_of(64, 48, 1), jpeg_of(64, 48, 2), jpeg_of(64, 48, 3),
                                                      jpeg_of(64, 48, 4)};
    const std::string& picture = kPictures[static_cast<std::size_t>(i) % kPictures.size()];
    return "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: " + std::to_string(picture.size()) + "\r\n\r\n" +
           picture + "\r\n";
  }

 private:
  bool admitted(const httplib::Request& request, httplib::Response& response) {
    if (request.has_header("Authorization")) ++logins_;
    if (login_.empty()) return true;
    const std::size_t colon = login_.find(':');
    const std::string wanted =
        httplib::make_basic_authentication_header(login_.substr(0, colon), login_.substr(colon + 1)).second;
    if (request.get_header_value("Authorization") == wanted) return true;
    response.status = 401;
    response.set_header("WWW-Authenticate", "Basic realm=\"camera\"");
    return false;
  }

  void send(httplib::Response& response, const std::string& type, std::function<std::string(int)> make) {
    response.set_content_provider(type,
                                  [this, i = 0, make = std::move(make)](std::size_t, httplib::DataSink& sink) mutable {
                                    if (ended_ || !sink.is_writable()) return false;
                                    const std::string bytes = make(i++);
                                    if (bytes.empty()) {
                                      sink.done();
                                      return true;
                                    }
                                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                    return sink.write(bytes.data(), bytes.size());
                                  });
  }

  httplib::Server server_;
  std::string login_;
  std::atomic<unsigned> requests_ = 0;
  std::atomic<unsigned> logins_ = 0;
  std::atomic<bool> ended_ = false;
  int port_ = 0;
  std::jthread thread_;
};

}  // namespace kinglet::testing
