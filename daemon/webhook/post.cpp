// SPDX-License-Identifier: Apache-2.0
#include "daemon/webhook/post.h"

#include <array>
#include <memory>

#include "daemon/machine/build_info.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::webhook {
namespace {

using camera::CurlLibrary;

constexpr long kYes = 1;
constexpr long kConnectMs = 5000;
constexpr int kTurnMs = 200;
constexpr std::size_t kMostOfAnswer = 64U << 10;
constexpr std::chrono::seconds kLongestWish{60};

struct Transfer {
  explicit Transfer(const CurlLibrary& library) : curl(library), easy(library.init()), multi(library.multi_init()) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (added) curl.multi_remove(multi, easy);
    if (easy != nullptr) curl.cleanup(easy);
    if (multi != nullptr) curl.multi_cleanup(multi);
    curl.list_free(headers);
  }

  const CurlLibrary& curl;
  CURL* easy;
  CURLM* multi;
  bool added = false;
  curl_slist* headers = nullptr;
  std::size_t received = 0;
  std::array<char, CURL_ERROR_SIZE> error{};
};

// libcurl's write callback: nobody reads the answer; a long one is not waited for.
std::size_t receive(char* /*bytes*/, std::size_t /*one*/, std::size_t count, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  transfer.received += count;
  return transfer.received > kMostOfAnswer ? 0 : count;
}

void set_options(Transfer& transfer, const Request& request) {
  const auto set = transfer.curl.setopt;
  CURL* easy = transfer.easy;
  for (const std::string& header : request.headers) {
    transfer.headers = transfer.curl.list_append(transfer.headers, header.c_str());
  }
  // Small bodies go at once.
  transfer.headers = transfer.curl.list_append(transfer.headers, "Expect:");
  set(easy, CURLOPT_URL, request.url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_NOSIGNAL, kYes);
  set(easy, CURLOPT_QUICK_EXIT, kYes);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  set(easy, CURLOPT_USERAGENT, format_text("kinglet/{}", build_info().version).c_str());
  set(easy, CURLOPT_HTTPHEADER, transfer.headers);
  set(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  set(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  set(easy, CURLOPT_ERRORBUFFER, transfer.error.data());
  set(easy, CURLOPT_WRITEFUNCTION, &receive);
  set(easy, CURLOPT_WRITEDATA, &transfer);
  if (!request.certificates.empty()) set(easy, CURLOPT_CAINFO, request.certificates.c_str());
}

// What the end of the transfer means. A status that came counts, whatever happened to the body after it.
Answer judge(const Transfer& transfer, CURLcode code) {
  long status = 0;
  transfer.curl.getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {.outcome = Outcome::kTaken};
  if (status == 0 || code == CURLE_OPERATION_TIMEDOUT) {
    const char* why = transfer.error[0] != '\0' ? transfer.error.data() : transfer.curl.strerror(code);
    return {.outcome = Outcome::kTryAgain, .detail = printable(why)};
  }
  Answer answer{.detail = format_text("it answers {}", status)};
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
  const CurlLibrary& curl = transfer.curl;
  if (transfer.easy == nullptr || transfer.multi == nullptr)
    return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  set_options(transfer, request);
  transfer.added = curl.multi_add(transfer.multi, transfer.easy) == CURLM_OK;
  for (int running = 1; running > 0;) {
    if (!go_on()) return Answer{.outcome = Outcome::kCalledOff};
    if (!transfer.added || curl.multi_perform(transfer.multi, &running) != CURLM_OK) {
      return fail(ErrorCode::kUnavailable, "libcurl gave up");
    }
    if (running > 0) curl.multi_poll(transfer.multi, nullptr, 0, kTurnMs, nullptr);
  }
  int left = 0;
  CURLcode code = CURLE_OK;
  while (const CURLMsg* message = curl.multi_info_read(transfer.multi, &left)) code = message->data.result;
  return judge(transfer, code);
}

}  // namespace kinglet::daemon::webhook
