// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/kserve/request.h"

#include <algorithm>
#include <array>

#include "daemon/http/message/base64.h"
#include "daemon/http/message/body.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::daemon::kserve {
namespace {

using engine::TensorInfo;
using http::Body;

constexpr std::size_t kLongestId = 256;
constexpr std::uint64_t kMostClasses = 1000;
constexpr std::string_view kPicture = "image";  // beside the model's own input, of type BYTES

std::unexpected<Error> bad(std::string message) { return fail(ErrorCode::kBadData, std::move(message)); }

class RequestReader {
 public:
  RequestReader(const TensorInfo& input, const std::vector<TensorInfo>& outputs) : input_(input), outputs_(outputs) {}

  Result<Request> read(std::string_view body, const std::optional<std::string>& json_length) {
    std::string_view text = body;
    if (json_length) {
      const auto length = parse_number<std::size_t>(*json_length);
      if (!length || *length > body.size()) {
        return bad(format_text("Inference-Header-Content-Length is \"{}\", the body has {} bytes",
                               printable(*json_length, 30), body.size()));
      }
      text = body.substr(0, *length);
      binary_ = body.substr(*length);
    }
    KINGLET_TRY(check_text(text));
    const Body json = Body::parse(text, nullptr, false);
    if (!json.is_object()) return bad("the body is no JSON object");
    KINGLET_TRY(read_head(json));
    KINGLET_TRY(read_inputs(json));
    KINGLET_TRY(read_outputs(json));
    return std::move(request_);
  }

 private:
  // A text is not turned into values at many times its size when it cannot be right.
  Result<void> check_text(std::string_view text) const {
    if (http::is_too_deep(text)) return bad(format_text("the JSON is more than {} levels deep", http::kDeepestBody));
    const auto commas = static_cast<std::size_t>(std::ranges::count(text, ','));
    const std::size_t most = elements() + 4096;
    if (commas > most) return bad(format_text("the JSON has more than {} values; the input has {}", most, elements()));
    return {};
  }
  [[nodiscard]] std::size_t elements() const { return byte_count(input_) / engine::byte_size(input_.type); }

  Result<void> read_head(const Body& json) {
    for (const auto& [name, value] : json.items()) {
      if (name != "id" && name != "parameters" && name != "inputs" && name != "outputs") {
        return bad(format_text("member \"{}\" is not known", printable(name, 100)));
      }
    }
    if (const auto id = json.find("id"); id != json.end()) {
      if (!id->is_string() || id->get_ref<const std::string&>().size() > kLongestId) {
        return bad(format_text("id is no text of at most {} bytes", kLongestId));
      }
      request_.id = id->get<std::string>();
    }
    const Body parameters = KINGLET_TRY(parameters_of(json, {"binary_data_output"}));
    all_binary_ = KINGLET_TRY(flag_of(parameters, "binary_data_output"));
    return {};
  }

  // The object "parameters" with nothing in it but these; what others send along for us to ignore is refused by name.
  static Result<Body> parameters_of(const Body& json, std::initializer_list<std::string_view> known) {
    const auto found = json.find("parameters");
    if (found == json.end()) return Body::object();
    if (!found->is_object()) return bad("parameters is no object");
    for (const auto& [name, value] : found->items()) {
      if (std::ranges::find(known, name) == known.end()) {
        return bad(format_text("parameter \"{}\" is not known here", printable(name, 100)));
      }
    }
    return *found;
  }
  static Result<bool> flag_of(const Body& parameters, const char* name) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) return false;
    if (!found->is_boolean()) return bad(format_text("parameter {} is neither true nor false", name));
    return found->get<bool>();
  }
  static Result<std::optional<std::uint64_t>> count_of(const Body& parameters, const char* name) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) return std::nullopt;
    if (!found->is_number_unsigned()) return bad(format_text("parameter {} is no count", name));
    return found->get<std::uint64_t>();
  }

  Result<void> read_inputs(const Body& json) {
    const auto inputs = json.find("inputs");
    if (inputs == json.end() || !inputs->is_array() || inputs->size() != 1 || !inputs->front().is_object()) {
      return bad(format_text("inputs is no list of one object: the model has one input, \"{}\"", input_.name));
    }
    const Body& input = inputs->front();
    for (const auto& [name, value] : input.items()) {
      if (name != "name" && name != "shape" && name != "datatype" && name != "parameters" && name != "data") {
        return bad(format_text("inputs[0]: member \"{}\" is not known", printable(name, 100)));
      }
    }
    for (const char* name : {"name", "datatype"}) {
      if (!input.contains(name) || !input[name].is_string()) return bad(format_text("inputs[0]: {} is no text", name));
    }
    const Body parameters = KINGLET_TRY(parameters_of(input, {"binary_data_size"}));
    const std::optional<std::uint64_t> size = KINGLET_TRY(count_of(parameters, "binary_data_size"));
    if (size && input.contains("data")) return bad("inputs[0] has data and binary_data_size");
    if (!size && !input.contains("data")) return bad("inputs[0] has neither data nor binary_data_size");
    if (size.value_or(0) != binary_.size()) {
      return bad(format_text("binary_data_size is {}, behind the JSON are {} bytes", size.value_or(0), binary_.size()));
    }
    const auto& name = input["name"].get_ref<const std::string&>();
    const auto& type = input["datatype"].get_ref<const std::string&>();
    if (name == kPicture && type == "BYTES") return read_picture(input, size.has_value());
    return read_tensor(input, name, type, size.has_value());
  }

  static Result<void> check_shape(const Body& input, std::span<const engine::Dim> wanted) {
    const auto shape = input.find("shape");
    const bool is_list = shape != input.end() && shape->is_array() &&
                         std::ranges::all_of(*shape, [](const Body& dim) { return dim.is_number_unsigned(); });
    if (!is_list) return bad("inputs[0]: shape is no list of counts");
    const bool same = std::ranges::equal(*shape, wanted, [](const Body& dim, engine::Dim other) {
      return dim.get<std::uint64_t>() == static_cast<std::uint64_t>(other);
    });
    if (!same) {
      return bad(
          format_text("inputs[0]: the shape is {}, expected {}", printable(shape->dump(), 100), shape_text(wanted)));
    }
    return {};
  }

  Result<void> read_tensor(const Body& input, const std::string& name, const std::string& type, bool binary) {
    if (name != input_.name) {
      return bad(format_text("there is no input \"{}\"; the model has \"{}\", and \"{}\" of type BYTES takes a picture",
                             printable(name, 100), input_.name, kPicture));
    }
    if (type != datatype(input_.type)) {
      return bad(format_text("input \"{}\" is {}, not {}", name, datatype(input_.type), printable(type, 30)));
    }
    KINGLET_TRY(check_shape(input, input_.shape));
    if (!binary) {
      request_.tensor = KINGLET_TRY(bytes_of_json(input["data"], input_));
      return {};
    }
    if (binary_.size() != byte_count(input_)) {
      return bad(format_text("input \"{}\" has {} bytes, expected {}", name, binary_.size(), byte_count(input_)));
    }
    request_.tensor = binary_;
    return {};
  }

  // In JSON base64; as binary data its length in four bytes, little end first, and then the picture as it is.
  Result<void> read_picture(const Body& input, bool binary) {
    constexpr std::array<engine::Dim, 1> kOne{1};
    KINGLET_TRY(check_shape(input, kOne));
    if (binary) {
      constexpr std::size_t kLength = 4;
      std::uint32_t length = 0;
      for (std::size_t i = 0; i < kLength && i < binary_.size(); ++i) {
        length |= std::uint32_t{static_cast<unsigned char>(binary_[i])} << (8 * i);
      }
      if (binary_.size() < kLength || length != binary_.size() - kLength || length == 0) {
        return bad("input \"image\": four bytes of length and then so many of a picture are expected");
      }
      request_.picture = binary_.substr(kLength);
      return {};
    }
    const Body& data = input["data"];
    std::optional<std::string> picture;
    if (data.is_array() && data.size() == 1 && data.front().is_string()) {
      picture = http::from_base64(data.front().get_ref<const std::string&>());
    }
    if (!picture) return bad("input \"image\": data is no list of one text in base64 (RFC 4648, section 4)");
    request_.picture = std::move(*picture);
    return {};
  }

  Result<void> read_outputs(const Body& json) {
    const auto outputs = json.find("outputs");
    if (outputs == json.end()) {
      for (std::size_t i = 0; i < outputs_.size(); ++i) request_.outputs.push_back({.index = i, .binary = all_binary_});
      return {};
    }
    if (!outputs->is_array() || outputs->empty() || outputs->size() > outputs_.size()) {
      return bad(format_text("outputs is no list of one to {} objects", outputs_.size()));
    }
    for (const Body& output : *outputs) KINGLET_TRY(read_output(output));
    return {};
  }

  Result<void> read_output(const Body& output) {
    if (!output.is_object() || !output.contains("name") || !output["name"].is_string()) {
      return bad("outputs: an object with a name is expected");
    }
    for (const auto& [name, value] : output.items()) {
      if (name != "name" && name != "parameters") {
        return bad(format_text("outputs: member \"{}\" is not known", printable(name, 100)));
      }
    }
    const auto& name = output["name"].get_ref<const std::string&>();
    const auto found = std::ranges::find(outputs_, name, &TensorInfo::name);
    if (found == outputs_.end()) return bad(format_text("there is no output \"{}\"", printable(name, 100)));
    const auto index = static_cast<std::size_t>(found - outputs_.begin());
    if (std::ranges::contains(request_.outputs, index, &OutputWish::index)) {
      return bad(format_text("output \"{}\" is wished twice", name));
    }
    const Body parameters = KINGLET_TRY(parameters_of(output, {"binary_data", "classification"}));
    const std::uint64_t classes = KINGLET_TRY(count_of(parameters, "classification")).value_or(0);
    if (parameters.contains("classification") && (classes < 1 || classes > kMostClasses)) {
      return bad(format_text("classification is not 1 to {}", kMostClasses));
    }
    const bool binary =
        parameters.contains("binary_data") ? KINGLET_TRY(flag_of(parameters, "binary_data")) : all_binary_;
    request_.outputs.push_back({.index = index, .binary = binary, .classes = static_cast<std::size_t>(classes)});
    return {};
  }

  const TensorInfo& input_;
  const std::vector<TensorInfo>& outputs_;
  std::string_view binary_;
  bool all_binary_ = false;
  Request request_;
};

}  // namespace

Result<Request> read_request(std::string_view body, const std::optional<std::string>& json_length,
                             const TensorInfo& input, const std::vector<TensorInfo>& outputs) {
  return RequestReader(input, outputs).read(body, json_length);
}

}  // namespace kinglet::daemon::kserve
