// SPDX-License-Identifier: Apache-2.0
// Why: protobuf copies every weight and knows no limits of ours. The skim walks the wire format once, leaves the
// weights where they are and gives protobuf only the skeleton, so that two parsers can never disagree about a weight.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/onnx/wire/byte_source.h"

namespace kinglet::engine::onnx_format {

// Where one tensor's raw_data lies in the source.
struct Payload {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// A message in which each TensorProto.raw_data that was reached holds, instead of its bytes, the index of its payload
// (payload_index). Reached are initializers and tensor attributes of nodes of the graph and its sub-graphs, or, for a
// TensorProto, the tensor itself. Tensor lists are not entered: they are refused later.
struct Skeleton {
  std::string bytes;
  std::vector<Payload> payloads;
};

enum class MessageKind {
  kModel,       // what loading reads of it: notes and what inference works out itself are left out
  kWholeModel,  // all of it, for tools that write it again
  kTensor,
};

// kBadData: not a well-formed message, with the byte where it goes wrong. kIo from the source.
[[nodiscard]] Result<Skeleton> skim(const ByteSource& source, MessageKind kind);

// The index that stands in a skeleton's raw_data; the number of payloads (an impossible index) when it is none.
[[nodiscard]] std::size_t payload_index(std::string_view raw_data, const Skeleton& skeleton);

}  // namespace kinglet::engine::onnx_format
