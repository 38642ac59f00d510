// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/kserve/request.h"

#include <algorithm>

#include "engine/base/check.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

// The first four bytes stand for the header Inference-Header-Content-Length; blanks are none.
void kserve(std::span<const std::byte> bytes) {
  using daemon::kserve::byte_count;
  using engine::DataType;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string head(text.substr(0, 4));
  const std::string_view body = text.size() > 4 ? text.substr(4) : std::string_view();
  const std::optional<std::string> length = head == "    " ? std::nullopt : std::optional(head);
  for (const DataType type : {DataType::kF32, DataType::kU8, DataType::kI64, DataType::kF16, DataType::kBool}) {
    engine::TensorInfo input{.name = "x", .type = type, .shape = {1, 2, 2, 3}};
    input.layout = engine::TensorLayout::kNhwc;
    const std::vector<engine::TensorInfo> outputs{{.name = "scores", .shape = {1, 4}}, {.name = "extra", .shape = {}}};
    const auto request = daemon::kserve::read_request(body, length, input, outputs);
    if (!request) {
      KINGLET_CHECK(request.error().message.find('\n') == std::string::npos);
      continue;
    }
    KINGLET_CHECK(!request->outputs.empty());
    KINGLET_CHECK(request->picture.empty() != request->tensor.empty());
    if (request->tensor.empty()) continue;
    KINGLET_CHECK(request->tensor.size() == byte_count(input));
    std::vector<std::byte> back(request->tensor.size());
    const std::vector<std::byte> memory = daemon::kserve::to_memory(std::as_bytes(std::span(request->tensor)), input);
    daemon::kserve::to_file_order(memory, input, back);
    KINGLET_CHECK(std::ranges::equal(back, std::as_bytes(std::span(request->tensor))));
    static_cast<void>(daemon::kserve::classes(back, type, 3, {}));
    static_cast<void>(daemon::kserve::json_of_bytes(back, type).dump());
  }
}

}  // namespace kinglet::fuzz
