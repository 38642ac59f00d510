// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/multipart.h"

#include <openssl/evp.h>

#include <algorithm>
#include <random>

#include "daemon/notify/message.h"
#include "engine/base/format.h"

namespace kinglet::daemon::notify {

std::string boundary() {
  std::random_device random;
  std::string text = "kinglet-";
  for (int i = 0; i < 4; ++i) text += format_text("{:08x}", random());
  return text;
}

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string header_text(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7F'; })) return std::string(text);
  // A word has at most 75 characters, and no character is in two of them.
  constexpr std::size_t kBytesOfWord = 45;
  std::string words;
  std::string rest(text);
  while (!rest.empty()) {
    const std::string piece = cut(rest, kBytesOfWord);
    if (piece.empty()) break;  // no UTF-8
    if (!words.empty()) words += ' ';
    words += "=?UTF-8?B?" + base64(piece) + "?=";
    rest.erase(0, piece.size());
  }
  return words;
}

Form::Form() : boundary_(boundary()) {}

void Form::add(std::string_view name, std::string_view value) {
  parts_ += format_text("--{}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n", boundary_, name);
  parts_ += value;
  parts_ += "\r\n";
}

void Form::add_picture(std::string_view name, std::string_view file, std::string_view jpeg) {
  parts_ += format_text(
      "--{}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: image/jpeg\r\n\r\n",
      boundary_, name, file);
  parts_ += jpeg;
  parts_ += "\r\n";
}

std::string Form::header() const { return "Content-Type: multipart/form-data; boundary=" + boundary_; }
std::string Form::body() const { return parts_ + "--" + boundary_ + "--\r\n"; }

}  // namespace kinglet::daemon::notify
