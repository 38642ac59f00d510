// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/http_post.h"

#include <memory>
#include <optional>

#include "camera/stream/address.h"
#include "camera/stream/curl_library.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kMostOfAnswer = 256U << 10;
constexpr long kYes = 1;
constexpr int kTurn = 50;  // milliseconds

// libcurl's write callback.
std::size_t receive(char* bytes, std::size_t /*one*/, std::size_t count, void* context) {
  std::string& body = *static_cast<std::string*>(context);
  if (body.size() + count > kMostOfAnswer) return 0;
  body.append(bytes, count);
  return count;
}

// Nothing: it was called off.
std::optional<CURLcode> perform(const CurlLibrary& curl, CURLM* multi, const std::function<bool()>& called_off) {
  for (int running = 1; running != 0;) {
    if (called_off && called_off()) return std::nullopt;
    if (curl.multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    if (running != 0) curl.multi_poll(multi, nullptr, 0, kTurn, nullptr);
  }
  int left = 0;
  const CURLMsg* message = curl.multi_info_read(multi, &left);
  return message != nullptr && message->msg == CURLMSG_DONE ? message->data.result : CURLE_FAILED_INIT;
}

}  // namespace

Result<HttpAnswer> http_post(const std::string& url, const std::string& content_type, const std::string& body,
                             std::chrono::milliseconds patience, const std::function<bool()>& called_off) {
  const CurlLibrary& curl = *KINGLET_TRY(curl_library());
  const std::unique_ptr<CURLM, decltype(curl.multi_cleanup)> multi(curl.multi_init(), curl.multi_cleanup);
  const std::unique_ptr<CURL, decltype(curl.cleanup)> easy(curl.init(), curl.cleanup);
  if (!multi || !easy) return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  const std::unique_ptr<curl_slist, decltype(curl.list_free)> headers(
      curl.list_append(nullptr, ("Content-Type: " + content_type).c_str()), curl.list_free);
  HttpAnswer answer;
  const auto set = [&](CURLoption option, auto value) { curl.setopt(easy.get(), option, value); };
  set(CURLOPT_NOSIGNAL, kYes);
  set(CURLOPT_QUICK_EXIT, kYes);  // a name server that does not answer must not hold up the end
  set(CURLOPT_IPRESOLVE, long{CURL_IPRESOLVE_V4});
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOPROXY, "*");  // it is of this net
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_USERAGENT, "kinglet/" KINGLET_VERSION);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(patience.count()));
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  set(CURLOPT_POSTFIELDS, body.c_str());
  set(CURLOPT_WRITEFUNCTION, &receive);
  set(CURLOPT_WRITEDATA, &answer.body);
  if (curl.multi_add(multi.get(), easy.get()) != CURLM_OK) return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  const std::optional<CURLcode> ended = perform(curl, multi.get(), called_off);
  curl.getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  const char* from = nullptr;
  curl.getinfo(easy.get(), CURLINFO_PRIMARY_IP, &from);
  if (from != nullptr) answer.from = from;
  curl.multi_remove(multi.get(), easy.get());
  if (!ended) return fail(ErrorCode::kUnavailable, "called off", shown_address(url));
  const CURLcode code = *ended;
  if (code == CURLE_WRITE_ERROR) return fail(ErrorCode::kUnavailable, "it answers without end", shown_address(url));
  if (code != CURLE_OK) return fail(ErrorCode::kUnavailable, printable(curl.strerror(code)), shown_address(url));
  return answer;
}

}  // namespace kinglet::camera
