// SPDX-License-Identifier: Apache-2.0
// Why: packing takes most of the time that a model needs to load, and makes memory that no other process shares. What
// was packed is kept in a file, and mapped the next time (decision 36).
//
// A file of such a folder is for one model, read by one build on one processor with the same options; nobody else's
// fits. It was written by us, and is read as if a stranger had: sizes and places are checked, and every byte by a sum.
// A file is complete or not there, and nobody writes to one that is: several processes may read and make the same at
// once.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/packed_weights.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/tensor.h"
#include "engine/session/kept_format.h"

namespace kinglet::engine {

// The file of `key` in a folder.
class KeptFile {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 20;  // of all files of a folder
  static constexpr std::size_t kMostFiles = 6;
  static constexpr std::size_t kMostPieces = 65'536;                    // of a file
  static constexpr std::uint64_t kLeastFree = std::uint64_t{64} << 20;  // that stays of the disk, for what matters more

  // `key` says all that the packed bytes depend on.
  KeptFile(const std::filesystem::path& folder, const std::string& key, std::uint64_t most_bytes = kMostBytes,
           std::size_t most_pieces = kMostPieces);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::string& digest() const { return digest_; }  // of the key
  [[nodiscard]] std::uint64_t most_bytes() const { return most_bytes_; }
  [[nodiscard]] std::size_t most_pieces() const { return most_pieces_; }

  // It is of no use: to be made again.
  void remove() const;
  // It was of use: it is the last that goes.
  void touch() const;
  // The oldest go until there are at most so many.
  void make_room() const;
  // What processes that ended left half done: who still writes holds a lock.
  void remove_abandoned() const;

 private:
  // A file of the folder that is one of these, or becomes one.
  struct Neighbour {
    std::filesystem::path path;
    std::filesystem::file_time_type time;
    std::uint64_t bytes;
    [[nodiscard]] bool is_whole() const;
  };
  [[nodiscard]] std::vector<Neighbour> neighbours() const;

  std::filesystem::path path_;
  std::string digest_;
  std::uint64_t most_bytes_;
  std::size_t most_pieces_;
};

// Memory of a file.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  // To be read; may be longer than the file, and must not be read behind its end. False: errno says why.
  [[nodiscard]] bool map(int fd, std::size_t bytes);
  [[nodiscard]] const std::byte* data() const { return data_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// What was packed before.
class FoundWeights final : public PackedWeights {
 public:
  // kNotFound: there is none. kBadData: it is damaged or no such file. kUnavailable: there is no place to map it.
  [[nodiscard]] static Result<std::unique_ptr<FoundWeights>> open(const KeptFile& kept);
  // The same of a file that is open, whatever it is called.
  [[nodiscard]] static Result<std::unique_ptr<FoundWeights>> read(const FileDescriptor& fd, const KeptFile& kept);

  std::optional<std::span<const std::byte>> find(std::uint64_t maker, std::size_t least) override;
  void mismatch() override { fits_ = false; }
  std::span<std::byte> room(std::size_t bytes) override { return others_->room(bytes); }
  const std::byte* keep(std::uint64_t maker, std::span<const std::byte> piece) override;

  // All that was asked for was there, and all that was there was asked for. Else nothing may be computed with it.
  [[nodiscard]] bool fits() const { return fits_ && next_ == pieces_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  FoundWeights() = default;

  Mapping memory_;
  std::vector<KeptPiece> pieces_;
  std::uint64_t bytes_ = 0;
  std::size_t next_ = 0;
  bool fits_ = true;
  std::unique_ptr<PackedWeights> others_ = packed_in_memory();
};

// What is packed now, written as it comes and read from the file from then on. Where it cannot be written it lies in
// memory, with the same numbers.
class WrittenWeights final : public PackedWeights {
 public:
  // What is not finished has no name where the file system can do that, or one that nobody looks for.
  enum class Unfinished { kNameless, kNamed };
  explicit WrittenWeights(const KeptFile& kept, Unfinished unfinished = Unfinished::kNameless);
  ~WrittenWeights() override;

  std::optional<std::span<const std::byte>> find(std::uint64_t /*maker*/, std::size_t /*least*/) override { return {}; }
  void mismatch() override {}
  std::span<std::byte> room(std::size_t bytes) override;
  const std::byte* keep(std::uint64_t maker, std::span<const std::byte> piece) override;

  // Makes the file that others find. Errors are those of this or of an earlier writing: nothing is left behind then.
  [[nodiscard]] Result<void> finish();
  // Nobody shall find it, now or later; what lies in it stays readable.
  void discard();
  [[nodiscard]] std::uint64_t bytes() const { return pieces_.empty() ? 0 : end_; }

 private:
  enum class Made { kDone, kTakenAway, kNot };
  void make_nameless();
  [[nodiscard]] Made make_named();
  void give_up(std::string why);
  // Whoever looks for it finds it from now on. False: errno says why.
  [[nodiscard]] bool publish();
  [[nodiscard]] bool write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  const KeptFile kept_;
  std::string temporary_;  // its name until it has that of the kept file
  bool has_name_ = false;  // of these two the first
  FileDescriptor fd_;
  Mapping memory_;
  TensorBuffer room_;
  std::vector<KeptPiece> pieces_;
  std::uint64_t end_;
  std::optional<std::string> failure_;
  std::unique_ptr<PackedWeights> others_ = packed_in_memory();
};

}  // namespace kinglet::engine
