// SPDX-License-Identifier: Apache-2.0
// Reading is the loader's skim; writing is the skim backwards: the serialised skeleton is walked along the same paths
// and each handle is replaced by its weight, with the lengths of everything around it made right.
#include "engine/onnx/document.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <cstring>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/onnx/external_data.h"
#include "engine/onnx/import.h"
#include "engine/onnx/save.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/onnx/wire/wire.h"

namespace kinglet::engine {
namespace {

using ::onnx::TensorProto;
using onnx_format::ByteSource;
using onnx_format::Payload;

constexpr std::size_t kCopyBlock = 1U << 20U;

class OwnedFile final : public ByteSource {
 public:
  explicit OwnedFile(InputFile file) : file_(std::move(file)) {}
  [[nodiscard]] std::uint64_t size() const override { return file_.size(); }
  [[nodiscard]] Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return file_.read_at(offset, out);
  }

 private:
  InputFile file_;
};

class OwnedBytes final : public ByteSource {
 public:
  explicit OwnedBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return onnx_format::MemorySource(std::as_bytes(std::span(bytes_))).read_at(offset, out);
  }

 private:
  std::string bytes_;
};

std::string handle(std::uint64_t index) { return {reinterpret_cast<const char*>(&index), sizeof(index)}; }

// Every tensor of a graph and its sub-graphs whose numbers are behind a handle; `outer`: an initializer of the graph
// itself.
template <typename Visit>
Result<void> for_each_weight(::onnx::GraphProto& graph, const Visit& visit,
                             bool outer = true) {  // NOLINT(misc-no-recursion): as deep as the skim went
  for (TensorProto& tensor : *graph.mutable_initializer()) KINGLET_TRY(visit(tensor, outer));
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) KINGLET_TRY(visit(*attribute.mutable_t(), false));
      if (attribute.has_g()) KINGLET_TRY(for_each_weight(*attribute.mutable_g(), visit, false));
    }
  }
  return {};
}

// Kinds of messages on the way to a weight, and the field that leads on (engine/onnx/wire/skim.cpp).
enum class Kind : std::uint8_t { kModel, kGraph, kNode, kAttribute, kTensor, kOther };

Kind child_of(Kind parent, std::uint64_t field) {
  switch (parent) {
    case Kind::kModel:
      return field == 7 ? Kind::kGraph : Kind::kOther;
    case Kind::kGraph:
      return field == 1 ? Kind::kNode : field == 5 ? Kind::kTensor : Kind::kOther;
    case Kind::kNode:
      return field == 5 ? Kind::kAttribute : Kind::kOther;
    case Kind::kAttribute:
      return field == 5 ? Kind::kTensor : field == 6 ? Kind::kGraph : Kind::kOther;
    default:
      return Kind::kOther;
  }
}
constexpr std::uint64_t kRawData = 9;

// The skim backwards, in two walks: sizes of all messages first, then the bytes.
template <typename PieceList>
class Filler {
 public:
  Filler(const std::vector<Payload>& payloads, PieceList& out) : payloads_(payloads), out_(out) {}

  void run(std::string_view skeleton) {
    static_cast<void>(measure(Kind::kModel, skeleton));
    out_.emplace_back();
    emit(Kind::kModel, skeleton);
  }
  [[nodiscard]] std::uint64_t size() const { return sizes_.front(); }

 private:
  [[nodiscard]] const Payload* payload(Kind kind, const onnx_format::WireField& field) const {
    if (kind != Kind::kTensor || field.number != kRawData || field.type != onnx_format::kLengthDelimited)
      return nullptr;
    std::uint64_t index = 0;
    if (field.bytes.size() != sizeof(index)) return nullptr;
    std::memcpy(&index, field.bytes.data(), sizeof(index));
    return index < payloads_.size() ? &payloads_[static_cast<std::size_t>(index)] : nullptr;
  }

  std::uint64_t measure(Kind kind, std::string_view message) {  // NOLINT(misc-no-recursion): as deep as the skim
    const std::size_t mine = sizes_.size();
    sizes_.push_back(0);
    std::uint64_t size = 0;
    while (const auto field = onnx_format::take_field(message)) {
      std::uint64_t length = field->bytes.size();
      if (const Payload* weight = payload(kind, *field)) {
        length = weight->size;
      } else if (field->type == onnx_format::kLengthDelimited && child_of(kind, field->number) != Kind::kOther) {
        length = measure(child_of(kind, field->number), field->bytes);
      }
      size += onnx_format::varint_size(field->number << 3U | field->type);
      switch (field->type) {
        case onnx_format::kVarint:
          size += onnx_format::varint_size(field->integer);
          break;
        case onnx_format::kFixed64:
          size += 8;
          break;
        case onnx_format::kFixed32:
          size += 4;
          break;
        case onnx_format::kLengthDelimited:
          size += onnx_format::varint_size(length) + length;
          break;
      }
    }
    return sizes_[mine] = size;
  }

  void emit(Kind kind, std::string_view message) {  // NOLINT(misc-no-recursion): as deep as the skim
    ++next_;
    while (const auto field = onnx_format::take_field(message)) {
      std::string& bytes = out_.back().bytes;
      const bool nested = field->type == onnx_format::kLengthDelimited && child_of(kind, field->number) != Kind::kOther;
      const Payload* weight = payload(kind, *field);
      if (weight == nullptr && !nested) {
        append_field(bytes, *field);
        continue;
      }
      onnx_format::append_varint(bytes, field->number << 3U | field->type);
      onnx_format::append_varint(bytes, weight != nullptr ? weight->size : sizes_[next_]);
      if (weight != nullptr) {
        out_.back().payload = *weight;
        out_.emplace_back();
      } else {
        emit(child_of(kind, field->number), field->bytes);
      }
    }
  }

  const std::vector<Payload>& payloads_;
  PieceList& out_;
  std::vector<std::uint64_t> sizes_;  // of the messages on the way to weights, in the order in which they begin
  std::size_t next_ = 0;
};

std::unexpected<Error> no_model(const std::string& detail) {
  return fail(ErrorCode::kBadData, "is not an ONNX model: " + detail, {},
              "check that the file is whole and was exported as ONNX");
}

}  // namespace

std::uint64_t Document::Source::add(std::shared_ptr<const ByteSource> part) {
  const std::uint64_t start = size_;
  size_ += part->size();
  parts_.push_back({start, std::move(part)});
  return start;
}

std::uint64_t Document::Source::add_all(const Source& other) {
  const std::uint64_t start = size_;
  for (const Part& part : other.parts_) add(part.bytes);
  return start;
}

Result<void> Document::Source::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const auto after = std::ranges::upper_bound(parts_, offset, {}, &Part::start);
  KINGLET_CHECK(after != parts_.begin());
  const Part& part = *std::prev(after);
  return part.bytes->read_at(offset - part.start, out);
}

Document::Document() : model_(std::make_unique<::onnx::ModelProto>()) {}
Document::Document(const Document& other)
    : model_(std::make_unique<::onnx::ModelProto>(*other.model_)),
      source_(other.source_),
      weights_(other.weights_),
      weights_were_beside_(other.weights_were_beside_) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(const Document& other) {
  if (this != &other) *this = Document(other);
  return *this;
}
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::open(const std::filesystem::path& path) {
  auto file = std::make_shared<OwnedFile>(KINGLET_TRY(InputFile::open(path)));
  Result<Document> document = read(std::move(file), onnx_format::DataFolders::of(path));
  if (!document) return std::unexpected(with_context(std::move(document).error(), path.string()));
  return document;
}

Result<Document> Document::from_bytes(std::string bytes, const std::filesystem::path& folder) {
  return read(std::make_shared<OwnedBytes>(std::move(bytes)), folder);
}

Result<Document> Document::read(std::shared_ptr<const ByteSource> source, const onnx_format::DataFolders& folders) {
  if (source->size() == 0) return no_model("it is empty");
  Document document;
  onnx_format::Skeleton skeleton = KINGLET_TRY(onnx_format::skim(*source, onnx_format::MessageKind::kWholeModel));
  if (!document.model_->ParseFromString(skeleton.bytes) || !document.model_->has_graph()) {
    return no_model("it holds no graph");
  }
  document.weights_.payloads = std::move(skeleton.payloads);
  document.source_.add(std::move(source));
  KINGLET_TRY(document.take_external(folders));
  return document;
}

Result<void> Document::take_external(const onnx_format::DataFolders& folders) {
  onnx_format::ExternalData external(folders);
  return for_each_weight(*model_->mutable_graph(), [&](TensorProto& proto, bool /*outer*/) -> Result<void> {
    if (proto.data_location() != TensorProto::EXTERNAL) return {};
    const Tensor numbers =
        KINGLET_TRY(onnx_format::to_tensor(proto, {.source = source_, .skeleton = weights_, .external = &external}));
    weights_were_beside_ = true;
    set_tensor(proto, numbers);
    return {};
  });
}

const Payload* Document::payload_of(const TensorProto& tensor) const {
  if (!tensor.has_raw_data()) return nullptr;
  const std::size_t index = onnx_format::payload_index(tensor.raw_data(), weights_);
  return index < weights_.payloads.size() ? &weights_.payloads[index] : nullptr;
}

std::uint64_t Document::byte_count(const TensorProto& tensor) const {
  const Payload* payload = payload_of(tensor);
  return payload == nullptr ? 0 : payload->size;
}

Result<std::string> Document::bytes_of(const TensorProto& tensor) const {
  const Payload* payload = payload_of(tensor);
  if (payload == nullptr) return std::string();
  std::string bytes(static_cast<std::size_t>(payload->size), '\0');
  if (!bytes.empty()) KINGLET_TRY(source_.read_at(payload->offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

Result<Tensor> Document::tensor(const TensorProto& proto) const {
  return onnx_format::to_tensor(proto, {.source = source_, .skeleton = weights_});
}

std::string Document::add_payload(std::string bytes) {
  const std::uint64_t size = bytes.size();
  const std::uint64_t offset = source_.add(std::make_shared<OwnedBytes>(std::move(bytes)));
  weights_.payloads.push_back({.offset = offset, .size = size});
  return handle(weights_.payloads.size() - 1);
}

void Document::set_bytes(TensorProto& proto, std::string bytes) {
  proto.clear_float_data();
  proto.clear_int32_data();
  proto.clear_int64_data();
  proto.clear_string_data();
  proto.clear_double_data();
  proto.clear_uint64_data();
  proto.clear_external_data();
  proto.clear_data_location();
  proto.set_raw_data(add_payload(std::move(bytes)));
}

void Document::set_tensor(TensorProto& proto, const Tensor& tensor) {
  proto.clear_dims();
  for (const Dim dim : tensor.shape()) proto.add_dims(dim);
  proto.set_data_type(onnx_format::onnx_type(tensor.type()));
  set_bytes(proto, {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.byte_count()});
}

Document::Adoption Document::add_weights_of(const Document& other) {
  const Adoption adoption(weights_.payloads.size());
  const std::uint64_t start = source_.add_all(other.source_);
  for (const Payload& payload : other.weights_.payloads) {
    weights_.payloads.push_back({.offset = start + payload.offset, .size = payload.size});
  }
  return adoption;
}

void Document::Adoption::adopt(::onnx::GraphProto& graph) const {
  const auto adopted = for_each_weight(graph, [&](TensorProto& tensor, bool /*outer*/) -> Result<void> {
    std::uint64_t index = 0;
    if (tensor.raw_data().size() != sizeof(index)) return {};
    std::memcpy(&index, tensor.raw_data().data(), sizeof(index));
    tensor.set_raw_data(handle(index + first_));
    return {};
  });
  KINGLET_CHECK(adopted.has_value());
}

Result<Graph> Document::to_graph() const {
  ::onnx::ModelProto model = *model_;  // loading inlines what it can of it
  return onnx_format::build_graph(model, source_, weights_, {});
}

std::vector<Document::Piece> Document::pieces(const ::onnx::ModelProto& model) const {
  std::vector<Piece> pieces;
  Filler<std::vector<Piece>>(weights_.payloads, pieces).run(model.SerializeAsString());
  return pieces;
}

Result<void> Document::put(std::span<const Piece> pieces, const PutBytes& put) const {
  std::string block;
  for (const Piece& piece : pieces) {
    KINGLET_TRY(put(piece.bytes));
    for (std::uint64_t done = 0; done < piece.payload.size; done += block.size()) {
      block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBlock, piece.payload.size - done)));
      KINGLET_TRY(source_.read_at(piece.payload.offset + done, std::as_writable_bytes(std::span(block))));
      KINGLET_TRY(put(block));
    }
  }
  return {};
}

Result<void> Document::save(const std::filesystem::path& path, Overwrite overwrite, WeightPlace place) const {
  const bool beside = place == WeightPlace::kBeside || (place == WeightPlace::kAsFound && weights_were_beside_);
  if (beside) return save_beside(path, overwrite);
  const std::vector<Piece> all = pieces(*model_);
  std::uint64_t size = 0;
  for (const Piece& piece : all) size += piece.bytes.size() + piece.payload.size;
  if (size > kMaxMessage) {
    return fail(ErrorCode::kBadData,
                format_text("the model has {} bytes, one ONNX file holds at most {}", size, kMaxMessage), path.string(),
                "keep the weights in a file beside it (--external-data)");
  }
  return write_file(path, [&](const PutBytes& out) { return put(all, out); }, overwrite);
}

Result<void> Document::save_beside(const std::filesystem::path& path, Overwrite overwrite) const {
  ::onnx::ModelProto model = *model_;
  std::filesystem::path data = path;
  data += ".data";
  std::vector<Piece> weights;
  std::uint64_t offset = 0;
  KINGLET_TRY(for_each_weight(*model.mutable_graph(), [&](TensorProto& tensor, bool outer) -> Result<void> {
    const Payload* payload = payload_of(tensor);
    if (!outer || payload == nullptr || payload->size < onnx_format::kBesideFrom) return {};
    const std::uint64_t start = onnx_format::beside_offset(offset);
    weights.push_back({.bytes = std::string(static_cast<std::size_t>(start - offset), '\0'), .payload = *payload});
    onnx_format::set_external(tensor, data.filename().string(), start, payload->size);
    offset = start + payload->size;
    return {};
  }));
  if (!weights.empty()) {
    // A model without its data is worse than data without its model.
    if (overwrite == Overwrite::kRefuse && std::filesystem::exists(path)) {
      return fail(ErrorCode::kCannotCreate, "the file exists already", path.string(), "add --force to replace it");
    }
    KINGLET_TRY(write_file(data, [&](const PutBytes& out) { return put(weights, out); }, overwrite));
  }
  const std::vector<Piece> rest = pieces(model);
  return write_file(path, [&](const PutBytes& out) { return put(rest, out); }, overwrite);
}

Result<std::string> Document::to_bytes() const {
  const std::vector<Piece> all = pieces(*model_);
  std::string bytes;
  KINGLET_TRY(put(all, [&](std::string_view piece) -> Result<void> {
    bytes += piece;
    return {};
  }));
  return bytes;
}

}  // namespace kinglet::engine
