// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet cameras`: which network cameras answer on the local net, and what to write into the configuration.
#include <memory>
#include <nlohmann/json.hpp>

#include "camera/discovery/search.h"
#include "camera/sources/network_camera.h"
#include "camera/stream/address.h"
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
  std::string address;     // of the one that is asked for its stream
  std::string login_file;  // who is let in there
};

// What source.spec takes: one that has ONVIF says itself where its smaller stream is. Empty: nobody knows.
std::string source_of(const FoundCamera& camera) {
  return camera.services.empty() ? camera.stream() : "rtsp://" + camera.address;
}

Json json_of(const FoundCamera& camera) {
  Json json{{"address", camera.address}, {"name", camera.name}, {"hardware", camera.hardware}};
  if (const std::string source = source_of(camera); !source.empty()) json["source"] = source;
  if (const std::string stream = camera.stream(); !stream.empty()) json["smaller_stream"] = stream;
  json["services"] = camera.services;
  return json;
}

// What one camera says itself. Nobody else is told of the login, not even as a digest.
Result<int> stream_of(const Options& options, camera::SearchOptions search, Output& out) {
  const auto patience = search.patience + camera::CameraQuestion{}.patience;  // a long search leaves time to ask
  camera::CameraQuestion question{
      .host = options.address, .login = {}, .search = std::move(search), .patience = patience, .called_off = nullptr};
  if (!options.login_file.empty()) question.login = KINGLET_TRY(camera::read_login(options.login_file));
  const camera::CameraAnswer answer = camera::ask_camera(question);
  const camera::OnvifStream stream = KINGLET_TRY(answer.stream);
  if (out.json()) {
    Json json = json_of(*answer.camera);
    json["source"] = stream.address;
    if (stream.width > 0) json["size"] = format_text("{}x{}", stream.width, stream.height);
    out.print_json(json);
    return 0;
  }
  out.print(format_text("source.spec = \"{}\"\n", stream.address));
  out.note(camera::words_of(stream, question.wish));
  return 0;
}

Result<int> cameras(const Options& options, Output& out) {
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(Seconds(options.seconds));
  const camera::SearchOptions search{
      .patience = patience, .interface = options.interface, .only = {}, .called_off = {}};
  if (!options.address.empty()) return stream_of(options, search, out);
  out.detail(format_text("asking the local net for {}", patience));
  const std::vector<FoundCamera> found = KINGLET_TRY(camera::search_cameras(search));
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
  Table table({"address", "name", "hardware", "in [source]"});
  for (const FoundCamera& camera : found) {
    const std::string source = source_of(camera);
    table.add({camera.address, camera.name, camera.hardware,
               source.empty() ? "see its manual" : format_text("spec = \"{}\"", source)});
  }
  out.print(table.text(out));
  out.note(
      "beside it login_file = \"FILE\", a file with user:password: the camera then says where its smaller stream is; "
      "docs/sources.md has more");
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
  auto* const address =
      app.add_option("--stream-of", options->address, "ask this camera by ONVIF where its smaller stream is")
          ->type_name("ADDRESS");
  app.add_option("--login-file", options->login_file, "who is let in there: a file with a line user:password")
      ->type_name("FILE")
      ->needs(address);
  return [options](Output& out) { return cameras(*options, out); };
}

}  // namespace kinglet::cli
