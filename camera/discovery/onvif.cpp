// SPDX-License-Identifier: Apache-2.0
#include "camera/discovery/onvif.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "camera/discovery/markup.h"
#include "engine/base/format.h"
#include "engine/base/log.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kMostProfiles = 32;
constexpr std::size_t kLongestToken = 128;
constexpr std::size_t kLongestReason = 120;
constexpr std::size_t kLongestEncoding = 16;
constexpr std::chrono::seconds kPatience{5};          // for an answer of one camera
constexpr std::chrono::milliseconds kOpenPort{1500};  // for the first one at a port where nobody may be
constexpr int kUsualPorts[] = {80, 8000, 8080, 2020, 8899};
constexpr std::string_view kSecurity = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-";

constexpr std::string_view kClock = R"(<t:GetSystemDateAndTime xmlns:t="http://www.onvif.org/ver10/device/wsdl"/>)";
constexpr std::string_view kCapabilities =
    R"(<t:GetCapabilities xmlns:t="http://www.onvif.org/ver10/device/wsdl"><t:Category>Media</t:Category></t:GetCapabilities>)";
constexpr std::string_view kProfiles = R"(<t:GetProfiles xmlns:t="http://www.onvif.org/ver10/media/wsdl"/>)";

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string base64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes(text), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&' || c == '<' || c == '>') {
      out += format_text("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string stream_question(std::string_view token) {
  return format_text(
      R"(<t:GetStreamUri xmlns:t="http://www.onvif.org/ver10/media/wsdl"><t:StreamSetup>)"
      R"(<x:Stream xmlns:x="http://www.onvif.org/ver10/schema">RTP-Unicast</x:Stream>)"
      R"(<x:Transport xmlns:x="http://www.onvif.org/ver10/schema"><x:Protocol>RTSP</x:Protocol></x:Transport>)"
      R"(</t:StreamSetup><t:ProfileToken>{}</t:ProfileToken></t:GetStreamUri>)",
      escaped(token));
}

std::string envelope(std::string_view header, std::string_view body) {
  return format_text(
      R"(<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope">)"
      R"(<s:Header>{}</s:Header><s:Body>{}</s:Body></s:Envelope>)",
      header, body);
}

// `nonce`: as it came from the generator.
std::string security(const OnvifLogin& login, std::string_view nonce, std::string_view created) {
  return format_text(R"(<w:Security s:mustUnderstand="1" xmlns:w="{0}wssecurity-secext-1.0.xsd" )"
                     R"(xmlns:u="{0}wssecurity-utility-1.0.xsd"><w:UsernameToken><w:Username>{1}</w:Username>)"
                     R"(<w:Password Type="{0}username-token-profile-1.0#PasswordDigest">{2}</w:Password>)"
                     R"(<w:Nonce EncodingType="{0}soap-message-security-1.0#Base64Binary">{3}</w:Nonce>)"
                     R"(<u:Created>{4}</u:Created></w:UsernameToken></w:Security>)",
                     kSecurity, escaped(login.user), password_digest(nonce, created, login.password), base64(nonce),
                     created);
}

bool ends_with(MarkupPath path, std::initializer_list<std::string_view> names) {
  return path.size() >= names.size() && std::ranges::equal(path.last(names.size()), names);
}

// What it says of its clock: logins are taken by that. Nothing: it does not say.
std::optional<WallTime> clock_of(std::string_view document) {
  std::array<std::optional<int>, 6> parts;
  constexpr std::array<std::string_view, 6> kNames{"Year", "Month", "Day", "Hour", "Minute", "Second"};
  const auto take = [&](MarkupPath path, const std::string& text) {
    const bool is_utc = path.size() > 2 && path[path.size() - 3] == "UTCDateTime";
    const auto* const found = std::ranges::find(kNames, path.back());
    if (is_utc && found != kNames.end())
      parts.at(static_cast<std::size_t>(found - kNames.begin())) = parse_number<int>(text);
  };
  if (!read_markup(document, take) || !std::ranges::all_of(parts, [](const auto& part) { return part.has_value(); }))
    return std::nullopt;
  const auto in = [&](std::size_t at, int least, int most) { return *parts[at] >= least && *parts[at] <= most; };
  if (!in(0, 1970, 2200) || !in(1, 1, 12) || !in(2, 1, 31) || !in(3, 0, 23) || !in(4, 0, 59) || !in(5, 0, 60))
    return std::nullopt;
  using namespace std::chrono;
  const auto part = [&](std::size_t at) { return static_cast<unsigned>(*parts[at]); };
  const sys_days date = year(*parts[0]) / month(part(1)) / day(part(2));
  return WallTime(date + hours(*parts[3]) + minutes(*parts[4]) + seconds(*parts[5]));
}

struct Profile {
  std::string token;
  int width = 0;
  int height = 0;
  std::string encoding;

  [[nodiscard]] std::int64_t pixels() const { return std::int64_t{width} * height; }
};

Result<std::vector<Profile>> profiles_of(std::string_view document) {
  std::vector<Profile> profiles;
  const char* kept = nullptr;  // where the last one begins: those that are passed over have sizes as well
  const auto attribute = [&](MarkupPath path, std::string_view name, std::string value) {
    if (!ends_with(path, {"GetProfilesResponse", "Profiles"}) || name != "token" || profiles.size() >= kMostProfiles)
      return;
    if (value.empty() || value.size() > kLongestToken) return;
    profiles.push_back({.token = std::move(value), .encoding = {}});
    kept = path.back().data();
  };
  const auto take = [&](MarkupPath path, const std::string& text) {
    if (ends_with(path, {"Profiles", "VideoEncoderConfiguration", "Encoding"}) && path[path.size() - 3].data() == kept)
      profiles.back().encoding = printable(text, kLongestEncoding);
    const bool is_width = ends_with(path, {"Profiles", "VideoEncoderConfiguration", "Resolution", "Width"});
    if (!is_width && !ends_with(path, {"Profiles", "VideoEncoderConfiguration", "Resolution", "Height"})) return;
    if (path[path.size() - 4].data() != kept) return;
    int& side = is_width ? profiles.back().width : profiles.back().height;
    side = std::clamp(parse_number<int>(text).value_or(0), 0, 100'000);
  };
  KINGLET_TRY(read_markup(document, take, attribute));
  if (profiles.empty()) return fail(ErrorCode::kNotFound, "it has no stream");
  return profiles;
}

const Profile& best_of(const std::vector<Profile>& profiles, StreamWish wish) {
  const auto order = [wish](const Profile& one) {
    const bool is_small = wish == StreamWish::kLargest || one.width < kLeastWidth || one.height < kLeastHeight;
    return std::tuple(is_small, is_small ? -one.pixels() : one.pixels());
  };
  return *std::ranges::min_element(profiles, {}, order);
}

// "rtsp://HOST:PORT" of an address: some cameras put a login before it, or behind it.
std::string host_of(std::string_view address) {
  const std::size_t scheme = address.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  return without_logins(std::string(address.substr(0, address.find_first_of("/?#\\", host))));
}

// The first text at such a place; empty: there is none.
Result<std::string> text_at(std::string_view document, std::initializer_list<std::string_view> place) {
  std::string found;
  KINGLET_TRY(read_markup(document, [&](MarkupPath path, const std::string& text) {
    if (found.empty() && ends_with(path, place)) found = text;
  }));
  return found;
}

bool is_soap(std::string_view document) {
  bool is_inside = false;
  const auto take = [&](MarkupPath path, const std::string&) {
    is_inside = is_inside || (path.size() > 2 && path[0] == "Envelope" && path[1] == "Body");
  };
  return read_markup(document, take) && is_inside;
}

class Conversation {
 public:
  Conversation(const FoundCamera& camera, const OnvifLogin& login, StreamWish wish, const AskOnvif& ask)
      : camera_(camera), login_(login), wish_(wish), ask_(ask), service_(camera.services.front()) {}

  Result<OnvifStream> run() {
    learn_clock();
    const std::string capabilities = KINGLET_TRY(answer(kCapabilities));
    const std::string media = KINGLET_TRY(text_at(capabilities, {"Media", "XAddr"}));
    const bool is_weaker = service_.starts_with("https://") && !media.starts_with("https://");
    if (!is_weaker && is_address_of(media, {"http://", "https://"}, camera_.address)) service_ = media;
    const std::string listed = KINGLET_TRY(answer(kProfiles));
    const std::vector<Profile> profiles = KINGLET_TRY(profiles_of(listed));
    const Profile& best = best_of(profiles, wish_);
    const std::string said = KINGLET_TRY(answer(stream_question(best.token)));
    const std::string address = KINGLET_TRY(text_at(said, {"MediaUri", "Uri"}));
    if (!is_address_of(address, {"rtsp://"}, camera_.address))
      return fail(ErrorCode::kBadData,
                  "its stream has no address of its own host: " + printable(host_of(address), kLongestReason));
    return OnvifStream{.address = address,
                       .width = best.width,
                       .height = best.height,
                       .encoding = best.encoding,
                       .profiles = profiles.size()};
  }

 private:
  void learn_clock() {
    const SteadyTime asked = SteadyClock::now();
    const auto said = ask_(service_, envelope({}, kClock), kPatience);
    if (!said) return;
    if (const auto time = clock_of(said->body))
      ahead_ = *time - std::chrono::system_clock::now() + (SteadyClock::now() - asked) / 2;
  }

  Result<std::string> answer(std::string_view question) {
    std::string nonce(16, '\0');
    if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) != 1)
      return fail(ErrorCode::kInternal, "no random numbers");
    const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now() + ahead_);
    const std::string created = to_rfc3339(std::chrono::time_point_cast<WallTime::duration>(now));
    const std::string header = login_.user.empty() ? std::string() : security(login_, nonce, created);
    OnvifAnswer said = KINGLET_TRY(ask_(service_, envelope(header, question), kPatience));
    const auto code = text_at(said.body, {"Fault", "Code", "Subcode", "Value"});  // some say it with status 200
    if (said.status == 401 || (code && (code->ends_with("NotAuthorized") || code->ends_with("FailedAuthentication"))))
      return fail(ErrorCode::kNotPermitted, "it does not take the login", {},
                  "some cameras have users of their own for ONVIF");
    if (said.status >= 200 && said.status < 300) return std::move(said.body);
    const auto reason = text_at(said.body, {"Fault", "Reason", "Text"});
    const bool has_reason = reason && !reason->empty();
    return fail(ErrorCode::kUnavailable, has_reason ? "it says: " + printable(*reason, kLongestReason)
                                                    : format_text("it answers {}", said.status));
  }

  const FoundCamera& camera_;
  const OnvifLogin& login_;
  const StreamWish wish_;
  const AskOnvif& ask_;
  std::string service_;
  WallTime::duration ahead_{};  // its clock
};

}  // namespace

std::string password_digest(std::string_view nonce, std::string_view created, std::string_view password) {
  const std::string all = std::string(nonce).append(created).append(password);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(all.data(), all.size(), digest.data(), &length, EVP_sha1(), nullptr);
  return base64({reinterpret_cast<const char*>(digest.data()), length});
}

Result<FoundCamera> find_camera(const std::string& host, const SearchOptions& search, const AskOnvif& ask) {
  FoundCamera camera;
  if (in_addr number{}; ::inet_pton(AF_INET, host.c_str(), &number) == 1) {
    SearchOptions alone = search;
    alone.only = host;
    const auto found = search_cameras(alone);
    if (!found && !search.interface.empty()) return std::unexpected(found.error());
    if (found && !found->empty()) camera = found->front();
    if (!camera.services.empty()) return camera;
  }
  for (const int port : kUsualPorts) {
    const auto service = [port](const std::string& at) {
      return format_text("http://{}:{}/onvif/device_service", at, port);
    };
    const auto said = ask(service(host), envelope({}, kClock), kOpenPort);
    if (!said || said->from.empty() || !is_soap(said->body)) continue;
    camera.address = said->from;
    camera.services = {service(said->from)};
    return camera;
  }
  if (!camera.address.empty()) return camera;
  return fail(ErrorCode::kNotFound, "no camera with this address answers to ONVIF", printable(host),
              "is it on, and ONVIF switched on in it? kinglet cameras lists those of this net that answer");
}

Result<OnvifStream> ask_for_stream(const FoundCamera& camera, const OnvifLogin& login, StreamWish wish,
                                   const AskOnvif& ask) {
  if (camera.services.empty()) return fail(ErrorCode::kNotFound, "it has no ONVIF service", camera.address);
  auto stream = Conversation(camera, login, wish, ask).run();
  if (!stream) return std::unexpected(with_context(std::move(stream).error(), camera.address));
  return stream;
}

}  // namespace kinglet::camera
