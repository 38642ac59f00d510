// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet cameras`: which network cameras answer on the local net, and what to write into the configuration.
#include <memory>
#include <nlohmann/json.hpp>

#include "camera/discovery/search.h"
#include "cli/command.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using camera::FoundCamera;

struct Options {
  double seconds = 3;
  std::string interface;
};

Json json_of(const FoundCamera& camera) {
  Json json{{"address", camera.address}, {"name", camera.name}, {"hardware", camera.hardware}};
  if (const std::string stream = camera.stream(); !stream.empty()) json["source"] = stream;
  json["services"] = camera.services;
  return json;
}

Result<int> cameras(const Options& options, Output& out) {
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(Seconds(options.seconds));
  out.detail(format_text("asking the local net for {}", patience));
  const std::vector<FoundCamera> found =
      KINGLET_TRY(camera::search_cameras({.patience = patience, .interface = options.interface}));
  if (out.json()) {
    Json items = Json::array();
    for (const FoundCamera& camera : found) items.push_back(json_of(camera));
    out.print_json(Json{{"cameras", items}});
    return found.empty() ? 1 : 0;
  }
  if (found.empty()) {
    out.note("no camera answered; ONVIF may have to be switched on in it, and it has to be in this machine's own net");
    return 1;
  }
  Table table({"address", "name", "hardware", "smaller stream"});
  for (const FoundCamera& camera : found) {
    const std::string stream = camera.stream();
    table.add({camera.address, camera.name, camera.hardware, stream.empty() ? "see its manual" : stream});
  }
  out.print(table.text(out));
  out.note("source takes the stream, source.login_file a file with user:password; docs/sources.md has more");
  return 0;
}

}  // namespace

Body cameras_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--seconds", options->seconds, "wait so long for answers (default 3)")
      ->check(CLI::Range(0.1, 60.0))
      ->option_text("N");
  app.add_option("--interface", options->interface, "ask there only, such as eth0 (default: each but loopback)")
      ->type_name("NAME");
  return [options](Output& out) { return cameras(*options, out); };
}

}  // namespace kinglet::cli
