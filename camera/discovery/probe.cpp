// SPDX-License-Identifier: Apache-2.0
#include "camera/discovery/search.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "camera/discovery/markup.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kLongestName = 80;
constexpr std::size_t kLongestAddress = 300;
constexpr std::size_t kMostServices = 4;
constexpr std::size_t kMostCameras = 8;  // of one answer: a recorder has several

struct Maker {
  std::string_view word;
  std::string_view smaller;
  std::string_view largest;
};
constexpr Maker kMakers[] = {
#define KINGLET_MAKER(word, smaller, largest) {word, smaller, largest},
#include "camera/discovery/makers.def"
#undef KINGLET_MAKER
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// RFC 3986, 2.1. What is no escape stays.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '%' ? parse_number<std::uint8_t>(text.substr(i + 1, 2), 16) : std::nullopt;
    if (code && i + 2 < text.size()) {
      out += static_cast<char>(*code);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// ONVIF Core Specification, 7.3.2.2: "onvif://www.onvif.org/name/Front%20door".
void read_scopes(const std::string& text, FoundCamera& camera) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto take = [&word](std::string_view begin, std::string& into) {
      if (word.starts_with(begin) && into.empty()) {
        into = printable(percent_decoded(std::string_view(word).substr(begin.size())), kLongestName);
      }
    };
    take("onvif://www.onvif.org/name/", camera.name);
    take("onvif://www.onvif.org/hardware/", camera.hardware);
  }
}

void read_services(const std::string& text, FoundCamera& camera) {
  std::istringstream words(text);
  for (std::string word; words >> word && camera.services.size() < kMostServices;) {
    if (is_address_of(word, {"http://", "https://"}, camera.address)) camera.services.push_back(word);
  }
}

bool ends_with(MarkupPath path, std::initializer_list<std::string_view> names) {
  return path.size() >= names.size() && std::ranges::equal(path.last(names.size()), names);
}

}  // namespace

std::string FoundCamera::stream(StreamWish wish) const {
  const std::string words = " " + lower(name) + " " + lower(hardware);
  const auto* maker =
      std::ranges::find_if(kMakers, [&](const Maker& row) { return words.contains(" " + std::string(row.word)); });
  if (maker == std::end(kMakers)) return {};
  return format_text("rtsp://{}{}", address, wish == StreamWish::kSmaller ? maker->smaller : maker->largest);
}

bool is_address_of(std::string_view address, std::initializer_list<std::string_view> schemes, std::string_view host) {
  if (address.size() > kLongestAddress || printable(address, kLongestAddress) != address) return false;
  if (address.find_first_of(" \"'<>\\#") != std::string_view::npos) return false;
  for (const std::string_view scheme : schemes) {
    if (!address.starts_with(scheme)) continue;
    const std::string_view behind = address.substr(scheme.size());
    const std::string_view authority = behind.substr(0, behind.find_first_of("/?"));
    const std::string_view name = authority.substr(0, authority.find(':'));
    const std::string_view port = authority.substr(std::min(name.size() + 1, authority.size()));
    return name == host && (name == authority || parse_number<std::uint16_t>(port).value_or(0) != 0);
  }
  return false;
}

std::string_view smaller_path(std::string_view path) {
  const auto* maker = std::ranges::find(kMakers, path, &Maker::largest);
  return maker == std::end(kMakers) ? std::string_view() : maker->smaller;
}

std::string probe_message(std::string_view id) {
  return format_text(
      R"(<?xml version="1.0" encoding="UTF-8"?>)"
      R"(<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope")"
      R"( xmlns:w="http://schemas.xmlsoap.org/ws/2004/08/addressing")"
      R"( xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery")"
      R"( xmlns:dn="http://www.onvif.org/ver10/network/wsdl"><e:Header><w:MessageID>uuid:{}</w:MessageID>)"
      R"(<w:To e:mustUnderstand="true">urn:schemas-xmlsoap-org:ws:2005:04:discovery</w:To>)"
      R"(<w:Action e:mustUnderstand="true">http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</w:Action></e:Header>)"
      R"(<e:Body><d:Probe><d:Types>dn:NetworkVideoTransmitter</d:Types></d:Probe></e:Body></e:Envelope>)",
      id);
}

Result<std::vector<FoundCamera>> read_answer(std::string_view message, std::string_view id, std::string_view sender) {
  std::vector<FoundCamera> cameras;
  bool is_camera = false;
  bool is_ours = false;
  KINGLET_TRY(read_markup(message, [&](MarkupPath path, const std::string& text) {
    if (ends_with(path, {"Header", "RelatesTo"})) is_ours = text.ends_with(id);
    // Each match names its types first (WS-Discovery, 5.3: they have this order).
    if (ends_with(path, {"ProbeMatch", "Types"})) {
      is_camera = text.contains("NetworkVideoTransmitter") && cameras.size() < kMostCameras;
      if (is_camera) cameras.push_back({.address = std::string(sender), .name = {}, .hardware = {}, .services = {}});
    }
    if (!is_camera) return;
    if (ends_with(path, {"ProbeMatch", "Scopes"})) read_scopes(text, cameras.back());
    if (ends_with(path, {"ProbeMatch", "XAddrs"})) read_services(text, cameras.back());
  }));
  if (!is_ours) cameras.clear();
  return cameras;
}

}  // namespace kinglet::camera
