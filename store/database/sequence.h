// SPDX-License-Identifier: Apache-2.0
// Why: numbers of visits rise and are never used twice, also after a power cut or with a new database: they are
// reserved in blocks in a small file of their own, and what is left of a block is given up.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace kinglet::store {

inline constexpr std::uint64_t kSequenceBlock = 1024;

// FOLDER/sequence: the highest number that may have been used. 0: there is no such file, or it holds nothing usable.
[[nodiscard]] std::uint64_t read_reserved(const std::filesystem::path& folder);
// Durable when it returns. Gives the bytes written.
[[nodiscard]] Result<std::uint64_t> write_reserved(const std::filesystem::path& folder, std::uint64_t number);

// Thread-safe; never touches a disk. Who counts visits knows the numbers that next() and note() are about; on the disk
// they may be higher, because a disk that came later had used them.
class Sequence {
 public:
  [[nodiscard]] std::uint64_t next();
  // `number` is in use: the caller counts on from one that next() gave.
  void note(std::uint64_t number);
  // `number` as it is on the disk.
  [[nodiscard]] std::uint64_t on_disk(std::uint64_t number) const;

  // A disk is there on which `number` is the highest that may have been used. Unless that is our own block, the numbers
  // of visits so far move up by the result, which is 0 when there were none.
  [[nodiscard]] std::uint64_t adopt(std::uint64_t number);
  // Numbers up to this one are reserved on the disk.
  void reserved(std::uint64_t number);
  // The number to reserve next; 0: enough are reserved.
  [[nodiscard]] std::uint64_t wants() const;

 private:
  mutable Mutex mutex_;
  std::uint64_t first_ KINGLET_GUARDED_BY(mutex_) = 0;  // given by this process; 0: none yet
  std::uint64_t last_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::uint64_t offset_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::uint64_t reserved_ KINGLET_GUARDED_BY(mutex_) = 0;  // on the disk
};

}  // namespace kinglet::store
