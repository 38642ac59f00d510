// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format (protobuf.dev, "Encoding"): a message is a row of (tag, value); a tag is field * 8 + wire
// type.
#include "engine/onnx/wire/skim.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/base/format.h"
#include "engine/onnx/wire/limits.h"

namespace kinglet::engine::onnx_format {
namespace {

enum class Kind : std::uint8_t { kModel, kGraph, kNode, kAttribute, kTensor };
enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// Fields of onnx.proto through which a weight is reached.
struct Path {
  Kind parent;
  std::uint64_t field;
  Kind child;
};
constexpr std::array kPaths{
    Path{Kind::kModel, 7, Kind::kGraph},       // ModelProto.graph
    Path{Kind::kGraph, 1, Kind::kNode},        // GraphProto.node
    Path{Kind::kGraph, 5, Kind::kTensor},      // GraphProto.initializer
    Path{Kind::kNode, 5, Kind::kAttribute},    // NodeProto.attribute
    Path{Kind::kAttribute, 5, Kind::kTensor},  // AttributeProto.t
    Path{Kind::kAttribute, 6, Kind::kGraph},   // AttributeProto.g
};
constexpr std::uint64_t kRawData = 9;  // TensorProto.raw_data
constexpr int kDeepestGraph = 16;

// Fields that loading does not read: left out, so that they cost no memory once parsed.
struct Unread {
  Kind parent;
  std::uint64_t field;
};
constexpr std::array kUnread{
    Unread{Kind::kModel, 6},       // ModelProto.doc_string
    Unread{Kind::kModel, 20},      // ModelProto.training_info
    Unread{Kind::kModel, 25},      // ModelProto.functions: a call of one is an unknown operator
    Unread{Kind::kGraph, 10},      // GraphProto.doc_string
    Unread{Kind::kGraph, 13},      // GraphProto.value_info: inference alone is trusted
    Unread{Kind::kGraph, 14},      // GraphProto.quantization_annotation
    Unread{Kind::kGraph, 16},      // GraphProto.metadata_props
    Unread{Kind::kNode, 6},        // NodeProto.doc_string
    Unread{Kind::kNode, 9},        // NodeProto.metadata_props
    Unread{Kind::kAttribute, 10},  // AttributeProto.tensors and the others below: refused by the attribute's type
    Unread{Kind::kAttribute, 11},  // graphs
    Unread{Kind::kAttribute, 13},  // doc_string
    Unread{Kind::kAttribute, 14},  // tp
    Unread{Kind::kAttribute, 15},  // type_protos
    Unread{Kind::kAttribute, 22},  // sparse_tensor
    Unread{Kind::kAttribute, 23},  // sparse_tensors
    Unread{Kind::kTensor, 12},     // TensorProto.doc_string
    Unread{Kind::kTensor, 16},     // TensorProto.metadata_props
};
constexpr std::uint64_t kNodeField = 1, kInput = 11, kOutput = 12;  // of GraphProto
constexpr std::uint64_t kSparseInitializer = 15;                    // of GraphProto: that there is one is all we ask

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(static_cast<std::uint8_t>(value) | 0x80));
  out.push_back(static_cast<char>(value));
}

class Skimmer {
 public:
  Skimmer(const ByteSource& source, bool keeps_all) : source_(source), keeps_all_(keeps_all) {}

  Result<Skeleton> run(Kind kind) {
    Skeleton skeleton;
    KINGLET_TRY(message(kind, source_.size(), skeleton.bytes));
    if (!keeps_all_ && nodes_ > kMaxNodes) {
      return fail(ErrorCode::kBadData, format_text("has {} nodes, the limit is {}", nodes_, kMaxNodes));
    }
    skeleton.payloads = std::move(payloads_);
    return skeleton;
  }

 private:
  [[nodiscard]] std::unexpected<Error> malformed(std::string_view what) const {
    return fail(ErrorCode::kBadData, format_text("is not an ONNX model: {} at byte {}", what, position_), {},
                "check that the file is whole and was exported as ONNX");
  }

  [[nodiscard]] static std::unexpected<Error> too_many() {
    return fail(ErrorCode::kBadData, format_text("holds more than {} names, nodes, attributes and weights", kMaxFields),
                {}, "a classifier has a few thousand; export the model again");
  }

  Result<std::uint8_t> byte() {
    if (position_ >= source_.size()) return malformed("it ends early");
    if (position_ < window_start_ || position_ >= window_start_ + window_size_) {
      window_start_ = position_;
      window_size_ = std::min<std::uint64_t>(window_.size(), source_.size() - position_);
      KINGLET_TRY(source_.read_at(window_start_, std::span(window_).first(static_cast<std::size_t>(window_size_))));
    }
    return std::to_integer<std::uint8_t>(window_[static_cast<std::size_t>(position_++ - window_start_)]);
  }

  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = KINGLET_TRY(byte());
      value |= static_cast<std::uint64_t>(part & 0x7F) << shift;
      if (part < 0x80) return value;
    }
    return malformed("a number has too many bytes");
  }

  Result<void> copy(std::uint64_t count, std::string& out) {
    const std::size_t start = out.size();
    if (start + count > kMaxSkeleton) return malformed("the part without weights is larger than 1 GiB");
    out.resize(start + static_cast<std::size_t>(count));
    const auto target = std::as_writable_bytes(std::span(out)).subspan(start);
    const bool in_window = position_ >= window_start_ && position_ + count <= window_start_ + window_size_;
    if (in_window && count > 0) {
      std::memcpy(target.data(), window_.data() + (position_ - window_start_), static_cast<std::size_t>(count));
    } else {
      KINGLET_TRY(source_.read_at(position_, target));
    }
    position_ += count;
    return {};
  }

  // The value of one field, `size` bytes of it when length-delimited, is appended with its tag.
  Result<void> delimited(Kind kind, std::uint64_t tag, std::uint64_t size, std::string& out) {
    const std::uint64_t field = tag >> 3;
    if (++fields_ > kMaxFields) return too_many();
    const auto is_here = [&](const Unread& row) { return row.parent == kind && row.field == field; };
    if (!keeps_all_ && std::ranges::any_of(kUnread, is_here)) {
      position_ += size;
      return {};
    }
    // More than loading takes are counted only: parsed, each costs some 200 bytes.
    if (kind == Kind::kGraph && field == kNodeField && graphs_ == 1 && ++nodes_ > kMaxNodes && !keeps_all_) {
      position_ += size;
      return {};
    }
    append_varint(out, tag);
    if (!keeps_all_ && kind == Kind::kGraph && field == kSparseInitializer) {
      append_varint(out, 0);
      position_ += size;
      return {};
    }
    if (kind == Kind::kGraph && (field == kInput || field == kOutput) && size > kMaxBorderEntry) {
      return malformed(format_text("an input or output described by {} bytes", size));
    }
    if (kind == Kind::kTensor && field == kRawData) {
      const std::uint64_t index = payloads_.size();
      payloads_.push_back({position_, size});
      append_varint(out, sizeof(index));
      out.append(reinterpret_cast<const char*>(&index), sizeof(index));
      position_ += size;
      return {};
    }
    const auto path = std::ranges::find_if(
        kPaths, [&](const Path& candidate) { return candidate.parent == kind && candidate.field == field; });
    if (path == kPaths.end()) {
      append_varint(out, size);
      return copy(size, out);
    }
    const int graph = path->child == Kind::kGraph ? 1 : 0;
    if (graphs_ + graph > kDeepestGraph) return malformed("sub-graphs nest too deeply");
    graphs_ += graph;
    std::string child;
    KINGLET_TRY(message(path->child, position_ + size, child));
    graphs_ -= graph;
    append_varint(out, child.size());
    out += child;
    return {};
  }

  Result<void> field(Kind kind, std::uint64_t end, std::string& out) {
    const std::uint64_t tag = KINGLET_TRY(varint());
    if (tag >> 3 == 0 || tag >> 32 != 0) return malformed("a field number that cannot be");
    switch (tag & 7) {
      case kVarint:
        append_varint(out, tag);
        append_varint(out, KINGLET_TRY(varint()));
        break;
      case kFixed64:
      case kFixed32: {
        const std::uint64_t size = (tag & 7) == kFixed64 ? 8 : 4;
        if (position_ > end || size > end - position_) return malformed("a field longer than what holds it");
        append_varint(out, tag);
        KINGLET_TRY(copy(size, out));
        break;
      }
      case kLengthDelimited: {
        const std::uint64_t size = KINGLET_TRY(varint());
        if (position_ > end || size > end - position_) return malformed("a field longer than what holds it");
        KINGLET_TRY(delimited(kind, tag, size, out));
        break;
      }
      default:
        return malformed("a field of a kind ONNX does not use");
    }
    if (position_ > end) return malformed("a field longer than what holds it");
    return {};
  }

  // Depth is bounded by kDeepestGraph: every path back to an earlier kind leads through a graph.
  Result<void> message(Kind kind, std::uint64_t end, std::string& out) {  // NOLINT(misc-no-recursion)
    while (position_ < end) KINGLET_TRY(field(kind, end, out));
    return {};
  }

  const ByteSource& source_;
  bool keeps_all_;
  std::uint64_t position_ = 0;
  std::uint64_t fields_ = 0;
  std::uint64_t nodes_ = 0;  // of the outer graph
  std::array<std::byte, 65536> window_{};
  std::uint64_t window_start_ = 0;
  std::uint64_t window_size_ = 0;
  std::vector<Payload> payloads_;
  int graphs_ = 0;  // that hold the place we are at
};

}  // namespace

Result<Skeleton> skim(const ByteSource& source, MessageKind kind) {
  return Skimmer(source, kind == MessageKind::kWholeModel)
      .run(kind == MessageKind::kTensor ? Kind::kTensor : Kind::kModel);
}

std::size_t payload_index(std::string_view raw_data, const Skeleton& skeleton) {
  std::uint64_t index = 0;
  if (raw_data.size() != sizeof(index)) return skeleton.payloads.size();
  std::memcpy(&index, raw_data.data(), sizeof(index));
  return static_cast<std::size_t>(std::min<std::uint64_t>(index, skeleton.payloads.size()));
}

}  // namespace kinglet::engine::onnx_format
