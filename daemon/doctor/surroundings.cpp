// SPDX-License-Identifier: Apache-2.0
// Why: disk, network, and whether there is a newer kinglet.
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "daemon/doctor/doctor.h"
#include "engine/base/error.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLittleDisk = 200ULL << 20;
constexpr double kWeakSignal = -75;  // dBm: below it pictures stutter

// Names of interfaces that are up and have an address, without loopback.
std::set<std::string> interfaces() {
  std::set<std::string> names;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return names;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, &freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    if (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6) names.insert(one->ifa_name);
  }
  return names;
}

// The weakest of the wireless links: /proc/net/wireless has two lines of heads, then "wlan0: 0000 54. -56. ...".
std::optional<double> signal_dbm(const fs::path& root) {
  std::ifstream file(root / "proc/net/wireless");
  std::optional<double> weakest;
  std::string line;
  for (int number = 0; std::getline(file, line); ++number) {
    if (number < 2) continue;
    std::istringstream words(line);
    std::string name;
    std::string status;
    double quality = 0;
    std::string level;
    if (!(words >> name >> status >> quality >> level)) continue;
    const double dbm = std::strtod(level.c_str(), nullptr);
    if (dbm < 0 && (!weakest || dbm < *weakest)) weakest = dbm;
  }
  return weakest;
}

}  // namespace

Finding look_at_disk(const DoctorInput& input) {
  Finding finding;
  if (!input.disk || input.disk->folder.empty()) {
    finding.detail = input.disk ? "the history lives in memory only" : "nobody could say where the history is";
    finding.hint = input.disk ? "set store.path to keep it" : "";
    if (!input.disk) finding.status = CheckStatus::kWarn;
    return finding;
  }
  const DoctorInput::Disk& disk = *input.disk;
  finding.facts.emplace_back("dropped_writes", disk.dropped_writes);
  struct statvfs status{};
  if (statvfs(disk.folder.c_str(), &status) != 0) {
    finding.status = CheckStatus::kFail;
    finding.detail = "the folder of the history cannot be reached: " + errno_text();
    finding.hint = "is its disk mounted? store.path names it";
    return finding;
  }
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  const std::uint64_t total = std::uint64_t{status.f_blocks} * status.f_frsize;
  finding.facts.emplace_back("free_bytes", free);
  finding.facts.emplace_back("total_bytes", total);
  finding.detail = format_text("{} of {} are free", rounded_bytes(free), rounded_bytes(total));
  if ((status.f_flag & ST_RDONLY) != 0) {
    finding.status = CheckStatus::kFail;
    finding.detail = "the disk is read-only";
    finding.hint = "an old SD card protects itself so: copy it and take a new one";
  } else if (!disk.note.empty()) {
    finding.status = CheckStatus::kWarn;
    finding.detail += "; " + disk.note;
    finding.hint = "visits wait in memory meanwhile";
  } else if (free < kLittleDisk) {
    finding.status = CheckStatus::kWarn;
    finding.hint = "kinglet store prune --to SIZE, or a smaller store.quota";
  } else if (disk.dropped_writes > 0) {
    finding.status = CheckStatus::kWarn;
    finding.detail += format_text("; {} writes were given up", disk.dropped_writes);
    finding.hint = "the disk is too slow, was away, or store.write_budget is too small";
  }
  return finding;
}

Finding look_at_network(const DoctorInput& input) {
  Finding finding;
  const std::set<std::string> names = interfaces();
  finding.facts.emplace_back("interfaces", std::vector<std::string>(names.begin(), names.end()));
  const std::optional<double> dbm = signal_dbm(input.root);
  if (dbm) finding.facts.emplace_back("signal_dbm", *dbm);
  if (input.network) {
    finding.facts.emplace_back("listening", input.network->listening);
    finding.facts.emplace_back("everywhere", input.network->everywhere);
    for (const std::string& url : input.network->listening) {
      finding.detail += (finding.detail.empty() ? "" : ", ") + url;
    }
  }
  if (finding.detail.empty()) {
    for (const std::string& name : names) finding.detail += (finding.detail.empty() ? "up: " : ", ") + name;
  }
  if (input.network && !input.network->proxy.empty()) {
    finding.status = CheckStatus::kWarn;
    finding.detail += "; " + input.network->proxy;
    finding.hint = input.network->proxy_hint;
  } else if (names.empty()) {
    finding.status = CheckStatus::kWarn;
    finding.detail = "this machine has no network";
    finding.hint = "is the cable in, or the password of the wireless network right? nmcli device status";
  } else if (dbm && *dbm < kWeakSignal) {
    finding.status = CheckStatus::kWarn;
    finding.detail += format_text("; the wireless signal is weak ({:.0f} dBm)", *dbm);
    finding.hint = "nearer to the router, or an antenna outside the metal";
  } else if (input.network && !input.network->everywhere) {
    finding.detail += "; from this machine only";
  }
  return finding;
}

// Not to have it yet is no fault.
Finding look_at_update(const DoctorInput& input) {
  Finding finding;
  finding.detail = "apt knows no newer kinglet";
  if (!input.update) return finding;
  finding.detail = format_text("kinglet {} is there, {} is installed: sudo apt install kinglet",
                               input.update->available, input.update->installed);
  finding.facts.emplace_back("available", input.update->available);
  finding.facts.emplace_back("installed", input.update->installed);
  return finding;
}

}  // namespace kinglet::daemon
