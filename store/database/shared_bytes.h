// SPDX-License-Identifier: Apache-2.0
// Why: a clip is megabytes that lie in memory already, frame by frame: what is kept of it until it is written are the
// frames themselves, and no copy of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kinglet::store {

// Bytes in pieces, which others may hold as well. A copy shares them.
class SharedBytes {
 public:
  using Piece = std::shared_ptr<const std::string>;

  SharedBytes() = default;
  SharedBytes(std::string bytes) {  // NOLINT(google-explicit-constructor): a picture is one piece
    if (!bytes.empty()) add(std::make_shared<const std::string>(std::move(bytes)));
  }
  SharedBytes(const char* bytes) : SharedBytes(std::string(bytes)) {}  // NOLINT(google-explicit-constructor): as above

  void add(Piece piece) {
    size_ += piece->size();
    pieces_.push_back(std::move(piece));
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::vector<std::string_view> pieces() const {
    std::vector<std::string_view> views;
    views.reserve(pieces_.size());
    for (const Piece& piece : pieces_) views.emplace_back(*piece);
    return views;
  }
  [[nodiscard]] std::string joined() const {
    std::string bytes;
    bytes.reserve(size_);
    for (const Piece& piece : pieces_) bytes += *piece;
    return bytes;
  }

 private:
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace kinglet::store
