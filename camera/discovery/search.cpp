// SPDX-License-Identifier: Apache-2.0
#include "camera/discovery/search.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr const char* kGroup = "239.255.255.250";  // WS-Discovery, 2.4
constexpr std::uint16_t kPort = 3702;
constexpr std::size_t kLargestAnswer = 65'507;
constexpr int kMostAnswers = 512;
constexpr std::size_t kMostFound = 128;
constexpr std::chrono::milliseconds kSecondQuestion{500};  // datagrams get lost
constexpr std::chrono::milliseconds kTurn{50};             // how soon it is noticed that the search is called off

in_addr number_of(const char* text) {
  in_addr number{};
  ::inet_pton(AF_INET, text, &number);
  return number;
}

// Where a question goes, and from where answers to it may come.
struct Way {
  in_addr to = number_of(kGroup);
  in_addr from{};  // of this machine; zero: whichever leads there
  in_addr net{};
  in_addr mask{};
  FileDescriptor socket;

  [[nodiscard]] bool is_of(in_addr sender) const { return (sender.s_addr & mask.s_addr) == (net.s_addr & mask.s_addr); }
};

Way straight_to(in_addr camera) {
  Way way;
  way.to = way.net = camera;
  way.mask.s_addr = INADDR_NONE;  // all its bits
  return way;
}

in_addr address_of(const sockaddr* address) { return reinterpret_cast<const sockaddr_in*>(address)->sin_addr; }

bool is_meant(const ifaddrs& one, const std::string& name) {
  if (one.ifa_addr == nullptr || one.ifa_netmask == nullptr || one.ifa_addr->sa_family != AF_INET) return false;
  if ((one.ifa_flags & IFF_UP) == 0) return false;
  if (!name.empty()) return name == one.ifa_name;
  return (one.ifa_flags & IFF_LOOPBACK) == 0 && (one.ifa_flags & IFF_MULTICAST) != 0;
}

std::vector<Way> interfaces(const std::string& name) {
  std::vector<Way> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (!is_meant(*one, name)) continue;
    Way& way = found.emplace_back();
    way.from = way.net = address_of(one->ifa_addr);
    way.mask = address_of(one->ifa_netmask);
  }
  return found;
}

bool open_socket(Way& way) {
  way.socket = FileDescriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = way.socket.get();
  sockaddr_in here{.sin_family = AF_INET, .sin_port = 0, .sin_addr = way.from, .sin_zero = {}};
  const unsigned char one_hop = 1;
  return fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof(here)) == 0 &&
         ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &way.from, sizeof(way.from)) == 0 &&
         ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &one_hop, sizeof(one_hop)) == 0;
}

bool ask(const Way& way, const std::string& question) {
  const sockaddr_in far{.sin_family = AF_INET, .sin_port = htons(kPort), .sin_addr = way.to, .sin_zero = {}};
  return ::sendto(way.socket.get(), question.data(), question.size(), 0, reinterpret_cast<const sockaddr*>(&far),
                  sizeof(far)) == static_cast<ssize_t>(question.size());
}

// RFC 9562, 5.4.
std::string random_uuid() {
  std::random_device random;
  std::array<std::uint32_t, 4> words{random(), random(), random(), random()};
  words[1] = (words[1] & 0xFFFF0FFF) | 0x4000;
  words[2] = (words[2] & 0x3FFFFFFF) | 0x80000000;
  return format_text("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16, words[1] & 0xFFFF,
                     words[2] >> 16, words[2] & 0xFFFF, words[3]);
}

class Search {
 public:
  Search(std::vector<Way> ways, const SearchOptions& options) : options_(options), ways_(std::move(ways)) {}

  Result<std::vector<FoundCamera>> run() {
    const auto patience = options_.patience;
    const std::string question = probe_message(id_);
    std::erase_if(ways_, [&](Way& one) { return !open_socket(one) || !ask(one, question); });
    if (ways_.empty()) {
      return fail(ErrorCode::kUnavailable, "no interface of this machine takes a question to all: " + errno_text());
    }
    const SteadyTime begun = SteadyClock::now();
    listen(std::min(begun + patience, begun + kSecondQuestion));
    if (!is_over()) {
      for (const Way& one : ways_) static_cast<void>(ask(one, question));
    }
    listen(begun + patience);
    std::ranges::stable_sort(found_, {}, &FoundCamera::address);
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_over() const {
    if (answers_ >= kMostAnswers || found_.size() >= kMostFound) return true;
    return (!options_.only.empty() && !found_.empty()) || (options_.called_off && options_.called_off());
  }

  void listen(SteadyTime deadline) {
    std::vector<pollfd> waiting;
    waiting.reserve(ways_.size());
    for (const Way& one : ways_) waiting.push_back({one.socket.get(), POLLIN, 0});
    while (!is_over()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
      if (left.count() <= 0) return;
      if (::poll(waiting.data(), waiting.size(), static_cast<int>(std::min(left, kTurn).count())) <= 0) continue;
      for (const Way& one : ways_) take(one);
    }
  }

  void take(const Way& way) {
    sockaddr_in from{};
    socklen_t length = sizeof(from);
    const ssize_t size =
        ::recvfrom(way.socket.get(), buffer_.data(), buffer_.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (size <= 0) return;
    ++answers_;
    if (!way.is_of(from.sin_addr)) return;
    std::array<char, INET_ADDRSTRLEN> sender{};
    ::inet_ntop(AF_INET, &from.sin_addr, sender.data(), sender.size());
    if (!options_.only.empty() && options_.only != sender.data()) return;
    auto cameras = read_answer({buffer_.data(), static_cast<std::size_t>(size)}, id_, sender.data());
    if (!cameras) return;  // strangers may talk nonsense
    for (FoundCamera& camera : *cameras) {
      // Each question may be answered.
      if (!std::ranges::contains(found_, camera)) found_.push_back(std::move(camera));
    }
  }

  const SearchOptions& options_;
  std::vector<Way> ways_;
  const std::string id_ = random_uuid();
  std::vector<char> buffer_ = std::vector<char>(kLargestAnswer);
  int answers_ = 0;
  std::vector<FoundCamera> found_;
};

}  // namespace

Result<std::vector<FoundCamera>> search_cameras(const SearchOptions& options) {
  std::vector<Way> meant = interfaces(options.interface);
  if (!options.only.empty() && (options.interface.empty() || !meant.empty()))
    meant.push_back(straight_to(number_of(options.only.c_str())));
  if (!meant.empty()) return Search(std::move(meant), options).run();
  if (options.interface.empty()) {
    return fail(ErrorCode::kNotFound, "this machine has no network", {}, "is the cable in? nmcli device status");
  }
  return fail(ErrorCode::kNotFound,
              format_text("no interface \"{}\" with an address", printable(options.interface, 40)), {},
              "ip -brief address shows them");
}

}  // namespace kinglet::camera
