// SPDX-License-Identifier: Apache-2.0
// Why: ntfy takes a picture as the body of a PUT with the words in headers, or the words as the body of a POST.
#include "daemon/notify/multipart.h"
#include "daemon/notify/services.h"

namespace kinglet::daemon::notify {

Result<Parcel> ntfy(const Target& target, const std::string& secret, const Message& message) {
  outgoing::Request request{.url = target.address() + "/" + target.to, .headers = {}, .body = {}, .certificates = {}};
  auto& headers = request.headers;
  headers.push_back("Title: " + header_text(message.title));
  headers.emplace_back(message.urgent ? "Tags: warning" : "Tags: bird");
  if (message.urgent) headers.emplace_back("Priority: 4");
  if (!message.link.empty()) headers.push_back("Click: " + message.link);
  if (!secret.empty()) headers.push_back("Authorization: Bearer " + secret);
  if (message.pictures.empty()) {
    headers.emplace_back("Content-Type: text/plain; charset=utf-8");
    request.body = message.words();
  } else {
    request.method = outgoing::Method::kPut;
    headers.push_back("Message: " + header_text(message.words()));
    headers.emplace_back("Filename: bird.jpg");
    headers.emplace_back("Content-Type: image/jpeg");
    request.body = message.pictures.front();
  }
  return request;
}

}  // namespace kinglet::daemon::notify
