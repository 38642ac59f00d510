// SPDX-License-Identifier: Apache-2.0
// Why: what the server and its model say of themselves in the Open Inference Protocol (KServe v2), and the statistics
// of its extension.
#include "daemon/http/kserve/model.h"

#include "daemon/doctor/health.h"
#include "daemon/http/figures/inference_figures.h"
#include "daemon/http/kserve/tensors.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/machine/build_info.h"
#include "daemon/models/model_board.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::kserve {

std::string version_of(const ModelFacts& model) {
  constexpr std::size_t kDigits = 12;
  return model.digest.substr(model.digest.find(':') + 1, kDigits);
}

std::expected<std::shared_ptr<const ModelFacts>, http::Reply> model_of(const http::InferenceView& view,
                                                                       const http::Call& call) {
  const auto refuse = [](std::string_view slug, const std::string& detail) {
    return std::unexpected(http::problem(slug, detail));
  };
  std::shared_ptr<const ModelFacts> model = view.posted.models.facts();
  if (!model) return refuse("starting", "no model is loaded: " + view.posted.models.problem());
  const std::string_view name = call.path_parameter("name");
  if (name != model->name) {
    return refuse("not-found", format_text("there is no model \"{}\"; \"{}\" is loaded", name, model->name));
  }
  const std::string_view version = call.path_parameter("version");
  if (!version.empty() && version != version_of(*model)) {
    return refuse("not-found", format_text("model \"{}\" has no version \"{}\"; {} is loaded", model->name, version,
                                           version_of(*model)));
  }
  return model;
}

}  // namespace kinglet::daemon::kserve

namespace kinglet::daemon::http {
namespace {

Json tensor_json(const engine::TensorInfo& info) {
  return {{"name", info.name}, {"datatype", kserve::datatype(info.type)}, {"shape", info.shape}};
}

Json tensors_json(const std::vector<engine::TensorInfo>& infos) {
  Json list = Json::array();
  for (const engine::TensorInfo& info : infos) list.push_back(tensor_json(info));
  return list;
}

Reply live_reply(const Json& json, bool well) {
  Reply reply = json_reply(json.dump(), "no-store");
  if (!well) {
    reply.status = 503;
    reply.headers.emplace_back("Retry-After", "2");
  }
  return reply;
}

// Of the model and of the thread that runs it, whatever the camera does.
bool is_ready(const InferenceView& view) {
  return view.posted.models.facts() && worst(liveness(view.vitals())) != CheckStatus::kFail;
}

Json duration_json(std::uint64_t count, SteadyClock::duration sum) {
  return {{"count", count}, {"ns", std::chrono::duration_cast<std::chrono::nanoseconds>(sum).count()}};
}

Reply model_ready(const InferenceView& view, const Call& call) {
  if (!view.posted.models.facts()) {
    return live_reply({{"name", printable(call.path_parameter("name"))}, {"ready", false}}, false);
  }
  const auto model = kserve::model_of(view, call);
  if (!model) return model.error();
  return live_reply({{"name", (*model)->name}, {"ready", is_ready(view)}}, is_ready(view));
}

Reply model_metadata(const InferenceView& view, const Call& call) {
  const auto found = kserve::model_of(view, call);
  if (!found) return found.error();
  const ModelFacts& model = **found;
  return json_reply(Json{{"name", model.name},
                         {"versions", {kserve::version_of(model)}},
                         {"platform", "onnx_kinglet"},
                         {"inputs", tensors_json(model.inputs)},
                         {"outputs", tensors_json(model.outputs)}}
                        .dump());
}

Reply model_stats(const InferenceView& view, const Call& call) {
  const auto model = kserve::model_of(view, call);
  if (!model) return model.error();
  const kserve::Figures::View figures = view.figures.view();
  const kserve::Times& times = figures.times;
  const SteadyClock::duration success = times.queue + times.input + times.compute + times.output;
  const Json stats{{"name", (*model)->name},
                   {"version", kserve::version_of(**model)},
                   {"last_inference", figures.last_at_ms},
                   {"inference_count", figures.answered},
                   {"execution_count", figures.answered},
                   {"inference_stats",
                    {{"success", duration_json(figures.answered, success)},
                     {"fail", duration_json(figures.failed, figures.failed_time)},
                     {"queue", duration_json(figures.answered, times.queue)},
                     {"compute_input", duration_json(figures.answered, times.input)},
                     {"compute_infer", duration_json(figures.answered, times.compute)},
                     {"compute_output", duration_json(figures.answered, times.output)}}},
                   {"batch_stats", Json::array()}};
  return json_reply(Json{{"model_stats", Json::array({stats})}}.dump(), "no-store");
}

}  // namespace

Reply get_inference_server(const InferenceView& /*view*/, const Call& /*call*/) {
  return json_reply(Json{{"name", "kinglet"},
                         {"version", build_info().version},
                         {"extensions", {"binary_tensor_data", "classification", "statistics"}}}
                        .dump());
}

Reply get_inference_live(const InferenceView& view, const Call& /*call*/) {
  const bool live = worst(liveness(view.vitals())) != CheckStatus::kFail;
  return live_reply({{"live", live}}, live);
}

Reply get_inference_ready(const InferenceView& view, const Call& /*call*/) {
  return live_reply({{"ready", is_ready(view)}}, is_ready(view));
}

Reply get_inference_model(const InferenceView& view, const Call& call) { return model_metadata(view, call); }
Reply get_inference_version(const InferenceView& view, const Call& call) { return model_metadata(view, call); }
Reply get_inference_model_ready(const InferenceView& view, const Call& call) { return model_ready(view, call); }
Reply get_inference_version_ready(const InferenceView& view, const Call& call) { return model_ready(view, call); }
Reply get_inference_stats(const InferenceView& view, const Call& call) { return model_stats(view, call); }
Reply get_inference_version_stats(const InferenceView& view, const Call& call) { return model_stats(view, call); }

}  // namespace kinglet::daemon::http
