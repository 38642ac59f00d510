// SPDX-License-Identifier: Apache-2.0
#include "daemon/catalogue/download.h"

#include <array>
#include <optional>

#include "camera/stream/curl_library.h"
#include "daemon/machine/build_info.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

using camera::CurlLibrary;

constexpr int kTurnMs = 100;
constexpr long kLeastBytesPerSecond = 1024;

struct Transfer {
  Transfer(const CurlLibrary& library, const Download& wished, const Sink& receiver)
      : curl(library), request(wished), sink(receiver), easy(library.init()), multi(library.multi_init()) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (added) curl.multi_remove(multi, easy);
    if (easy != nullptr) curl.cleanup(easy);
    if (multi != nullptr) curl.multi_cleanup(multi);
  }

  const CurlLibrary& curl;
  const Download& request;
  const Sink& sink;
  CURL* easy;
  CURLM* multi;
  bool added = false;
  std::optional<std::uint64_t> offset;  // known with the first bytes
  std::optional<Error> error;
  std::array<char, CURL_ERROR_SIZE> error_text{};
};

// libcurl's write callback: anything but the byte count ends the transfer.
std::size_t receive(char* bytes, std::size_t /*one*/, std::size_t count, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  if (!transfer.offset) {
    long status = 0;
    transfer.curl.getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    transfer.offset = status == 206 ? transfer.request.from_byte : 0;
  }
  if (*transfer.offset + count > transfer.request.limit_bytes) {
    transfer.error =
        Error{ErrorCode::kBadData,
              format_text("the server sends more than the {} bytes expected", transfer.request.limit_bytes),
              transfer.request.address, "the file there is another one now"};
    return 0;
  }
  const Result<void> taken = transfer.sink(*transfer.offset, std::as_bytes(std::span(bytes, count)));
  if (!taken) {
    transfer.error = taken.error();
    return 0;
  }
  *transfer.offset += count;
  return count;
}

void set_options(Transfer& transfer) {
  const auto set = transfer.curl.setopt;
  CURL* easy = transfer.easy;
  const Download& request = transfer.request;
  constexpr long kYes = 1;
  set(easy, CURLOPT_URL, request.address.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  // What began encrypted stays so; plain http is for servers of one's own.
  const bool encrypted = request.address.starts_with("https://");
  set(easy, CURLOPT_REDIR_PROTOCOLS_STR, encrypted ? "https" : "http,https");
  set(easy, CURLOPT_FOLLOWLOCATION, kYes);
  set(easy, CURLOPT_MAXREDIRS, 5L);
  set(easy, CURLOPT_FAILONERROR, kYes);
  set(easy, CURLOPT_NOSIGNAL, kYes);
  set(easy, CURLOPT_QUICK_EXIT, kYes);  // a resolver that hangs is not waited for
  set(easy, CURLOPT_CONNECTTIMEOUT, 15L);
  set(easy, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerSecond);
  set(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.patience.count()));
  set(easy, CURLOPT_USERAGENT, format_text("kinglet/{}", build_info().version).c_str());
  set(easy, CURLOPT_ERRORBUFFER, transfer.error_text.data());
  set(easy, CURLOPT_WRITEFUNCTION, &receive);
  set(easy, CURLOPT_WRITEDATA, &transfer);
  if (request.from_byte > 0) {
    // Not CURLOPT_RESUME_FROM: that fails where a server sends the whole file all the same, which is welcome here.
    set(easy, CURLOPT_RANGE, format_text("{}-", request.from_byte).c_str());
  }
}

}  // namespace

Result<void> download(const Download& request, const Sink& sink, const std::function<bool()>& go_on) {
  Transfer transfer(*KINGLET_TRY(camera::curl_library()), request, sink);
  const CurlLibrary& curl = transfer.curl;
  if (transfer.easy == nullptr || transfer.multi == nullptr)
    return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  set_options(transfer);
  transfer.added = curl.multi_add(transfer.multi, transfer.easy) == CURLM_OK;
  for (int running = 1; running > 0;) {
    if (!go_on()) return fail(ErrorCode::kUnavailable, "the download was called off", request.address);
    if (!transfer.added || curl.multi_perform(transfer.multi, &running) != CURLM_OK) {
      return fail(ErrorCode::kUnavailable, "libcurl gave up", request.address);
    }
    if (running > 0) curl.multi_poll(transfer.multi, nullptr, 0, kTurnMs, nullptr);
  }
  int left = 0;
  CURLcode code = CURLE_OK;
  while (const CURLMsg* message = curl.multi_info_read(transfer.multi, &left)) code = message->data.result;
  if (transfer.error) return std::unexpected(*transfer.error);
  if (code == CURLE_OK) return {};
  return fail(ErrorCode::kUnavailable,
              transfer.error_text[0] != '\0' ? transfer.error_text.data() : curl.strerror(code), request.address,
              "check the network, then try again");
}

}  // namespace kinglet::daemon
