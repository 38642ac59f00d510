// SPDX-License-Identifier: Apache-2.0
// Why: a mail is a letter of its own (RFC 5322), the words and then the pictures as parts of it (RFC 2046).
#include <algorithm>
#include <chrono>

#include "daemon/notify/multipart.h"
#include "daemon/notify/services.h"
#include "engine/base/format.h"

namespace kinglet::daemon::notify {
namespace {

std::string date_of(WallTime time) {
  return format_text("{:%a, %d %b %Y %H:%M:%S} +0000", std::chrono::floor<std::chrono::seconds>(time));
}

// Lines of 76 characters.
std::string base64_lines(std::string_view bytes) {
  constexpr std::size_t kBytesOfLine = 57;
  std::string lines;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kBytesOfLine, bytes.size()))) {
    lines += base64(bytes.substr(0, kBytesOfLine)) + "\r\n";
  }
  return lines;
}

// A long subject is folded between its words.
std::string folded(std::string text) {
  for (std::size_t at = text.find("?= =?"); at != std::string::npos; at = text.find("?= =?", at)) {
    text.replace(at, 5, "?=\r\n =?");
  }
  return text;
}

std::string letter_of(const std::string& from, const std::string& to, const Message& message) {
  const std::string mark = boundary();
  std::string text = message.text;
  if (!message.link.empty()) text += "\n\n" + message.link;
  std::string letter = format_text(
      "From: kinglet <{}>\r\nTo: <{}>\r\nSubject: {}\r\nDate: {}\r\nMessage-ID: <{}@kinglet>\r\nMIME-Version: 1.0\r\n"
      "Auto-Submitted: auto-generated\r\nContent-Type: multipart/mixed; boundary=\"{}\"\r\n\r\n",
      from, to, folded(header_text(message.title)), date_of(message.sent_at), boundary(), mark);
  letter +=
      format_text("--{}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n{}",
                  mark, base64_lines(text));
  for (std::size_t i = 0; i < message.pictures.size(); ++i) {
    letter += format_text(
        "--{}\r\nContent-Type: image/jpeg\r\nContent-Transfer-Encoding: base64\r\n"
        "Content-Disposition: attachment; filename=\"bird{}.jpg\"\r\n\r\n{}",
        mark, i + 1, base64_lines(message.pictures[i]));
  }
  return letter + format_text("--{}--\r\n", mark);
}

}  // namespace

Result<Parcel> mail(const Target& target, const std::string& secret, const Message& message) {
  const std::string from = target.username.contains('@') ? target.username : target.to;
  return outgoing::Mail{.server = target.address(),
                        .username = target.username,
                        .password = secret,
                        .from = from,
                        .to = target.to,
                        .letter = letter_of(from, target.to, message),
                        .certificates = {}};
}

}  // namespace kinglet::daemon::notify
