// SPDX-License-Identifier: Apache-2.0
#include "cli/http_client.h"

#include <memory>
#include <optional>

#include "camera/stream/curl_library.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

using camera::CurlLibrary;

struct Transfer {
  const CurlLibrary& curl;
  CURL* handle;
  const Download& request;
  const Sink& sink;
  std::optional<std::uint64_t> offset;  // known with the first bytes
  std::optional<Error> error;
};

// libcurl's write callback: anything but the byte count ends the transfer.
std::size_t receive(char* bytes, std::size_t /*one*/, std::size_t count, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  if (!transfer.offset) {
    long status = 0;
    transfer.curl.getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
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

void set_options(const CurlLibrary& curl, Transfer& transfer, char* error_text) {
  CURL* handle = transfer.handle;
  constexpr long kYes = 1;
  curl.setopt(handle, CURLOPT_URL, transfer.request.address.c_str());
  curl.setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  // What began encrypted stays so; plain http is for servers of one's own.
  const bool encrypted = transfer.request.address.starts_with("https://");
  curl.setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, encrypted ? "https" : "http,https");
  curl.setopt(handle, CURLOPT_FOLLOWLOCATION, kYes);
  curl.setopt(handle, CURLOPT_MAXREDIRS, 5L);
  curl.setopt(handle, CURLOPT_FAILONERROR, kYes);
  curl.setopt(handle, CURLOPT_NOSIGNAL, kYes);
  curl.setopt(handle, CURLOPT_CONNECTTIMEOUT, 15L);
  curl.setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 100L);
  curl.setopt(handle, CURLOPT_LOW_SPEED_TIME, 30L);
  curl.setopt(handle, CURLOPT_USERAGENT, "kinglet/" KINGLET_VERSION);
  curl.setopt(handle, CURLOPT_ERRORBUFFER, error_text);
  curl.setopt(handle, CURLOPT_WRITEFUNCTION, &receive);
  curl.setopt(handle, CURLOPT_WRITEDATA, &transfer);
  if (transfer.request.from_byte > 0) {
    // Not CURLOPT_RESUME_FROM: that fails where a server sends the whole file all the same, which is welcome here.
    curl.setopt(handle, CURLOPT_RANGE, format_text("{}-", transfer.request.from_byte).c_str());
  }
}

}  // namespace

Result<void> download(const Download& request, const Sink& sink) {
  const CurlLibrary& curl = *KINGLET_TRY(camera::curl_library());
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(curl.init(), curl.cleanup);
  if (!handle) return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  Transfer transfer{.curl = curl, .handle = handle.get(), .request = request, .sink = sink, .offset = {}, .error = {}};
  char error_text[CURL_ERROR_SIZE] = "";
  set_options(curl, transfer, error_text);
  const CURLcode code = curl.perform(handle.get());
  if (transfer.error) return std::unexpected(*transfer.error);
  if (code == CURLE_OK) return {};
  return fail(ErrorCode::kUnavailable, error_text[0] != '\0' ? error_text : curl.strerror(code), request.address,
              "check the network, then run the same command again");
}

}  // namespace kinglet::cli
