// SPDX-License-Identifier: Apache-2.0
// Why: POST /api/v1/classify: a posted picture goes the same way as a frame. It is decoded here and answered by the
// pipeline's own thread; nothing is stored.
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

constexpr std::chrono::seconds kAnswerTime{10};

struct Order {
  std::string bytes;
  std::int64_t top_k = 5;
};

std::expected<Order, Reply> order_from_json(const Call& call, std::int64_t top_k) {
  const auto bad = [](std::string_view detail) { return std::unexpected(problem("bad-json", detail)); };
  const Body json = parse_body(call.body);
  if (!json.is_object()) return bad("expected an object {\"image_base64\": \"...\", \"top_k\": 5}");
  Order order{.bytes = {}, .top_k = top_k};
  for (const auto& [name, value] : json.items()) {
    if (name == "image_base64" && value.is_string()) {
      std::optional<std::string> bytes = from_base64(value.get_ref<const std::string&>());
      if (!bytes) return bad("image_base64 is not base64 with padding (RFC 4648, section 4)");
      order.bytes = std::move(*bytes);
    } else if (name == "top_k" && value.is_number_integer() && value >= 1 && value <= kMaxTop) {
      order.top_k = value;
    } else {
      return bad(
          format_text("member \"{}\" is not known or has a wrong value; known: image_base64 (text), top_k (1 to {})",
                      name, kMaxTop));
    }
  }
  if (order.bytes.empty()) return bad("member image_base64 is missing");
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
  return Order{.bytes = call.body, .top_k = *top_k};
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

Reply answer_json(const LoadedModel& loaded, const camera::DecodedImage& decoded, const PostedPicture& picture,
                  std::int64_t top_k, SteadyClock::duration decode) {
  const ModelFacts& model = *loaded.facts;
  const std::optional<unsigned> month =
      clock_is_synced() ? std::optional(visits::month_of(std::chrono::system_clock::now())) : std::nullopt;
  visits::Decider decider(loaded.rule);
  const Answer answer = decider.decide(picture.scores, month, static_cast<std::size_t>(top_k));
  const Json json{{"top", top_to_json(answer.top(), *model.taxa)},
                  {"outcome", to_string(answer.outcome)},
                  {"input",
                   {{"width_px", decoded.size.width},
                    {"height_px", decoded.size.height},
                    {"orientation_applied", decoded.orientation_applied}}},
                  {"crop_px", crop_to_json(picture.used_crop)},
                  {"timing",
                   {{"decode_ms", rounded_ms(decode)},
                    {"preprocess_ms", rounded_ms(picture.preprocess)},
                    {"inference_ms", rounded_ms(picture.inference)}}},
                  {"model", model_reference(model)}};
  return json_reply(json.dump(), "no-store");
}

}  // namespace

Reply post_classify(const ClassifyView& view, const Call& call) {
  std::expected<Order, Reply> order = read_order(call);
  if (!order) return order.error();
  const LoadedModel model = view.models.current();
  if (std::optional<Reply> refusal = refuse_model(view, call, model)) return std::move(*refusal);
  const Result<ClassifyDesk::Place> place = view.desk.reserve();
  if (!place) return problem(place.error().code == ErrorCode::kBusy ? "busy" : "starting", place.error().message);

  ClassifyDesk::Turn turn(view.desk);
  const SteadyTime start = SteadyClock::now();
  const camera::DecodeLimits limits{.max_pixels = view.max_pixels};
  // A crop that is none is told of once the picture is known to be one.
  const auto enough = [&](camera::ImageSize size) {
    const auto crop = crop_parameter(call.query_value("crop"), size.width, size.height);
    return crop ? model.facts->enough_pixels(size, *crop) : size;
  };
  Result<camera::DecodedImage> decoded = camera::decode_image(std::as_bytes(std::span(order->bytes)), limits,
                                                              camera::Upright::kApplyExif, enough, turn.take_room());
  if (!decoded) return refuse_picture(decoded.error());
  const SteadyTime decoded_at = SteadyClock::now();

  const auto crop = crop_parameter(call.query_value("crop"), decoded->size.width, decoded->size.height);
  if (!crop) return crop.error();
  PostedPicture picture{.model = model.facts, .view = decoded->image.view(), .size = decoded->size, .crop = *crop};
  picture.scores.resize(model.facts->labels.size());
  turn.decoded(decoded->image.rgb.size());
  if (const Result<void> answered = view.desk.answer(picture, SteadyClock::now() + kAnswerTime); !answered) {
    const Error& error = answered.error();
    if (error.code == ErrorCode::kBadData) return problem("undecodable-image", describe(error), error.hint);
    if (error.code == ErrorCode::kUnavailable) return problem("timeout", error.message);
    if (error.code == ErrorCode::kBusy) return problem("busy", error.message);
    return problem("internal-error", describe(error));
  }
  turn.give_room(std::move(decoded->image.rgb));
  return answer_json(model, *decoded, picture, order->top_k, decoded_at - start);
}

}  // namespace kinglet::daemon::http
