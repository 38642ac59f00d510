// SPDX-License-Identifier: Apache-2.0
// Why: a bot of Telegram sends a text, a photo with a caption, or an album of two to ten of them.
#include <nlohmann/json.hpp>

#include "daemon/notify/multipart.h"
#include "daemon/notify/services.h"
#include "engine/base/format.h"

namespace kinglet::daemon::notify {
namespace {

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestCaption = 1024;

void add_album(Form& form, const Message& message, const std::string& caption) {
  nlohmann::ordered_json media = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < message.pictures.size(); ++i) {
    const std::string name = format_text("bird{}", i + 1);
    media.push_back({{"type", "photo"}, {"media", "attach://" + name}});
    if (i == 0) media.back()["caption"] = caption;
    form.add_picture(name, name + ".jpg", message.pictures[i]);
  }
  form.add("media", media.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

Result<Parcel> telegram(const Target& target, const std::string& secret, const Message& message) {
  Form form;
  form.add("chat_id", target.to);
  std::string method = "sendMessage";
  const std::string caption = cut(message.whole(), kLongestCaption);
  if (message.pictures.empty()) {
    form.add("text", cut(message.whole(), kLongestText));
  } else if (message.pictures.size() == 1) {
    method = "sendPhoto";
    form.add("caption", caption);
    form.add_picture("photo", "bird.jpg", message.pictures.front());
  } else {
    method = "sendMediaGroup";
    add_album(form, message, caption);
  }
  return outgoing::Request{.url = format_text("{}/bot{}/{}", target.address(), secret, method),
                           .headers = {form.header()},
                           .body = form.body(),
                           .certificates = {}};
}

}  // namespace kinglet::daemon::notify
