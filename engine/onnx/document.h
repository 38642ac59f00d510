// SPDX-License-Identifier: Apache-2.0
// Why: a model file as it stands, for tools that change a little of it: every message and field of the file, known to
// kinglet or not, is kept; the weights stay where they are and are copied when the file is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/graph.h"
#include "engine/onnx/external_data.h"
#include "engine/onnx/wire/byte_source.h"
#include "engine/onnx/wire/skim.h"

namespace onnx {
class GraphProto;
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace kinglet::engine {

// Where the numbers of large weights are written. kAsFound: beside the model when its own were there, else inside.
enum class WeightPlace : std::uint8_t { kAsFound, kInside, kBeside };

// A value: copies share the weights. Thread-bound.
//
// In model(), raw_data of an initializer and of a node's tensor attribute, in the graph and its sub-graphs, is not the
// numbers but a handle to them: read with bytes_of or tensor, written with set_tensor. Weights in other files were read
// at open and count as inside.
class Document {
 public:
  // Errors as of the loader for what is no ONNX file; operators, names and shapes are not looked at.
  [[nodiscard]] static Result<Document> open(const std::filesystem::path& path);
  [[nodiscard]] static Result<Document> from_bytes(std::string bytes, const std::filesystem::path& folder = {});

  Document(const Document& other);
  Document(Document&&) noexcept;
  Document& operator=(const Document& other);
  Document& operator=(Document&&) noexcept;
  ~Document();

  [[nodiscard]] ::onnx::ModelProto& model() { return *model_; }
  [[nodiscard]] const ::onnx::ModelProto& model() const { return *model_; }

  // The bytes behind a handle of this document. kIo when the file is shorter by now.
  [[nodiscard]] Result<std::string> bytes_of(const ::onnx::TensorProto& tensor) const;
  // How many they are, without reading; 0 when the numbers are not raw.
  [[nodiscard]] std::uint64_t byte_count(const ::onnx::TensorProto& tensor) const;
  // The numbers, however they are stored. Errors as of to_tensor.
  [[nodiscard]] Result<Tensor> tensor(const ::onnx::TensorProto& proto) const;
  // Replaces type, shape and numbers; name and doc string stay.
  void set_tensor(::onnx::TensorProto& proto, const Tensor& tensor);
  // Replaces the raw numbers alone.
  void set_bytes(::onnx::TensorProto& proto, std::string bytes);
  // Takes the weights of `other` in: its handles, in a copied message, become this document's by `adopt`.
  class Adoption;
  [[nodiscard]] Adoption add_weights_of(const Document& other);

  // The engine's view of it: loaded, normalised, shapes inferred, verified. Errors as of load_model.
  [[nodiscard]] Result<Graph> to_graph() const;

  [[nodiscard]] bool weights_were_beside() const { return weights_were_beside_; }
  void keep_weights_beside() { weights_were_beside_ = true; }

  // The same document gives the same bytes. Weights of at least 1 KiB go to PATH.data when they are written beside;
  // that file is renamed into place first. kBadData: more than 2 GiB inside one file.
  [[nodiscard]] Result<void> save(const std::filesystem::path& path, Overwrite overwrite,
                                  WeightPlace place = WeightPlace::kAsFound) const;
  // The whole file in memory, all weights inside.
  [[nodiscard]] Result<std::string> to_bytes() const;

 private:
  // One address space over everything weights come from.
  class Source final : public onnx_format::ByteSource {
   public:
    [[nodiscard]] std::uint64_t size() const override { return size_; }
    [[nodiscard]] Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const override;
    // The address of its first byte.
    std::uint64_t add(std::shared_ptr<const onnx_format::ByteSource> part);
    [[nodiscard]] std::uint64_t add_all(const Source& other);

   private:
    struct Part {
      std::uint64_t start = 0;
      std::shared_ptr<const onnx_format::ByteSource> bytes;
    };
    std::vector<Part> parts_;
    std::uint64_t size_ = 0;
  };
  // A piece of the file to be written: bytes, then the weight behind them, if any.
  struct Piece {
    std::string bytes;
    onnx_format::Payload payload;
  };

  Document();
  [[nodiscard]] static Result<Document> read(std::shared_ptr<const onnx_format::ByteSource> source,
                                             const onnx_format::DataFolders& folders);
  [[nodiscard]] Result<void> take_external(const onnx_format::DataFolders& folders);
  [[nodiscard]] const onnx_format::Payload* payload_of(const ::onnx::TensorProto& tensor) const;
  [[nodiscard]] std::string add_payload(std::string bytes);
  [[nodiscard]] std::vector<Piece> pieces(const ::onnx::ModelProto& model) const;
  [[nodiscard]] Result<void> put(std::span<const Piece> pieces, const PutBytes& put) const;
  [[nodiscard]] Result<void> save_beside(const std::filesystem::path& path, Overwrite overwrite) const;

  std::unique_ptr<::onnx::ModelProto> model_;
  Source source_;
  onnx_format::Skeleton weights_;  // payloads alone
  bool weights_were_beside_ = false;
};

// Turns handles of the other document into handles of the one that took its weights.
class Document::Adoption {
 public:
  explicit Adoption(std::size_t first) : first_(first) {}
  void adopt(::onnx::GraphProto& graph) const;

 private:
  std::size_t first_;
};

}  // namespace kinglet::engine
