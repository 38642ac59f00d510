// SPDX-License-Identifier: Apache-2.0
// Why: what a request for inference says, read strictly: JSON, and the bytes behind it of the binary tensor extension.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/kserve/tensors.h"

namespace kinglet::daemon::kserve {

struct OutputWish {
  std::size_t index = 0;  // of the model's outputs
  bool binary = false;
  std::size_t classes = 0;  // "classification"; 0: the numbers themselves
};

struct Request {
  std::string id;       // the client's own; may be empty
  std::string tensor;   // bytes in the file's order; empty where there is a picture
  std::string picture;  // JPEG or PNG
  std::vector<OutputWish> outputs;
};

// `json_length`: the header Inference-Header-Content-Length, as it came; absent: all of the body is JSON. Everything
// here is hostile. kBadData: one line for the client.
[[nodiscard]] Result<Request> read_request(std::string_view body, const std::optional<std::string>& json_length,
                                           const engine::TensorInfo& input,
                                           const std::vector<engine::TensorInfo>& outputs);

}  // namespace kinglet::daemon::kserve
