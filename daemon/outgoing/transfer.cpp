// SPDX-License-Identifier: Apache-2.0
#include "daemon/outgoing/transfer.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "daemon/machine/build_info.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::outgoing {
namespace {

constexpr long kYes = 1;
constexpr long kConnectMs = 5000;
constexpr int kTurnMs = 200;
constexpr std::size_t kMostOfAnswer = 64U << 10;
constexpr std::size_t kMostKept = 2U << 10;

// libcurl's write callback: its beginning is kept, for the words of a refusal; a long one is not waited for.
std::size_t receive(char* bytes, std::size_t /*one*/, std::size_t count, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  transfer.answer.append(bytes, std::min(count, kMostKept - transfer.answer.size()));
  transfer.received += count;
  return transfer.received > kMostOfAnswer ? 0 : count;
}

}  // namespace

Transfer::Transfer(const camera::CurlLibrary& library)
    : curl(library), easy(library.init()), multi(library.multi_init()) {}

Transfer::~Transfer() {
  if (added) curl.multi_remove(multi, easy);
  if (easy != nullptr) curl.cleanup(easy);
  if (multi != nullptr) curl.multi_cleanup(multi);
  curl.list_free(list);
}

void Transfer::set_common(std::chrono::milliseconds timeout, const std::filesystem::path& certificates) {
  set(CURLOPT_NOSIGNAL, kYes);
  set(CURLOPT_QUICK_EXIT, kYes);
  set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  set(CURLOPT_USERAGENT, format_text("kinglet/{}", build_info().version));
  set(CURLOPT_ERRORBUFFER, error.data());
  set(CURLOPT_WRITEFUNCTION, &receive);
  set(CURLOPT_WRITEDATA, this);
  if (!certificates.empty()) set(CURLOPT_CAINFO, certificates.string());
}

Result<std::optional<CURLcode>> Transfer::run(const std::function<bool()>& go_on) {
  added = curl.multi_add(multi, easy) == CURLM_OK;
  for (int running = 1; running > 0;) {
    if (!go_on()) return std::nullopt;
    if (!added || curl.multi_perform(multi, &running) != CURLM_OK) {
      return fail(ErrorCode::kUnavailable, "libcurl gave up");
    }
    if (running > 0) curl.multi_poll(multi, nullptr, 0, kTurnMs, nullptr);
  }
  int left = 0;
  CURLcode code = CURLE_OK;
  while (const CURLMsg* message = curl.multi_info_read(multi, &left)) code = message->data.result;
  return code;
}

long Transfer::status() const {
  long status = 0;
  curl.getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::string Transfer::why(CURLcode code) const {
  return printable(error[0] != '\0' ? error.data() : curl.strerror(code));
}

}  // namespace kinglet::daemon::outgoing
