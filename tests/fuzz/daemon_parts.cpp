// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/daemon_parts.h"

#include "camera/sources/open_source.h"
#include "daemon/http/access/door.h"
#include "daemon/http/live/event_feed.h"
#include "daemon/http/server/server.h"
#include "daemon/models/model_keeper.h"
#include "engine/base/check.h"

namespace kinglet::fuzz {

using namespace daemon;

namespace {

LineModel demonstration() {
  Result<LineModel> model = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx"});
  KINGLET_CHECK(model.has_value());
  return std::move(*model);
}

Vitals vitals() {
  return {.now = SteadyClock::now(),
          .camera = {.state = CameraState::kAbsent, .detail = "no camera", .description = {}},
          .answer_heartbeat = SteadyClock::now(),
          .unanswered_since = {},
          .model_loaded = true,
          .model_problem = {},
          .store = {},
          .integrations = {}};
}

DoctorInput doctor_input() { return {.daemon_problem = "none", .camera = {}, .model = {}, .disk = {}, .network = {}}; }

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
    std::vector<std::string> warnings;
    auto rule = visits::Rule::make(model.facts()->taxa, {}, warnings);
    models.publish(model.facts(), std::move(rule));
    visit = a_visit(*model.facts()->taxa, ids, store.next_seq());
    store.put(visit);
    desk.close();  // pictures are read, and nobody answers
    server.emplace(std::vector<http::Listener>{}, http::ServerOptions{.host_name = "feeder"}, context);
  }

  LineModel model = demonstration();
  visits::IdMaker ids{1};
  store::Store store{store::StoreOptions{}};
  visits::Visit visit;
  TokenBook tokens{{}, {}};
  http::Door door{{.anonymous = Role::kLive, .requests_per_second = 1e9}, tokens};
  http::EventFeed events{"fuzz"};
  Stats stats{SteadyClock::now()};
  RecentBoard board;
  Latest<Prediction> latest{8};
  SnapshotBoard snapshots;
  FrameSamples samples{{.count = 0}, {}};
  camera::Mailbox mailbox;
  http::Traffic traffic;
  kserve::Figures figures;
  http::Slots slots{{8, 4}, 8};
  LogBook log{"error"};
  ModelBoard models;
  ModelDesk model_desk{[] {}};
  ClassifyDesk desk{2, [] {}};
  ModelKeeper keeper{{}, models, model_desk, ids, {}, {}};
  const http::Context context{.source_is_demonstration = [] { return false; },
                              .source_kind = [] { return camera::SourceKind::kAttached; },
                              .vitals = &vitals,
                              .doctor = &doctor_input,
                              .models = models,
                              .keeper = keeper,
                              .trial_rule = [] { return TrialRule{}; },
                              .latest = latest,
                              .stats = stats,
                              .board = board,
                              .mailbox = mailbox,
                              .snapshots = snapshots,
                              .samples = samples,
                              .desk = desk,
                              .ids = ids,
                              .traffic = traffic,
                              .inference_figures = figures,
                              .door = door,
                              .events = events,
                              .visits = store.book(),
                              .store = store,
                              .long_answers = slots,
                              .log_book = log,
                              .settings = [] { return std::vector<http::Setting>{}; },
                              .check_settings = [](const std::string&) { return std::vector<Error>{}; },
                              .page = [] { return std::string("http://feeder.local:8420"); },
                              .set_paused = [](bool) {},
                              .mqtt = [] { return std::optional<mqtt::Status>{}; },
                              .webhook = [] { return std::optional<webhook::Status>{}; },
                              .log = {}};
  std::optional<http::Server> server;
};

DaemonParts& DaemonParts::instance() {
  static DaemonParts parts;
  return parts;
}

DaemonParts::DaemonParts() : parts_(std::make_shared<Parts>()) {}

const http::Context& DaemonParts::context() const { return parts_->context; }
const std::string& DaemonParts::visit_id() const { return parts_->visit.id; }

void DaemonParts::serve(FileDescriptor connection, const std::string& peer) {
  parts_->server->answer(std::move(connection), peer);
}

http::Call DaemonParts::call(std::string method, std::string path) const {
  http::Call call{.method = std::move(method), .path = std::move(path)};
  call.host = "feeder";
  call.request_id = "req_fuzz";
  call.caller = parts_->door.identify(http::kUnixPeer, {});
  return call;
}

}  // namespace kinglet::fuzz
