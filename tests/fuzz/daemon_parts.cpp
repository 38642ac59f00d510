// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/daemon_parts.h"

#include "daemon/app/app_parts.h"
#include "engine/base/check.h"

namespace kinglet::fuzz {

using namespace daemon;

namespace {

LineModel demonstration() {
  Result<LineModel> model = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx"});
  KINGLET_CHECK(model.has_value());
  return std::move(*model);
}

config::Config quiet() {
  config::Config config;
  config.model.samples = 0;
  return config;
}

visits::Visit a_visit(const visits::Taxa& taxa, visits::IdMaker& ids, std::uint64_t seq) {
  visits::Visit visit{.id = ids.next_text("vis", std::chrono::system_clock::now()), .seq = seq, .source = "camera"};
  visit.state = visits::VisitState::kEnded;
  visit.started_at = std::chrono::system_clock::now();
  visit.duration = std::chrono::seconds(5);
  visit.model_result.species_id = taxa[0].species_id;
  visit.model_result.score = 0.9F;
  return visit;
}

}  // namespace

struct DaemonParts::Parts {
  Parts() {
    const std::shared_ptr<const visits::Taxa> taxa = parts.models.facts()->taxa;
    visit = a_visit(*taxa, parts.ids, parts.history.next_seq());
    parts.history.put(visit);
    parts.desk.close();  // pictures are read, and nobody answers
  }

  config::Config config = quiet();
  http::DoorOptions door{.anonymous = Role::kLive, .requests_per_second = 1e9};
  AppParts parts{config, {}, demonstration(), {}, {}, {}, door, {}, [](LogLevel, std::string_view) {}};
  http::Server server{{}, {.host_name = "feeder"}, parts.server_parts(config)};
  visits::Visit visit;
};

DaemonParts& DaemonParts::instance() {
  static DaemonParts parts;
  return parts;
}

DaemonParts::DaemonParts() : parts_(std::make_shared<Parts>()) {}

const http::Views& DaemonParts::views() const { return parts_->parts.views; }
const visits::VisitBook& DaemonParts::book() const { return parts_->parts.book; }
const std::string& DaemonParts::visit_id() const { return parts_->visit.id; }

void DaemonParts::serve(FileDescriptor connection, const std::string& peer) {
  parts_->server.answer(std::move(connection), peer);
}

http::Call DaemonParts::call(std::string method, std::string path) const {
  http::Call call{.method = std::move(method), .path = std::move(path)};
  call.host = "feeder";
  call.request_id = "req_fuzz";
  call.caller = parts_->parts.door.identify(http::kUnixPeer, {});
  return call;
}

}  // namespace kinglet::fuzz
