// SPDX-License-Identifier: Apache-2.0
// Why: what is wrong with this feeder, and what helps: the same list of checks for the running daemon and for the tool
// beside one that does not run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "camera/sources/open_source.h"
#include "daemon/doctor/check_status.h"
#include "daemon/machine/update.h"

namespace kinglet::daemon {

using Fact = std::variant<bool, std::uint64_t, double, std::string, std::vector<std::string>>;

struct Finding {
  std::string name;
  CheckStatus status = CheckStatus::kPass;
  std::string detail;  // one line: what was found
  std::string hint;    // what helps; empty where nothing has to
  std::vector<std::pair<std::string, Fact>> facts;
};

// What the checks cannot see for themselves. Absent: nobody could say.
struct DoctorInput {
  struct Camera {
    std::string name = "camera";
    std::string state;  // "streaming"
    std::string detail;
    std::string description;
    kinglet::camera::SourceKind kind = kinglet::camera::SourceKind::kAttached;
    bool demonstration = false;
    std::uint64_t stalls = 0;
  };
  struct Model {
    bool loaded = false;
    std::string name;
    std::string problem;  // why it is not loaded
    bool recipe_found = true;
    bool labels_named = true;
    bool demonstration = false;
    std::vector<std::string> fallback_nodes;
    std::optional<std::string> detector_problem = {};  // as Vitals has it
  };
  struct Disk {
    std::filesystem::path folder;  // of the state; empty: the history lives in memory, on purpose
    std::string note;              // why it does not write
    std::uint64_t dropped_writes = 0;
  };
  struct Network {
    std::vector<std::string> listening;  // "http://127.0.0.1:8420/"
    bool everywhere = false;             // from other machines, too
    std::string proxy;                   // in front of us, whose clients are strangers: what was seen; empty: none
    std::string proxy_hint;
  };

  std::filesystem::path root = "/";  // of proc and sys
  std::string daemon_problem;        // why the daemon did not say the rest; empty: it did
  std::vector<Camera> cameras;       // empty: nobody could say
  std::optional<Model> model;
  std::optional<Disk> disk;
  std::optional<Network> network;
  bool clock_synced = true;
  std::optional<Update> update;  // that apt knows of
};

// Reads some small files. Reentrant.
[[nodiscard]] std::vector<Finding> examine(const DoctorInput& input);
[[nodiscard]] CheckStatus worst(const std::vector<Finding>& findings);
// "21.5 GiB", "430 MiB": for people.
[[nodiscard]] std::string rounded_bytes(std::uint64_t bytes);

#define KINGLET_DOCTOR(name, function) [[nodiscard]] Finding function(const DoctorInput& input);
#include "daemon/doctor/doctor.def"
#undef KINGLET_DOCTOR

}  // namespace kinglet::daemon
