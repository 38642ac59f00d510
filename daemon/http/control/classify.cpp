// SPDX-License-Identifier: Apache-2.0
// Why: POST /api/v1/classify: a posted picture goes the same way as a frame. It is decoded and prepared here and
// answered by the pipeline's own thread; nothing is stored.
#include "camera/decode/decode.h"
#include "daemon/answer/classify_desk.h"
#include "daemon/http/message/base64.h"
#include "daemon/http/message/body.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/machine/clock_sync.h"
#include "daemon/models/model_board.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::chrono::seconds kAnswerTime{10};  // for a frame or two of the cameras, once it is next

struct Order {
  std::string from_json;  // a picture; empty: the body is one
  std::int64_t top_k = 5;
};

// What the model says of a picture, and what is told of that.
struct Classified {
  camera::ImageSize size;
  bool orientation_applied = false;
  CropRect used_crop;
  std::vector<float> scores;
  SteadyClock::duration decode{};
  SteadyClock::duration preprocess{};
  SteadyClock::duration inference{};
};

std::expected<Order, Reply> order_from_json(const Call& call, std::int64_t top_k) {
  const auto bad = [](std::string_view detail) { return std::unexpected(problem("bad-json", detail)); };
  const Body json = parse_body(call.body);
  if (!json.is_object()) return bad("expected an object {\"image_base64\": \"...\", \"top_k\": 5}");
  Order order{.from_json = {}, .top_k = top_k};
  for (const auto& [name, value] : json.items()) {
    if (name == "image_base64" && value.is_string()) {
      std::optional<std::string> bytes = from_base64(value.get_ref<const std::string&>());
      if (!bytes) return bad("image_base64 is not base64 with padding (RFC 4648, section 4)");
      order.from_json = std::move(*bytes);
    } else if (name == "top_k" && value.is_number_integer() && value >= 1 && value <= kMaxTop) {
      order.top_k = value;
    } else {
      return bad(
          format_text("member \"{}\" is not known or has a wrong value; known: image_base64 (text), top_k (1 to {})",
                      name, kMaxTop));
    }
  }
  if (order.from_json.empty()) return bad("member image_base64 is missing");
  return order;
}

std::expected<Order, Reply> read_order(const Call& call) {
  const std::expected<std::int64_t, Reply> top_k = integer_parameter(call, "top_k", 5, 1, kMaxTop);
  if (!top_k) return std::unexpected(top_k.error());
  if (call.content_type == "application/json") return order_from_json(call, *top_k);
  if (call.content_type != "image/jpeg" && call.content_type != "image/png") {
    return std::unexpected(problem("unsupported-media-type",
                                   call.content_type.empty()
                                       ? std::string("the request has no Content-Type")
                                       : format_text("Content-Type {} is not taken here", call.content_type),
                                   "send the bytes as image/jpeg or image/png, for example: curl --data-binary "
                                   "@bird.jpg -H 'Content-Type: image/jpeg'"));
  }
  return Order{.from_json = {}, .top_k = *top_k};
}

Reply refuse_picture(const Error& error) {
  // The decoder speaks of the limits only when they are passed.
  const bool too_large =
      error.message.find("pixels") != std::string::npos && error.message.find("limit") != std::string::npos;
  return problem(too_large ? "too-many-pixels" : "undecodable-image", describe(error),
                 too_large ? "scale it down, or raise http.max_pixels" : error.hint);
}

// Only the model that is loaded answers; who names one means that one and no other.
std::optional<Reply> refuse_model(const ClassifyView& view, const Call& call, const LoadedModel& loaded) {
  if (!loaded.facts) return problem("model-not-valid", "no model is loaded: " + view.models.problem());
  const auto wanted = call.query_value("model");
  if (!wanted || *wanted == loaded.facts->name) return std::nullopt;
  return problem("model-not-valid",
                 format_text("model \"{}\" is not loaded; \"{}\" is", printable(*wanted, 100), loaded.facts->name),
                 "POST /api/v1/models/NAME/activate changes to another one");
}

// Of what prepares pictures, and of the thread that runs the model.
Reply refuse_answer(const Error& error, bool late = false) {
  if (error.code == ErrorCode::kBadData) return problem("undecodable-image", describe(error), error.hint);
  return desk_problem(error, late);
}

std::expected<Classified, Reply> classify(const ClassifyView& view, const Call& call,
                                          const std::shared_ptr<const ModelFacts>& model, std::string_view bytes) {
  ClassifyDesk::Turn turn(view.desk);
  auto room = turn.take_room();
  if (!room) return std::unexpected(desk_problem(room.error()));
  const SteadyTime begun = SteadyClock::now();
  const camera::DecodeLimits limits{.max_pixels = view.max_pixels};
  // A crop that is none is told of once the picture is known to be one.
  const auto enough = [&](camera::ImageSize size) {
    const auto crop = crop_parameter(call.query_value("crop"), size.width, size.height);
    return crop ? model->enough_pixels(size, *crop) : size;
  };
  Result<camera::DecodedImage> decoded = camera::decode_image(std::as_bytes(std::span(bytes)), limits,
                                                              camera::Upright::kApplyExif, enough, *std::move(room));
  if (!decoded) return std::unexpected(refuse_picture(decoded.error()));
  const SteadyTime decoded_at = SteadyClock::now();
  const auto crop = crop_parameter(call.query_value("crop"), decoded->size.width, decoded->size.height);
  if (!crop) return std::unexpected(crop.error());
  const auto input = turn.prepare(model, std::move(decoded->image), decoded->size, *crop);
  if (!input) return std::unexpected(refuse_answer(input.error()));
  const SteadyTime prepared_at = SteadyClock::now();

  PostedPicture picture{.model = model, .tensor = input->tensor};
  picture.scores.resize(model->labels.size());
  turn.hand_over(input->tensor.size());
  if (const Result<void> answered = view.desk.answer(picture, kAnswerTime); !answered) {
    return std::unexpected(refuse_answer(answered.error(), picture.late));
  }
  return Classified{.size = decoded->size,
                    .orientation_applied = decoded->orientation_applied,
                    .used_crop = input->used_crop,
                    .scores = std::move(picture.scores),
                    .decode = decoded_at - begun,
                    .preprocess = prepared_at - decoded_at,
                    .inference = picture.inference};
}

Reply answer_json(const LoadedModel& loaded, const Classified& found, std::int64_t top_k) {
  const ModelFacts& model = *loaded.facts;
  const std::optional<unsigned> month =
      clock_is_synced() ? std::optional(visits::month_of(std::chrono::system_clock::now())) : std::nullopt;
  visits::Decider decider(loaded.rule);
  const Answer answer = decider.decide(found.scores, month, static_cast<std::size_t>(top_k));
  const Json json{{"top", top_to_json(answer.top(), *model.taxa)},
                  {"outcome", to_string(answer.outcome)},
                  {"input",
                   {{"width_px", found.size.width},
                    {"height_px", found.size.height},
                    {"orientation_applied", found.orientation_applied}}},
                  {"crop_px", crop_to_json(found.used_crop)},
                  {"timing",
                   {{"decode_ms", rounded_ms(found.decode)},
                    {"preprocess_ms", rounded_ms(found.preprocess)},
                    {"inference_ms", rounded_ms(found.inference)}}},
                  {"model", model_reference(model)}};
  return json_reply(json.dump(), "no-store");
}

Reply answer(const ClassifyView& view, const Call& call, const Order& order, const LoadedModel& model) {
  if (std::optional<Reply> refusal = refuse_model(view, call, model)) return std::move(*refusal);
  const auto found = classify(view, call, model.facts, order.from_json.empty() ? call.body : order.from_json);
  return found ? answer_json(model, *found, order.top_k) : found.error();
}

}  // namespace

Reply post_classify(const ClassifyView& view, const Call& call) {
  const std::expected<Order, Reply> order = read_order(call);
  if (!order) return order.error();
  // Kept by who is asked anew.
  const Result<ClassifyDesk::Place> place = view.desk.reserve();
  if (!place) return desk_problem(place.error());
  return ask_current_model(
      view.models, [&](const LoadedModel& model) { return answer(view, call, *order, model); },
      [](const Reply& reply) { return reply.problem.slug == "busy"; });
}

}  // namespace kinglet::daemon::http
