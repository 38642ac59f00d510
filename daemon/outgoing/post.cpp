// SPDX-License-Identifier: Apache-2.0
#include "daemon/outgoing/post.h"

#include <algorithm>
#include <utility>

#include "daemon/outgoing/transfer.h"
#include "daemon/outgoing/words.h"
#include "engine/base/format.h"

namespace kinglet::daemon::outgoing {
namespace {

constexpr std::chrono::seconds kLongestWish = std::chrono::hours(1);

void set_options(Transfer& transfer, const Request& request) {
  for (const std::string& header : request.headers) {
    transfer.list = transfer.curl.list_append(transfer.list, header.c_str());
  }
  // Small bodies go at once.
  transfer.list = transfer.curl.list_append(transfer.list, "Expect:");
  transfer.set_common(request.timeout, request.certificates);
  transfer.set(CURLOPT_URL, request.url);
  transfer.set(CURLOPT_PROTOCOLS_STR, "http,https");
  transfer.set(CURLOPT_HTTPHEADER, transfer.list);
  transfer.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  transfer.set(CURLOPT_POSTFIELDS, request.body);
  if (request.method == Method::kPut) transfer.set(CURLOPT_CUSTOMREQUEST, "PUT");
}

// What the end of the transfer means. A status that came counts, whatever happened to the body after it.
Answer judge(const Transfer& transfer, CURLcode code, std::vector<std::string> secrets) {
  const long status = transfer.status();
  if (status >= 200 && status < 300) return {.outcome = Outcome::kTaken, .detail = {}, .retry_after = {}};
  if (status == 0 || code == CURLE_OPERATION_TIMEDOUT) {
    return {.outcome = Outcome::kTryAgain, .detail = transfer.why(code), .retry_after = {}};
  }
  Answer answer{.outcome = {}, .detail = format_text("it answers {}", status), .retry_after = {}};
  if (const std::string words = words_of(transfer.answer, std::move(secrets)); !words.empty()) {
    answer.detail += ": " + words;
  }
  curl_off_t wish = 0;
  if (transfer.curl.getinfo(transfer.easy, CURLINFO_RETRY_AFTER, &wish) == CURLE_OK && wish > 0) {
    answer.retry_after = std::min<std::chrono::seconds>(std::chrono::seconds(wish), kLongestWish);
  }
  const bool for_now = status >= 500 || status == 408 || status == 425 || status == 429;
  answer.outcome = for_now ? Outcome::kTryAgain : Outcome::kRefused;
  return answer;
}

}  // namespace

Result<Answer> post(const Request& request, const std::function<bool()>& go_on) {
  Transfer transfer(*KINGLET_TRY(camera::curl_library()));
  if (transfer.easy == nullptr || transfer.multi == nullptr) {
    return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  }
  set_options(transfer, request);
  const std::optional<CURLcode> code = KINGLET_TRY(transfer.run(go_on));
  if (!code) return Answer{.outcome = Outcome::kCalledOff, .detail = {}, .retry_after = {}};
  std::vector<std::string> secrets = secrets_of(request.url);
  secrets.insert(secrets.end(), request.secrets.begin(), request.secrets.end());
  return judge(transfer, *code, std::move(secrets));
}

}  // namespace kinglet::daemon::outgoing
