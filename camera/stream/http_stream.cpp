// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/http_source.h"

#include <algorithm>
#include <cstring>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

// More is left to the network until somebody reads.
constexpr std::size_t kMaxWaiting = std::size_t{1} << 20;
constexpr long kYes = 1;
constexpr long kConnectSeconds = 8;

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

Result<std::unique_ptr<HttpStream>> HttpStream::open(const HttpRequest& request) {
  const CurlLibrary* curl = KINGLET_TRY(curl_library());
  std::unique_ptr<HttpStream> stream(new HttpStream(*curl));
  stream->easy_ = curl->init();
  stream->multi_ = curl->multi_init();
  if (stream->easy_ == nullptr || stream->multi_ == nullptr) {
    return fail(ErrorCode::kUnavailable, "libcurl cannot start");
  }
  stream->shown_ = shown_address(request.address);
  stream->period_ = request.period;
  stream->set_options(request);
  KINGLET_TRY(stream->begin_request());
  return stream;
}

HttpStream::~HttpStream() {
  if (multi_ != nullptr && easy_ != nullptr) curl_.multi_remove(multi_, easy_);
  if (easy_ != nullptr) curl_.cleanup(easy_);
  if (multi_ != nullptr) curl_.multi_cleanup(multi_);
}

void HttpStream::set_options(const HttpRequest& request) {
  const auto set = curl_.setopt;
  set(easy_, CURLOPT_URL, request.address.c_str());
  set(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  // What began encrypted stays so.
  set(easy_, CURLOPT_REDIR_PROTOCOLS_STR, request.address.starts_with("https://") ? "https" : "http,https");
  set(easy_, CURLOPT_FOLLOWLOCATION, kYes);
  set(easy_, CURLOPT_MAXREDIRS, 3L);
  set(easy_, CURLOPT_FAILONERROR, kYes);
  set(easy_, CURLOPT_NOSIGNAL, kYes);
  // A name server that does not answer must not hold up the end.
  set(easy_, CURLOPT_QUICK_EXIT, kYes);
  set(easy_, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  if (period_) set(easy_, CURLOPT_TIMEOUT, long{kLongestRequest.count()});
  set(easy_, CURLOPT_TCP_KEEPALIVE, kYes);
  // Cameras are in the same house: a proxy of the environment is for the world.
  set(easy_, CURLOPT_PROXY, "");
  set(easy_, CURLOPT_USERAGENT, "kinglet/" KINGLET_VERSION);
  set(easy_, CURLOPT_ERRORBUFFER, error_text_.data());
  set(easy_, CURLOPT_WRITEFUNCTION, &HttpStream::receive);
  set(easy_, CURLOPT_WRITEDATA, this);
  if (!request.login.user.empty()) {
    set(easy_, CURLOPT_HTTPAUTH, CURLAUTH_BASIC | CURLAUTH_DIGEST);
    set(easy_, CURLOPT_USERNAME, request.login.user.c_str());
    set(easy_, CURLOPT_PASSWORD, request.login.password.c_str());
  }
  if (!request.certificates.empty()) set(easy_, CURLOPT_CAINFO, request.certificates.c_str());
}

// libcurl's write callback, from inside of drive().
std::size_t HttpStream::receive(char* bytes, std::size_t /*one*/, std::size_t count, void* context) {
  HttpStream& stream = *static_cast<HttpStream*>(context);
  stream.head_ = true;
  if (stream.buffer_.size() - stream.read_ > kMaxWaiting) {
    stream.paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  stream.buffer_.insert(stream.buffer_.end(), first, first + count);
  return count;
}

Result<void> HttpStream::begin_request() {
  begun_at_ = SteadyClock::now();
  running_ = true;
  if (curl_.multi_add(multi_, easy_) == CURLM_OK) return {};
  return fail(ErrorCode::kUnavailable, "libcurl refuses the request", shown_);
}

Result<std::size_t> HttpStream::read(std::span<std::byte> out, SteadyTime deadline) {
  while (!closed_) {
    if (read_ < buffer_.size()) {
      const std::size_t count = std::min(out.size(), buffer_.size() - read_);
      std::memcpy(out.data(), buffer_.data() + read_, count);
      read_ += count;
      if (read_ == buffer_.size()) {
        buffer_.clear();
        read_ = 0;
      }
      return count;
    }
    if (failure_) return std::unexpected(*failure_);
    KINGLET_TRY(drive(deadline));
    if (buffer_.empty() && !failure_ && SteadyClock::now() >= deadline) break;
  }
  return 0;
}

Result<void> HttpStream::drive(SteadyTime deadline) {
  if (!running_) {
    const SteadyTime due = begun_at_ + *period_;
    if (SteadyClock::now() < due) {
      curl_.multi_poll(multi_, nullptr, 0, milliseconds_until(std::min(due, deadline)), nullptr);
      return {};
    }
    curl_.multi_remove(multi_, easy_);
    KINGLET_TRY(begin_request());
  }
  if (std::exchange(paused_, false)) curl_.pause(easy_, CURLPAUSE_CONT);
  int running = 0;
  if (curl_.multi_perform(multi_, &running) != CURLM_OK) {
    return fail(ErrorCode::kUnavailable, "libcurl gave up", shown_);
  }
  if (running == 0) return note_end(), Result<void>();
  if (!buffer_.empty() || closed_) return {};
  const int left = milliseconds_until(deadline);
  if (left > 0) curl_.multi_poll(multi_, nullptr, 0, left, nullptr);
  return {};
}

void HttpStream::note_end() {
  int left = 0;
  while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    running_ = false;
    head_ = true;
    const CURLcode code = message->data.result;
    if (code != CURLE_OK) {
      failure_ = failed(code);
    } else if (!period_) {
      failure_ = Error{ErrorCode::kUnavailable, "the server ended the stream", shown_, {}};
    }
    return;
  }
}

Error HttpStream::failed(CURLcode code) const {
  Error error{ErrorCode::kUnavailable, error_text_[0] != '\0' ? error_text_.data() : curl_.strerror(code), shown_, {}};
  error.message = printable(error.message);
  long status = 0;
  curl_.getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_HTTP_RETURNED_ERROR && (status == 401 || status == 403)) {
    error.hint = "source.login_file names a file with user:password";
  } else if (code == CURLE_HTTP_RETURNED_ERROR && status == 404) {
    error.hint = "check the path of the address";
  } else if (code == CURLE_PEER_FAILED_VERIFICATION) {
    error.hint = "source.certificates names a file with the certificate of a camera that signs its own";
  } else {
    error.hint = "is the camera on, and the address right?";
  }
  return error;
}

void HttpStream::close() {
  closed_ = true;
  curl_.multi_wakeup(multi_);
}

Result<bool> HttpStream::wait_for_head(SteadyTime deadline) {
  while (!head_ && !failure_ && !closed_) {
    KINGLET_TRY(drive(deadline));
    if (!head_ && SteadyClock::now() >= deadline) return false;
  }
  // An answer that came and ended is read first.
  if (failure_ && buffer_.empty()) return std::unexpected(*failure_);
  return head_ && !closed_;
}

std::string HttpStream::content_type() const {
  const char* type = nullptr;
  curl_.getinfo(easy_, CURLINFO_CONTENT_TYPE, &type);
  return type != nullptr ? type : "";
}

}  // namespace kinglet::camera
