// SPDX-License-Identifier: Apache-2.0
// Why: what SQLite really hands to the kernel is counted where it does so: database, WAL and journals, each write.
// The shared-memory index of the WAL is not counted: SQLite never asks for it to be written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace kinglet::store {

// Registers a VFS of its own that passes everything on to the default one. Connections opened with name() must be
// closed before it ends.
class CountingVfs {
 public:
  CountingVfs();
  ~CountingVfs();
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;

  [[nodiscard]] const std::string& name() const;
  // Thread-safe.
  [[nodiscard]] std::uint64_t written_bytes() const;

  struct State;  // for counting_vfs.cpp

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kinglet::store
