// SPDX-License-Identifier: Apache-2.0
// Why: the daemon's view of the tokens: follows the file that `kinglet token` changes, and lets a first owner be
// claimed for a while.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/tokens/token_file.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// After the first start of all, and after `kinglet pair`.
inline constexpr std::chrono::hours kClaimTime{1};

// Thread-safe. Fails closed: while the file cannot be read or made there are no tokens and nobody can claim. A file
// that is there is only read: on a full or read-only disk who has a token stays who they are.
class TokenBook {
 public:
  // An empty folder: tokens live as long as the process, and each start is a first one.
  TokenBook(std::filesystem::path folder, LogSink log);

  struct Holder {
    std::string name;
    Role role = Role::kOpen;
  };
  // Whose token is this? Nothing: nobody's.
  [[nodiscard]] std::optional<Holder> find(std::string_view text);

  // Whom a browser that claims the device comes from: what a proxy says of its clients is believed with less.
  enum class Way : std::uint8_t { kItself, kProxy };
  // Only while no admin token was ever made; through a proxy only after `kinglet pair`.
  [[nodiscard]] bool claimable(Way way = Way::kItself);
  // Was an admin token ever made? Nothing: the file cannot be read.
  [[nodiscard]] std::optional<bool> owned();
  struct Made {
    std::string name;
    std::string text;
  };
  // Makes the token "owner" (admin) for the caller at `from`. kNotPermitted: not claimable; kIo and others: not kept.
  [[nodiscard]] Result<Made> claim(std::string_view from, Way way = Way::kItself);
  // A token for somebody else, by a name that is free; `by` made it.
  [[nodiscard]] Result<Made> invite(Role role, std::string_view by);
  // The first owner's row, while it is there.
  [[nodiscard]] std::optional<Token> owner();

  // Reads the file again when it has changed; looks once a second at most. For a thread that comes round often.
  void look();

 private:
  struct Stamp {
    std::int64_t ns = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    bool operator==(const Stamp&) const = default;
  };
  [[nodiscard]] Stamp stamp() const;
  void look_now(SteadyTime now) KINGLET_REQUIRES(mutex_);
  void open(SteadyTime now) KINGLET_REQUIRES(mutex_);
  void read(SteadyTime now) KINGLET_REQUIRES(mutex_);
  [[nodiscard]] Result<void> begin_pairing(TokenList& list, SteadyTime now) KINGLET_REQUIRES(mutex_);
  void report(const Error& error, std::string_view effect) KINGLET_REQUIRES(mutex_);
  [[nodiscard]] bool claimable_now(SteadyTime now, Way way) const KINGLET_REQUIRES(mutex_);
  // One token more in the file, or in the list where there is none.
  [[nodiscard]] Result<void> add(const ChangeTokens& change) KINGLET_REQUIRES(mutex_);

  const std::filesystem::path folder_;
  const LogSink log_;

  Mutex mutex_;
  TokenList list_ KINGLET_GUARDED_BY(mutex_);
  bool opened_ KINGLET_GUARDED_BY(mutex_) = false;  // list_ is that of the file
  Stamp seen_ KINGLET_GUARDED_BY(mutex_);
  SteadyTime claim_until_ KINGLET_GUARDED_BY(mutex_){};
  SteadyTime paired_until_ KINGLET_GUARDED_BY(mutex_){};
  SteadyTime next_look_ KINGLET_GUARDED_BY(mutex_){};
  std::string last_error_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon
