// SPDX-License-Identifier: Apache-2.0
// Why: Pushover takes a form with at most one picture.
#include "daemon/notify/multipart.h"
#include "daemon/notify/services.h"

namespace kinglet::daemon::notify {

Result<Parcel> pushover(const Target& target, const std::string& secret, const Message& message) {
  constexpr std::size_t kLongestTitle = 250;
  constexpr std::size_t kLongestText = 1024;
  constexpr std::size_t kLongestLink = 512;
  Form form;
  form.add("token", secret);
  form.add("user", target.to);
  form.add("title", cut(message.title, kLongestTitle));
  form.add("message", cut(message.words(), kLongestText));
  if (!message.link.empty() && message.link.size() <= kLongestLink) form.add("url", message.link);
  if (message.urgent) form.add("priority", "1");
  if (!message.pictures.empty()) form.add_picture("attachment", "bird.jpg", message.pictures.front());
  return outgoing::Request{.url = target.address() + "/1/messages.json",
                           .headers = {form.header()},
                           .body = form.body(),
                           .certificates = {}};
}

}  // namespace kinglet::daemon::notify
