// SPDX-License-Identifier: Apache-2.0
#include "daemon/outgoing/mail.h"

#include <algorithm>
#include <string_view>

#include "daemon/outgoing/transfer.h"
#include "engine/base/format.h"

namespace kinglet::daemon::outgoing {
namespace {

constexpr long kOn = 1;

// libcurl's read callback: the next bytes of the letter.
std::size_t give(char* out, std::size_t one, std::size_t count, void* context) {
  auto& rest = *static_cast<std::string_view*>(context);
  const std::size_t size = std::min(rest.size(), one * count);
  std::copy_n(rest.data(), size, out);
  rest.remove_prefix(size);
  return size;
}

// What does not leave this machine needs no encryption.
bool is_here(std::string_view server) {
  const std::string_view host = server.substr(server.find("://") + 3);
  for (const std::string_view here : {"localhost", "127.0.0.1", "[::1]"}) {
    const std::string_view rest = host.starts_with(here) ? host.substr(here.size()) : "x";
    if (rest.empty() || rest.starts_with(':') || rest.starts_with('/')) return true;
  }
  return false;
}

// 4xx is for now; 5xx is no.
Answer judge_mail(const Transfer& transfer, CURLcode code) {
  if (code == CURLE_OK) return {.outcome = Outcome::kTaken, .detail = {}, .retry_after = {}};
  const long status = transfer.status();
  const bool refused = (status >= 500 && status < 600) || code == CURLE_LOGIN_DENIED;
  std::string detail = transfer.why(code);
  if (status >= 400) detail = format_text("it answers {}: {}", status, detail);
  return {.outcome = refused ? Outcome::kRefused : Outcome::kTryAgain, .detail = std::move(detail), .retry_after = {}};
}

}  // namespace

Result<Answer> send_mail(const Mail& mail, const std::function<bool()>& go_on) {
  Transfer transfer(*KINGLET_TRY(camera::curl_library()));
  if (transfer.easy == nullptr || transfer.multi == nullptr) {
    return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  }
  std::string_view rest = mail.letter;
  transfer.list = transfer.curl.list_append(transfer.list, format_text("<{}>", mail.to).c_str());
  transfer.set_common(mail.timeout, mail.certificates);
  transfer.set(CURLOPT_URL, mail.server);
  transfer.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  transfer.set(CURLOPT_USE_SSL, static_cast<long>(is_here(mail.server) ? CURLUSESSL_TRY : CURLUSESSL_ALL));
  if (!mail.username.empty()) {
    transfer.set(CURLOPT_USERNAME, mail.username);
    transfer.set(CURLOPT_PASSWORD, mail.password);
  }
  transfer.set(CURLOPT_MAIL_FROM, format_text("<{}>", mail.from));
  transfer.set(CURLOPT_MAIL_RCPT, transfer.list);
  transfer.set(CURLOPT_UPLOAD, kOn);
  transfer.set(CURLOPT_READFUNCTION, &give);
  transfer.set(CURLOPT_READDATA, &rest);
  const std::optional<CURLcode> code = KINGLET_TRY(transfer.run(go_on));
  if (!code) return Answer{.outcome = Outcome::kCalledOff, .detail = {}, .retry_after = {}};
  return judge_mail(transfer, *code);
}

}  // namespace kinglet::daemon::outgoing
