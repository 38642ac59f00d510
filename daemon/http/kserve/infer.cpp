// SPDX-License-Identifier: Apache-2.0
// Why: POST /v2/models/{name}/infer: a tensor or a picture goes the same way as one of POST /api/v1/classify, between
// two frames of the camera, one at a time.
#include "camera/decode/decode.h"
#include "daemon/answer/classify_desk.h"
#include "daemon/http/figures/inference_figures.h"
#include "daemon/http/kserve/model.h"
#include "daemon/http/kserve/request.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

using kserve::Json;
using Tensors = std::vector<std::vector<std::byte>>;

constexpr std::chrono::seconds kInferTime{10};  // for a frame or two of the cameras, once it is next

struct Answered {
  Tensors outputs;  // in the file's order
  kserve::Times times;
  bool late = false;  // nobody took it in time
};

Reply refusal(const Error& error, bool late = false) {
  if (late) {
    // This protocol has no 504: of its statuses this one says "ask again".
    Reply reply = desk_problem(error, late);
    reply.status = 503;
    reply.headers.emplace_back("Retry-After", "2");
    return reply;
  }
  const bool is_of_desk =
      error.code == ErrorCode::kBusy || error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kInternal;
  return is_of_desk ? desk_problem(error) : problem("bad-request", describe(error), error.hint);
}

// Waits for the model's thread.
Result<void> answer(const InferenceView& view, ClassifyDesk::Turn& turn, const std::shared_ptr<const ModelFacts>& facts,
                    std::span<const std::byte> tensor, Answered& answered) {
  const ModelFacts& model = *facts;
  PostedPicture picture{.model = facts, .tensor = tensor};
  picture.scores.resize(model.labels.size());
  std::size_t bytes = tensor.size();
  for (const engine::TensorInfo& info : model.outputs) bytes += kserve::byte_count(info);
  const SteadyTime begun = SteadyClock::now();
  turn.hand_over(bytes);
  for (const engine::TensorInfo& info : model.outputs) picture.tensors.emplace_back(kserve::byte_count(info));
  const Result<void> done = view.posted.desk.answer(picture, kInferTime);
  answered.late = picture.late;
  KINGLET_TRY(done);
  answered.times.queue += SteadyClock::now() - begun - picture.inference;
  answered.times.compute = picture.inference;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const std::vector<std::byte> memory = std::move(picture.tensors[i]);  // gone before the next one is copied
    kserve::to_file_order(memory, model.outputs[i], answered.outputs.emplace_back(memory.size()));
  }
  return {};
}

Result<void> run(const InferenceView& view, const std::shared_ptr<const ModelFacts>& model,
                 const kserve::Request& request, std::optional<ClassifyDesk::Place>& place, Answered& answered) {
  if (!place) place.emplace(KINGLET_TRY(view.posted.desk.reserve()));
  const SteadyTime begun = SteadyClock::now();
  ClassifyDesk::Turn turn(view.posted.desk);
  const SteadyTime my_turn = SteadyClock::now();
  answered.times.queue = my_turn - begun;
  if (request.picture.empty()) {
    const std::vector<std::byte> memory = kserve::to_memory(std::as_bytes(std::span(request.tensor)), model->inputs[0]);
    answered.times.input = SteadyClock::now() - my_turn;
    return answer(view, turn, model, memory, answered);
  }
  auto room = KINGLET_TRY(turn.take_room());
  const camera::DecodeLimits limits{.max_pixels = view.posted.max_pixels};
  const auto enough = [&](camera::ImageSize size) { return model->enough_pixels(size, std::nullopt); };
  camera::DecodedImage decoded = KINGLET_TRY(camera::decode_image(
      std::as_bytes(std::span(request.picture)), limits, camera::Upright::kApplyExif, enough, std::move(room)));
  const auto input = KINGLET_TRY(turn.prepare(model, std::move(decoded.image), decoded.size, std::nullopt));
  answered.times.input = SteadyClock::now() - my_turn;
  return answer(view, turn, model, input.tensor, answered);
}

std::string bytes_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Texts of the binary form: four bytes of length, little end first, and the text, one after the other.
std::string packed(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    for (std::size_t i = 0; i < 4; ++i) out += static_cast<char>((text.size() >> (8 * i)) & 0xFF);
    out += text;
  }
  return out;
}

// Labels are those of the output that has the scores, and no other's.
std::vector<std::string> classes_of(const ModelFacts& model, const kserve::OutputWish& wish, const Tensors& outputs) {
  const engine::OutputMeaning& meaning = model.output;
  const auto type_of = [&](std::size_t index) { return model.outputs[index].type; };
  if (wish.index != meaning.output && wish.index != meaning.indices) {
    return kserve::classes(outputs[wish.index], type_of(wish.index), wish.classes, {});
  }
  std::vector<std::string> labels;
  for (const engine::Label& label : model.labels) labels.push_back(label.text);
  if (!meaning.indices) return kserve::classes(outputs[wish.index], type_of(wish.index), wish.classes, labels);
  const std::span<const std::byte> values = meaning.has_scores ? outputs[meaning.output] : std::span<const std::byte>();
  return kserve::best_classes(values, type_of(meaning.output), outputs[*meaning.indices], type_of(*meaning.indices),
                              wish.classes, labels);
}

// One output as it was wished; what goes behind the JSON is added to `binary`.
Json output_json(const ModelFacts& model, const kserve::OutputWish& wish, const Tensors& tensors, std::string& binary) {
  const engine::TensorInfo& info = model.outputs[wish.index];
  const std::vector<std::byte>& bytes = tensors[wish.index];
  Json json{{"name", info.name}};
  std::string data;
  if (wish.classes > 0) {
    const std::vector<std::string> classes = classes_of(model, wish, tensors);
    json["datatype"] = "BYTES";
    json["shape"] = Json::array({classes.size()});
    if (wish.binary) {
      data = packed(classes);
    } else {
      json["data"] = classes;
    }
  } else {
    json["datatype"] = kserve::datatype(info.type);
    json["shape"] = info.shape;
    // JSON carries no FP16.
    if (wish.binary || info.type == engine::DataType::kF16) {
      data = bytes_of(bytes);
    } else {
      json["data"] = kserve::json_of_bytes(bytes, info.type);
    }
  }
  if (!json.contains("data")) {
    json["parameters"] = {{"binary_data_size", data.size()}};
    binary += data;
  }
  return json;
}

Reply reply_of(const ModelFacts& model, const kserve::Request& request, const Answered& answered) {
  Json json{{"model_name", model.name}, {"model_version", kserve::version_of(model)}};
  if (!request.id.empty()) json["id"] = request.id;
  std::string binary;
  Json outputs = Json::array();
  for (const kserve::OutputWish& wish : request.outputs) {
    outputs.push_back(output_json(model, wish, answered.outputs, binary));
  }
  json["outputs"] = std::move(outputs);
  std::string text = json.dump();
  Reply reply{.headers = {{"Cache-Control", "no-store"}}};
  reply.content_type = "application/json";
  if (!binary.empty()) {
    reply.content_type = "application/octet-stream";
    reply.headers.emplace_back("Inference-Header-Content-Length", std::to_string(text.size()));
  }
  reply.body = std::move(text) + binary;
  return reply;
}

Reply infer(const InferenceView& view, const std::shared_ptr<const ModelFacts>& facts, const Call& call,
            std::optional<ClassifyDesk::Place>& place) {
  const ModelFacts& model = *facts;
  const SteadyTime begun = SteadyClock::now();
  if (call.content_type != "application/json" && call.content_type != "application/octet-stream") {
    return problem("bad-request", "the Content-Type is neither application/json nor application/octet-stream");
  }
  const Result<kserve::Request> request =
      kserve::read_request(call.body, call.json_length, model.inputs[0], model.outputs);
  if (!request) return refusal(request.error());
  const SteadyTime read = SteadyClock::now();
  Answered answered;
  if (const Result<void> done = run(view, facts, *request, place, answered); !done) {
    return refusal(done.error(), answered.late);
  }
  const SteadyTime done = SteadyClock::now();
  Reply reply = reply_of(model, *request, answered);
  answered.times.input += read - begun;
  answered.times.output = SteadyClock::now() - done;
  view.figures.add(answered.times);
  return reply;
}

Reply counted(const InferenceView& view, const Call& call) {
  const SteadyTime begun = SteadyClock::now();
  if (const auto model = kserve::model_of(view, call); !model) return model.error();
  std::optional<ClassifyDesk::Place> place;  // kept by who is asked anew
  // Whether the name and the version of the call mean the one that came is asked as well.
  const auto ask = [&](const LoadedModel& /*model_of() finds it*/) {
    const auto model = kserve::model_of(view, call);
    return model ? infer(view, *model, call, place) : model.error();
  };
  Reply reply =
      ask_current_model(view.posted.models, ask, [](const Reply& found) { return found.problem.slug == "busy"; });
  if (reply.status != 200) view.figures.add_failure(SteadyClock::now() - begun);
  return reply;
}

}  // namespace

Reply post_infer(const InferenceView& view, const Call& call) { return counted(view, call); }
Reply post_infer_version(const InferenceView& view, const Call& call) { return counted(view, call); }

}  // namespace kinglet::daemon::http
